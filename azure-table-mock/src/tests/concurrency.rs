//! Locks between requests.

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;

use super::*;
use crate::row::StoredKey;
use crate::store::{Precondition, RowChange, RowUpdate, StagedWrite};

fn write() -> StagedWrite<'static> {
    let change = RowChange::Update(RowUpdate::replace("r", Vec::new()), Precondition::None);
    StagedWrite::new(StoredKey::new("p", "r"), change)
}

#[test]
fn a_slow_query_does_not_block_the_creation_of_a_table() {
    let service = loose();
    let table = Arc::clone(service.core().store.read().table("Blogs").unwrap());
    table.apply(&[write()], || EdmDateTime::MIN, |_| {}).unwrap();
    let (started, done) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let wait = |_: &[_]| {
                started.wait();
                done.wait();
            };
            table.apply(&[write()], || EdmDateTime::MIN, wait).unwrap();
        });
        started.wait();
        // The query waits for the writer of its partition.
        let query = scope.spawn(|| send(&service, "GET", "/Blogs()", &[], "").status);
        while Arc::strong_count(&table) < 3 {
            thread::yield_now();
        }
        let (created, told) = channel();
        let service = service.clone();
        thread::spawn(move || {
            let status = send(&service, "POST", "/Tables", &[], r#"{"TableName":"Posts"}"#).status;
            created.send(status).unwrap();
        });
        let status = told.recv_timeout(Duration::from_secs(10));
        assert!(!query.is_finished());
        done.wait();
        assert_eq!(status.map(|status| status.as_u16()), Ok(201));
        assert_eq!(query.join().unwrap(), 200);
    });
}
