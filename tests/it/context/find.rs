//! Finding and refreshing entities.

use std::sync::{Arc, Mutex};

use azure_table_client::context::{
    ConflictResolver, EntityState, MergeOption, Resolution, SaveOptions, TableContext,
};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{ErrorKind, IfMatch, Operation, RetryPolicy, TableEntity};

use super::{Blog, KEY, STARTS, Start, blog, context, in_state, service, state};

use EntityState::{Added, Deleted, Modified, Unchanged};

#[derive(Debug, TableEntity)]
#[table(name = "Blogs")]
struct Numbered {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: u32,
}

fn condition(ctx: &TableContext) -> Option<IfMatch> {
    ctx.entry(&blog("1", "")).unwrap().and_then(|entry| entry.condition().cloned())
}

#[tokio::test]
async fn find_returns_tracked_entities_without_a_request() {
    let (mock, blogs) = service().await;
    for (start, text) in [
        (Start::NotTracked, Some("old")),
        (Start::Added, Some("old")),
        (Start::Unchanged, Some("old")),
        (Start::Modified, Some("local")),
        (Start::Deleted, None),
    ] {
        let mut ctx = in_state(&mock, &blogs, start).await;
        let before = state(&ctx);
        mock.requests().clear();
        let found = ctx.find::<Blog>(KEY).await.unwrap();
        assert_eq!(found.map(|blog| blog.text).as_deref(), text, "{start:?}");
        let requests = usize::from(start == Start::NotTracked);
        assert_eq!(mock.requests().total(), requests, "{start:?}");
        assert_eq!(mock.requests().count(Operation::Get), requests, "{start:?}");
        assert_eq!(state(&ctx), before.or(Some(Unchanged)), "{start:?}");
    }
}

/// Other merge options read the row and treat it like a query does.
#[tokio::test]
async fn find_follows_the_merge_option() {
    let (mock, blogs) = service().await;
    let mut cells = 0;
    for option in
        [MergeOption::NoTracking, MergeOption::OverwriteChanges, MergeOption::PreserveChanges]
    {
        for start in STARTS {
            let what = format!("{option:?} on {start:?}");
            let mut queried = in_state(&mock, &blogs, start).await.merge_option(option);
            let mut found = in_state(&mock, &blogs, start).await.merge_option(option);
            let new = blogs.insert_or_replace(&blog("1", "server")).await.unwrap().etag;
            let expected =
                queried.load(queried.service().table::<Blog>().query()).await.unwrap().pop();
            let is_hidden = option == MergeOption::PreserveChanges && start == Start::Deleted;
            let expected = expected.filter(|_| !is_hidden);
            assert_eq!(found.find::<Blog>(KEY).await.unwrap(), expected, "{what}");
            assert_eq!(state(&found), state(&queried), "{what}");
            let is_new = |ctx: &TableContext| condition(ctx) == Some(new.clone().into());
            assert_eq!(is_new(&found), is_new(&queried), "{what}");
            // A deleted row changes nothing.
            blogs.delete(KEY, IfMatch::Any).await.unwrap();
            assert_eq!(found.find::<Blog>(KEY).await.unwrap(), None, "{what}");
            assert_eq!(state(&found), state(&queried), "{what}");
            cells += 1;
        }
    }
    assert_eq!(cells, 15);
}

#[tokio::test]
async fn find_completes_a_projection() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let mut ctx = context(&mock);
    ctx.load(ctx.service().table::<Blog>().query().select_names(["Text"])).await.unwrap();
    let found = ctx.find::<Blog>(KEY).await.unwrap();
    assert_eq!(found.unwrap().rating, Some(3));
    mock.requests().clear();
    ctx.find::<Blog>(KEY).await.unwrap();
    assert_eq!(mock.requests().total(), 0, "now it is complete");
}

/// A found entity is saved like a queried one; for a missing row or a foreign key, the result is
/// `None`.
#[tokio::test]
async fn find_reads_like_get() {
    let (mock, blogs) = service().await;
    let mut ctx = context(&mock);
    assert_eq!(ctx.find::<Blog>(KEY).await.unwrap(), None);
    assert!(ctx.entries().is_empty());
    blogs.insert(&blog("1", "old")).await.unwrap();
    assert!(ctx.find::<Blog>(KEY).await.unwrap().is_some());
    ctx.update(&blog("1", "new")).unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(blogs.get(KEY).await.unwrap().text, "new");

    mock.requests().clear();
    let expected = mock.client().table::<Numbered>().get(KEY).await.unwrap_err();
    for error in [
        ctx.find::<Numbered>(KEY).await.unwrap_err(),
        ctx.table::<Numbered>().refresh_key(KEY, MergeOption::AppendOnly).await.unwrap_err(),
    ] {
        assert_eq!(error.to_string(), expected.to_string());
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(mock.requests().total(), 0);
    let error = ctx.table_named::<Blog>("Missing").find(KEY).await.unwrap_err();
    assert!(error.is_not_found(), "a missing table is an error");
}

/// The text and the state after a refresh.
type Cell = (Option<&'static str>, Option<EntityState>);

/// The service's text is "server", the local one "local". Columns: option, whether the row exists,
/// then the states of [`STARTS`].
const REFRESH: [(MergeOption, bool, [Cell; 5]); 6] = [
    (
        MergeOption::AppendOnly,
        true,
        [
            (Some("server"), Some(Unchanged)),
            (Some("old"), Some(Added)),
            (Some("old"), Some(Unchanged)),
            (Some("local"), Some(Modified)),
            (Some("old"), Some(Deleted)),
        ],
    ),
    (
        MergeOption::OverwriteChanges,
        true,
        [
            (Some("server"), Some(Unchanged)),
            (Some("server"), Some(Unchanged)),
            (Some("server"), Some(Unchanged)),
            (Some("server"), Some(Unchanged)),
            (Some("server"), Some(Unchanged)),
        ],
    ),
    (
        MergeOption::PreserveChanges,
        true,
        [
            (Some("server"), Some(Unchanged)),
            (Some("old"), Some(Modified)),
            (Some("server"), Some(Unchanged)),
            (Some("local"), Some(Modified)),
            (Some("server"), Some(Deleted)),
        ],
    ),
    (
        MergeOption::AppendOnly,
        false,
        [
            (None, None),
            (None, Some(Added)),
            (None, Some(Unchanged)),
            (None, Some(Modified)),
            (None, Some(Deleted)),
        ],
    ),
    (
        MergeOption::OverwriteChanges,
        false,
        [(None, None), (None, None), (None, None), (None, None), (None, None)],
    ),
    (
        MergeOption::PreserveChanges,
        false,
        [(None, None), (None, Some(Added)), (None, None), (None, Some(Added)), (None, None)],
    ),
];

#[tokio::test]
async fn every_cell_of_refresh() {
    let (mock, blogs) = service().await;
    for (option, is_there, cells) in REFRESH {
        for (start, (text, then)) in STARTS.into_iter().zip(cells) {
            let what = format!("{option:?} on {start:?}, row there: {is_there}");
            let mut ctx = in_state(&mock, &blogs, start).await;
            let old = condition(&ctx);
            let server = blogs.insert_or_replace(&blog("1", "server")).await.unwrap();
            if !is_there {
                blogs.delete(KEY, IfMatch::Any).await.unwrap();
            }
            let found = ctx.refresh(&blog("1", ""), option).await.unwrap();
            assert_eq!(found.map(|blog| blog.text).as_deref(), text, "{what}");
            assert_eq!(state(&ctx), then, "{what}");
            let is_kept = option == MergeOption::AppendOnly && start != Start::NotTracked;
            let expected = match then {
                _ if is_kept => old,
                None | Some(Added) => None,
                Some(_) => Some(IfMatch::Tag(server.etag)),
            };
            assert_eq!(condition(&ctx), expected, "{what}");
            // With PreserveChanges, the next save writes the local change.
            if option == MergeOption::PreserveChanges {
                ctx.save_changes().await.unwrap();
                let expected = match start {
                    Start::Modified => Some("local"),
                    Start::Added => Some("old"),
                    Start::Deleted => None,
                    _ => is_there.then_some("server"),
                };
                let stored = blogs.get_if_exists(KEY).await.unwrap().map(|b| b.into_inner().text);
                assert_eq!(stored.as_deref(), expected, "{what}");
            }
        }
    }
}

#[tokio::test]
async fn refresh_refuses_no_tracking() {
    let (mock, blogs) = service().await;
    let mut ctx = in_state(&mock, &blogs, Start::Modified).await;
    mock.requests().clear();
    let error = ctx.refresh(&blog("1", ""), MergeOption::NoTracking).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!((mock.requests().total(), state(&ctx)), (0, Some(Modified)));
}

/// The reply to the save and the reads after it are lost.
async fn with_unknown_outcome(mock: &MockTableService) -> TableContext {
    let client = mock.client_builder();
    let mut ctx = TableContext::new(&client.retry(RetryPolicy::none()).build().unwrap());
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "local")).unwrap();
    mock.faults().add(Fault::lose_reply().on_writes());
    mock.faults().add(Fault::error(500, "InternalError").on_reads());
    let options = SaveOptions::each().on_conflict(ConflictResolver::client_wins());
    let error = ctx.save_changes_with(options).await.unwrap_err();
    assert_eq!(error.report.unknown().count(), 1);
    assert_eq!(error.report.failures().count(), 1);
    mock.faults().clear();
    ctx
}

#[tokio::test]
async fn unknown_outcomes_are_not_overwritten() {
    for (option, is_there) in [
        (MergeOption::OverwriteChanges, true),
        (MergeOption::PreserveChanges, true),
        (MergeOption::OverwriteChanges, false),
        (MergeOption::PreserveChanges, false),
    ] {
        let (mock, blogs) = service().await;
        blogs.insert(&blog("1", "old")).await.unwrap();
        let mut ctx = with_unknown_outcome(&mock).await;
        if is_there {
            blogs.replace(&blog("1", "server"), IfMatch::Any).await.unwrap();
        } else {
            blogs.delete(KEY, IfMatch::Any).await.unwrap();
        }
        ctx.refresh(&blog("1", ""), option).await.unwrap();
        assert_eq!(state(&ctx), Some(EntityState::Unknown), "{option:?}");
        // The next save must not treat its own earlier write as a conflict.
        let calls = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&calls);
        let resolver = ConflictResolver::merge(move |_| {
            *counted.lock().unwrap() += 1;
            Resolution::KeepLocal
        });
        let saved = ctx.save_changes_with(SaveOptions::each().on_conflict(resolver)).await;
        assert!(saved.is_err(), "{option:?}: {saved:?}");
        assert_eq!(*calls.lock().unwrap(), 0);
        let stored = blogs.get_if_exists(KEY).await.unwrap().map(|b| b.into_inner().text);
        assert_eq!(stored.as_deref(), is_there.then_some("server"), "{option:?}");
    }
}
