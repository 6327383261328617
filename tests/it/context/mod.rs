//! The unit of work: every cell of its tables, and the requests that it sends.

mod cancel;
mod conflicts;
mod data_service_context;
mod earlier_attempts;
mod find;
mod losses;
mod merge_options;
mod model;
mod open_changes;
mod programs;
mod proof;
mod proved_earlier;
mod replace;
mod saves;
mod scenarios;
mod transitions;

use azure_table_client::context::{EntityState, TableContext};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableClient, TableEntity};

const KEY: (&str, &str) = ("c", "1");

/// A blog of a channel.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
    rating: Option<i32>,
}

fn blog(id: &str, text: &str) -> Blog {
    Blog { channel: "c".into(), id: id.into(), text: text.into(), rating: Some(3) }
}

/// A service with an empty table.
async fn service() -> (MockTableService, TableClient<Blog>) {
    let mock = MockTableService::new();
    let blogs = mock.client().table::<Blog>();
    blogs.create().await.unwrap();
    (mock, blogs)
}

fn context(mock: &MockTableService) -> TableContext {
    TableContext::new(&mock.client())
}

/// The states of an entity before a call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Start {
    NotTracked,
    Added,
    Unchanged,
    Modified,
    Deleted,
}

const STARTS: [Start; 5] =
    [Start::NotTracked, Start::Added, Start::Unchanged, Start::Modified, Start::Deleted];

/// A context that has the blog "1" in this state; the service has it unless the state is added.
async fn in_state(
    mock: &MockTableService,
    blogs: &TableClient<Blog>,
    start: Start,
) -> TableContext {
    let mut ctx = context(mock);
    blogs.delete_if_exists(("c", "1"), azure_table_client::IfMatch::Any).await.unwrap();
    if start == Start::Added {
        ctx.add(&blog("1", "old")).unwrap();
        return ctx;
    }
    blogs.insert(&blog("1", "old")).await.unwrap();
    if start == Start::NotTracked {
        return ctx;
    }
    let read = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap().remove(0);
    match start {
        Start::Modified => ctx.update(&blog("1", "local")).unwrap(),
        Start::Deleted => ctx.delete(&read).unwrap(),
        _ => {}
    }
    ctx
}

fn state(ctx: &TableContext) -> Option<EntityState> {
    ctx.entry(&blog("1", "")).unwrap().map(|entry| entry.state())
}

fn stored(mock: &MockTableService) -> TableClient<DynamicEntity> {
    mock.client().table_named("Blogs")
}
