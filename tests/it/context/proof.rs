//! Saves for which only responses count: no row is read back, and no save claims more than its responses prove.

use std::time::Duration;

use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{EntityState, SaveOptions, SaveReport, TableContext};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{Confirmation, ErrorKind, Operation, Proof, RetryPolicy};
use azure_table_tests::scripted::{Scripted, Step, is_write, on};

use super::{Blog, blog, service};

/// A client without retries. The proof of the saves replaces its proof.
fn context(mock: &MockTableService) -> TableContext {
    let client = mock.client_builder().retry(RetryPolicy::none()).proof(Proof::MatchingUpdate);
    TableContext::new(&client.build().unwrap())
}

fn by_response() -> SaveOptions {
    SaveOptions::each().continue_on_error().proof(Proof::Response)
}

/// A context with a change of each kind: 1 is updated, 2 deleted, 3 new, and 4 inserted or replaced.
async fn changed(mock: &MockTableService) -> TableContext {
    let mut ctx = context(mock);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "new")).unwrap();
    ctx.delete(&blog("2", "")).unwrap();
    ctx.add(&blog("3", "new")).unwrap();
    ctx.table::<Blog>().add_or_replace(&blog("4", "new")).unwrap();
    ctx
}

fn reads(mock: &MockTableService) -> usize {
    mock.requests().count(Operation::Get) + mock.requests().count(Operation::Query)
}

/// The outcomes in the report, in the order of the row keys.
fn outcomes(report: &SaveReport) -> Vec<Result<Confirmation, &'static str>> {
    let mut results: Vec<_> = report.results.iter().collect();
    results.sort_by_key(|result| result.key.as_ref().map(|key| key.row_key.clone()));
    let outcome = |outcome: &WriteOutcome| match outcome {
        WriteOutcome::Applied { confirmation, .. } => Ok(*confirmation),
        WriteOutcome::Unknown(error) => {
            assert!(!error.state_matches());
            Err("unknown")
        }
        WriteOutcome::Failed(_) => Err("failed"),
        _ => Err("other"),
    };
    results.into_iter().map(|result| outcome(&result.outcome)).collect()
}

#[tokio::test]
async fn a_lost_response_stays_unknown_until_another_proof_is_accepted() {
    let (mock, blogs) = service().await;
    for id in ["1", "2"] {
        blogs.insert(&blog(id, "old")).await.unwrap();
    }
    let mut ctx = changed(&mock).await;
    mock.requests().clear();
    mock.faults().add(Fault::lose_reply().on_writes().times(4));
    let error = ctx.save_changes_with(by_response()).await.unwrap_err();
    assert_eq!(outcomes(&error.report), [Err("unknown"); 4]);
    // The service refuses the changes that it has applied, which proves nothing. It applies the upsert again.
    let error = ctx.save_changes_with(by_response()).await.unwrap_err();
    let unknown = Err("unknown");
    assert_eq!(outcomes(&error.report), [unknown, unknown, unknown, Ok(Confirmation::Response)]);
    assert_eq!(reads(&mock), 0);
    assert_eq!(ctx.entry(&blog("1", "")).unwrap().unwrap().state(), EntityState::Unknown);
    let report = ctx.save_changes().await.unwrap();
    assert_eq!(outcomes(&report), [Ok(Confirmation::Comparison); 3]);
    assert!(reads(&mock) > 0 && !ctx.has_changes());
}

#[tokio::test]
async fn a_lost_request_is_sent_again() {
    let (mock, blogs) = service().await;
    for id in ["1", "2"] {
        blogs.insert(&blog(id, "old")).await.unwrap();
    }
    let mut ctx = changed(&mock).await;
    mock.requests().clear();
    mock.faults().add(Fault::lose_request().on_writes().times(4));
    let error = ctx.save_changes_with(by_response()).await.unwrap_err();
    assert_eq!(outcomes(&error.report), [Err("unknown"); 4]);
    let report = ctx.save_changes_with(by_response()).await.unwrap();
    assert_eq!(outcomes(&report), [Ok(Confirmation::Response); 4]);
    assert!(reads(&mock) == 0 && !ctx.has_changes());
}

/// A conflict of the first attempt is a response. With write ids, the other levels of proof read the row.
#[tokio::test]
async fn a_conflict_is_not_read_back() {
    let (mock, blogs) = service().await;
    let client = mock.client_builder().retry(RetryPolicy::none()).write_id_column("WriteId");
    let mut ctx = TableContext::new(&client.proof(Proof::Response).build().unwrap());
    blogs.insert(&blog("1", "theirs")).await.unwrap();
    ctx.add(&blog("1", "new")).unwrap();
    mock.requests().clear();
    let error = ctx.save_changes().await.unwrap_err();
    assert_eq!((outcomes(&error.report), reads(&mock)), (vec![Err("failed")], 0));
}

/// An insert whose entity was deleted since cannot be sent again. After its last attempt has expired, the absence of the
/// row proves that nothing is left to delete. It does not prove that the insert was not applied, since another program may
/// have deleted the row: the insert is unknown for good. Without a read, it stays unknown. Other changes are sent.
#[tokio::test(start_paused = true)]
async fn a_change_that_cannot_be_sent_again_stays_unknown() {
    let (mock, _) = service().await;
    let mut ctx = context(&mock);
    ctx.add(&blog("1", "new")).unwrap();
    mock.faults().add(Fault::lose_request().on_writes().times(1));
    ctx.save_changes_with(by_response()).await.unwrap_err();
    ctx.delete(&blog("1", "")).unwrap();
    ctx.add(&blog("2", "new")).unwrap();
    tokio::time::advance(Duration::from_secs(37 * 60)).await;
    mock.requests().clear();
    let error = ctx.save_changes_with(by_response()).await.unwrap_err();
    assert_eq!(outcomes(&error.report), [Err("unknown"), Ok(Confirmation::Response)]);
    assert_eq!(reads(&mock), 0);
    let error = ctx.save_changes().await.unwrap_err();
    assert_eq!(outcomes(&error.report), [Err("unknown")]);
    assert!(!ctx.has_changes());
    assert!(ctx.save_changes().await.unwrap().results.is_empty());
}

/// The ETag of a row in the expected state may be that of another program. A save that reads rows compares it first.
#[tokio::test]
async fn an_etag_that_the_response_lacks_is_not_read() {
    for (proof, expected) in [(Proof::Response, 0), (Proof::WriteId, 1)] {
        let (mock, blogs) = service().await;
        blogs.insert(&blog("1", "old")).await.unwrap();
        let script = on(is_write, |_| {
            Step::pass().edit(|response| {
                response.headers.remove("etag");
            })
        });
        let client = mock.client_builder().transport(Scripted::new(mock.transport(), script));
        let mut ctx = TableContext::new(&client.build().unwrap());
        ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
        ctx.update(&blog("1", "new")).unwrap();
        mock.requests().clear();
        let report = ctx.save_changes_with(SaveOptions::each().proof(proof)).await.unwrap();
        assert_eq!((outcomes(&report), reads(&mock)), (vec![Ok(Confirmation::Response)], expected));
        ctx.update(&blog("1", "newer")).unwrap();
        let next = ctx.save_changes_with(SaveOptions::each().proof(proof)).await;
        let next = next.map_err(|refused| refused.error.kind());
        let is_refused = next.is_err_and(|kind| kind == ErrorKind::InvalidInput);
        assert_eq!(is_refused, proof == Proof::Response, "the update requires the ETag");
        // If the row may be read, it is read before the update.
        let next = ctx.save_changes().await.unwrap();
        assert_eq!(next.applied(), usize::from(proof == Proof::Response));
        assert_eq!(blogs.get(("c", "1")).await.unwrap().text, "newer");
    }
}
