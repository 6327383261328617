//! The client's report of a write with a lost reply, for each state of the row.

mod evidence;

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::transport::TransportErrorKind;
use azure_table_client::{
    DynamicEntity, ETag, Error, IfMatch, Operation, Outcome, Proof, RetryPolicy, TableClient,
    TableServiceClient,
};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_write, on};

/// The fault of the first write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    BeforeCommit,
    AfterCommit,
}

/// The action of another program between the first attempt and the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Other {
    Nothing,
    /// Writes the very same values.
    Same,
    Changes,
    Deletes,
}

/// A transport whose first write meets this plan. If the service is down, it receives no reads.
fn lossy(mock: &MockTableService, (loss, other): (Loss, Other), is_down: bool) -> Arc<Scripted> {
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    let interference = async move {
        match other {
            Other::Nothing => {}
            Other::Same => drop(table.insert_or_replace(&row("new")).await.unwrap()),
            Other::Changes => drop(table.insert_or_replace(&row("theirs")).await.unwrap()),
            Other::Deletes => {
                table.delete_if_exists(KEY, IfMatch::Any).await.unwrap();
            }
        }
    };
    let lost = match loss {
        Loss::BeforeCommit => Step::fail(TransportErrorKind::Interrupted),
        Loss::AfterCommit => Step::lose_reply(),
    };
    let mut writes = on(is_write, in_turn([lost.then(interference)]));
    Scripted::new(mock.transport(), move |request| {
        let is_unread = is_down && !is_write(request);
        if is_unread { Step::fail(TransportErrorKind::Connect) } else { writes(request) }
    })
}

const KEY: (&str, &str) = ("p", "r");

fn row(text: &str) -> DynamicEntity {
    let mut row = DynamicEntity::new(KEY.0, KEY.1);
    row.set("Text", text);
    row
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    Insert,
    Merge,
    Replace,
    MergeAny,
    InsertOrReplace,
    Delete,
    DeleteAny,
}

impl Write {
    /// Whether the row exists before the write.
    fn has_row(self) -> bool {
        !matches!(self, Self::Insert | Self::InsertOrReplace)
    }

    async fn send(self, table: &TableClient<DynamicEntity>, tag: ETag) -> Result<bool, Error> {
        let tag = IfMatch::Tag(tag);
        let row = row("new");
        let written = match self {
            Self::Insert => table.insert(&row).await?,
            Self::Merge => table.merge(&row, tag).await?,
            Self::Replace => table.replace(&row, tag).await?,
            Self::MergeAny => table.merge(&row, IfMatch::Any).await?,
            Self::InsertOrReplace => table.insert_or_replace(&row).await?,
            Self::Delete => {
                return Ok(table.delete(KEY, tag).await?.confirmation
                    != azure_table_client::Confirmation::Response);
            }
            Self::DeleteAny => {
                return Ok(table.delete(KEY, IfMatch::Any).await?.confirmation
                    != azure_table_client::Confirmation::Response);
            }
        };
        if written.confirmation != azure_table_client::Confirmation::Response {
            assert_eq!(written.etag, table.get(KEY).await?.etag, "it is the present one");
        }
        Ok(written.confirmation != azure_table_client::Confirmation::Response)
    }

    async fn commit(self, table: &TableClient<DynamicEntity>, tag: ETag) -> Result<bool, Error> {
        let tag = IfMatch::Tag(tag);
        let row = row("new");
        let batch = table.transaction();
        let batch = match self {
            Self::Insert => batch.insert(&row),
            Self::Merge => batch.merge(&row, tag),
            Self::Replace => batch.replace(&row, tag),
            Self::MergeAny => batch.merge(&row, IfMatch::Any),
            Self::InsertOrReplace => batch.insert_or_replace(&row),
            Self::Delete => batch.delete(KEY, tag),
            Self::DeleteAny => batch.delete(KEY, IfMatch::Any),
        };
        let mut beside = DynamicEntity::new(KEY.0, "beside");
        beside.set("Text", "new");
        let committed = batch.insert_or_replace(&beside).await?;
        assert_eq!(committed.operations.len(), 2);
        Ok(committed.confirmation != azure_table_client::Confirmation::Response)
    }
}

struct Stage {
    mock: MockTableService,
    table: TableClient<DynamicEntity>,
    tag: ETag,
}

async fn stage(write: Write, plan: (Loss, Other), is_down: bool, write_ids: bool) -> Stage {
    let mock = MockTableService::new();
    let other = mock.client().table_named::<DynamicEntity>("Blogs");
    other.create().await.unwrap();
    let mut tag = ETag::from("W/\"none\"");
    if write.has_row() {
        tag = other.insert(&row("old")).await.unwrap().etag;
    }
    let mut client = mock.client_builder().transport(lossy(&mock, plan, is_down));
    if write_ids {
        client = client.write_id_column("WriteId");
    }
    Stage { mock, table: client.build().unwrap().table_named("Blogs"), tag }
}

/// The expected result: the call succeeds, at once or after reading back; or it fails with this
/// outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Done,
    Found,
    Fails(Outcome),
    /// It fails with an unknown outcome, and reports that the state matches.
    Matches,
}

fn told(result: Result<bool, Error>) -> Told {
    match result {
        Ok(true) => Told::Found,
        Ok(false) => Told::Done,
        Err(error) => {
            assert!(matches!(error.status(), Some(404 | 409 | 412)), "{error}");
            if error.state_matches() {
                assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
                return Told::Matches;
            }
            Told::Fails(error.outcome())
        }
    }
}

/// Each write, lost before and after it was applied, with and without a write of another program
/// after it.
#[tokio::test(start_paused = true)]
async fn the_report_of_each_write() {
    use Loss::{AfterCommit, BeforeCommit};
    use Other::{Changes, Deletes, Nothing, Same};
    use Told::{Done, Fails, Found, Matches};
    use Write::{Delete, DeleteAny, Insert, InsertOrReplace, Merge, MergeAny, Replace};
    const UNKNOWN: Told = Fails(Outcome::Unknown);
    for (write, loss, other, expected) in [
        (Insert, BeforeCommit, Nothing, Done),
        (Insert, AfterCommit, Nothing, Found),
        // The one case in which another program's write looks like the lost one.
        (Insert, BeforeCommit, Same, Found),
        (Insert, AfterCommit, Same, Found),
        (Insert, BeforeCommit, Changes, UNKNOWN),
        (Insert, AfterCommit, Changes, UNKNOWN),
        (Insert, AfterCommit, Deletes, Done),
        (Merge, BeforeCommit, Nothing, Done),
        (Merge, AfterCommit, Nothing, Matches),
        (Merge, BeforeCommit, Same, Matches),
        (Merge, BeforeCommit, Changes, UNKNOWN),
        (Merge, AfterCommit, Changes, UNKNOWN),
        (Merge, BeforeCommit, Deletes, UNKNOWN),
        (Merge, AfterCommit, Deletes, UNKNOWN),
        (Replace, BeforeCommit, Nothing, Done),
        (Replace, AfterCommit, Nothing, Matches),
        (Replace, AfterCommit, Changes, UNKNOWN),
        (Replace, AfterCommit, Deletes, UNKNOWN),
        (MergeAny, BeforeCommit, Nothing, Done),
        (MergeAny, AfterCommit, Nothing, Done),
        (MergeAny, AfterCommit, Deletes, UNKNOWN),
        (InsertOrReplace, BeforeCommit, Changes, Done),
        (InsertOrReplace, AfterCommit, Changes, Done),
        (Delete, BeforeCommit, Nothing, Done),
        (Delete, AfterCommit, Nothing, Found),
        (Delete, BeforeCommit, Changes, UNKNOWN),
        (Delete, AfterCommit, Changes, UNKNOWN),
        (DeleteAny, AfterCommit, Nothing, Found),
        (DeleteAny, BeforeCommit, Deletes, Found),
        (DeleteAny, AfterCommit, Changes, Done),
    ] {
        let what = format!("{write:?}, lost {loss:?}, another program: {other:?}");
        let Stage { mock, table, tag } = stage(write, (loss, other), false, false).await;
        let result = write.send(&table, tag).await;
        assert_eq!(told(result), expected, "{what}");
        drop(mock);
        // In a transaction, the other row shows more.
        let Stage { table, tag, .. } = stage(write, (loss, other), false, false).await;
        let result = write.commit(&table, tag).await;
        assert_eq!(told(result), in_transaction(loss, expected), "{what}, in a batch");
        // It cannot be read back.
        let Stage { table, tag, .. } = stage(write, (loss, other), true, false).await;
        let result = match write {
            Delete | DeleteAny => continue,
            _ => match table_write(write, &table, tag).await {
                Ok(()) => Done,
                Err(error) => Fails(error.outcome()),
            },
        };
        let expected = if matches!(expected, Found | Matches) { UNKNOWN } else { expected };
        assert_eq!(result, expected, "{what}, which cannot be read back");
    }
}

async fn table_write(
    write: Write,
    table: &TableClient<DynamicEntity>,
    tag: ETag,
) -> Result<(), Error> {
    let tag = IfMatch::Tag(tag);
    match write {
        Write::Insert => table.insert(&row("new")).await,
        Write::Merge => table.merge(&row("new"), tag).await,
        Write::Replace => table.replace(&row("new"), tag).await,
        Write::MergeAny => table.merge(&row("new"), IfMatch::Any).await,
        _ => table.insert_or_replace(&row("new")).await,
    }
    .map(drop)
}

/// A transaction has an upsert besides the write; without the transaction, the upsert's row does
/// not exist, so the matching state of the other row is not a proof.
fn in_transaction(loss: Loss, alone: Told) -> Told {
    match alone {
        Told::Found | Told::Matches if loss == Loss::BeforeCommit => Told::Fails(Outcome::Unknown),
        _ => alone,
    }
}

/// With write ids, the values of another program do not count as applied, and a merge into the
/// client's own values does.
#[tokio::test(start_paused = true)]
async fn write_ids_make_reports_exact() {
    for (write, loss, expected) in [
        (Write::Insert, Loss::BeforeCommit, Told::Fails(Outcome::Unknown)),
        (Write::Merge, Loss::BeforeCommit, Told::Fails(Outcome::Unknown)),
        (Write::Replace, Loss::BeforeCommit, Told::Fails(Outcome::Unknown)),
    ] {
        let Stage { table, tag, .. } = stage(write, (loss, Other::Same), false, true).await;
        assert_eq!(told(write.send(&table, tag).await), expected, "{write:?}");
    }
    for write in [Write::Insert, Write::Merge, Write::Replace] {
        let plan = (Loss::AfterCommit, Other::Nothing);
        let Stage { table, tag, .. } = stage(write, plan, false, true).await;
        assert_eq!(told(write.send(&table, tag).await), Told::Found, "{write:?}");
        let stored = table.get(KEY).await.unwrap();
        let id = stored.get::<uuid::Uuid>("WriteId").unwrap().unwrap();
        // An entity that was read is written with a new id.
        table.replace(&stored.entity, &stored.etag).await.unwrap();
        let again = table.get(KEY).await.unwrap();
        assert!(again.get::<uuid::Uuid>("WriteId").unwrap().unwrap() != id);
    }
    let bad = TableServiceClient::builder(
        "https://me.example.com",
        azure_table_client::auth::Credential::Anonymous,
    );
    let error = bad.write_id_column("no name").build().unwrap_err();
    assert_eq!(error.kind(), azure_table_client::ErrorKind::Configuration);
}

/// If no reply arrives at all, the rows are read once.
#[tokio::test(start_paused = true)]
async fn a_last_attempt_without_a_reply_is_read_back() {
    use Loss::{AfterCommit, BeforeCommit};
    for (write, loss, expected) in [
        (Write::Insert, AfterCommit, Ok(true)),
        (Write::Insert, BeforeCommit, Err(Outcome::Unknown)),
        (Write::Merge, AfterCommit, Err(Outcome::Unknown)),
        // The row still has the version that the write names; it would also have it if the attempt
        // arrives later.
        (Write::Merge, BeforeCommit, Err(Outcome::Unknown)),
        (Write::MergeAny, AfterCommit, Ok(true)),
        (Write::MergeAny, BeforeCommit, Err(Outcome::Unknown)),
        (Write::InsertOrReplace, AfterCommit, Ok(true)),
        (Write::InsertOrReplace, BeforeCommit, Err(Outcome::Unknown)),
        (Write::Delete, AfterCommit, Ok(true)),
        (Write::Delete, BeforeCommit, Err(Outcome::Unknown)),
        (Write::DeleteAny, BeforeCommit, Err(Outcome::Unknown)),
    ] {
        for proof in [Proof::Response, Proof::default()] {
            let Stage { mock, tag, .. } = stage(write, (loss, Other::Nothing), false, false).await;
            let lossy = lossy(&mock, (loss, Other::Nothing), false);
            let client = mock.client_builder().transport(lossy);
            let client = client.retry(RetryPolicy::none()).proof(proof);
            let table = client.build().unwrap().table_named("Blogs");
            let result = write.send(&table, tag).await.map_err(|error| error.outcome());
            let expected = if proof == Proof::Response { Err(Outcome::Unknown) } else { expected };
            assert_eq!(result, expected, "{write:?} {loss:?}, {proof:?}");
        }
    }
}

/// A version guards a row against a late write only once the row has another version.
#[tokio::test(start_paused = true)]
async fn a_late_attempt_may_find_its_version() {
    for write in [Write::Merge, Write::Delete] {
        let Stage { mock, tag, .. } =
            stage(write, (Loss::BeforeCommit, Other::Nothing), false, false).await;
        let client = mock.client_builder();
        let client = client.retry(RetryPolicy::none()).try_timeout(Duration::from_secs(30));
        let table = client.build().unwrap().table_named("Blogs");
        mock.faults().add(Fault::delay_request(Duration::from_secs(45)).on_writes());
        let before = mock.client().table_named::<DynamicEntity>("Blogs").get(KEY).await.unwrap();
        let error = write.send(&table, tag).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{write:?}");
        let now = async || table.get_if_exists(KEY).await.unwrap().map(|row| row.etag);
        assert_eq!(now().await, Some(before.etag.clone()), "{write:?}: not yet");
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_ne!(now().await, Some(before.etag), "{write:?}: done");
    }
}

/// The table exists or is deleted, as requested.
#[tokio::test(start_paused = true)]
async fn duplicate_attempts_on_tables() {
    let Stage { table, .. } =
        stage(Write::Insert, (Loss::AfterCommit, Other::Nothing), false, false).await;
    assert!(
        table.delete_table().await.unwrap().confirmation
            != azure_table_client::Confirmation::Response
    );
    for loss in [Loss::AfterCommit, Loss::BeforeCommit] {
        let Stage { mock, .. } = stage(Write::Insert, (loss, Other::Nothing), false, false).await;
        mock.client().delete_table("Blogs").await.unwrap();
        let client = mock.client_builder().transport(lossy(&mock, (loss, Other::Nothing), false));
        let table = client.build().unwrap().table_named::<DynamicEntity>("Blogs");
        assert!(table.create_if_not_exists().await.unwrap(), "this call made it");
        assert!(!table.create_if_not_exists().await.unwrap());
    }
}
