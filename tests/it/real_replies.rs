//! Replies of the real service, recorded in 2017: the client's values, types, versions, continuations
//! and errors are compared with an independent parser. `tests/recordings/README.md` lists the
//! recordings.
//!
//! `AZURE_TABLE_TESTS_REPLIES` names a file with more replies, one a line, with the members `url`, `method`, `status`,
//! `headers` and `body`. The recordings of 2017 in Azure/azure-storage-node, `test/recordings`, are such replies.

mod batches;
mod reply;
mod rows;

use azure_table_client::edm::EdmDateTime;
use azure_table_client::filter::Column;
use azure_table_client::{
    DynamicEntity, Error, ErrorKind, IfMatch, Metadata, TableClient, TableServiceClient,
};
use azure_table_tests::recordings;
use azure_table_tests::scripted::Scripted;
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::Value;

use reply::Reply;
use rows::Declared;

#[derive(Debug, Default)]
struct Counts {
    tables: usize,
    rows: usize,
    values: usize,
    continuations: usize,
    etags: usize,
    results_in_batches: usize,
    policies: usize,
    errors: usize,
}

#[tokio::test]
async fn all_recorded_replies_are_read() {
    let recordings = recordings::in_repository("python-2017-11");
    let exchanges = recordings.into_iter().flat_map(|recording| recording.exchanges);
    check_all(exchanges.map(Reply::recorded).collect()).await;
    if let Some(path) = std::env::var_os("AZURE_TABLE_TESTS_REPLIES") {
        let more = std::fs::read_to_string(path).unwrap();
        check_all(more.lines().map(Reply::read).collect()).await;
    }
}

async fn check_all(replies: Vec<Reply>) {
    let mut counts = Counts::default();
    for reply in &replies {
        println!("{} {} {}", reply.status, reply.method, reply.path);
        check(reply, &mut counts).await;
    }
    println!("{} replies: {counts:?}", replies.len());
    assert!(replies.len() > 100 && counts.values > 300 && counts.etags > 50);
    assert!(counts.continuations > 2 && counts.errors > 10 && counts.results_in_batches > 20);
}

async fn check(reply: &Reply, counts: &mut Counts) {
    let (service, canned) = reply.service();
    let table = service.table_named::<DynamicEntity>(reply.table());
    if reply.path == "/$batch" {
        counts.results_in_batches += batches::check(&service, reply).await;
    } else if reply.status >= 400 {
        refusal(reply, &call(reply, &service, &table).await.unwrap_err());
        counts.errors += 1;
    } else if reply.query == "comp=acl" {
        counts.policies += policies(reply, &table).await;
    } else if reply.method != "GET" {
        let etag = call(reply, &service, &table).await.unwrap();
        assert_eq!(etag.as_deref(), reply.header("etag"));
        counts.etags += usize::from(etag.is_some());
    } else if reply.path.starts_with("/Tables") {
        counts.tables += tables(reply, &service, &canned, counts).await;
    } else {
        entities(reply, &table, &canned, counts).await;
    }
}

/// The call to which the reply belongs, and the version that it leaves.
async fn call(
    reply: &Reply,
    service: &TableServiceClient,
    table: &TableClient<DynamicEntity>,
) -> Result<Option<String>, Error> {
    let (partition_key, row_key) = keys(&reply.body);
    let row = DynamicEntity::new(partition_key, row_key);
    let is_tables = reply.path.starts_with("/Tables");
    let written = match (&*reply.method, is_tables) {
        ("POST", true) => {
            let name = reply.body["TableName"].as_str().unwrap_or("Blogs");
            let done = service.create_table(name).await?;
            assert_eq!(done.request_id.as_deref(), reply.header("x-ms-request-id"));
            return Ok(None);
        }
        ("DELETE", _) => {
            let done = if is_tables {
                service.delete_table("Blogs").await?
            } else {
                table.delete(("p", "r"), IfMatch::Any).await?
            };
            assert_eq!((done.status, reply.status), (204, 204));
            assert_eq!(done.request_id.as_deref(), reply.header("x-ms-request-id"));
            return Ok(None);
        }
        // A check for existence returns no error.
        ("GET", true) => {
            assert!(!service.table_exists("Blogs").await?);
            return service.list_tables().await.map(|_| None);
        }
        ("GET", false) => return table.get(("p", "r")).await.map(|_| None),
        ("POST", false) => table.insert(&row).await?,
        ("PUT", false) => table.replace(&row, IfMatch::Any).await?,
        ("MERGE", false) => table.merge(&row, IfMatch::Any).await?,
        other => panic!("{other:?} was never recorded"),
    };
    assert_eq!(written.status, reply.status);
    assert_eq!(written.request_id.as_deref(), reply.header("x-ms-request-id"));
    Ok(Some(written.etag.as_str().to_owned()))
}

/// The code and the first line of the message.
fn message(body: &Value) -> (&str, &str) {
    let error = &body["odata.error"];
    let text = error["message"]["value"].as_str().unwrap();
    (error["code"].as_str().unwrap(), text.lines().next().unwrap())
}

fn refusal(reply: &Reply, error: &Error) {
    let (code, text) = message(&reply.body);
    assert_eq!(error.kind(), ErrorKind::Service);
    assert_eq!(error.status(), Some(reply.status));
    assert_eq!(error.code().unwrap().as_str(), code);
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(error.request_id(), reply.header("x-ms-request-id"));
    let kinds = [error.is_not_found(), error.is_conflict(), error.is_precondition_failed()];
    assert_eq!(kinds, [404, 409, 412].map(|status| status == reply.status));
}

async fn tables(
    reply: &Reply,
    service: &TableServiceClient,
    canned: &Scripted,
    counts: &mut Counts,
) -> usize {
    let Some(rows) = reply.body["value"].as_array() else {
        let name = reply.body["TableName"].as_str().unwrap();
        assert!(service.table_exists(name).await.unwrap());
        return 1;
    };
    let mut names = std::pin::pin!(service.list_tables().stream());
    let listed: Vec<_> = names.by_ref().take(rows.len()).try_collect().await.unwrap();
    let stated: Vec<_> = rows.iter().map(|row| row["TableName"].as_str().unwrap()).collect();
    assert_eq!(listed, stated);
    let goes_on = names.next().await.is_some();
    counts.continuations += continuation(reply, canned, goes_on, &["NextTableName"]);
    rows.len()
}

async fn entities(
    reply: &Reply,
    table: &TableClient<DynamicEntity>,
    canned: &Scripted,
    counts: &mut Counts,
) {
    let rows = match reply.body["value"].as_array() {
        Some(rows) => rows.clone(),
        None => vec![reply.body.clone()],
    };
    let is_page = reply.body.get("value").is_some();
    counts.rows += rows.len();
    if rows.first().is_some_and(|row| row.get("PartitionKey").is_none()) {
        counts.values += columns(table, is_page, &rows).await;
        return;
    }
    let read = if reply.is_untyped() {
        untyped(table, is_page, keys(&reply.body)).await
    } else if is_page {
        let mut pages = table.query().pages();
        let page = pages.next().await.unwrap().unwrap();
        assert_eq!(page.request_id.as_deref(), reply.header("x-ms-request-id"));
        let goes_on = page.continuation.is_some();
        assert_eq!(pages.next().await.is_some(), goes_on);
        let names = ["NextPartitionKey", "NextRowKey"];
        counts.continuations += continuation(reply, canned, goes_on, &names);
        page.entities
    } else {
        let fetched = table.get(keys(&reply.body)).await.unwrap();
        assert_eq!(Some(fetched.etag.as_str()), reply.header("etag"));
        assert_eq!(fetched.response().request_id.as_deref(), reply.header("x-ms-request-id"));
        vec![fetched.into_inner()]
    };
    assert_eq!(read.len(), rows.len());
    for (entity, row) in read.iter().zip(&rows) {
        counts.values += rows::check(entity, row, reply.is_untyped());
        counts.etags += usize::from(entity.etag().is_some());
    }
}

/// Reads rows without their keys, like a query of some columns returns them. Returns the number of
/// values.
async fn columns(table: &TableClient<DynamicEntity>, is_page: bool, rows: &[Value]) -> usize {
    let mut query = table.query();
    if !is_page {
        query = query.filter_text("PartitionKey eq 'p' and RowKey eq 'r'");
    }
    let age = Column::<DynamicEntity, i64>::dynamic("age");
    let sex = Column::<DynamicEntity, String>::dynamic("sex");
    let xyz = Column::<DynamicEntity, Option<String>>::dynamic("xyz");
    let read = query.select(|()| (age, sex, xyz)).await.unwrap();
    assert_eq!(read.len(), rows.len());
    for ((age, sex, xyz), row) in read.iter().zip(rows) {
        assert_eq!((&*age.to_string(), &**sex), (text(row, "age"), text(row, "sex")));
        assert_eq!((xyz, row.get("xyz").is_some_and(|xyz| !xyz.is_null())), (&None, false));
    }
    2 * rows.len()
}

/// The keys of the entity in a body, or fixed keys if the body has no entity.
fn keys(body: &Value) -> (&str, &str) {
    let key = |name: &str| body.get(name).and_then(Value::as_str);
    key("PartitionKey").zip(key("RowKey")).unwrap_or(("p", "r"))
}

fn text<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap()
}

/// Reads rows without types, which only a struct can read.
async fn untyped(
    table: &TableClient<DynamicEntity>,
    is_page: bool,
    key: (&str, &str),
) -> Vec<DynamicEntity> {
    let error = if is_page {
        table.query().pages().next().await.unwrap().unwrap_err()
    } else {
        table.get(key).await.unwrap_err()
    };
    assert!(error.to_string().contains("types"), "{error}");
    let table = table.with_entity::<Declared>();
    let read = if is_page {
        table.query().format(Metadata::None).pages().next().await.unwrap().unwrap().entities
    } else {
        vec![table.get(key).format(Metadata::None).await.unwrap().into_inner()]
    };
    read.iter().map(|row| DynamicEntity::from_entity(row).unwrap()).collect()
}

/// The next request has the continuation of the reply. Returns the number of continuations.
fn continuation(reply: &Reply, canned: &Scripted, goes_on: bool, names: &[&str]) -> usize {
    let header = |name: &str| reply.header(&format!("x-ms-continuation-{}", name.to_lowercase()));
    assert_eq!(goes_on, header(names[0]).is_some());
    for name in names.iter().filter(|_| goes_on) {
        let asked = canned.last().uri.to_string().replace("%21", "!").replace("%3D", "=");
        let stated = header(name).unwrap();
        assert!(asked.contains(&format!("{name}={stated}")), "{asked}: {stated}");
    }
    usize::from(goes_on)
}

async fn policies(reply: &Reply, table: &TableClient<DynamicEntity>) -> usize {
    if reply.method == "PUT" {
        assert_eq!(table.set_access_policies(&[]).await.unwrap().status, reply.status);
        return 0;
    }
    let policies = table.access_policies().await.unwrap();
    let between = |tag: &str| {
        let (_, rest) = reply.text.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once('<').unwrap().0)
    };
    assert_eq!(policies.first().map(|policy| &*policy.id), between("Id"));
    assert_eq!(policies.len(), reply.text.matches("<SignedIdentifier>").count());
    for policy in &policies {
        let time = |tag| between(tag).map(|text| text.parse::<EdmDateTime>().unwrap());
        assert_eq!((policy.start, policy.expiry), (time("Start"), time("Expiry")));
        let permissions = policy.permissions.map(|granted| granted.to_string());
        assert_eq!(permissions.as_deref(), between("Permission"));
    }
    policies.len()
}
