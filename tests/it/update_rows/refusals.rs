//! Changes that are refused, and the limits of a transaction.

use azure_table_client::client::Transaction;
use azure_table_client::filter::PlanKind;
use azure_table_client::mock::Fault;

use super::*;

/// This many accounts with 1.
async fn many(count: usize) -> (MockTableService, TableClient<Account>) {
    let (mock, table, other) = bank(&[], &[]).await;
    let rows: Vec<_> = (0..count).map(|n| account(format!("{n:03}"), 1)).collect();
    for chunk in rows.chunks(100) {
        let all = chunk.iter().fold(other.transaction(), Transaction::insert);
        all.await.unwrap();
    }
    mock.requests().clear();
    (mock, table)
}

fn add(count: usize) -> impl FnMut(&mut PartitionRows<Account>) + Send {
    move |rows| rows.iter_mut().take(count).for_each(|row| row.balance += 1)
}

#[tokio::test(start_paused = true)]
async fn at_most_100_rows_are_written() {
    let sent = |mock: &MockTableService| mock.requests().count(Operation::Transaction);
    // The rows that exist, those that change, those that are new, and the error.
    for (rows, changed, new, expected) in [
        (100, 100, 0, None),
        (100, 1, 0, None),
        (99, 1, 1, None),
        (100, 1, 1, Some(ErrorKind::InvalidInput)),
        (101, 1, 0, Some(ErrorKind::TooManyRows)),
        (101, 0, 0, Some(ErrorKind::TooManyRows)),
    ] {
        let (mock, table) = many(rows).await;
        let change = |rows: &mut PartitionRows<Account>| {
            add(changed)(rows);
            (0..new).for_each(|n| rows.insert(account(format!("new{n}"), 1)));
        };
        let updated = table.query().partition(BANK).update_rows_with(change).await;
        let error = updated.as_ref().err();
        assert_eq!(error.map(Error::kind), expected, "{rows} {changed} {new}: {error:?}");
        assert_eq!(sent(&mock), usize::from(expected.is_none()));
        assert_eq!(error.map(Error::outcome), expected.map(|_| Outcome::NotApplied));
    }
    // Without fences, only the changed rows count.
    for (changed, expected) in [(100, None), (101, Some(ErrorKind::InvalidInput))] {
        let (mock, table) = many(150).await;
        let update =
            table.query().partition(BANK).update_rows_with(add(changed)).allow_write_skew();
        let error = update.await.err();
        assert_eq!(error.as_ref().map(Error::kind), expected, "{changed}: {error:?}");
        assert_eq!(sent(&mock), usize::from(expected.is_none()));
    }
    // A limit of the query stays.
    let (_, table) = many(3).await;
    let query = || table.query().partition(BANK);
    let error = query().max_rows(2).update_rows_with(add(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooManyRows);
    assert_eq!(query().take(2).update_rows_with(add(3)).await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn refused_changes_are_not_sent() {
    type Change = fn(&mut PartitionRows<Account>);

    let (mock, table, other) = bank(&[], &[("ann", 2), ("bob", 0)]).await;
    let refused = table.try_update_rows_with([key("ann"), key("bob")], pay).await.unwrap_err();
    assert!(matches!(refused, Refused::TooLittle), "{refused:?}");
    let refused = table.query().partition(BANK).try_update_rows_with(pay).await.unwrap_err();
    assert!(matches!(refused, Refused::TooLittle), "{refused:?}");

    let changes: [(Change, &str); 6] = [
        (|rows| rows.get_mut("ann").unwrap().name = "bob".into(), "would be written as"),
        (|rows| rows.get_mut("ann").unwrap().bank = "bergen".into(), "would be written as"),
        (|rows| rows.insert(account("ann", 1)), "exists"),
        (
            |rows| {
                rows.insert(account("cyd", 1));
                rows.insert(account("cyd", 2));
            },
            "exists",
        ),
        (
            |rows| rows.insert(Account { bank: "bergen".into(), ..account("cyd", 1) }),
            "not in the partition \"oslo\"",
        ),
        (|rows| rows.insert(account("a/b", 1)), "'/'"),
    ];
    for (change, expected) in changes {
        let error = table.update_rows_with([key("ann"), key("bob")], change).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::InvalidInput, Outcome::NotApplied));
        assert!(error.entity_key().is_some(), "{error}");
    }
    assert_eq!(mock.requests().count(Operation::Transaction), 0);
    assert_eq!(balances(&other).await, named(&[("ann", 2), ("bob", 0)]));
}

#[tokio::test(start_paused = true)]
async fn invalid_selections_send_nothing() {
    #[derive(Debug, TableEntity)]
    struct Numbered {
        #[table(partition_key)]
        bank: String,
        #[table(row_key)]
        number: u32,
    }

    let (mock, table, _) = bank(&[], &[("ann", 2)]).await;
    let nothing = |_: &mut PartitionRows<Account>| {};
    let keys = [key("ann"), ("bergen", "ann")];
    let two = table.update_rows_with(keys, nothing).await.unwrap_err();
    let invalid = table.update_rows_with([key("a/b")], nothing).await.unwrap_err();
    let numbered = table.with_entity::<Numbered>();
    let foreign = numbered.update_rows_with([key("7")], |_| {}).await.unwrap_err();
    let without = table.query().filter(|a| a.balance.gt(1)).allow_scan();
    let without = without.update_rows_with(nothing).await.unwrap_err();
    let several = table.query().filter(|a| a.bank.is_in(["oslo", "bergen"]));
    let several = several.update_rows_with(nothing).await.unwrap_err();
    let columns = table.query().partition(BANK).select_names(["balance"]);
    let columns = columns.update_rows_with(nothing).await.unwrap_err();
    let late = table.update_rows_with([key("ann")], nothing).deadline(Duration::ZERO);
    let late = late.await.unwrap_err();
    for (error, expected) in [
        (&two, "limited to one partition"),
        (&invalid, "'/'"),
        (&foreign, "Numbered"),
        (&without, "limited to one partition"),
        (&several, "limited to one partition"),
        (&columns, "selects columns"),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(late.kind(), ErrorKind::Timeout);
    assert_eq!(mock.requests().total(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_settings_of_a_query_are_those_of_the_call() {
    let (mock, table, other) = bank(&[], &[("ann", 1)]).await;
    let query = || table.query().partition(BANK);
    let late = query().deadline(Duration::ZERO).update_rows_with(add(1)).await.unwrap_err();
    assert_eq!((late.kind(), mock.requests().total()), (ErrorKind::Timeout, 0));
    mock.faults().add(Fault::busy().on(Operation::Transaction).times(1));
    let query = query().retry(RetryPolicy::none()).client_request_id("import-42");
    let busy = query.update_rows_with(add(1)).await.unwrap_err();
    assert!(busy.is_throttled(), "{busy}");
    assert_eq!((busy.client_request_id(), busy.attempts()), (Some("import-42"), 1));
    assert_eq!(balances(&other).await, named(&[("ann", 1)]));
}

#[tokio::test(start_paused = true)]
async fn a_query_that_no_row_can_meet_finds_no_rows() {
    let (mock, table, other) = bank(&[], &[("ann", 1)]).await;
    let query = || table.query().partition(BANK);
    for nothing in [query().filter(|a| a.name.is_in([""; 0])), query().partition("bergen")] {
        assert_eq!(nothing.plan().unwrap().kind, PlanKind::Nothing);
        let unchanged = nothing.clone().update_rows_with(add(1)).await.unwrap();
        assert_eq!((unchanged.len(), mock.requests().total()), (0, 0));
        let open = |rows: &mut PartitionRows<Account>| {
            rows.insert(account(format!("new{}", rows.len()), 1));
        };
        nothing.update_rows_with(open).await.unwrap();
        other.delete(key("new0"), IfMatch::Any).await.unwrap();
        mock.requests().clear();
    }
}

/// An entity of one kind is not updated by a query of the enum: inserted, it would lack its kind.
#[tokio::test]
async fn rows_of_one_kind_are_updated_as_the_enum() {
    #[derive(Debug, TableEntity)]
    struct Saving {
        #[table(partition_key)]
        bank: String,
        #[table(row_key)]
        name: String,
        balance: i64,
    }

    #[derive(Debug, TableEntity)]
    #[table(discriminator = "Kind")]
    enum Any {
        Saving(Saving),
        Account(Account),
    }

    let (_, table, _) = bank(&[], &[]).await;
    let any = table.with_entity::<Any>();
    any.insert(&Any::Account(account("ann", 1))).await.unwrap();
    let one = any.query().partition(BANK).of_kind::<Account>();
    let error = one.update_rows_with(|_| {}).await.unwrap_err();
    assert!(error.to_string().contains("one kind"), "{error}");
    let saving = || Saving { bank: BANK.into(), name: "bob".into(), balance: 2 };
    let change = |rows: &mut PartitionRows<Any>| {
        rows.insert(Any::Saving(saving()));
        let Some(Any::Account(ann)) = rows.get_mut("ann") else { panic!() };
        ann.balance = 5;
    };
    any.query().partition(BANK).update_rows_with(change).await.unwrap();
    let bob = any.get(key("bob")).await.unwrap();
    assert!(matches!(&bob.entity, Any::Saving(bob) if bob.balance == 2));
    let ann = any.get(key("ann")).await.unwrap();
    assert!(matches!(&ann.entity, Any::Account(ann) if ann.balance == 5));
}
