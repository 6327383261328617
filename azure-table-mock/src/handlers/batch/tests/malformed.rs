//! Queries, several changesets, malformed batches and concurrency.

use super::*;

#[test]
fn a_batch_may_query_one_entity() {
    let service = service();
    commit(&service, &[("POST", "/Blogs", &[], &keys("1"))]);
    let batch = |operations: &[Sending<'_>]| {
        let mut body = Vec::new();
        let mut batch = Writer::new(&mut body, "b");
        write(&mut batch, operations);
        batch.close();
        let answers = answers(&post(&service, "multipart/mixed; boundary=\"b\"", body));
        assert_eq!(answers.iter().map(Vec::len).collect::<Vec<_>>(), [1]);
        answers.into_iter().flatten().next().unwrap()
    };
    let get = |row: &str| {
        let accept = ("accept", "application/json;odata=nometadata");
        batch(&[("GET", &entity(row), &[("content-id", "x"), accept], "")])
    };
    let found = get("1");
    assert_eq!((found.status, found.header("dataserviceversion")), (200, Some("3.0;")));
    assert_eq!(found.header("content-id"), Some("x"));
    assert!(found.header("etag").is_some() && found.body.starts_with("{\"PartitionKey\":\"p\""));
    let recorded = last(&service);
    assert_eq!((recorded.operation, recorded.operations), (Operation::Transaction, 1));
    assert_eq!((recorded.plan, recorded.scanned_rows), (Some(PlanKind::Point), 1));
    let missing = get("2");
    let text = "0:The specified resource does not exist.";
    assert_eq!(missing.refusal(), (404, "ResourceNotFound", text));

    let (one, two) = (entity("1"), entity("2"));
    for (operations, text) in [
        (&[("GET", &*one, &[][..], ""), ("GET", &*two, &[], "")][..], "1:"),
        (&[("GET", "/Blogs()", &[], "")], "0:"),
        (&[("GET", "/Tables", &[], "")], "0:"),
        // A change outside of a changeset.
        (&[("PUT", &*two, &[], "{}")], "0:"),
        (&[("PUT", &*two, &[], "{}"), ("GET", &*one, &[], "")], "1:"),
    ] {
        let text = format!("{text}{INVALID}");
        assert_eq!(batch(operations).refusal(), (400, "InvalidInput", &*text), "{operations:?}");
    }
    assert_eq!(service.row_count("Blogs"), Some(1));
}

#[test]
fn the_head_of_an_operation_is_bounded() {
    let service = service();
    let refused = |target: &str, headers: usize| {
        let headers = "a: b\r\n".repeat(headers);
        let batch = format!(
            "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\
             Content-Type: application/http\r\n\r\nPUT {BASE}{target} HTTP/1.1\r\n\
             {headers}\r\n{{}}\r\n--c--\r\n--b--\r\n"
        );
        post(&service, "multipart/mixed; boundary=b", batch).status == 400
    };
    assert!(!refused(&entity("1"), 100) && refused(&entity("1"), 101));
    // Two keys of the largest size, with the longest encoding.
    let longest = "%E2%82%AC".repeat(1024);
    assert!(!refused(&format!("/Blogs(PartitionKey='{longest}',RowKey='{longest}')"), 0));
    assert!(refused(&format!("/Blogs?{}", "a=b&".repeat(8192)), 0));
}

#[test]
fn a_query_next_to_a_changeset_is_refused() {
    let service = service();
    let changes: [Sending<'_>; 2] =
        [("PUT", &entity("1"), &[], "{}"), ("PUT", &entity("2"), &[], "{}")];
    let query: [Sending<'_>; 1] = [("GET", &entity("1"), &[("content-id", "q")], "")];
    for query_first in [true, false] {
        let mut body = Vec::new();
        let mut batch = Writer::new(&mut body, "b");
        if query_first {
            write(&mut batch, &query);
        }
        let mut changeset = batch.parts("c");
        write(&mut changeset, &changes);
        changeset.close();
        if !query_first {
            write(&mut batch, &query);
        }
        batch.close();
        let answers = answers(&post(&service, "multipart/mixed; boundary=b", body));
        let [answers] = &answers[..] else { panic!("{}", answers.len()) };
        let text = format!("{}:{INVALID}", if query_first { 1 } else { 2 });
        assert_eq!(answers[0].refusal(), (400, "InvalidInput", &*text));
        assert_eq!(answers[0].header("content-id").is_some(), !query_first);
        assert_eq!((last(&service).operations, service.row_count("Blogs")), (3, Some(0)));
    }
}

#[test]
fn a_second_changeset_is_rejected() {
    let service = service();
    let mut body = Vec::new();
    let mut batch = Writer::new(&mut body, "b");
    for (boundary, row) in [("c", "1"), ("d", "2")] {
        let mut changeset = batch.parts(boundary);
        write(&mut changeset, &[("PUT", &entity(row), &[], "{}")]);
        changeset.close();
    }
    batch.close();
    let answers = answers(&post(&service, "multipart/mixed; boundary=b", body));
    let [first, second] = &answers[..] else { panic!("{}", answers.len()) };
    assert_eq!((first.len(), first[0].status), (1, 204));
    assert_eq!(second[0].refusal(), (400, "InvalidInput", &*format!("0:{INVALID}")));
    let store = service.core().store.read();
    let table = store.table("Blogs").unwrap();
    assert!(table.get(("p", "1")).is_some() && table.get(("p", "2")).is_none());
}

#[test]
fn a_malformed_batch_changes_nothing() {
    let service = service();
    let kind = "multipart/mixed; boundary=b";
    let code = |kind: &str, body: &[u8]| {
        let response = post(&service, kind, body.to_vec());
        let error = service_error::parse(&response.body).map(|error| error.code);
        (response.status.as_u16(), error.unwrap_or_default())
    };
    let invalid = (400, "InvalidInput".to_owned());
    let good = changeset(&[("PUT", &entity("1"), &[], "{}"), ("PUT", &entity("2"), &[], "{}")]);
    let text = String::from_utf8(good.clone()).unwrap();
    let end = text.rfind("--b--").unwrap() + "--b".len();
    for cut in 0..end {
        assert_eq!(code(kind, &good[..cut]), invalid, "{}", &text[..cut]);
    }
    for kind in ["multipart/mixed", "multipart/mixed; boundary=x", ""] {
        assert_eq!(code(kind, &good), invalid, "{kind}");
    }
    for kind in ["application/json", "text/x", "multipart/form-data; boundary=b"] {
        let unknown = (415, "MediaTypeNotSupported".to_owned());
        assert_eq!(code(kind, &good), unknown, "{kind}");
    }
    for (from, to) in [
        ("PUT ", "PUT"),
        (" HTTP/1.1", ""),
        ("application/http", "text/plain"),
        ("Transfer-Encoding: binary", "Transfer-Encoding: base64"),
        ("Content-Length: 2", "Content-Length: two"),
        ("--c--", "--x--"),
        // A changeset in a changeset.
        ("Content-Type: application/http", "Content-Type: multipart/mixed; boundary=d"),
    ] {
        assert!(text.contains(from));
        assert_eq!(code(kind, text.replace(from, to).as_bytes()), invalid, "{from}");
    }
    assert_eq!(code(kind, b"--b--"), invalid, "nothing in it");
    assert_eq!(service.row_count("Blogs"), Some(0));
    // Some clients write the last boundary of the batch like this.
    assert_eq!(code(kind, &good[..end]).0, 202);
    assert_eq!(service.row_count("Blogs"), Some(2));
}

#[test]
fn a_batch_has_at_most_four_mebibytes() {
    let service = service();
    let kind = "multipart/mixed; boundary=b";
    let mut body = changeset(&[("PUT", &entity("1"), &[], "{}")]);
    body.resize(4 * 1024 * 1024, b' ');
    assert_eq!(post(&service, kind, body.clone()).status, 202);
    body.push(b' ');
    let response = post(&service, kind, body);
    assert_eq!(response.status, 413);
    assert_eq!(service_error::parse(&response.body).unwrap().code, "RequestBodyTooLarge");
}

#[test]
fn only_the_batch_itself_needs_a_signature() {
    let service = TableService::new();
    let response = post(&service, "multipart/mixed; boundary=b", changeset(&[]));
    assert_eq!(response.status, 404);
    assert_eq!(last(&service).operation, Operation::Transaction);
}

#[test]
fn the_line_ends_and_urls_of_other_clients_are_accepted() {
    let service = service();
    let body = "--b\nContent-Type: multipart/mixed;charset=\"utf-8\";boundary=c\n\n\n--c\n\
        content-type: application/http\ncontent-transfer-encoding: binary\n\n\
        POST /devstoreaccount1/Blogs?$format=application%2Fjson%3Bodata%3Dfullmetadata HTTP/1.1\n\
        Content-ID: 1\n\n\n{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n--c\n\
        content-type: application/http\n\n\
        MERGE /devstoreaccount1/Blogs(PartitionKey='p',RowKey='a  b') HTTP/1.1\n\
        Content-Length: 7\n\n{\"A\":1}\n\n--c--\n--b--";
    let answers = answers(&post(&service, "multipart/mixed; boundary=b", body));
    let [answers] = &answers[..] else { panic!("{}", answers.len()) };
    assert!(answers[0].body.contains("\"odata.id\""));
    assert_eq!(answers[1].status, 204);
    assert!(service.core().store.read().table("Blogs").unwrap().get(("p", "a  b")).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_batch_panics(pieces in proptest::collection::vec((0..PIECES.len(), "[ -~\\n]{0,5}"), 0..30)) {
        let body: String = pieces
            .iter()
            .flat_map(|(piece, noise)| {
                // Noise everywhere would make most batches malformed.
                [PIECES[*piece], if noise.len() > 4 { noise } else { "" }]
            })
            .collect();
        let body = format!("--b\nContent-Type: multipart/mixed; boundary=c\n\n{body}\n--c--\n--b--");
        let response = post(&service(), "multipart/mixed; boundary=b", body);
        prop_assert!([202, 400].contains(&response.status.as_u16()));
    }
}

const PIECES: [&str; 9] = [
    "--c\nContent-Type: application/http\n\n",
    "--c\nContent-Type: application/http\n\nPOST /devstoreaccount1/Blogs HTTP/1.1\n",
    "--c\nContent-Type: application/http\n\nPUT /devstoreaccount1/Blogs(PartitionKey='p',RowKey='r') HTTP/1.1\n",
    "If-Match: *\n",
    "Accept: application/json\n",
    "Content-Length: 34\n",
    "\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\n",
    "\n",
    "--b\n",
];

#[test]
fn readers_see_all_or_no_changes() {
    let service = service();
    let paths: Vec<_> = (0..20).map(|n| entity(&n.to_string())).collect();
    let round = |n: usize| {
        let body = format!("{{\"A\":{n}}}");
        let operations: Vec<Sending<'_>> =
            paths.iter().map(|path| ("PUT", &**path, &[][..], &*body)).collect();
        assert_eq!(commit(&service, &operations).len(), 20);
    };
    round(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..100).for_each(round));
        while !writer.is_finished() {
            let response = service.respond(&HttpRequest {
                headers: [(header::ACCEPT, "application/json;odata=nometadata".parse().unwrap())]
                    .into_iter()
                    .collect(),
                ..HttpRequest::new(
                    Method::GET,
                    format!("{BASE}/Blogs()?$select=A").parse().unwrap(),
                )
            });
            let page: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
            let rows = page["value"].as_array().unwrap();
            assert!(rows.len() == 20 && rows.iter().all(|row| row["A"] == rows[0]["A"]), "{page}");
        }
    });
}
