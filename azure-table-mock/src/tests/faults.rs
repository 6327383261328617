//! Faults that change which response a client receives, without a client.

use super::*;
use crate::wire::Operation;

const ROW: &str = "/Blogs(PartitionKey='p',RowKey='1')";

fn insert(service: &TableService) -> HttpResponse {
    send(service, "POST", "/Blogs", &[], r#"{"PartitionKey":"p","RowKey":"1"}"#)
}

#[test]
fn the_second_of_two_deliveries_returns_its_response() {
    let service = loose();
    let twice = service.faults().add(Fault::deliver_twice());
    assert_eq!(code(&insert(&service)), (409, "EntityAlreadyExists".to_owned()));
    let row = service.row("Blogs", "p", "1").unwrap();
    let etag = row.etag().unwrap().to_string();

    let conditional = [("if-match", etag.as_str())];
    let merge = send(&service, "MERGE", ROW, &conditional, r#"{"Text":"new"}"#);
    assert_eq!(code(&merge), (412, "UpdateConditionNotSatisfied".to_owned()));
    let row = service.row("Blogs", "p", "1").unwrap();
    assert_eq!(row.get::<String>("Text"), Some(Ok("new".to_owned())), "the first delivery");

    let upsert = send(&service, "PUT", ROW, &[], r#"{"Text":"newer"}"#);
    assert_eq!((upsert.status.as_u16(), header(&upsert, "etag").is_some()), (204, true));
    let row = service.row("Blogs", "p", "1").unwrap();
    let present = row.etag().unwrap().to_string();
    assert_eq!(header(&upsert, "etag"), Some(present.as_str()), "the second delivery's version");

    let path = ROW.trim_start_matches('/');
    let batch = changeset(&[("DELETE", &format!("/{path}"), "")]);
    let batch = send(&service, "POST", "/$batch", &[("content-type", BATCH_TYPE)], &batch);
    assert!(text(&batch).contains("404 Not Found"), "{}", text(&batch));
    assert_eq!(service.row_count("Blogs"), Some(0), "the first delivery");

    assert_eq!(twice.struck(), 4);
    assert_eq!(service.requests().count(Operation::Insert), 2, "both deliveries are recorded");
    assert_eq!(service.requests().count(Operation::Merge), 2);
}

#[test]
fn a_captive_portal_responds_and_nothing_is_applied() {
    for (fault, status, is_empty) in [
        (Fault::captive_portal(200), 200, false),
        (Fault::captive_portal(200).without_body(), 200, true),
        (Fault::captive_portal(204), 204, true),
        (Fault::captive_portal(9), 200, false),
    ] {
        let service = loose();
        service.faults().add(fault);
        let response = insert(&service);
        assert_eq!((response.status.as_u16(), response.body.is_empty()), (status, is_empty));
        let media_type = (!is_empty).then_some("text/html; charset=utf-8");
        assert_eq!(header(&response, "content-type"), media_type);
        let names = response.headers.keys();
        assert_eq!(names.filter(|name| name.as_str() != "content-type").count(), 0);
        assert_eq!(service.row_count("Blogs"), Some(0));
    }
}

#[test]
fn responses_may_lack_a_body() {
    let wait = Duration::from_secs(3);
    for (fault, status, retry_after, is_of_service, rows) in [
        (Fault::proxy_page(503).without_body(), 503, None, false, 0),
        (Fault::proxy_page(503).without_body().after_commit(), 503, None, false, 1),
        (Fault::proxy_page(502).retry_after(wait).without_body(), 502, Some("3"), false, 0),
        (Fault::internal_error().without_body(), 500, None, true, 0),
        (Fault::throttle(0).without_body(), 503, None, true, 0),
    ] {
        let what = format!("{fault:?}");
        let service = loose();
        service.faults().add(fault);
        let response = insert(&service);
        assert_eq!((response.status.as_u16(), &*response.body), (status, &b""[..]), "{what}");
        assert_eq!(header(&response, "retry-after"), retry_after, "{what}");
        assert_eq!(header(&response, "content-type"), None, "{what}");
        assert_eq!(header(&response, "x-ms-request-id").is_some(), is_of_service, "{what}");
        assert_eq!(service.row_count("Blogs"), Some(rows), "{what}");
    }
}
