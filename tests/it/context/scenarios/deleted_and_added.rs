//! Entities that are deleted and added again, or added and deleted, in one unit of work: scenarios 2, 4 and 5.

use azure_table_client::context::{ConflictResolver, EntityState, MergeOption, Resolution};
use azure_table_client::edm::EdmValue;
use azure_table_tests::scripted::{in_turn, is_write, on};

use super::super::earlier_attempts::lost;
use super::*;

/// The row is replaced by a new struct, and another program deletes it meanwhile. Only the new struct may be written.
async fn the_new_struct_is_inserted(resolver: fn() -> ConflictResolver) {
    for mode in MODES {
        let (mock, _, mut ctx) = stage(false).await;
        other_program(&mock, &[("A", 1)]).await;
        ctx.table_named::<DynamicEntity>("Blogs").find(KEY).await.unwrap().unwrap();
        let mut blogs = ctx.table_named("Blogs");
        blogs.update(&row(&[("A", 50)])).unwrap();
        blogs.delete(&key_only()).unwrap();
        blogs.add(&row(&[("A", 1000)])).unwrap();
        delete_by_other_program(&mock, KEY.1).await;
        let options = mode().replace_on_update().on_conflict(resolver());
        let what = format!("{options:?}");
        let report = report(ctx.save_changes_with(options).await);
        let stored = column(&mock, "A");
        assert!(stored.is_none_or(|a| a == 1000), "{what}: inserted A={stored:?}");
        assert_eq!(applied(&report, KEY.1) > 0, stored.is_some(), "{what}: {report:?}");
    }
}

/// Scenario 2.
#[tokio::test]
async fn client_wins_inserts_the_struct_that_was_added() {
    the_new_struct_is_inserted(ConflictResolver::client_wins).await;
}

/// Scenario 2.
#[tokio::test]
async fn a_resolver_that_keeps_the_local_change_inserts_the_struct_that_was_added() {
    the_new_struct_is_inserted(|| ConflictResolver::merge(|_| Resolution::KeepLocal)).await;
}

/// The names of the row's columns.
fn columns(mock: &MockTableService) -> Vec<(String, EdmValue)> {
    let row = mock.row("Blogs", KEY.0, KEY.1).unwrap();
    row.properties().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// A struct that is added after a delete replaces the row. It has no column of the row that was deleted.
async fn a_replacement_has_the_columns_of_the_struct(
    projection: Option<&[&str]>,
    option: MergeOption,
) {
    let (mock, _, mut ctx) = stage(false).await;
    other_program(&mock, &[("A", 1), ("C", 7)]).await;
    let before = columns(&mock);
    let rows = ctx.service().table_named::<DynamicEntity>("Blogs");
    let query = rows.query();
    let query = match projection {
        Some(names) => query.select_names(names.iter().copied()),
        None => query,
    };
    ctx.load(query).await.unwrap();
    ctx.table_named("Blogs").delete(&key_only()).unwrap();
    ctx.table_named("Blogs").add(&row(&[("B", 5)])).unwrap();
    ctx.load(rows.query()).merge_option(option).await.unwrap();
    let report = report(ctx.save_changes().await);
    let after = columns(&mock);
    if applied(&report, KEY.1) == 0 {
        assert_eq!(after, before, "{option:?}: {report:?}");
    } else {
        let expected = [("B".to_owned(), EdmValue::Int32(5))];
        assert_eq!(after, expected, "{option:?}: {report:?}");
    }
}

/// Scenario 4.
#[tokio::test]
async fn a_replacement_after_a_projection_has_no_column_of_the_deleted_row() {
    for option in [MergeOption::AppendOnly, MergeOption::PreserveChanges] {
        a_replacement_has_the_columns_of_the_struct(Some(&["A"]), option).await;
    }
}

/// Scenario 4 without the projection, for comparison.
#[tokio::test]
async fn a_replacement_after_a_query_has_no_column_of_the_deleted_row() {
    for option in [MergeOption::AppendOnly, MergeOption::PreserveChanges] {
        a_replacement_has_the_columns_of_the_struct(None, option).await;
    }
}

/// The insert never arrives, the program deletes the entity, and the insert expires. Nothing was ever written, so that no
/// report may state that something was applied.
async fn an_insert_that_never_arrived_is_not_applied(has_ids: bool, is_dropped: bool) {
    for mode in MODES {
        let (mock, transport, mut ctx) = stage(has_ids).await;
        ctx.table_named("Blogs").add(&row(&[("A", 1)])).unwrap();
        let step = if is_dropped { Step::hang() } else { lost() };
        transport.play(on(is_write, in_turn([step])));
        if is_dropped {
            dropped_save(&mut ctx, mode()).await;
        } else {
            let first = report(ctx.save_changes_with(mode()).await);
            assert_eq!(applied(&first, KEY.1), 0, "{first:?}");
        }
        ctx.table_named("Blogs").delete(&key_only()).unwrap();
        tokio::time::advance(Duration::from_secs(40 * 60)).await;
        let second = report(ctx.save_changes_with(mode()).await);
        let what = format!("{:?}, ids: {has_ids}, dropped: {is_dropped}", mode());
        assert_eq!(mock.row_count("Blogs"), Some(0), "{what}");
        assert_eq!(applied(&second, KEY.1), 0, "{what}: {second:?}");
    }
}

/// Scenario 5.
#[tokio::test(start_paused = true)]
async fn a_lost_insert_that_was_deleted_and_expired_is_not_applied() {
    an_insert_that_never_arrived_is_not_applied(false, false).await;
}

/// Scenario 5.
#[tokio::test(start_paused = true)]
async fn a_lost_insert_with_an_id_that_was_deleted_and_expired_is_not_applied() {
    an_insert_that_never_arrived_is_not_applied(true, false).await;
}

/// Scenario 5.
#[tokio::test(start_paused = true)]
async fn a_dropped_insert_that_was_deleted_and_expired_is_not_applied() {
    an_insert_that_never_arrived_is_not_applied(false, true).await;
    an_insert_that_never_arrived_is_not_applied(true, true).await;
}

/// A context with an insert that was applied without a response. Another program has changed the row, so that nothing proves
/// the insert, and it is unknown for good. The next insert was refused.
async fn with_ended_insert() -> (MockTableService, TableContext) {
    let (mock, transport, mut ctx) = stage(false).await;
    ctx.table_named("Blogs").add(&row(&[("A", 1)])).unwrap();
    transport.play(on(is_write, in_turn([applied_without_response(&mock, &[("A", 7)])])));
    dropped_save(&mut ctx, SaveOptions::each()).await;
    tokio::time::advance(Duration::from_secs(40 * 60)).await;
    let report = report(ctx.save_changes().await);
    assert_eq!((report.results.len(), report.unknown().count()), (1, 1), "{report:#?}");
    assert_eq!(ctx.entries()[0].state(), EntityState::Added);
    (mock, ctx)
}

/// The insert may have been applied: the deletion of its entity is a change of the row, which a resolver decides.
#[tokio::test(start_paused = true)]
async fn an_entity_is_deleted_whose_insert_is_unknown_for_good() {
    let (mock, mut ctx) = with_ended_insert().await;
    ctx.table_named("Blogs").delete(&key_only()).unwrap();
    assert_eq!(ctx.entries()[0].state(), EntityState::Deleted);
    assert_eq!(applied(&report(ctx.save_changes().await), KEY.1), 0);
    assert_eq!(column(&mock, "A"), Some(7), "nothing proves whose row it is");
    let options = SaveOptions::each().on_conflict(ConflictResolver::client_wins());
    assert_eq!(ctx.save_changes_with(options).await.unwrap().applied(), 1);
    assert_eq!((mock.row_count("Blogs"), ctx.entries().len()), (Some(0), 0));
}

/// The deletion of an entity that may have no row cannot be undone by a reset, but the entity can be added again.
#[tokio::test(start_paused = true)]
async fn an_entity_is_added_again_whose_insert_is_unknown_for_good() {
    let (mock, mut ctx) = with_ended_insert().await;
    ctx.table_named("Blogs").delete(&key_only()).unwrap();
    assert!(ctx.table_named("Blogs").reset(&key_only()).is_err());
    delete_by_other_program(&mock, KEY.1).await;
    ctx.table_named("Blogs").add(&row(&[("A", 2)])).unwrap();
    assert_eq!(ctx.save_changes().await.unwrap().applied(), 1);
    assert_eq!(column(&mock, "A"), Some(2));
}

/// The row of an undone insert is gone. The other changes of its transaction are sent.
#[tokio::test(start_paused = true)]
async fn a_deletion_without_a_row_keeps_no_other_change_from_being_sent() {
    for mode in MODES {
        let (mock, mut ctx) = with_ended_insert().await;
        ctx.table_named("Blogs").delete(&key_only()).unwrap();
        delete_by_other_program(&mock, KEY.1).await;
        ctx.table_named("Blogs").add(&DynamicEntity::new(KEY.0, "2").with("A", 1)).unwrap();
        let report = ctx.save_changes_with(mode()).await.unwrap();
        assert_eq!((report.results.len(), applied(&report, "2")), (1, 1), "{report:#?}");
        assert_eq!((mock.row_count("Blogs"), ctx.has_changes()), (Some(1), false));
    }
}
