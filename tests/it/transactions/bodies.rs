//! The bytes of batches: random responses, and requests as they are sent.

use std::sync::Arc;

use super::*;

/// Pieces of responses, so that random bodies pass the first line of the parser.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = proptest::sample::select(vec![
        "--batchresponse_1",
        "--changesetresponse_1",
        "--",
        "\r\n",
        "\n",
        "Content-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n",
        "Content-Type: application/http\r\n\r\n",
        "Content-Length: 5\r\n",
        "HTTP/1.1 204 No Content\r\n",
        "HTTP/1.1 503 Busy\r\n",
        "HTTP/1.1 409 Conflict\r\n\r\n",
        "Content-ID: 9\r\n",
        "{\"odata.error\":{\"code\":\"A\",\"message\":\"9:\"}}",
        "<error><code>A</code></error>",
    ]);
    prop_oneof![
        9 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..9),
    ]
}

proptest! {
    #[test]
    fn no_response_causes_a_panic(
        pieces in proptest::collection::vec(piece(), 0..24),
        status in proptest::sample::select(vec![200_u16, 202, 400, 409]),
        kind in proptest::sample::select(vec![MULTIPART, JSON, "text/html", "multipart/mixed"]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all().start_paused(true).build().unwrap();
        let steps = vec![answer(status, kind, pieces.concat()); 4];
        let key = ("字".repeat(1024), "字".repeat(1024));
        runtime.block_on(async {
            let _ = three(&table(&steps)).await;
            let _ = table(&steps).get(key).await;
        });
    }
}

/// A table on the mock, which checks the signature of each request.
async fn recorded(mock: &MockTableService) -> (Arc<Scripted>, TableClient<DynamicEntity>) {
    let recorder = Scripted::recorder(mock.transport());
    let service = mock.client_builder().transport(recorder.clone()).build().unwrap();
    let table = service.table_named("Blogs");
    table.create().await.unwrap();
    (recorder, table)
}

/// The batch that was sent, with fixed boundaries.
fn batch_of(request: &HttpRequest) -> String {
    let boundary = |text: &str| {
        text.split_once("boundary=").unwrap().1.split("\r\n").next().unwrap().to_owned()
    };
    let outer = boundary(request.headers["content-type"].to_str().unwrap());
    let body = std::str::from_utf8(&request.body).unwrap().replace(&outer, "BATCH");
    if body.contains("boundary=") { body.replace(&boundary(&body), "CHANGESET") } else { body }
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_a_transaction() {
    let mock = MockTableService::new();
    let (recorder, table) = recorded(&mock).await;
    let tag = table.insert(&DynamicEntity::new("it's", "1")).await.unwrap().etag;
    table.insert(&DynamicEntity::new("it's", "2")).await.unwrap();
    table.insert(&DynamicEntity::new("it's", "3")).await.unwrap();
    let mut entity = DynamicEntity::new("it's", "0 é");
    entity.set("Text", "a\nb");
    let transaction = table
        .transaction()
        .insert(&entity)
        .merge(&DynamicEntity::new("it's", "1"), &tag)
        .replace(&DynamicEntity::new("it's", "2"), IfMatch::Any)
        .delete(("it's", "3"), IfMatch::Any)
        .insert_or_merge(&DynamicEntity::new("it's", "4"));
    let bytes = transaction.bytes();
    transaction.await.unwrap();
    let sent = recorder.last();
    assert_eq!(sent.body.len(), bytes, "the size is known before it is sent");
    assert_eq!(sent.method, "POST");
    assert_eq!(sent.uri, "http://127.0.0.1:10002/devstoreaccount1/$batch");
    let kind = sent.headers["content-type"].to_str().unwrap();
    assert!(kind.starts_with("multipart/mixed; boundary=batch_"), "{kind}");
    let part = "--CHANGESET\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n";
    let accept = "Accept: application/json;odata=minimalmetadata\nDataServiceVersion: 3.0\n";
    let base = "http://127.0.0.1:10002/devstoreaccount1/Blogs";
    let expected = format!(
        "--BATCH\nContent-Type: multipart/mixed; boundary=CHANGESET\n\n\
         {part}POST {base} HTTP/1.1\nContent-ID: 0\n{accept}Content-Type: application/json\n\
         Prefer: return-no-content\nContent-Length: 53\n\n\
         {{\"PartitionKey\":\"it's\",\"RowKey\":\"0 é\",\"Text\":\"a\\nb\"}}\n\
         {part}MERGE {base}(PartitionKey='it%27%27s',RowKey='1') HTTP/1.1\nContent-ID: 1\n{accept}\
         Content-Type: application/json\nIf-Match: {tag}\nContent-Length: 36\n\n\
         {{\"PartitionKey\":\"it's\",\"RowKey\":\"1\"}}\n\
         {part}PUT {base}(PartitionKey='it%27%27s',RowKey='2') HTTP/1.1\nContent-ID: 2\n{accept}\
         Content-Type: application/json\nIf-Match: *\nContent-Length: 36\n\n\
         {{\"PartitionKey\":\"it's\",\"RowKey\":\"2\"}}\n\
         {part}DELETE {base}(PartitionKey='it%27%27s',RowKey='3') HTTP/1.1\nContent-ID: 3\n{accept}\
         If-Match: *\n\n\n\
         {part}MERGE {base}(PartitionKey='it%27%27s',RowKey='4') HTTP/1.1\nContent-ID: 4\n{accept}\
         Content-Type: application/json\nContent-Length: 36\n\n\
         {{\"PartitionKey\":\"it's\",\"RowKey\":\"4\"}}\n\
         --CHANGESET--\n--BATCH--\n"
    );
    assert_eq!(batch_of(&sent), expected.replace('\n', "\r\n"));
}

#[tokio::test(start_paused = true)]
async fn a_row_with_long_keys_is_read_in_a_batch() {
    let mock = MockTableService::new();
    let (recorder, table) = recorded(&mock).await;
    // 9 bytes per character in a URL.
    let (partition, key) = ("字".repeat(1024), "語".repeat(1023));
    let mut entity = DynamicEntity::new(partition.clone(), key.clone());
    entity.set("Text", "found").set("Rating", 3);
    let etag = table.insert(&entity).await.unwrap().etag;

    let fetched = table.get((&*partition, &*key)).await.unwrap();
    assert_eq!((fetched.response().status, &fetched.etag), (200, &etag));
    assert_eq!(fetched.get::<i32>("Rating"), Some(Ok(3)));
    let sent = recorder.last();
    assert_eq!(
        (sent.method.as_str(), sent.uri.path().rsplit_once('/').unwrap().1),
        ("POST", "$batch")
    );
    let address = format!(
        "http://127.0.0.1:10002/devstoreaccount1/Blogs(PartitionKey='{}',RowKey='{}')",
        "%E5%AD%97".repeat(1024),
        "%E8%AA%9E".repeat(1023)
    );
    let expected = "--BATCH\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n\
         GET ADDRESS HTTP/1.1\nAccept: application/json;odata=minimalmetadata\n\
         DataServiceVersion: 3.0\n\n\n--BATCH--\n";
    assert_eq!(batch_of(&sent).replace(&address, "ADDRESS"), expected.replace('\n', "\r\n"));

    let missing = EntityKey::new(partition.clone(), "x".to_owned() + &key);
    assert!(table.get_if_exists(missing.clone()).await.unwrap().is_none());
    let error = table.get(missing.clone()).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert_eq!(error.batch_index(), None, "a read has no index in a transaction");
    assert_eq!(error.entity_key(), Some(&missing));

    let keys = |key: &EntityKey| {
        Filter::compare("PartitionKey", CompareOp::Eq, key.partition_key.clone()).unwrap()
            & Filter::compare("RowKey", CompareOp::Eq, key.row_key.clone()).unwrap()
    };
    let query = |key: &EntityKey| table.query().matching(&keys(key)).select_names(["Rating"]);
    let rows = query(&EntityKey::new(partition, key)).await.unwrap();
    assert_eq!((rows.len(), rows[0].get::<i32>("Rating")), (1, Some(Ok(3))));
    assert!(rows[0].get::<String>("Text").is_none());
    assert!(recorder.last().uri.path().ends_with("/$batch"));
    assert!(batch_of(&recorder.last()).contains("?$select=Rating"));
    assert!(query(&missing).await.unwrap().is_empty());

    table.delete_table().await.unwrap();
    let error = table.get_if_exists(missing).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::TableNotFound));
}

#[tokio::test(start_paused = true)]
async fn odd_responses_to_a_read_in_a_batch() {
    let get = |steps: &[Attempt]| table(steps).get(("字".repeat(1024), "字".repeat(1024)));
    let one = |message: &str| {
        let head = "--batchresponse_1\r\nContent-Type: application/http\r\n\r\n";
        accepted(format!("{head}{message}\r\n--batchresponse_1--\r\n"))
    };
    let long = "字".repeat(1024);
    let entity = format!("{{\"PartitionKey\":\"{long}\",\"RowKey\":\"{long}\"}}");
    let found = one(&format!("HTTP/1.1 200 OK\r\nETag: W/\"1\"\r\n\r\n{entity}"));
    let key = EntityKey::new(&*long, &*long);
    assert_eq!(get(std::slice::from_ref(&found)).await.unwrap().key(), &key);
    // The success is decided by the status of the inner response, like for a transaction.
    let busy = one(&failure(503, "", "ServerBusy", "0:Busy."));
    get(&[busy, found.clone()]).await.unwrap();
    let unreadable = (ErrorKind::UnexpectedReply, Outcome::NotApplied, None, Some(&*long), 1);
    for step in [
        accepted(""),
        accepted("--batchresponse_1--"),
        answer(202, "text/html", "<html>"),
        accepted(results(&[])),
        accepted(results(&[DONE, DONE])),
        one("HTTP/1.1 204 No Content\r\n"),
        one(&format!("HTTP/1.1 200 OK\r\n\r\n{entity}")),
        one("HTTP/1.1 200 OK\r\nETag: W/\"1\"\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}"),
        one("HTTP/1.1 200 OK\r\nETag: W/\"1\"\r\n\r\n{"),
        one("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<html></html>"),
    ] {
        let get = get(std::slice::from_ref(&step)).retry(RetryPolicy::none());
        assert_eq!(told(&get.await.unwrap_err()), unreadable, "{step:?}");
    }
}
