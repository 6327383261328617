//! Calls that go on after a write that may have been applied, and fail later.

use azure_table_client::mock::Fault;

use super::*;

/// A table whose first write is applied and loses its reply.
async fn lossy() -> (MockTableService, TableClient<Counter>, TableClient<Counter>) {
    tables(Foul::LostReply, 1).await
}

/// Refuses this many of the next reads.
fn refuse_reads(mock: &MockTableService, times: usize) {
    let fault = Fault::error(403, "AuthorizationFailure").on_reads();
    mock.faults().add(fault.times(times));
}

#[tokio::test(start_paused = true)]
async fn a_failed_read_after_a_lost_insert_leaves_its_outcome_unknown() {
    let (mock, table, plain) = lossy().await;
    let make = || {
        refuse_reads(&mock, usize::MAX);
        counter(1)
    };
    let error = table.get_or_insert_with(KEY, make).await.unwrap_err();
    assert_eq!((error.status(), error.outcome()), (Some(403), Outcome::Unknown), "{error}");
    mock.faults().remove_all();
    assert_eq!(plain.get(KEY).await.unwrap().hits, 1);
}

/// The first write is applied and cannot be read back, so that an idempotent change goes on.
#[tokio::test(start_paused = true)]
async fn a_failure_after_a_lost_update_leaves_its_outcome_unknown() {
    type Change = fn(&mut Counter, u32) -> Result<(), Error>;

    // The reads that are refused after the first write, the change, and the status and kind of the error.
    let set: Change = |counter, _| {
        counter.hits = 7;
        Ok(())
    };
    let to_another_key: Change = |counter, round| {
        (counter.hits, counter.day) = (7, round.to_string());
        Ok(())
    };
    let once: Change = |counter, _| match counter.hits {
        7 => Err(DynamicEntity::new("a/b", "").to_entity::<Counter>().unwrap_err().into()),
        _ => {
            counter.hits = 7;
            Ok(())
        }
    };
    for (refused, change, status, kind) in [
        (usize::MAX, set, Some(403), ErrorKind::Service),
        (1, to_another_key, None, ErrorKind::InvalidInput),
        // The error of the change would state that nothing was written.
        (1, once, Some(412), ErrorKind::Service),
    ] {
        let (mock, table, plain) = lossy().await;
        plain.insert(&counter(0)).await.unwrap();
        let mut round = 0;
        let change = |counter: &mut Counter| {
            round += 1;
            if round == 1 {
                refuse_reads(&mock, refused);
            }
            change(counter, round)
        };
        let error = table.try_update_with(KEY, change).idempotent().await.unwrap_err();
        assert_eq!((error.status(), error.kind()), (status, kind), "{error}");
        assert_eq!((error.outcome(), error.rounds()), (Outcome::Unknown, 2), "{error}");
        mock.faults().remove_all();
        assert_eq!(plain.get(KEY).await.unwrap().hits, 7);
    }
}
