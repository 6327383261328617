//! The membership table of Orleans: `IMembershipTable` in the rows that its Azure Table provider reads and writes.
//!
//! The table is `OrleansSiloInstances`. It has the header row `VersionRow`, a row `address-port-generation` for each silo,
//! and the rows `!Start` and `~End` of newer versions. All columns are of type String.
//!
//! | operation | requests | |
//! |---|---|---|
//! | `ReadAll`, `ReadRow` | 3 for one page | never torn by inserts and updates, whichever version of Orleans writes |
//! | `InsertRow`, `UpdateRow` | 1 | under the ETags of the silo's row and of the version row; the version is one larger |
//! | `UpdateIAmAlive` | 1 | without the header row: not under a version, and a late request can set the time back |
//! | `CleanupDefunctSiloEntries` | 4 for each 97 silos, and 3 | deletes only dead silos, under a new version |
//!
//! The cleanup of Orleans' own provider deletes silos that are not active, and whose rows are old, without a change of
//! `VersionRow`: a read at that time may show some of them deleted and others not. Since 2026
//! ([11309](https://github.com/dotnet/orleans/pull/11309)), that provider also compares the ETags of `VersionRow` before
//! and after the pages.
//!
//! Requests may be lost, late, or delivered twice by a proxy. The table stays consistent, since each change names the version
//! that was read. The result of a change assumes that it is delivered once: otherwise it may be applied although the call
//! returned `false`, or the error of a busy service. A silo therefore reads the table before its next change.

use azure_table_client::{
    ETag, EntityKey, Error as ClientError, IfMatch, Outcome, Stored, TableClient, TableEntity,
    TableEnum,
};
use azure_table_patterns::Error;
use azure_table_patterns::versioned_partition::VersionedPartition;
use chrono::{DateTime, Utc};

/// The RowKey of the version row.
pub(crate) const VERSION_ROW: &str = "VersionRow";
/// The RowKeys of two more version rows, below and above the rows of all silos. Orleans writes them since August 2026.
const BOUNDARIES: [&str; 2] = ["!Start", "~End"];
/// The silos that one transaction can delete: the version row and the boundaries are operations too.
const MAX_DELETIONS: usize = 97;

/// The stages in the life of a silo, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, TableEnum)]
pub(crate) enum Status {
    Created,
    Joining,
    Active,
    ShuttingDown,
    Stopping,
    Dead,
}

/// The row with the version of the table. Every change of the membership increments it.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(crate) struct VersionRow {
    #[table(partition_key)]
    cluster: String,
    #[table(row_key)]
    row: String,
    deployment_id: String,
    #[table(as_string)]
    pub(crate) membership_version: u32,
}

/// A boundary row. The status keeps the cleanup of old programs away from it.
#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct BoundaryRow {
    #[table(partition_key)]
    cluster: String,
    #[table(row_key)]
    row: String,
    deployment_id: String,
    #[table(as_string)]
    membership_version: u32,
    status: Status,
}

/// The row of a silo. All columns are strings, as Orleans writes them.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(crate) struct Silo {
    #[table(partition_key)]
    cluster: String,
    #[table(row_key)]
    pub(crate) row: String,
    #[table(etag)]
    pub(crate) etag: Option<ETag>,
    deployment_id: String,
    pub(crate) address: String,
    pub(crate) port: String,
    pub(crate) generation: String,
    pub(crate) host_name: String,
    pub(crate) status: Status,
    pub(crate) proxy_port: Option<String>,
    pub(crate) role_name: Option<String>,
    #[table(rename = "SiloName")]
    pub(crate) name: Option<String>,
    /// The name of the silo for old programs.
    pub(crate) instance_name: Option<String>,
    pub(crate) update_zone: Option<String>,
    pub(crate) fault_zone: Option<String>,
    /// `address:port@generation` of each silo that suspects this one, separated by `|`.
    pub(crate) suspecting_silos: Option<String>,
    /// The time of each suspicion, separated by `|`.
    pub(crate) suspecting_times: Option<String>,
    pub(crate) start_time: Option<String>,
    #[table(rename = "IAmAliveTime")]
    pub(crate) i_am_alive_time: Option<String>,
}

impl Silo {
    /// Returns a silo that joins the cluster now.
    pub(crate) fn joining(
        cluster: &str,
        address: &str,
        port: u16,
        generation: i32,
        now: DateTime<Utc>,
    ) -> Self {
        let name = format!("silo-{port}");
        Self {
            cluster: cluster.to_owned(),
            row: format!("{address}-{port}-{generation}"),
            etag: None,
            deployment_id: cluster.to_owned(),
            address: address.to_owned(),
            port: port.to_string(),
            generation: generation.to_string(),
            host_name: name.clone(),
            status: Status::Joining,
            proxy_port: Some("30000".to_owned()),
            role_name: None,
            name: Some(name.clone()),
            instance_name: Some(name),
            update_zone: Some("0".to_owned()),
            fault_zone: Some("0".to_owned()),
            suspecting_silos: Some(String::new()),
            suspecting_times: Some(String::new()),
            start_time: Some(time(now)),
            i_am_alive_time: Some(time(now)),
        }
    }

    /// The form of the silo in the list of suspecting silos.
    pub(crate) fn id(&self) -> String {
        format!("{}:{}@{}", self.address, self.port, self.generation)
    }

    /// The silos that suspect this one.
    pub(crate) fn suspecting(&self) -> Vec<&str> {
        self.suspecting_silos
            .iter()
            .flat_map(|it| it.split('|'))
            .filter(|it| !it.is_empty())
            .collect()
    }

    /// Adds a suspicion by `other`, unless it has one already.
    pub(crate) fn suspect(&mut self, other: &Self, now: DateTime<Utc>) {
        let id = other.id();
        if self.suspecting().contains(&&*id) {
            return;
        }
        for (list, value) in
            [(&mut self.suspecting_silos, id), (&mut self.suspecting_times, time(now))]
        {
            let list = list.get_or_insert_default();
            if !list.is_empty() {
                list.push('|');
            }
            list.push_str(&value);
        }
    }

    /// The last time at which the silo was started, alive or suspected. Times of this form sort as text.
    fn last_time(&self) -> &str {
        let suspicions = self.suspecting_times.iter().flat_map(|times| times.split('|'));
        let others = [&self.start_time, &self.i_am_alive_time].into_iter().flatten();
        others.map(String::as_str).chain(suspicions).max().unwrap_or_default()
    }
}

/// The membership at one version.
#[derive(Debug, Clone)]
pub(crate) struct Membership {
    /// The version row, under whose ETag the next change is written.
    pub(crate) version: Stored<VersionRow>,
    /// The silos in the order of their RowKeys.
    pub(crate) silos: Vec<Silo>,
}

impl Membership {
    pub(crate) fn silo(&self, row: &str) -> Option<&Silo> {
        self.silos.iter().find(|silo| silo.row == row)
    }
}

/// The operations of Orleans' `IMembershipTable`, for one cluster.
#[derive(Debug, Clone)]
pub(crate) struct MembershipTable {
    partition: VersionedPartition<VersionRow, Silo>,
    silos: TableClient<Silo>,
    cluster: String,
}

impl MembershipTable {
    pub(crate) fn new<T: TableEntity>(
        table: &TableClient<T>,
        cluster: &str,
    ) -> Result<Self, Error> {
        let header = EntityKey::new(cluster, VERSION_ROW);
        let cluster = cluster.to_owned();
        Ok(Self {
            partition: VersionedPartition::new(table, header)?,
            silos: table.with_entity(),
            cluster,
        })
    }

    /// Inserts the version rows, unless they exist.
    pub(crate) async fn initialize(&self) -> Result<(), Error> {
        let row = self.version_row(0);
        let [start, end] = self.boundaries(0);
        let transaction = self.silos.transaction().with_entity().insert(&row);
        let transaction =
            transaction.with_entity().insert_or_replace(&start).insert_or_replace(&end);
        match transaction.await {
            Ok(_) => Ok(()),
            Err(error) if error.is_conflict() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads all silos and the version of the table, never a mixture of two versions.
    pub(crate) async fn read_all(&self) -> Result<Membership, Error> {
        let [start, end] = BOUNDARIES;
        let read =
            self.partition.read_with(|query| query.filter(|s| s.row.gt(start) & s.row.lt(end)));
        read.await.map(|view| Membership { version: view.header, silos: view.rows })
    }

    /// Reads one silo and the version of the table.
    pub(crate) async fn read_row(&self, row: &str) -> Result<Membership, Error> {
        let read = self.partition.read_with(|query| query.filter(|s| s.row.eq(row)));
        read.await.map(|view| Membership { version: view.header, silos: view.rows })
    }

    /// Inserts a silo, if the table still has this version. `false` means that another change came first, or that a
    /// proxy delivered this one twice: read the table and decide again.
    pub(crate) async fn insert_row(
        &self,
        silo: &Silo,
        version: &Stored<VersionRow>,
    ) -> Result<bool, Error> {
        let transaction = self.next_version(version)?.insert(silo);
        committed(self.with_boundaries(transaction, version).await)
    }

    /// Replaces the row of a silo, if it and the table are still as they were read. `false` as for
    /// [`insert_row`](Self::insert_row).
    pub(crate) async fn update_row(
        &self,
        silo: &Silo,
        version: &Stored<VersionRow>,
    ) -> Result<bool, Error> {
        let etag = silo.etag.clone().ok_or_else(|| not_read(silo))?;
        let transaction = self.next_version(version)?.replace(silo, etag);
        committed(self.with_boundaries(transaction, version).await)
    }

    /// Reports that a silo is alive. This write is outside the versions of the table, and a late one can set the time back.
    pub(crate) async fn update_i_am_alive(
        &self,
        silo: &Silo,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let row = AliveRow {
            cluster: self.cluster.clone(),
            row: silo.row.clone(),
            i_am_alive_time: time(now),
        };
        self.silos.with_entity().merge(&row, IfMatch::Any).await?;
        Ok(())
    }

    /// Deletes the silos that have been dead since before this time. Returns the number of silos whose deletion was
    /// confirmed.
    pub(crate) async fn cleanup_defunct(&self, before: DateTime<Utc>) -> Result<usize, Error> {
        let before = time(before);
        let mut deleted = 0;
        loop {
            let now = self.read_all().await?;
            let is_defunct =
                |silo: &&Silo| silo.status == Status::Dead && silo.last_time() < before.as_str();
            let defunct: Vec<_> = now.silos.iter().filter(is_defunct).take(MAX_DELETIONS).collect();
            if defunct.is_empty() {
                return Ok(deleted);
            }
            let mut transaction = self.next_version(&now.version)?;
            for silo in &defunct {
                let key = (self.cluster.as_str(), silo.row.as_str());
                transaction =
                    transaction.delete(key, silo.etag.clone().ok_or_else(|| not_read(silo))?);
            }
            if committed(self.with_boundaries(transaction, &now.version).await)? {
                deleted += defunct.len();
            }
        }
    }

    fn version_row(&self, version: u32) -> VersionRow {
        let (cluster, row) = (self.cluster.clone(), VERSION_ROW.to_owned());
        VersionRow { deployment_id: cluster.clone(), cluster, row, membership_version: version }
    }

    fn boundaries(&self, version: u32) -> [BoundaryRow; 2] {
        BOUNDARIES.map(|row| BoundaryRow {
            cluster: self.cluster.clone(),
            row: row.to_owned(),
            deployment_id: self.cluster.clone(),
            membership_version: version,
            status: Status::Active,
        })
    }

    /// Begins a transaction that writes the next version under the ETag of the one that was read.
    fn next_version(
        &self,
        version: &Stored<VersionRow>,
    ) -> Result<azure_table_client::client::Transaction<Silo>, Error> {
        let mut next = version.clone();
        next.membership_version += 1;
        self.partition.transaction(&next)
    }

    async fn with_boundaries(
        &self,
        transaction: azure_table_client::client::Transaction<Silo>,
        version: &Stored<VersionRow>,
    ) -> Result<(), ClientError> {
        let [start, end] = self.boundaries(version.membership_version + 1);
        let transaction =
            transaction.with_entity().insert_or_replace(&start).insert_or_replace(&end);
        transaction.await.map(drop)
    }
}

/// The one column that [`MembershipTable::update_i_am_alive`] writes.
#[derive(TableEntity)]
struct AliveRow {
    #[table(partition_key)]
    cluster: String,
    #[table(row_key)]
    row: String,
    #[table(rename = "IAmAliveTime")]
    i_am_alive_time: String,
}

/// Whether the transaction was applied. A conflict counts only if no earlier attempt can have been applied.
fn committed(result: Result<(), ClientError>) -> Result<bool, Error> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.outcome() != Outcome::NotApplied => Err(error.into()),
        Err(error)
            if error.is_conflict() || error.is_precondition_failed() || error.is_not_found() =>
        {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn not_read(silo: &Silo) -> Error {
    Error::InvalidInput {
        reason: format!("silo {} has no ETag: read it before it is updated", silo.row),
    }
}

/// The form in which Orleans writes times.
pub(crate) fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S%.3f GMT").to_string()
}
