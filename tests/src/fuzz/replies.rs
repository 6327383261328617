//! The client's handling of replies.

use azure_table_client::transport::HttpResponse;
use azure_table_client::{
    DynamicEntity, Error, IfMatch, Metadata, TableClient, TableEntity, measure,
};
use futures_util::TryStreamExt as _;
use http::{HeaderValue, StatusCode};

use super::canned::{answering, block_on, head_and_body, response, split_line};
use super::entities::Summary;
use super::readers;

const KEY: (&str, &str) = ("p", "r");

/// The body of a page and of a single entity, at all levels of metadata: into structs, an enum,
/// projections, and entities without a struct.
pub fn json_page(body: &[u8]) {
    readers(body);
    for level in [Metadata::None, Metadata::Minimal, Metadata::Full] {
        let reply = response(200, HeaderValue::from_static(level.media_type()), body);
        let tables = answering(&reply);
        block_on(async {
            let read = page(&tables.dynamic).await;
            if let Ok(entities) = read
                && level != Metadata::None
            {
                entities.iter().for_each(written_and_read);
            }
            told(&page(&tables.strict).await);
            told(&page(&tables.lenient).await);
            told(&page(&tables.items).await);
            told(&tables.strict.query().select_as::<Summary>().take(10).await);
            told(&tables.strict.query().select(|b| (b.text, b.bytes)).take(10).await);
            told(&tables.dynamic.get(KEY).await);
            told(&tables.strict.get(KEY).await);
            told(&tables.lenient.get(KEY).await);
        });
    }
}

async fn page<T: TableEntity + 'static>(table: &TableClient<T>) -> Result<Vec<T>, Error> {
    let page = table.query().pages().next().await.expect("a page or an error");
    page.map(|page| page.entities)
}

/// An entity that was read can be written, unless a rule forbids it, and is then read as the same
/// entity.
fn written_and_read(entity: &DynamicEntity) {
    let Some(row) = measure::encode(entity) else { return };
    let page = [b"{\"value\":[", &*row, b"]}"].concat();
    let read = measure::decode_page::<DynamicEntity>(&page).expect("a page");
    let [read] = &read[..] else { panic!("{} entities of one", read.len()) };
    assert_eq!(read.key(), entity.key());
    assert!(read.properties().eq(entity.properties()), "{read:?} is not {entity:?}");
}

/// The body of an error, for calls that handle its code.
pub fn error_body(body: &[u8]) {
    let json = HeaderValue::from_static(Metadata::Minimal.media_type());
    let entity = DynamicEntity::new("p", "r");
    for status in [400, 404, 409, 412, 503] {
        let tables = answering(&response(status, json.clone(), body));
        let table = &tables.dynamic;
        let error = block_on(async {
            match status {
                400 => table.transaction().insert(&entity).await.expect_err("no success"),
                404 => {
                    told(&table.get_if_exists(KEY).await);
                    told(&table.delete_if_exists(KEY, IfMatch::Any).await);
                    told(&table.table_exists().await);
                    table.get(KEY).await.expect_err("no success")
                }
                409 => {
                    told(&table.create_if_not_exists().await);
                    table.insert(&entity).await.expect_err("no success")
                }
                412 => table.replace(&entity, IfMatch::Any).await.expect_err("no success"),
                _ => table.query().await.expect_err("no success"),
            }
        });
        assert_eq!(error.status(), Some(status));
        // The transaction has only one operation.
        assert!(error.batch_index().is_none_or(|index| index == 0));
        shown(&error);
    }
}

/// A whole reply, for all readers of replies: the status on its own line, headers, an empty line,
/// the body.
pub fn reply(data: &[u8]) {
    let (status, rest) = split_line(data);
    let Ok(status) = StatusCode::from_bytes(status.trim_ascii()) else { return };
    let Some((headers, body)) = head_and_body(rest) else { return };
    let reply = HttpResponse { status, headers, body: bytes::Bytes::copy_from_slice(body) };
    let entity = DynamicEntity::new("p", "r");
    block_on(async {
        let table = &answering(&reply).dynamic;
        told(&table.insert(&entity).await);
        told(&table.merge(&entity, IfMatch::Any).await);
        let table = &answering(&reply).dynamic;
        told(&table.get(KEY).await);
        told(&table.get_if_exists(KEY).await);
        told(&table.delete_if_exists(KEY, IfMatch::Any).await);
        let table = &answering(&reply).dynamic;
        told(&table.create_if_not_exists().await);
        told(&table.table_exists().await);
        told(&table.delete_table().await);
        let table = &answering(&reply).dynamic;
        told(&table.query().stream().try_collect::<Vec<_>>().await);
        told(&answering(&reply).service.list_tables().await);
        let table = &answering(&reply).dynamic;
        let changed = table.update_with(KEY, |row| {
            row.set("A", 1);
        });
        told(&changed.await);
        told(&answering(&reply).dynamic.get_or_insert(&entity).await);
        transactions(&reply).await;
    });
}

/// The reply to a read in a batch and to transactions.
pub(super) async fn transactions(reply: &HttpResponse) {
    let one = DynamicEntity::new("p", "1");
    let table = &answering(reply).dynamic;
    // Such keys do not fit into a URL, so that the read is sent in a batch.
    let long = "\u{3042}".repeat(1000);
    told(&table.get_if_exists((&*long, &*long)).await);
    for count in 1..=2 {
        let table = &answering(reply).dynamic;
        let mut transaction = table.transaction().insert(&one);
        if count == 2 {
            transaction = transaction.delete(("p", "2"), IfMatch::Any);
        }
        match transaction.await {
            Ok(committed) => assert_eq!(committed.operations.len(), count),
            Err(error) => {
                assert!(error.batch_index().is_none_or(|index| index < count));
                shown(&error);
            }
        }
    }
}

/// Every error can be displayed.
pub(super) fn told<T>(result: &Result<T, Error>) {
    if let Err(error) = result {
        shown(error);
    }
}

pub(super) fn shown(error: &Error) {
    assert!(!error.to_string().is_empty());
    assert!(!format!("{error:?}").is_empty());
}
