//! Atom in version 2009-04-14, the one of the "Windows Azure Table" paper; and replies that are not
//! valid Atom.

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::auth::Credential;
use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::ServiceVersion;
use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    DynamicEntity, ErrorCode, ErrorKind, IfMatch, Metadata, Outcome, PayloadFormat, Proof,
    RetryPolicy, TableClient, TableEntity, TableServiceClient,
};
use azure_table_tests::scripted::{Scripted, response};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use uuid::Uuid;

const FIRST: ServiceVersion = ServiceVersion::V2009_04_14;

/// A client of the mock in this version, and its recorded requests.
fn client(mock: &MockTableService, version: ServiceVersion) -> (TableServiceClient, Arc<Scripted>) {
    let recorder = Scripted::recorder(mock.transport());
    let builder = mock.client_builder().transport(recorder.clone());
    (builder.service_version(version).build().unwrap(), recorder)
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
    rating: Option<i32>,
    views: i64,
    score: f64,
    posted: EdmDateTime,
    author: Uuid,
    image: Bytes,
    is_draft: bool,
}

fn blog(id: &str) -> Blog {
    Blog {
        channel: "Channel9".into(),
        id: id.into(),
        text: " <b>it's & \"é\"</b>\r\n\u{1f600} ]]> ".into(),
        rating: Some(5),
        views: i64::MIN,
        score: f64::NEG_INFINITY,
        posted: EdmDateTime::MAX,
        author: Uuid::from_u128(9),
        image: Bytes::from_static(&[0, 255]),
        is_draft: true,
    }
}

#[tokio::test]
async fn an_entity_in_the_version_of_the_paper() {
    let mock = MockTableService::new();
    let (service, recorder) = client(&mock, FIRST);
    assert!(service.create_table_if_not_exists("Blogs").await.unwrap());
    assert!(!service.create_table_if_not_exists("Blogs").await.unwrap());
    assert!(service.table_exists("Blogs").await.unwrap());
    assert_eq!(service.list_tables().await.unwrap(), ["Blogs"]);
    let blogs = service.table::<Blog>();
    let mut row = blog("it's <1> & é");
    let inserted = blogs.insert(&row).await.unwrap();
    assert_eq!(inserted.status, 201, "the whole entity comes back");
    let key = ("Channel9", "it's <1> & é");
    let read = blogs.get(key).await.unwrap();
    assert_eq!((&read.entity, &read.etag), (&row, &inserted.etag));

    let mut other = DynamicEntity::new(key.0, key.1);
    other.set("Foreign", 5_i64);
    let merged = blogs.with_entity::<DynamicEntity>().merge(&other, &inserted.etag).await.unwrap();
    let dynamic = blogs.with_entity::<DynamicEntity>().get(key).await.unwrap();
    assert_eq!(dynamic.get("Foreign"), Some(Ok(5_i64)));
    assert_eq!(dynamic.get("Text"), Some(Ok(row.text.clone())));
    let error = blogs.replace(&row, &inserted.etag).await.unwrap_err();
    assert!(error.is_precondition_failed(), "{error}");
    row.rating = None;
    blogs.replace(&row, &merged.etag).await.unwrap();
    assert_eq!(blogs.get(key).await.unwrap().entity, row);
    let error = blogs.insert(&row).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::EntityAlreadyExists));
    assert!(error.request_id().is_some());
    blogs.delete(key, IfMatch::Any).await.unwrap();
    assert!(blogs.get_if_exists(key).await.unwrap().is_none());
    blogs.delete_table().await.unwrap();

    for request in recorder.requests() {
        let header = |name: &str| request.headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("x-ms-version"), Some("2009-04-14"));
        assert_eq!(header("accept"), Some("application/atom+xml,application/xml"));
        assert_eq!(header("dataserviceversion"), Some("1.0;NetFx"));
        assert_eq!(header("maxdataserviceversion"), Some("1.0;NetFx"));
        assert_eq!(header("prefer"), None);
        let kind = (!request.body.is_empty()).then_some("application/atom+xml");
        assert_eq!(header("content-type"), kind);
    }
}

#[tokio::test]
async fn queries_in_the_version_of_the_paper() {
    let mock = MockTableService::builder().max_key_units(1024).build();
    let (service, recorder) = client(&mock, FIRST);
    let blogs = service.table::<Blog>();
    blogs.create().await.unwrap();
    for id in 0..7 {
        blogs.insert(&blog(&id.to_string())).await.unwrap();
    }
    let ids = |blogs: &[Blog]| blogs.iter().map(|b| b.id.clone()).collect::<String>();
    let query = || blogs.query().filter(|b| b.channel.eq("Channel9") & b.rating.ge(5)).page_size(3);
    let all = query().await.unwrap();
    assert_eq!((ids(&all), all.cost.requests), ("0123456".to_owned(), 3));
    let streamed: Vec<_> = query().stream().try_collect().await.unwrap();
    assert_eq!(streamed[6], blog("6"));
    assert_eq!(ids(&query().parallel(3).await.unwrap()), "0123456");
    let first = query().pages().next().await.unwrap().unwrap();
    let at = first.continuation.unwrap().to_string().parse().unwrap();
    assert_eq!(ids(&query().start_at(at).await.unwrap()), "3456");
    // This version has no `$select`: rows arrive complete, and only the requested columns are read.
    let texts = blogs.query().select(|b| (b.id, b.rating)).await.unwrap();
    assert_eq!(texts[2], ("2".to_owned(), Some(5)));
    assert_eq!(blogs.query().count().await.unwrap(), 7);
    assert!(
        recorder
            .requests()
            .iter()
            .all(|request| request.uri.query().is_none_or(|query| !query.contains("select")))
    );

    // Keys that are too long for a URL are sent in a batch.
    let long = "漢".repeat(1024);
    let mut wide = DynamicEntity::new(&long, &long);
    wide.set("Text", "<");
    let wides = service.table_named::<DynamicEntity>("Blogs");
    wides.insert(&wide).await.unwrap();
    let read = wides.get((&*long, &*long)).await.unwrap();
    assert_eq!(read.get("Text"), Some(Ok("<".to_owned())));
    assert_eq!(mock.requests().last().unwrap().method, "POST");
    let missing = wides.get_if_exists((&*long, &*long.replace('漢', "漣"))).await.unwrap();
    assert!(missing.is_none());
}

#[tokio::test]
async fn transactions_in_the_version_of_the_paper() {
    let mock = MockTableService::new();
    let (service, _) = client(&mock, FIRST);
    let blogs = service.table::<Blog>();
    blogs.create().await.unwrap();
    for id in ["1", "2", "3"] {
        blogs.insert(&blog(id)).await.unwrap();
    }
    let changed = |id: &str, text: &str| Blog { text: text.into(), ..blog(id) };
    let committed = blogs
        .transaction()
        .insert(&blog("0 <é>"))
        .merge(&changed("1", "merged"), IfMatch::Any)
        .replace(&changed("2", "replaced"), IfMatch::Any)
        .delete(("Channel9", "3"), IfMatch::Any)
        .await
        .unwrap();
    let etags: Vec<_> = committed.operations.iter().map(|one| one.etag.is_some()).collect();
    assert_eq!(etags, [true, true, true, false]);
    let texts = blogs.query().select(|b| b.text).await.unwrap();
    assert_eq!(texts[..], [blog("").text, "merged".to_owned(), "replaced".to_owned()]);

    let error = blogs
        .transaction()
        .delete(("Channel9", "1"), IfMatch::Any)
        .insert(&blog("2"))
        .await
        .unwrap_err();
    assert_eq!((error.batch_index(), error.entity_key().unwrap().row_key.as_str()), (Some(1), "2"));
    assert_eq!(error.code(), Some(&ErrorCode::EntityAlreadyExists));
    assert_eq!(blogs.query().count().await.unwrap(), 3);
}

#[tokio::test]
async fn operations_missing_in_the_version_are_refused_before_sending() {
    let mock = MockTableService::new();
    let (service, recorder) = client(&mock, FIRST);
    let blogs = service.table::<Blog>();
    let upsert = blogs.insert_or_merge(&blog("1")).await.unwrap_err();
    assert_eq!(upsert.kind(), ErrorKind::InvalidInput);
    assert!(upsert.to_string().contains("requires 2011-08-18"), "{upsert}");
    assert!(blogs.insert_or_replace(&blog("1")).await.is_err());
    let transaction = blogs.transaction().insert(&blog("1")).insert_or_replace(&blog("2"));
    let error = transaction.await.unwrap_err();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::InvalidInput, Some(1)));
    let mut ctx = TableContext::new(&service);
    ctx.table::<Blog>().add_or_merge(&blog("1")).unwrap();
    assert_eq!(ctx.save_changes().await.unwrap_err().error.kind(), ErrorKind::InvalidInput);
    let bulk = blogs.bulk().run([BulkOperation::InsertOrReplace(blog("1"))]).await.unwrap_err();
    assert_eq!(bulk.report().failures().count(), 1);
    let error = blogs.query().format(Metadata::Full).await.unwrap_err();
    assert!(error.to_string().contains("JSON requires version 2013-08-15"), "{error}");
    let get = blogs.get(("p", "r")).format(PayloadFormat::Json(Metadata::Minimal));
    assert_eq!(get.await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(service.list_tables().format(Metadata::None).await.is_err());
    assert!(recorder.requests().is_empty());
}

#[tokio::test]
async fn a_client_requires_a_version_that_has_its_format() {
    let build = |version, format: PayloadFormat| {
        TableServiceClient::builder("https://a.example.com", Credential::Anonymous)
            .service_version(version)
            .format(format)
            .build()
    };
    let json = PayloadFormat::Json(Metadata::Full);
    for (version, has_atom, has_json) in [
        (FIRST, true, false),
        (ServiceVersion::V2013_08_15, true, true),
        (ServiceVersion::V2015_12_11, false, true),
        ("2021-12-02".parse().unwrap(), false, true),
    ] {
        for (format, is_there) in [(PayloadFormat::Atom, has_atom), (json, has_json)] {
            let built = build(version, format);
            assert_eq!(built.is_ok(), is_there, "{version} {format:?}");
            if let Err(error) = built {
                assert_eq!(error.kind(), ErrorKind::Configuration);
                assert!(error.to_string().contains("Atom a version before 2015-12-11"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_call_may_set_its_format() {
    let mock = MockTableService::new();
    let (service, recorder) = client(&mock, ServiceVersion::V2015_07_08);
    let blogs = service.table::<Blog>();
    blogs.create().await.unwrap();
    blogs.insert(&blog("1")).await.unwrap();
    for (format, accept) in [
        (PayloadFormat::Atom, "application/atom+xml,application/xml"),
        (Metadata::None.into(), "application/json;odata=nometadata"),
        (Metadata::Full.into(), "application/json;odata=fullmetadata"),
    ] {
        recorder.take_requests();
        assert_eq!(blogs.get(("Channel9", "1")).format(format).await.unwrap().entity, blog("1"));
        assert_eq!(blogs.query().format(format).await.unwrap()[..], [blog("1")]);
        assert_eq!(service.list_tables().format(format).await.unwrap(), ["Blogs"]);
        assert!(recorder.requests().iter().all(|request| request.headers["accept"] == accept));
    }
    let dynamic = blogs.with_entity::<DynamicEntity>();
    let error = dynamic.get(("Channel9", "1")).format(Metadata::None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test(start_paused = true)]
async fn lost_replies_are_read_back_in_the_version_of_the_paper() {
    let mock = MockTableService::new();
    let (service, _) = client(&mock, FIRST);
    let blogs = service.table::<Blog>();
    blogs.create().await.unwrap();
    mock.faults().add(Fault::lose_reply().on_writes().times(1));
    let inserted = blogs.insert(&blog("1")).await.unwrap();
    assert!(inserted.confirmation != azure_table_client::Confirmation::Response);
    mock.faults().clear();
    mock.faults().add(Fault::lose_reply().on_writes().times(1));
    let changed = Blog { text: "new".into(), ..blog("1") };
    let transaction = blogs.transaction().replace(&changed, &inserted.etag).insert(&blog("2"));
    let committed = transaction.proof(Proof::MatchingUpdate).await.unwrap();
    assert!(committed.confirmation != azure_table_client::Confirmation::Response);
    assert_eq!(blogs.query().await.unwrap()[..], [changed, blog("2")]);
}

#[tokio::test]
async fn the_unit_of_work_in_the_version_of_the_paper() {
    for options in [SaveOptions::each(), SaveOptions::atomic()] {
        let mock = MockTableService::new();
        let (service, _) = client(&mock, FIRST);
        let blogs = service.table::<Blog>();
        blogs.create().await.unwrap();
        for id in ["1", "2", "3"] {
            blogs.insert(&blog(id)).await.unwrap();
        }
        let mut ctx = TableContext::new(&service);
        let read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
        ctx.table().update(&Blog { text: "new".into(), ..read[0].clone() }).unwrap();
        ctx.table().update(&Blog { rating: None, ..read[1].clone() }).unwrap();
        ctx.table().delete(&read[2]).unwrap();
        ctx.table().add(&blog("4")).unwrap();
        let report = ctx.save_changes_with(options).await.unwrap();
        assert_eq!(report.applied(), 4);
        let rows = blogs.query().select(|b| (b.id, b.rating)).await.unwrap();
        let expected = [("1", Some(5)), ("2", None), ("4", Some(5))];
        assert_eq!(rows[..], expected.map(|(id, rating)| (id.to_owned(), rating)));
        assert_eq!(blogs.get(("Channel9", "1")).await.unwrap().text, "new");
    }
}

#[tokio::test]
async fn bulk_runs_in_the_version_of_the_paper() {
    let mock = MockTableService::new();
    let (service, _) = client(&mock, FIRST);
    let blogs = service.table::<Blog>();
    blogs.create().await.unwrap();
    let rows = (0..250).map(|id| BulkOperation::Insert(blog(&format!("{id:03}"))));
    let report = blogs.bulk().run(rows).await.unwrap();
    assert!(report.is_complete());
    assert_eq!(blogs.query().count().await.unwrap(), 250);
}

fn answering(
    version: ServiceVersion,
    kind: &'static str,
    body: &str,
) -> TableClient<DynamicEntity> {
    TableServiceClient::builder("https://a.example.com", Credential::Anonymous)
        .service_version(version)
        .retry(RetryPolicy::none())
        .deadline(Duration::from_secs(5))
        .transport(Scripted::always(response(
            200,
            &[("content-type", kind), ("etag", "W/\"1\"")],
            body.to_owned(),
        )))
        .build()
        .unwrap()
        .table_named("Blogs")
}

const ATOM: &str = "application/atom+xml;charset=utf-8";
const JSON: &str = "application/json;odata=minimalmetadata";

#[tokio::test]
async fn a_response_in_another_format_is_reported_as_such() {
    let json = r#"{"value":[],"PartitionKey":"p","RowKey":"r"}"#;
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom' />";
    for (version, kind, body, expected) in [
        (FIRST, JSON, json, "instead of Atom"),
        (FIRST, "application/xml", atom, "instead of Atom"),
        (FIRST, "text/html", "<html />", "instead of Atom"),
        (ServiceVersion::default(), ATOM, atom, "instead of JSON"),
        // The content type contradicts the body.
        (FIRST, ATOM, json, "not valid Atom"),
        (ServiceVersion::default(), JSON, atom, "not valid JSON"),
    ] {
        let table = answering(version, kind, body);
        let errors = [table.query().await.unwrap_err(), table.get(("p", "r")).await.unwrap_err()];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
            assert_eq!((error.status(), error.outcome()), (Some(200), Outcome::NotApplied));
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

#[tokio::test]
async fn invalid_atom() {
    let feed = |entry: &str| {
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' \
             xmlns:d='http://schemas.microsoft.com/ado/2007/08/dataservices' \
             xmlns:m='http://schemas.microsoft.com/ado/2007/08/dataservices/metadata'>{entry}</feed>"
        )
    };
    let bomb = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><feed \
                xmlns='http://www.w3.org/2005/Atom'>&b;</feed>";
    let row = |value: &str| {
        feed(&format!(
            "<entry><content><m:properties><d:PartitionKey>p</d:PartitionKey>\
             <d:RowKey>r</d:RowKey>{value}</m:properties></content></entry>"
        ))
    };
    for body in [
        String::new(),
        "<feed".to_owned(),
        "<feed />".to_owned(),
        "<html xmlns='http://www.w3.org/1999/xhtml' />".to_owned(),
        bomb.to_owned(),
        row("<d:Text>&b;</d:Text>"),
        row(&"<d:Text>".repeat(10_000)),
        feed(&"<a>".repeat(10_000)),
        feed("<entry>"),
    ] {
        let error = answering(FIRST, ATOM, &body).query().await.unwrap_err();
        let shown: String = body.chars().take(60).collect();
        assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{shown}");
    }
    // Elements of other namespaces are ignored, even with the names of properties.
    let foreign = row("<d:A>1</d:A><x:B xmlns:x='urn:x'>2</x:B><B xmlns='urn:d'>3</B>");
    let rows = answering(FIRST, ATOM, &foreign).query().await.unwrap();
    let names: Vec<_> = rows[0].properties().map(|(name, _)| name).collect();
    assert_eq!(names, ["A"]);
    let error = answering(FIRST, ATOM, &row("<d:N m:type='Edm.Int32'>x</d:N>"));
    assert_eq!(error.query().await.unwrap_err().kind(), ErrorKind::Decode);
}
