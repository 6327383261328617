//! A save that is dropped at any await point, and saves whose replies are lost.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use azure_table_client::context::{ConflictResolver, EntityState, SaveOptions, TableContext};
use azure_table_client::mock::Fault;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::TransportErrorKind;
use azure_table_client::{IfMatch, Proof, RetryPolicy, TableClient, TableServiceClient};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_write, on};

use super::{Blog, blog, context, service};

/// One change of each kind in a partition: 1 is updated, 2 deleted, 3 and 4 are new.
async fn changed(blogs: &TableClient<Blog>, ctx: &mut TableContext) {
    for id in ["1", "2"] {
        blogs.insert(&blog(id, "old")).await.unwrap();
    }
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "new")).unwrap();
    ctx.delete(&blog("2", "")).unwrap();
    ctx.add(&blog("3", "new")).unwrap();
    ctx.table::<Blog>().add_or_replace(&blog("4", "new")).unwrap();
}

async fn texts(blogs: &TableClient<Blog>) -> Vec<(String, String)> {
    blogs.query().select(|b| (b.id, b.text)).await.unwrap().into_vec()
}

fn done() -> Vec<(String, String)> {
    ["1", "3", "4"].map(|id| (id.to_owned(), "new".to_owned())).to_vec()
}

/// The tracker's state of each entity matches the service.
async fn check(ctx: &TableContext, blogs: &TableClient<Blog>, what: &str) {
    let stored = texts(blogs).await;
    let text = |id: &str| stored.iter().find(|row| row.0 == id).map(|row| row.1.as_str());
    for (id, before, after) in [
        ("1", Some("old"), Some("new")),
        ("2", Some("old"), None),
        ("3", None, Some("new")),
        ("4", None, Some("new")),
    ] {
        let entry = ctx.entry(&blog(id, "")).unwrap();
        match entry.map(|entry| entry.state()) {
            None | Some(EntityState::Unchanged) => assert_eq!(text(id), after, "{what}: {id}"),
            Some(EntityState::Unknown) => {
                assert!(text(id) == before || text(id) == after, "{what}: {id}");
            }
            Some(_) => assert_eq!(text(id), before, "{what}: {id}"),
        }
    }
}

#[tokio::test]
async fn dropped_after_every_poll() {
    let mut points = 0;
    for options in [SaveOptions::each(), SaveOptions::atomic(), SaveOptions::per_partition()] {
        let options = options.proof(Proof::MatchingUpdate);
        for polls in 0.. {
            let (mock, blogs) = service().await;
            let mut ctx = context(&mock);
            changed(&blogs, &mut ctx).await;
            let mut is_done = false;
            {
                let mut save = Box::pin(ctx.save_changes_with(options.clone()));
                for _ in 0..polls {
                    if let Poll::Ready(report) = futures_util::poll!(save.as_mut()) {
                        assert!(report.unwrap().is_complete());
                        is_done = true;
                        break;
                    }
                }
            }
            let what = format!("{options:?} after {polls} polls");
            check(&ctx, &blogs, &what).await;
            // The next save applies all changes, and none twice.
            if !is_done {
                let report = ctx.save_changes_with(options.clone()).await.unwrap();
                assert!(report.is_complete(), "{what}: {report}");
            }
            assert_eq!(texts(&blogs).await, done(), "{what}");
            assert!(!ctx.has_changes(), "{what}");
            points += 1;
            if is_done {
                break;
            }
        }
    }
    println!("{points} points");
    assert!(points > 20, "only {points} points were tested");
}

/// A client that loses the reply of this write, from 1, before or after the write is applied.
fn lossy(mock: &MockTableService, at: usize, after: bool) -> TableServiceClient {
    let passes = (1..at).map(|_| Step::pass());
    let lost = if after { Step::lose_reply() } else { Step::fail(TransportErrorKind::Interrupted) };
    let script = on(is_write, in_turn(passes.chain([lost])));
    let transport = Scripted::new(mock.transport(), script);
    mock.client_builder().transport(transport).retry(RetryPolicy::none()).build().unwrap()
}

/// A lost reply is not a failure if the change was applied; otherwise the change is applied once.
#[tokio::test]
async fn lost_replies() {
    for options in [
        SaveOptions::each().continue_on_error(),
        SaveOptions::atomic(),
        SaveOptions::per_partition(),
    ] {
        let options = options.proof(Proof::MatchingUpdate);
        for at in 1..=4 {
            for after in [true, false] {
                let (mock, blogs) = service().await;
                let mut ctx = TableContext::new(&lossy(&mock, at, after));
                changed(&blogs, &mut ctx).await;
                let what = format!("{options:?}, request {at}, after it was done: {after}");
                let first = ctx.save_changes_with(options.clone()).await;
                check(&ctx, &blogs, &what).await;
                if after {
                    assert!(first.unwrap().is_complete(), "{what}: read back");
                } else if let Err(error) = first {
                    // Changes guarded by a version were not applied; the others may yet be.
                    assert!(
                        error.report.unknown().count() + error.report.failed() > 0,
                        "{what}: {error}"
                    );
                    ctx.save_changes_with(options.clone()).await.unwrap();
                }
                assert_eq!(texts(&blogs).await, done(), "{what}");
                assert!(!ctx.has_changes(), "{what}");
            }
        }
    }
}

/// While reads fail too, the outcome stays unknown, and later changes wait for its resolution.
#[tokio::test(start_paused = true)]
async fn later_changes_wait_for_an_unknown_outcome() {
    let accepting = || SaveOptions::each().proof(Proof::MatchingUpdate);
    for after in [true, false] {
        let (mock, blogs) = service().await;
        let mut ctx = TableContext::new(&lossy(&mock, 1, after));
        blogs.insert(&blog("1", "old")).await.unwrap();
        ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
        ctx.update(&blog("1", "new")).unwrap();
        {
            // Dropped while the request is in flight.
            let mut save = Box::pin(ctx.save_changes());
            let _ = futures_util::poll!(save.as_mut());
        }
        assert_eq!(ctx.entry(&blog("1", "")).unwrap().unwrap().state(), EntityState::Unknown);
        ctx.update(&blog("1", "newer")).unwrap();
        assert_eq!(ctx.entry(&blog("1", "")).unwrap().unwrap().state(), EntityState::Unknown);
        assert!(ctx.reset(&blog("1", "")).is_err());
        assert!(ctx.add(&blog("1", "")).is_err());
        while ctx.has_changes() {
            let _ = ctx.save_changes_with(accepting()).await;
        }
        assert_eq!(texts(&blogs).await, [("1".to_owned(), "newer".to_owned())]);
        // A new entity that is deleted while its insert is unknown.
        let mut ctx = TableContext::new(&lossy(&mock, 1, after));
        ctx.add(&blog("2", "new")).unwrap();
        {
            let mut save = Box::pin(ctx.save_changes());
            let _ = futures_util::poll!(save.as_mut());
        }
        ctx.delete(&blog("2", "")).unwrap();
        // The request may still arrive, until the service would refuse it as too old.
        let error = ctx.save_changes().await.unwrap_err();
        assert_eq!(error.report.unknown().count(), 1);
        // A retry may have been sent up to the deadline of 5 minutes, and is refused 31.5 minutes later.
        tokio::time::advance(Duration::from_secs(37 * 60)).await;
        // The row of another program is neither deleted nor reported as deleted.
        blogs.insert(&blog("2", "theirs")).await.unwrap();
        let error = ctx.save_changes().await.unwrap_err();
        assert_eq!((error.report.applied(), error.report.unknown().count()), (0, 1));
        assert_eq!(texts(&blogs).await.len(), 2);
        blogs.delete(("c", "2"), IfMatch::Any).await.unwrap();
        ctx.save_changes().await.unwrap();
        assert!(!ctx.has_changes());
        assert_eq!(texts(&blogs).await.len(), 1);
    }
}

/// Repeated saves of one change that are all dropped count as one open attempt.
#[tokio::test(start_paused = true)]
async fn dropped_saves_of_one_change_do_not_use_up_the_open_attempts() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let mut ctx = TableContext::new(&mock.client());
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "new")).unwrap();
    mock.faults().add(Fault::delay_request(Duration::from_secs(3600)).on_writes());
    for _ in 0..20 {
        let _ = tokio::time::timeout(Duration::from_millis(10), ctx.save_changes()).await;
        assert_eq!(ctx.last_report().unknown().count(), 1);
    }

    mock.faults().clear();
    let report = ctx.save_changes().await.unwrap();
    assert_eq!(report.applied(), 1);
    assert_eq!(texts(&blogs).await, [("1".to_owned(), "new".to_owned())]);
}

/// The service has refused the change: it is not unknown, also if the save is dropped while it reads the row of the conflict.
#[tokio::test]
async fn a_refused_change_is_failed_if_its_conflict_is_dropped() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let transport = Scripted::recorder(mock.transport());
    let client = mock.client_builder().transport(Arc::clone(&transport) as Arc<_>);
    let mut ctx = TableContext::new(&client.build().unwrap());
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "mine")).unwrap();
    blogs.insert_or_replace(&blog("1", "theirs")).await.unwrap();
    transport.play(|request| if is_write(request) { Step::pass() } else { Step::hang() });
    {
        let options = SaveOptions::each().on_conflict(ConflictResolver::client_wins());
        let mut save = Box::pin(ctx.save_changes_with(options));
        for _ in 0..10 {
            assert!(futures_util::poll!(save.as_mut()).is_pending());
        }
    }
    assert!(!is_write(&transport.last()), "the row of the conflict is being read");
    assert_eq!(ctx.last_report().to_string(), "0 applied, 1 failed, 0 not attempted, 0 unknown");
    assert_eq!(ctx.entries()[0].state(), EntityState::Modified);
}
