//! The changed clock of the service.

use super::*;
use crate::Dialect;

const NOTE: &str = " The clock of this service was changed: it shows ";

/// A query with a signature for a table, which is valid from 11 to 13 o'clock.
fn signed_for_a_table() -> String {
    let start = "2017-11-10T11:00:00Z";
    let fields =
        [("sv", "2019-02-02"), ("st", start), ("se", EXPIRY), ("sp", "r"), ("tn", "Blogs")];
    let signed =
        format!("r\n{start}\n{EXPIRY}\n/table/devstoreaccount1/blogs\n\n\n\n2019-02-02\n\n\n\n");
    sas_query(&fields, &signed)
}

#[test]
fn a_refusal_that_the_changed_clock_causes_names_the_clock() {
    let service = strict();
    let json = [("x-ms-version", "2019-02-02"), ("accept", "application/json")];
    let by_key = || send_signed(&service, "GET", "/Tables", "");
    let by_table = || {
        let path = format!("/Blogs()?{}", signed_for_a_table());
        send(&service, "GET", &path, &json, "")
    };
    let hours = |hours: u64| Duration::from_secs(3600 * hours);
    assert_eq!((by_key().status.as_u16(), by_table().status.as_u16()), (200, 200));

    let faults = service.faults();
    let check = |response: HttpResponse, time: &str| {
        assert_eq!(code(&response), (403, "AuthenticationFailed".into()));
        let expected = format!(
            "including the signature.{NOTE}2017-11-10T{time}:00:00.0000000Z, \
             and that of the clients 2017-11-10T12:00:00.0000000Z."
        );
        assert!(text(&response).contains(&expected), "{}", text(&response));
    };
    faults.clock_ahead(hours(2));
    check(by_key(), "14");
    check(by_table(), "14");
    faults.clock_behind(hours(2));
    check(by_key(), "10");
    check(by_table(), "10");
    faults.freeze_clock(service.clock().now() + hours(3));
    assert_eq!(by_key().status, 200, "the dates are not checked");
    check(by_table(), "15");
    faults.check_dates(true);
    check(by_key(), "15");
}

#[test]
fn a_refusal_for_another_reason_does_not_name_the_clock() {
    let service = strict();
    let bad = [("authorization", "SharedKey devstoreaccount1:c2ln"), ("x-ms-date", DATE)];
    let refused = || {
        let response = send(&service, "GET", "/Tables", &bad, "");
        assert_eq!(code(&response), (403, "AuthenticationFailed".into()));
        text(&response).to_owned()
    };
    assert!(!refused().contains("clock"));
    service.faults().clock_ahead(Duration::from_secs(7200));
    assert!(!refused().contains("clock"), "the signature is wrong too");
}

#[test]
fn the_clock_is_named_in_the_form_of_cosmos_db_too() {
    let service =
        TableService::builder().dialect(Dialect::CosmosDb).clock(Arc::new(Standing)).build();
    service.faults().clock_ahead(Duration::from_secs(7200));
    let response = send_signed(&service, "GET", "/Tables", "");
    assert_eq!(code(&response), (403, "Forbidden".into()));
    let expected = format!("payload to sign: ''{NOTE}2017-11-10T14:");
    assert!(text(&response).contains(&expected), "{}", text(&response));
}
