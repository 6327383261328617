//! A silo stops at each of its requests while it joins the cluster, and others join after it.

use azure_table_client::TableServiceClient;
use azure_table_tests::crashes::{LATENESS, at_every_pair_of_requests, at_every_request};

use super::*;

/// The changes of a silo that joins the cluster and becomes active.
const JOIN: usize = 2;

/// Makes at most this number of changes.
async fn join(client: TableServiceClient, port: u16, mut changes: usize) {
    let membership = MembershipTable::new(&client.table_named::<Silo>(TABLE), CLUSTER).unwrap();
    membership.initialize().await.unwrap();
    let me = silo("10.0.0.1", port);
    while changes > 0 {
        let all = membership.read_all().await.unwrap();
        let is_changed = match all.silo(&me.row).cloned() {
            None => membership.insert_row(&me, &all.version).await.unwrap(),
            Some(mut me) if me.status == Status::Joining => {
                me.status = Status::Active;
                membership.update_row(&me, &all.version).await.unwrap()
            }
            Some(_) => return,
        };
        changes -= usize::from(is_changed);
    }
}

/// The version is the number of changes: two for an active silo, one for a silo that joins.
async fn check(mock: &MockTableService, active: usize) {
    for _ in 0..2 {
        tokio::time::sleep(LATENESS * 2).await;
        let table = mock.client().table_named::<Silo>(TABLE);
        let all = MembershipTable::new(&table, CLUSTER).unwrap().read_all().await.unwrap();
        let is_active = |silo: &&Silo| silo.status == Status::Active;
        let found = all.silos.iter().filter(is_active).count();
        assert!(found >= active, "{found} of {active}");
        assert_eq!(all.version.membership_version as usize, all.silos.len() + found);
        let boundary: Option<Result<String, _>> =
            mock.row(TABLE, CLUSTER, "~End").and_then(|row| row.get("MembershipVersion"));
        assert_eq!(boundary.unwrap().unwrap(), all.version.membership_version.to_string());
    }
}

async fn create(mock: &MockTableService) {
    mock.client().table_named::<Silo>(TABLE).create().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_change_is_whole_or_absent() {
    let points = at_every_request(
        create,
        async |(), client| join(client, 1, JOIN).await,
        async |(), mock, _| {
            join(mock.client(), 2, JOIN).await;
            check(mock, 1).await;
        },
    );
    println!("orleans_membership: one crash: {}", points.await);
}

#[tokio::test(start_paused = true)]
async fn a_change_is_whole_or_absent_after_two_crashes() {
    let points = at_every_pair_of_requests(
        create,
        async |(), client| join(client, 1, 1).await,
        async |(), client| join(client, 1, 1).await,
        async |(), mock, _| {
            join(mock.client(), 1, JOIN).await;
            join(mock.client(), 2, JOIN).await;
            check(mock, 2).await;
        },
    );
    println!("orleans_membership: two crashes: {}", points.await);
}
