//! A request of an earlier save is in each report until it is settled: scenarios 3 and 6.

use azure_table_client::mock::Fault;
use azure_table_tests::scripted::{in_turn, is_write, on};

use super::*;

/// What happens to the second change.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Second {
    /// Another program has written the column `X` of the row.
    MeetsOtherProgram,
    /// The service has no time.
    MeetsServerBusy,
}

/// `A` is written and its save dropped. The next save finds the id of that request in the row, and sends `B`. Its report
/// says that `A` was applied, whatever becomes of `B`.
async fn the_proved_change_is_reported(is_new: bool, second: Second, mode: fn() -> SaveOptions) {
    let what = format!("new: {is_new}, {second:?}, {:?}", mode());
    let (mock, transport, mut ctx) = stage(true).await;
    if is_new {
        ctx.table_named("Blogs").add(&row(&[("A", 50), ("B", 1)])).unwrap();
    } else {
        other_program(&mock, &[("A", 1), ("B", 1)]).await;
        ctx.table_named::<DynamicEntity>("Blogs").find(KEY).await.unwrap().unwrap();
        ctx.table_named("Blogs").update(&row(&[("A", 50), ("B", 1)])).unwrap();
    }
    let foreign: &[_] = if second == Second::MeetsOtherProgram { &[("X", 99)] } else { &[] };
    transport.play(on(is_write, in_turn([applied_without_response(&mock, foreign)])));
    dropped_save(&mut ctx, mode()).await;
    assert_eq!(column(&mock, "A"), Some(50), "{what}");

    ctx.table_named("Blogs").update(&row(&[("A", 50), ("B", 2)])).unwrap();
    ctx.table_named("Blogs").add(&DynamicEntity::new(KEY.0, "2").with("A", 5)).unwrap();
    if second == Second::MeetsServerBusy {
        mock.faults().add(Fault::busy().on_writes());
    }
    let report = report(ctx.save_changes_with(mode().continue_on_error()).await);
    let of_row: Vec<_> = report.results.iter().filter(|result| is_of_row(result, KEY.1)).collect();
    // `B` may be a result of its own.
    let of_b = column(&mock, "B") == Some(2);
    assert_eq!(applied(&report, KEY.1), 1 + usize::from(of_b), "{what}: {of_row:?}");
    if second == Second::MeetsOtherProgram {
        assert_eq!(column(&mock, "X"), Some(99), "{what}");
    }
}

/// Scenario 3.
#[tokio::test(start_paused = true)]
async fn a_proved_update_is_reported_beside_a_refused_one() {
    the_proved_change_is_reported(false, Second::MeetsOtherProgram, SaveOptions::each).await;
}

/// Scenario 3.
#[tokio::test(start_paused = true)]
async fn a_proved_insert_is_reported_beside_a_refused_update() {
    the_proved_change_is_reported(true, Second::MeetsOtherProgram, SaveOptions::each).await;
}

/// Scenario 3.
#[tokio::test(start_paused = true)]
async fn a_proved_update_is_reported_beside_a_throttled_one() {
    the_proved_change_is_reported(false, Second::MeetsServerBusy, SaveOptions::each).await;
}

/// Scenario 3.
#[tokio::test(start_paused = true)]
async fn a_proved_insert_is_reported_beside_a_throttled_update() {
    the_proved_change_is_reported(true, Second::MeetsServerBusy, SaveOptions::each).await;
}

/// Scenario 3.
#[tokio::test(start_paused = true)]
async fn a_proved_update_is_reported_beside_a_refused_transaction() {
    for mode in [SaveOptions::atomic, SaveOptions::per_partition] {
        the_proved_change_is_reported(false, Second::MeetsOtherProgram, mode).await;
    }
}

/// Scenario 3.
#[tokio::test(start_paused = true)]
async fn a_proved_update_is_reported_beside_a_throttled_transaction() {
    for mode in [SaveOptions::atomic, SaveOptions::per_partition] {
        the_proved_change_is_reported(false, Second::MeetsServerBusy, mode).await;
    }
}

/// Scenario 3: `A` was written in a transaction with another row, whose outcome is reported too.
#[tokio::test(start_paused = true)]
async fn a_proved_transaction_is_reported_beside_a_change_of_its_member() {
    for second in [Second::MeetsOtherProgram, Second::MeetsServerBusy] {
        for mode in MODES {
            let what = format!("{second:?}, {:?}", mode());
            let (mock, transport, mut ctx) = stage(true).await;
            other_program(&mock, &[("A", 1), ("B", 1)]).await;
            ctx.table_named::<DynamicEntity>("Blogs").find(KEY).await.unwrap().unwrap();
            ctx.table_named("Blogs").update(&row(&[("A", 50), ("B", 1)])).unwrap();
            ctx.table_named("Blogs").add(&DynamicEntity::new(KEY.0, "2").with("A", 5)).unwrap();
            let foreign: &[_] =
                if second == Second::MeetsOtherProgram { &[("X", 99)] } else { &[] };
            transport.play(on(is_write, in_turn([applied_without_response(&mock, foreign)])));
            dropped_save(&mut ctx, SaveOptions::atomic()).await;
            assert_eq!(mock.row_count("Blogs"), Some(2), "{what}");

            ctx.table_named("Blogs").update(&row(&[("A", 50), ("B", 2)])).unwrap();
            if second == Second::MeetsServerBusy {
                mock.faults().add(Fault::busy().on_writes());
            }
            let report = report(ctx.save_changes_with(mode().continue_on_error()).await);
            let of_b = column(&mock, "B") == Some(2);
            assert_eq!(applied(&report, "2"), 1, "{what}: {report:#?}");
            assert_eq!(applied(&report, KEY.1), 1 + usize::from(of_b), "{what}: {report:#?}");
            let is_other = second == Second::MeetsOtherProgram;
            assert!(!is_other || column(&mock, "X") == Some(99), "{what}");
        }
    }
}

/// Who deletes row 1 after the saves were dropped.
#[derive(Debug, Clone, Copy)]
enum DeletedBy {
    Program,
    OtherProgram,
}

/// Two rows are inserted in one transaction and its save is dropped. A second save is dropped while it reads the rows, and
/// row 1 is deleted. The next report that is complete names row 2, and over all reports it is applied once.
async fn the_other_row_is_reported_once(has_ids: bool, deleted_by: DeletedBy) {
    for second in MODES {
        let mut is_over = false;
        for polls in 1.. {
            let what = format!("ids: {has_ids}, {deleted_by:?}, {:?}, {polls} polls", second());
            let (mock, transport, mut ctx) = stage(has_ids).await;
            for row_key in ["1", "2"] {
                let entity = DynamicEntity::new(KEY.0, row_key).with("A", 1);
                ctx.table_named("Blogs").add(&entity).unwrap();
            }
            transport.play(on(is_write, in_turn([applied_without_response(&mock, &[])])));
            dropped_save(&mut ctx, SaveOptions::per_partition()).await;
            assert_eq!(mock.row_count("Blogs"), Some(2), "{what}");

            {
                let mut save = Box::pin(ctx.save_changes_with(second()));
                for _ in 0..polls {
                    is_over |= !is_over && futures_util::poll!(save.as_mut()).is_ready();
                }
            }
            let mut reports = vec![ctx.last_report().clone()];
            match deleted_by {
                DeletedBy::Program => {
                    ctx.table_named("Blogs").delete(&key_only()).unwrap();
                }
                DeletedBy::OtherProgram => delete_by_other_program(&mock, "1").await,
            }
            for _ in 0..3 {
                reports.push(report(ctx.save_changes_with(SaveOptions::per_partition()).await));
            }
            let times: usize = reports.iter().map(|report| applied(report, "2")).sum();
            // Without an id, nothing proves a transaction of which one row is gone.
            let is_proved = has_ids || matches!(deleted_by, DeletedBy::Program);
            assert!(times <= 1 && (times == 1 || !is_proved), "{what}: {times}, {reports:#?}");
            let is_named = times == 1 || reports[1].results.iter().any(|r| is_of_row(r, "2"));
            assert!(is_named, "{what}: row 2 is in no report: {reports:#?}");
            if is_over {
                assert!(polls > 3, "no poll is during the read-back");
                break;
            }
        }
    }
}

/// Scenario 6.
#[tokio::test(start_paused = true)]
async fn the_outcome_of_the_row_beside_a_deleted_one_is_reported() {
    the_other_row_is_reported_once(false, DeletedBy::Program).await;
}

/// Scenario 6.
#[tokio::test(start_paused = true)]
async fn the_outcome_of_the_row_beside_a_deleted_one_is_reported_with_ids() {
    the_other_row_is_reported_once(true, DeletedBy::Program).await;
}

/// Scenario 6.
#[tokio::test(start_paused = true)]
async fn the_outcome_of_the_row_beside_one_that_another_program_deleted_is_reported() {
    the_other_row_is_reported_once(false, DeletedBy::OtherProgram).await;
}

/// Scenario 6.
#[tokio::test(start_paused = true)]
async fn the_outcome_of_the_row_beside_one_that_another_program_deleted_is_reported_with_ids() {
    the_other_row_is_reported_once(true, DeletedBy::OtherProgram).await;
}

/// The program deletes an entity whose insert was applied without a response, and another program deletes the row. The report
/// that ends the insert names it, although nothing is left to do; the next one does not.
#[tokio::test(start_paused = true)]
async fn an_insert_that_is_unknown_for_good_is_reported_beside_its_deletion() {
    for mode in MODES {
        let (mock, transport, mut ctx) = stage(false).await;
        ctx.table_named("Blogs").add(&row(&[("A", 1)])).unwrap();
        transport.play(on(is_write, in_turn([applied_without_response(&mock, &[])])));
        dropped_save(&mut ctx, mode()).await;
        ctx.table_named("Blogs").delete(&key_only()).unwrap();
        delete_by_other_program(&mock, KEY.1).await;
        tokio::time::advance(Duration::from_secs(40 * 60)).await;
        let saved = report(ctx.save_changes_with(mode()).await);
        let what = format!("{:?}: {saved:#?}", mode());
        assert_eq!((saved.results.len(), saved.unknown().count()), (1, 1), "{what}");
        assert!(is_of_row(&saved.results[0], KEY.1), "{what}");
        assert!(ctx.entries().is_empty(), "{what}");
        assert!(ctx.save_changes_with(mode()).await.unwrap().results.is_empty(), "{what}");
    }
}
