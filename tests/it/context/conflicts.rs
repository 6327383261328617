//! Resolving the conflicts of a save.

use std::sync::{Arc, Mutex};

use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{
    ConflictResolver, EntityState, Resolution, SaveOptions, TableContext,
};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::transport::{HttpRequest, Transport};
use azure_table_client::{DynamicEntity, ErrorKind, IfMatch, RetryPolicy, Stored, TableClient};
use azure_table_tests::scripted::{Scripted, Step, in_turn, on};

use super::{Blog, KEY, Start, blog, context, in_state, service, state, stored};
use EntityState::{Modified, Unchanged};

/// A context whose requests go through a transport.
fn context_over(mock: &MockTableService, transport: Arc<dyn Transport>) -> TableContext {
    let client = mock.client_builder().transport(transport);
    TableContext::new(&client.retry(RetryPolicy::none()).build().unwrap())
}

const MODES: [fn() -> SaveOptions; 3] =
    [SaveOptions::each, SaveOptions::atomic, SaveOptions::per_partition];

/// The three kinds of conflicting changes, and a change without a conflict after them.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Insert,
    Update,
    UpdateOfGone,
    Delete,
    DeleteOfGone,
}

const KINDS: [Kind; 5] =
    [Kind::Insert, Kind::Update, Kind::UpdateOfGone, Kind::Delete, Kind::DeleteOfGone];

async fn in_conflict(
    mock: &MockTableService,
    blogs: &TableClient<Blog>,
    kind: Kind,
) -> TableContext {
    blogs.delete_if_exists(("c", "2"), IfMatch::Any).await.unwrap();
    let start = match kind {
        Kind::Insert => Start::Added,
        Kind::Update | Kind::UpdateOfGone => Start::Modified,
        Kind::Delete | Kind::DeleteOfGone => Start::Deleted,
    };
    let mut ctx = in_state(mock, blogs, start).await;
    ctx.add(&blog("2", "innocent")).unwrap();
    if matches!(kind, Kind::UpdateOfGone | Kind::DeleteOfGone) {
        blogs.delete(KEY, IfMatch::Any).await.unwrap();
    } else {
        let server = Blog { rating: Some(9), ..blog("1", "server") };
        blogs.insert_or_replace(&server).await.unwrap();
    }
    ctx
}

async fn row(blogs: &TableClient<Blog>) -> Option<(String, Option<i32>)> {
    let found = blogs.get_if_exists(KEY).await.unwrap();
    found.map(Stored::into_inner).map(|blog| (blog.text, blog.rating))
}

/// Without a resolver, and with one that aborts: the change fails and stays pending.
#[tokio::test]
async fn abort_is_the_default() {
    let (mock, blogs) = service().await;
    for mode in MODES {
        for kind in KINDS {
            for options in [
                mode(),
                mode().on_conflict(ConflictResolver::abort()),
                mode().on_conflict(ConflictResolver::merge(|_| Resolution::Abort)),
            ] {
                let what = format!("{kind:?}, {options:?}");
                let mut ctx = in_conflict(&mock, &blogs, kind).await;
                let (before, server) = (state(&ctx), row(&blogs).await);
                let error = ctx.save_changes_with(options).await.unwrap_err();
                assert_eq!((error.report.failed(), error.report.not_attempted()), (1, 1), "{what}");
                assert_eq!(error.report.failures().count(), 2, "{what}");
                assert_eq!(row(&blogs).await, server, "{what}");
                assert_eq!(state(&ctx), before, "{what}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_client_wins() {
    let (mock, blogs) = service().await;
    for mode in MODES {
        for kind in KINDS {
            let mut ctx = in_conflict(&mock, &blogs, kind).await;
            let options = mode().on_conflict(ConflictResolver::client_wins());
            let what = format!("{kind:?}, {options:?}");
            let report = ctx.save_changes_with(options).await.unwrap();
            let expected = match kind {
                Kind::Insert => Some(("old".to_owned(), Some(3))),
                // The rating of the other writer stays.
                Kind::Update => Some(("local".to_owned(), Some(9))),
                Kind::UpdateOfGone => Some(("local".to_owned(), Some(3))),
                Kind::Delete | Kind::DeleteOfGone => None,
            };
            assert_eq!(row(&blogs).await, expected, "{what}");
            assert_eq!(report.results.len(), 2, "{what}");
            // The row is deleted already, so nothing is left to delete.
            let discarded = usize::from(kind == Kind::DeleteOfGone);
            assert_eq!(report.discarded().count(), discarded, "{what}");
            assert_eq!(report.applied(), 2 - discarded, "{what}");
            assert!(!ctx.has_changes(), "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_wins() {
    let (mock, blogs) = service().await;
    for mode in MODES {
        for kind in KINDS {
            let mut ctx = in_conflict(&mock, &blogs, kind).await;
            let server = row(&blogs).await;
            let options = mode().on_conflict(ConflictResolver::server_wins());
            let what = format!("{kind:?}, {options:?}");
            let report = ctx.save_changes_with(options).await.unwrap();
            let text = report.to_string();
            assert_eq!(
                text, "1 applied, 0 failed, 0 not attempted, 0 unknown, 1 discarded",
                "{what}"
            );
            assert!(!report.is_complete() && report.error().is_none(), "{what}");
            assert_eq!(row(&blogs).await, server, "{what}");
            let result = report.discarded().next().unwrap();
            assert_eq!(
                (&*result.key.as_ref().unwrap().row_key, &*result.table),
                ("1", "Blogs"),
                "{what}"
            );
            assert!(
                matches!(&result.outcome, WriteOutcome::Discarded(error) if error.status().is_some())
            );
            assert_eq!(state(&ctx), server.map(|_| Unchanged), "{what}");
            assert_eq!(ctx.last_report().results.len(), 2);
            assert!(!ctx.has_changes(), "{what}");
        }
    }
}

/// The closure sees three versions, and the save writes its result.
#[tokio::test(start_paused = true)]
async fn a_closure_merges() {
    let (mock, blogs) = service().await;
    for mode in MODES {
        for kind in KINDS {
            let mut ctx = in_conflict(&mock, &blogs, kind).await;
            let what = format!("{kind:?}");
            let resolver = ConflictResolver::merge(move |conflict| {
                let text = |e: Option<&DynamicEntity>| {
                    e.map(|e| e.get::<String>("Text").unwrap().unwrap())
                };
                let seen =
                    (text(conflict.original()), text(conflict.local()), text(conflict.server()));
                let (old, server) = (Some("old".to_owned()), Some("server".to_owned()));
                let expected = match kind {
                    Kind::Insert => (None, old, server),
                    Kind::Update => (old, Some("local".to_owned()), server),
                    Kind::UpdateOfGone => (old, Some("local".to_owned()), None),
                    Kind::Delete => (old, None, server),
                    Kind::DeleteOfGone => (old, None, None),
                };
                assert_eq!(seen, expected, "{kind:?}");
                assert_eq!((conflict.round(), conflict.table()), (1, "Blogs"));
                let mut merged = DynamicEntity::new("c", "1");
                merged.set("Text", "merged").set("Foreign", true);
                Resolution::Save(merged)
            });
            let report = ctx.save_changes_with(mode().on_conflict(resolver)).await.unwrap();
            assert_eq!((report.applied(), report.results.len()), (2, 2), "{what}");
            assert_eq!(
                &*report.results[0].key.as_ref().unwrap().row_key,
                "1",
                "the changes keep their order"
            );
            let stored = stored(&mock).get(KEY).await.unwrap();
            // The merged entity lacks the rating, so the save removes it.
            assert_eq!(stored.properties().count(), 2, "{what}: {stored:?}");
            assert_eq!(stored.get::<String>("Text").unwrap().unwrap(), "merged", "{what}");
            assert_eq!(state(&ctx), Some(Unchanged), "{what}");
        }
    }
}

#[tokio::test]
async fn a_merged_entity_has_the_key_of_the_conflict() {
    let (mock, blogs) = service().await;
    let mut ctx = in_conflict(&mock, &blogs, Kind::Update).await;
    let resolver = ConflictResolver::merge(|_| Resolution::Save(DynamicEntity::new("c", "other")));
    let options = SaveOptions::each().on_conflict(resolver);
    let error = ctx.save_changes_with(options).await.unwrap_err();
    assert_eq!(error.error.kind(), ErrorKind::InvalidInput);
    assert_eq!(state(&ctx), Some(Modified), "the local change is kept");
    assert_eq!(ctx.entry(&blog("1", "")).unwrap().unwrap().changed(), ["Text"]);
}

/// If the other writer made the same update, nothing is sent.
#[tokio::test]
async fn an_equal_change_is_discarded() {
    let (mock, blogs) = service().await;
    let mut ctx = in_state(&mock, &blogs, Start::Modified).await;
    blogs.insert_or_replace(&blog("1", "local")).await.unwrap();
    let options = SaveOptions::each().on_conflict(ConflictResolver::client_wins());
    let report = ctx.save_changes_with(options).await.unwrap();
    assert_eq!((report.applied(), report.discarded().count()), (0, 1));
}

/// Writes the row before each of these updates from the client.
fn racing(mock: &MockTableService, races: u32) -> Arc<Scripted> {
    let blogs = mock.client().table::<Blog>();
    let races = (0..races).map(move |_| {
        let blogs = blogs.clone();
        Step::pass().after(async move {
            blogs.update_with(KEY, |b| b.rating = b.rating.map(|r| r + 1)).await.unwrap();
        })
    });
    let is_update = |request: &HttpRequest| request.headers.contains_key("if-match");
    Scripted::new(mock.transport(), on(is_update, in_turn(races)))
}

#[tokio::test(start_paused = true)]
async fn the_rounds_are_bounded() {
    for (rounds, races, is_saved) in [
        (None, 3, true),
        (None, 4, false),
        (Some(1), 2, false),
        (Some(0), 1, false),
        (Some(9), 9, true),
    ] {
        let (mock, blogs) = service().await;
        blogs.insert(&blog("1", "old")).await.unwrap();
        let mut ctx = context_over(&mock, racing(&mock, races));
        ctx.find::<Blog>(KEY).await.unwrap();
        ctx.update(&blog("1", "local")).unwrap();
        let resolver = ConflictResolver::client_wins();
        let resolver = rounds.map_or(resolver.clone(), |rounds| resolver.rounds(rounds));
        let saved = ctx.save_changes_with(SaveOptions::each().on_conflict(resolver)).await;
        let what = format!("{rounds:?}, {races}");
        assert_eq!(saved.is_ok(), is_saved, "{what}: {saved:?}");
        let stored = blogs.get(KEY).await.unwrap();
        assert_eq!(
            stored.rating,
            Some(3 + i32::try_from(races).unwrap()),
            "{what}: no race is lost"
        );
        match saved {
            Ok(report) => assert_eq!((report.results.len(), &*stored.text), (1, "local"), "{what}"),
            Err(error) => {
                assert!(error.error.is_precondition_failed(), "{what}");
                assert_eq!(error.error.rounds(), rounds.unwrap_or(3), "{what}");
                assert_eq!((error.report.results.len(), &*stored.text), (1, "old"), "{what}");
                assert_eq!(state(&ctx), Some(Modified), "{what}");
            }
        }
    }
}

/// The limit applies to each change: a save of many conflicts resolves all of them.
#[tokio::test(start_paused = true)]
async fn many_conflicts_are_resolved() {
    for mode in MODES {
        let (mock, blogs) = service().await;
        let ids = ["1", "2", "3", "4", "5", "6"];
        for id in ids {
            blogs.insert(&blog(id, "old")).await.unwrap();
        }
        let mut ctx = context(&mock);
        ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
        for id in ids {
            ctx.update(&blog(id, "local")).unwrap();
            blogs
                .merge(&Blog { rating: Some(9), ..blog(id, "server") }, IfMatch::Any)
                .await
                .unwrap();
        }
        let options = mode().on_conflict(ConflictResolver::client_wins());
        let report = ctx.save_changes_with(options).await.unwrap();
        assert_eq!((report.applied(), report.results.len()), (6, 6));
        for id in ids {
            assert_eq!(
                *blogs.get(("c", id)).await.unwrap(),
                Blog { rating: Some(9), ..blog(id, "local") }
            );
        }
    }
}

/// With `continue_on_error`, another failure does not stop the resolution of conflicts and is not
/// retried; in a transaction, it holds back the other changes of its partition.
#[tokio::test(start_paused = true)]
async fn other_failures_are_not_retried() {
    for (mode, applied) in [
        (SaveOptions::each as fn() -> SaveOptions, ["server", "local", "local"]),
        (SaveOptions::per_partition, ["server", "server", "local"]),
    ] {
        let (mock, blogs) = service().await;
        let all = [("c", "1"), ("c", "2"), ("d", "1")];
        let at = |(channel, id): (&str, &str), text: &str| Blog {
            channel: channel.into(),
            ..blog(id, text)
        };
        for key in all {
            blogs.insert(&at(key, "old")).await.unwrap();
        }
        let mut ctx = context(&mock);
        ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
        for key in all {
            ctx.update(&at(key, "local")).unwrap();
            blogs.replace(&at(key, "server"), IfMatch::Any).await.unwrap();
        }
        let refusals = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&refusals);
        let resolver = ConflictResolver::merge(move |conflict| {
            seen.lock().unwrap().push(conflict.key().clone());
            let is_first = &*conflict.key().row_key == "1" && &*conflict.key().partition_key == "c";
            if is_first { Resolution::Abort } else { Resolution::KeepLocal }
        });
        let options = mode().continue_on_error().on_conflict(resolver);
        let error = ctx.save_changes_with(options).await.unwrap_err();
        assert_eq!(error.report.results.len(), 3, "{}", error.report);
        assert_eq!(error.report.failed(), 1, "{}", error.report);
        for (key, text) in all.into_iter().zip(applied) {
            assert_eq!(blogs.get(key).await.unwrap().text, text, "{key:?}");
        }
        let keys = refusals.lock().unwrap();
        assert_eq!(keys.iter().filter(|key| **key == all[0].into()).count(), 1, "{keys:?}");
    }
}

/// An unreadable row leaves the conflict unresolved; the error names the reason.
#[tokio::test]
async fn an_unreadable_row_is_not_overwritten() {
    let (mock, blogs) = service().await;
    let mut ctx = in_conflict(&mock, &blogs, Kind::Update).await;
    mock.faults().add(Fault::error(403, "AuthorizationFailure").on_reads());
    let options = SaveOptions::each().on_conflict(ConflictResolver::client_wins());
    let error = ctx.save_changes_with(options).await.unwrap_err();
    assert!(error.error.is_precondition_failed());
    assert!(error.error.hint().unwrap().contains("AuthorizationFailure"), "{}", error.error);
    assert_eq!(state(&ctx), Some(Modified));
    mock.faults().clear();
    assert_eq!(row(&blogs).await.unwrap().0, "server");
}

/// Other refusals are not conflicts, even with the same status.
#[tokio::test]
async fn only_conflicts_are_resolved() {
    for fault in [
        Fault::error(409, "TableBeingDeleted"),
        Fault::error(404, "TableNotFound"),
        Fault::error(400, "InvalidInput"),
        Fault::proxy_page(412),
        Fault::proxy_page(404),
    ] {
        let (mock, blogs) = service().await;
        let what = format!("{fault:?}");
        let mut ctx = in_state(&mock, &blogs, Start::Modified).await;
        mock.faults().add(fault.on_writes());
        let resolver = ConflictResolver::merge(|conflict| panic!("{conflict:?}"));
        let options = SaveOptions::each().on_conflict(resolver);
        let error = ctx.save_changes_with(options).await.unwrap_err();
        assert_eq!(error.report.failures().count(), 1, "{what}");
    }
}

/// The report of a save that is dropped between its rounds has the results of all rounds.
#[tokio::test(start_paused = true)]
async fn a_dropped_save_keeps_its_report() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let mut ctx = context_over(&mock, racing(&mock, u32::MAX));
    ctx.find::<Blog>(KEY).await.unwrap();
    ctx.add(&blog("0", "first")).unwrap();
    ctx.update(&blog("1", "local")).unwrap();
    let resolver = ConflictResolver::client_wins().rounds(u32::MAX);
    let save = ctx.save_changes_with(SaveOptions::each().on_conflict(resolver));
    let limit = std::time::Duration::from_secs(10);
    assert!(tokio::time::timeout(limit, save).await.is_err());
    let report = ctx.last_report();
    assert_eq!((report.results.len(), report.applied()), (2, 1), "{report}");
}
