//! Channels that are deleted and created again: the channel, the item of its deletion and a log of the steps are in one
//! partition, its blogs in another table.

use std::collections::BTreeMap;

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableClient, TableEntity, TableServiceClient};
use azure_table_patterns::Error;
use azure_table_patterns::outbox::{Item, Outbox};
use azure_table_tests::chaos::Report;

pub(super) const WORK: &str = "Work";
pub(super) const BLOGS: &str = "Blogs";
pub(super) const CHANNEL: &str = "channel";
const BLOGS_OF_A_CHANNEL: usize = 3;
/// The steps that are committed, and the last one, which deletes the item.
const STEPS: i32 = 3;

/// The deletion of one generation of a channel.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(super) struct Deletion {
    #[table(partition_key)]
    pub(super) channel: String,
    #[table(row_key)]
    pub(super) generation: u32,
    /// The last step that was applied.
    pub(super) step: i32,
    /// The request of the deletion.
    pub(super) request: i64,
}

pub(super) fn outbox(service: &TableServiceClient) -> Outbox<Deletion> {
    Outbox::new(&service.table_named::<DynamicEntity>(WORK), "delete").unwrap()
}

fn generation_of(row: &DynamicEntity) -> i64 {
    row.get("Generation").unwrap().unwrap()
}

/// Creates a channel with its blogs, without faults.
pub(super) fn create(mock: &MockTableService, channel: &str, generation: i64) {
    let row = DynamicEntity::new(channel, CHANNEL).with("Generation", generation);
    mock.seed(WORK, [&row.with("Deleted", false)]).unwrap();
    let blogs: Vec<_> = (0..BLOGS_OF_A_CHANNEL)
        .map(|at| DynamicEntity::new(channel, at.to_string()).with("Generation", generation))
        .collect();
    mock.seed(BLOGS, &blogs).unwrap();
}

/// Marks a channel as deleted, and enqueues the deletion of the rest. Nothing, if the channel does not exist or is marked.
pub(super) async fn request(
    service: &TableServiceClient,
    channel: &str,
    request: i64,
) -> Result<(), Error> {
    let table = service.table_named::<DynamicEntity>(WORK);
    let Some(found) = table.get_if_exists((channel, CHANNEL)).primary_only().await? else {
        return Ok(());
    };
    if found.get("Deleted") == Some(Ok(true)) {
        return Ok(());
    }
    let generation = u32::try_from(generation_of(&found)).unwrap();
    let deletion = Deletion { channel: channel.to_owned(), generation, step: 0, request };
    let marked = DynamicEntity::new(channel, CHANNEL).with("Deleted", true);
    let cause = table.transaction().merge(&marked, &found.etag);
    outbox(service).enqueue(cause, &deletion).await?;
    Ok(())
}

/// A row of the log, whose key no other call has: a step that is applied twice leaves two rows.
fn log(service: &TableServiceClient, item: &Item<Deletion>, step: i32) -> DynamicEntity {
    let id = service.clock().random_id().unwrap();
    let Deletion { channel, generation, request, .. } = &item.work;
    DynamicEntity::new(channel, format!("log-{generation:04}-{id}"))
        .with("Generation", i64::from(*generation))
        .with("Step", i64::from(step))
        .with("Token", item.token())
        .with("Request", *request)
}

/// Is called before each request of the steps.
pub(super) trait Pause: Send {
    fn pause(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
}

pub(super) struct NoPause;

impl Pause for NoPause {
    async fn pause(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The steps of a deletion.
pub(super) async fn steps(
    service: &TableServiceClient,
    item: &mut Item<Deletion>,
    chance: &mut impl Pause,
) -> Result<(), Error> {
    while item.work.step < STEPS - 1 {
        chance.pause().await?;
        item.work.step += 1;
        let log = log(service, item, item.work.step);
        item.commit(|transaction| transaction.insert(&log)).await?;
    }
    let blogs: TableClient<DynamicEntity> = service.table_named(BLOGS);
    loop {
        chance.pause().await?;
        let found = blogs.query().partition(&item.work.channel).primary_only().await?;
        if found.is_empty() {
            break;
        }
        chance.pause().await?;
        item.renew().await?;
        chance.pause().await?;
        let deletions = found.iter().fold(blogs.transaction(), |deletions, blog| {
            deletions.delete(blog.key(), blog.etag().unwrap())
        });
        match deletions.await {
            Err(error) if !error.is_not_found() && !error.is_precondition_failed() => Err(error)?,
            _ => {}
        }
    }
    chance.pause().await?;
    let table = service.table_named::<DynamicEntity>(WORK);
    let channel = table.get((&*item.work.channel, CHANNEL)).primary_only().await?;
    chance.pause().await?;
    let log = log(service, item, STEPS);
    item.finish(|end| end.delete(channel.key(), &channel.etag).insert(&log)).await
}

/// The state of a channel: its generation and whether it is marked, if it exists.
pub(super) fn channel(mock: &MockTableService, channel: &str) -> Option<(i64, bool)> {
    let row = mock.row(WORK, channel, CHANNEL)?;
    Some((generation_of(&row), row.get("Deleted").unwrap().unwrap()))
}

/// Checks one state of the rows of a channel, in which any number of requests may be in flight.
pub(super) fn check(report: &mut Report, mock: &MockTableService, name: &str) {
    let of_channel = |table| {
        let rows: Vec<DynamicEntity> = mock.rows(table).unwrap();
        rows.into_iter().filter(|row| row.key().partition_key == name).collect::<Vec<_>>()
    };
    let (rows, blogs) = (of_channel(WORK), of_channel(BLOGS));
    let state = channel(mock, name);
    let items: Vec<_> =
        rows.iter().filter(|row| row.key().row_key.starts_with("delete!")).collect();
    let marked = state.filter(|(_, is_marked)| *is_marked).map(|(generation, _)| generation);
    let has_item = marked.map(|generation| format!("delete!{generation:010}"));
    report.check(items.iter().map(|it| &it.key().row_key).eq(&has_item), || {
        format!("{name}: the channel is {state:?}, its items are {items:?}")
    });
    if let Some((generation, false)) = state {
        let own = blogs.iter().filter(|blog| generation_of(blog) == generation).count();
        report.check(own == BLOGS_OF_A_CHANNEL, || {
            format!("{name}: generation {generation} has {own} blogs")
        });
    }
    report.check(state.is_some() || blogs.is_empty(), || format!("{name}: blogs without channel"));
    check_log(report, name, &rows, marked);
}

/// Whether a step of the deletion was applied that this request has enqueued.
pub(super) fn has_run(mock: &MockTableService, channel: &str, request: i64) -> bool {
    let is_of_request = |row: &DynamicEntity| {
        row.key().partition_key == channel && row.get("Request") == Some(Ok(request))
    };
    mock.rows(WORK).unwrap().iter().any(is_of_request)
}

/// Checks that the steps of each generation were applied once, in order, and under tokens that do not become older.
fn check_log(report: &mut Report, name: &str, rows: &[DynamicEntity], marked: Option<i64>) {
    let mut logs: BTreeMap<i64, Vec<_>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.key().row_key.starts_with("log-")) {
        let field = |name: &str| row.get::<i64>(name).unwrap().unwrap();
        let entry = (row.timestamp().unwrap(), field("Step"), field("Token"));
        logs.entry(generation_of(row)).or_default().push(entry);
    }
    for (generation, mut log) in logs {
        log.sort();
        let steps: Vec<_> = log.iter().map(|(_, step, _)| *step).collect();
        let is_done = marked != Some(generation);
        let all: Vec<_> = (1..=i64::from(STEPS)).collect();
        let is_valid = if is_done { steps == all } else { all.starts_with(&steps) };
        report.check(is_valid, || format!("{name} {generation}: the steps were {steps:?}"));
        report.check(log.is_sorted_by_key(|(.., token)| *token), || {
            format!("{name} {generation}: an older token after a newer one: {log:?}")
        });
    }
}
