//! The rows of the example, and the invariants of `IMembershipTable`. `tests/it/main.rs` includes this file.

#[path = "tests/chaos.rs"]
mod chaos;
#[path = "tests/crashes.rs"]
mod crashes;
mod table;

use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, IfMatch, TableClient};
use chrono::{DateTime, TimeDelta, Utc};
use table::{MembershipTable, Silo, Status, VERSION_ROW, time};

const TABLE: &str = "OrleansSiloInstances";
const CLUSTER: &str = "cluster-1";

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(1_283_421_043_341).unwrap()
}

async fn prepare(mock: &MockTableService) -> (TableClient<Silo>, MembershipTable) {
    let table = mock.client().table_named::<Silo>(TABLE);
    table.create().await.unwrap();
    let membership = MembershipTable::new(&table, CLUSTER).unwrap();
    membership.initialize().await.unwrap();
    membership.initialize().await.unwrap();
    (table, membership)
}

fn silo(address: &str, port: u16) -> Silo {
    Silo::joining(CLUSTER, address, port, 1234, now())
}

async fn insert(membership: &MembershipTable, silo: &Silo) -> bool {
    let version = membership.read_all().await.unwrap().version;
    membership.insert_row(silo, &version).await.unwrap()
}

/// The columns are those of `SiloInstanceTableEntry` and all of type String.
#[tokio::test]
async fn the_rows_are_those_of_orleans() {
    let mock = MockTableService::new();
    let (_, membership) = prepare(&mock).await;
    let mut first = silo("10.0.0.1", 11_111);
    assert!(insert(&membership, &first).await);
    let second = silo("fe80::1", 11_112);
    assert!(insert(&membership, &second).await);
    let all = membership.read_all().await.unwrap();
    first = all.silo("10.0.0.1-11111-1234").unwrap().clone();
    first.suspect(all.silo("fe80::1-11112-1234").unwrap(), now());
    assert!(membership.update_row(&first, &all.version).await.unwrap());
    let rows = mock.rows(TABLE).unwrap();
    let keys: Vec<_> = rows.iter().map(|row| &*row.key().row_key).collect();
    // The version row is among the silos: IPv6 addresses sort after it.
    assert_eq!(keys, ["!Start", "10.0.0.1-11111-1234", VERSION_ROW, "fe80::1-11112-1234", "~End"]);
    assert!(rows.iter().all(|row| row.key().partition_key == CLUSTER));
    let columns = |row: &DynamicEntity| {
        let is_text = |value: &azure_table_client::edm::EdmValue| {
            assert_eq!(value.edm_type(), azure_table_client::edm::EdmType::String);
        };
        let columns = row.properties().map(|(name, value)| {
            is_text(value);
            format!("{name}={value}")
        });
        columns.collect::<Vec<_>>()
    };
    assert_eq!(
        columns(&rows[0]),
        ["DeploymentId=cluster-1", "MembershipVersion=3", "Status=Active"]
    );
    assert_eq!(columns(&rows[2]), ["DeploymentId=cluster-1", "MembershipVersion=3"]);
    assert_eq!(columns(&rows[4]), columns(&rows[0]));
    assert_eq!(
        columns(&rows[1]),
        [
            "Address=10.0.0.1",
            "DeploymentId=cluster-1",
            "FaultZone=0",
            "Generation=1234",
            "HostName=silo-11111",
            "IAmAliveTime=2010-09-02 09:50:43.341 GMT",
            "InstanceName=silo-11111",
            "Port=11111",
            "ProxyPort=30000",
            "SiloName=silo-11111",
            "StartTime=2010-09-02 09:50:43.341 GMT",
            "Status=Joining",
            "SuspectingSilos=fe80::1:11112@1234",
            "SuspectingTimes=2010-09-02 09:50:43.341 GMT",
            "UpdateZone=0",
        ]
    );
}

/// A cluster of programs that do not know the boundary rows yet.
#[tokio::test]
async fn tables_of_older_programs_are_read_and_written() {
    let mock = MockTableService::new();
    let (table, membership) = prepare(&mock).await;
    let silos = table.with_entity::<DynamicEntity>();
    for boundary in ["!Start", "~End"] {
        silos.delete((CLUSTER, boundary), IfMatch::Any).await.unwrap();
    }
    let old = DynamicEntity::new(CLUSTER, "10.0.0.9-1-2")
        .with("DeploymentId", CLUSTER)
        .with("Address", "10.0.0.9")
        .with("Port", "1")
        .with("Generation", "2")
        .with("HostName", "old")
        .with("Status", "Active");
    silos.insert(&old).await.unwrap();
    assert_eq!(membership.read_all().await.unwrap().silos[0].suspecting(), [""; 0]);
    assert!(insert(&membership, &silo("10.0.0.1", 1)).await);
    assert_eq!(mock.row_count(TABLE), Some(5));
}

#[tokio::test]
async fn a_change_needs_the_version_of_the_table() {
    let mock = MockTableService::new();
    let (_, membership) = prepare(&mock).await;
    let old = membership.read_all().await.unwrap();
    assert!(membership.insert_row(&silo("10.0.0.1", 1), &old.version).await.unwrap());
    assert!(!membership.insert_row(&silo("10.0.0.1", 2), &old.version).await.unwrap());
    let new = membership.read_all().await.unwrap();
    assert_eq!((new.version.membership_version, new.silos.len()), (1, 1));
    // The row exists.
    assert!(!membership.insert_row(&silo("10.0.0.1", 1), &new.version).await.unwrap());
    let mut dead = new.silos[0].clone();
    dead.status = Status::Dead;
    assert!(!membership.update_row(&dead, &old.version).await.unwrap());
    assert!(membership.update_row(&dead, &new.version).await.unwrap());
    let version = membership.read_all().await.unwrap().version;
    // The ETag of the row is old, that of the table is not.
    assert!(!membership.update_row(&dead, &version).await.unwrap());
    // A row that was not read has no ETag.
    assert!(membership.update_row(&silo("10.0.0.1", 1), &version).await.is_err());
    assert_eq!(membership.read_all().await.unwrap().version.membership_version, 2);
}

#[tokio::test]
async fn a_sign_of_life_changes_no_version_and_is_not_overwritten() {
    let mock = MockTableService::new();
    let (_, membership) = prepare(&mock).await;
    insert(&membership, &silo("10.0.0.1", 1)).await;
    let before = membership.read_all().await.unwrap();
    let later = now() + TimeDelta::minutes(5);
    membership.update_i_am_alive(&before.silos[0], later).await.unwrap();
    let after = membership.read_row(&before.silos[0].row).await.unwrap();
    assert_eq!(after.version.etag, before.version.etag);
    assert_eq!(after.silos[0].i_am_alive_time, Some(time(later)));
    assert_eq!(after.silos[0].status, Status::Joining);
    // An update that was read before the sign of life would set the time back.
    assert!(!membership.update_row(&before.silos[0], &after.version).await.unwrap());
    let gone = silo("10.0.0.2", 2);
    assert!(membership.update_i_am_alive(&gone, later).await.is_err());
}

#[tokio::test]
async fn a_row_is_read_with_the_version() {
    let mock = MockTableService::new();
    let (_, membership) = prepare(&mock).await;
    for port in 1..4 {
        insert(&membership, &silo("10.0.0.1", port)).await;
    }
    let row = membership.read_row("10.0.0.1-2-1234").await.unwrap();
    assert_eq!((row.silos.len(), row.version.membership_version), (1, 3));
    assert!(row.silo("10.0.0.1-2-1234").is_some());
    assert!(membership.read_row("10.0.0.1-9-1234").await.unwrap().silos.is_empty());
}

#[tokio::test]
async fn the_cleanup_deletes_silos_that_died_before() {
    let mock = MockTableService::new();
    let (_, membership) = prepare(&mock).await;
    let table = mock.client().table_named::<Silo>(TABLE);
    for port in 0..120 {
        let mut silo = silo("10.0.0.1", port);
        silo.status = if port < 110 { Status::Dead } else { Status::Active };
        if port < 5 {
            // A suspicion is later than the start.
            silo.suspect(&silo.clone(), now() + TimeDelta::hours(2));
        }
        table.insert(&silo).await.unwrap();
    }
    let before = now() + TimeDelta::hours(1);
    mock.requests().clear();
    assert_eq!(membership.cleanup_defunct(before).await.unwrap(), 105);
    assert_eq!(mock.requests().total(), 4 * 2 + 3);
    let left = membership.read_all().await.unwrap();
    // Two transactions: one deletes at most 97 silos.
    assert_eq!((left.silos.len(), left.version.membership_version), (15, 2));
    assert_eq!(membership.cleanup_defunct(before).await.unwrap(), 0);
}

#[tokio::test]
async fn each_call_sends_the_documented_number_of_requests() {
    let mock = MockTableService::new();
    let (_, membership) = prepare(&mock).await;
    let silo = silo("10.0.0.1", 1);
    let mut sent = Vec::new();
    let version = membership.read_all().await.unwrap().version;
    let mut count = || {
        sent.push(mock.requests().total());
        mock.requests().clear();
    };
    count();
    membership.insert_row(&silo, &version).await.unwrap();
    count();
    let all = membership.read_all().await.unwrap();
    count();
    membership.update_row(&all.silos[0], &all.version).await.unwrap();
    count();
    membership.update_i_am_alive(&silo, now()).await.unwrap();
    count();
    membership.read_row(&silo.row).await.unwrap();
    count();
    assert_eq!(sent[1..], [1, 3, 1, 1, 3]);
}
