//! The retention under virtual time, and rows that are restored during a purge.

use azure_table_client::Operation;
use azure_table_client::mock::{Fault, MockTableService};

use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn stage(count: usize) -> (MockTableService, Documents) {
    let mock = MockTableService::new();
    let table = mock.client().table_named("Documents");
    let documents = Documents { table, clock: mock.clock() };
    documents.table.create().await.unwrap();
    for number in 0..count {
        documents.create(&Document::new(FOLDER, &number.to_string(), "")).await.unwrap();
    }
    (mock, documents)
}

#[tokio::test(start_paused = true)]
async fn a_deleted_row_is_invisible_and_can_be_restored() {
    let (_, documents) = stage(2).await;
    let before = documents.get(FOLDER, "0").await.unwrap().unwrap().into_inner();
    documents.delete(FOLDER, "0").await.unwrap();
    assert!(documents.get(FOLDER, "0").await.unwrap().is_none());
    assert_eq!(documents.list(FOLDER).await.unwrap().len(), 1);
    assert_eq!(documents.trash(FOLDER).await.unwrap().len(), 1);

    documents.restore(FOLDER, "0").await.unwrap();
    assert_eq!(documents.get(FOLDER, "0").await.unwrap().unwrap().into_inner(), before);
    // No row is left that a purge would find.
    tokio::time::advance(DAY * 365).await;
    assert_eq!(documents.purge_all().await.unwrap(), Purged::default());
}

#[tokio::test(start_paused = true)]
async fn a_row_is_purged_30_days_after_its_first_deletion() {
    let (_, documents) = stage(1).await;
    documents.delete(FOLDER, "0").await.unwrap();
    tokio::time::advance(DAY * 29).await;
    documents.delete(FOLDER, "0").await.unwrap();
    assert_eq!(documents.purge_all().await.unwrap(), Purged::default());
    tokio::time::advance(DAY + Duration::from_secs(1)).await;
    assert_eq!(documents.purge_all().await.unwrap(), Purged { deleted: 1, kept: 0 });
    assert!(documents.restore(FOLDER, "0").await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn a_row_that_is_restored_during_the_purge_stays() {
    let (mock, documents) = stage(150).await;
    for number in 0..150 {
        documents.delete(FOLDER, &number.to_string()).await.unwrap();
    }
    tokio::time::advance(DAY * 31).await;
    // The deletions are in flight for ten seconds, during which two rows change.
    mock.faults().add(Fault::delay_request(Duration::from_secs(10)).on(Operation::Transaction));
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        documents.restore(FOLDER, "7").await.unwrap();
        documents.restore(FOLDER, "149").await.unwrap();
        documents.delete(FOLDER, "149").await.unwrap();
    };
    let (purged, ()) = tokio::join!(documents.purge_all(), meanwhile);
    assert_eq!(purged.unwrap(), Purged { deleted: 148, kept: 2 });
    assert_eq!(documents.list(FOLDER).await.unwrap().iter().map(|d| &*d.name).next(), Some("7"));
    assert_eq!(documents.trash(FOLDER).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_purge_survives_lost_responses_and_reports_an_outage() {
    let (mock, documents) = stage(3).await;
    for number in 0..3 {
        documents.delete(FOLDER, &number.to_string()).await.unwrap();
    }
    tokio::time::advance(DAY * 31).await;
    let found = documents.expired().await.unwrap().into_vec();
    mock.faults().add(Fault::error(403, "AuthorizationFailure").on(Operation::Transaction));
    assert!(documents.purge(found).await.is_err());
    mock.faults().clear();
    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(1));
    assert_eq!(documents.purge_all().await.unwrap(), Purged { deleted: 3, kept: 0 });
    assert_eq!(mock.row_count("Documents"), Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_purge_scans_the_table_once() {
    let (mock, documents) = stage(250).await;
    for number in (0..250).filter(|number| number % 10 != 0) {
        documents.delete(FOLDER, &number.to_string()).await.unwrap();
    }
    tokio::time::advance(DAY * 31).await;
    mock.faults().add(Fault::page_of(100));
    mock.requests().clear();
    assert_eq!(documents.purge_all().await.unwrap(), Purged { deleted: 225, kept: 0 });
    assert_eq!(mock.requests().count(Operation::Query), 3);
}

#[tokio::test(start_paused = true)]
async fn an_insert_of_unknown_outcome_replaces_nothing() {
    let (mock, documents) = stage(1).await;
    documents.delete(FOLDER, "0").await.unwrap();
    let new = Document::new(FOLDER, "0", "new");
    mock.faults().add(Fault::lose_reply().on(Operation::Insert).times(1));
    let error = documents.create(&new).await.unwrap_err();
    assert!(error.is_conflict() && error.outcome() == Outcome::Unknown, "{error}");
    assert_eq!(mock.requests().count(Operation::Replace), 0);
    documents.create(&new).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_new_row_replaces_a_deleted_one_but_not_one_that_is_restored_meanwhile() {
    let (mock, documents) = stage(1).await;
    documents.delete(FOLDER, "0").await.unwrap();
    let new = Document::new(FOLDER, "0", "new");
    let late = Fault::delay_request(Duration::from_secs(10)).on(Operation::Replace);
    mock.faults().add(late.times(1));
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        documents.restore(FOLDER, "0").await.unwrap();
    };
    let (created, ()) = tokio::join!(documents.create(&new), meanwhile);
    assert!(created.unwrap_err().is_precondition_failed());
    mock.faults().clear();

    documents.delete(FOLDER, "0").await.unwrap();
    documents.create(&new).await.unwrap();
    let stored = documents.get(FOLDER, "0").await.unwrap().unwrap();
    assert_eq!((&stored.life, &*stored.text), (&Life::LIVE, "new"));
}
