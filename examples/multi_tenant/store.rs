//! The table that all tenants share.
//!
//! Sign-in returns a [`Tenant`], whose calls are limited to the keys of that tenant. It does not give out the table, so
//! that a request without a tenant does not compile outside of this module. The service limits the requests too: each
//! tenant has a client of its own, whose signature is valid for the tenant's keys only.

use std::collections::HashMap;
use std::error::Error;
use std::io::Write;
use std::sync::{self, Arc, PoisonError};
use std::time::{Duration, SystemTime};

use azure_table_client::auth::{SasToken, TablePermissions, TableSas};
use azure_table_client::bulk::{BulkError, BulkReport};
use azure_table_client::client::Query;
use azure_table_client::filter::Filter;
use azure_table_client::transport::Transport;
use azure_table_client::{
    DynamicEntity, Stored, TableClient, TableEntity, TableServiceClient, TableValue,
};
use tokio::sync::Mutex;
use tokio::time::Instant;

type AnyError = Box<dyn Error + Send + Sync>;
type TableResult<T> = Result<T, azure_table_client::Error>;

/// The name of a tenant. Only [`Store::sign_in`] creates one.
#[derive(Debug, Clone, PartialEq, TableValue)]
struct TenantId(String);

/// An invoice of a tenant. Outside of this module, neither its tenant nor the column of its PartitionKey can be named.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase", partition_key(tenant, month))]
pub(super) struct Invoice {
    tenant: TenantId,
    pub(super) month: u32,
    #[table(row_key)]
    pub(super) number: u32,
    pub(super) cents: i64,
}

const SESSION: Duration = Duration::from_secs(60 * 60);
/// The time between two requests of a tenant, after a burst.
pub(super) const GAP: Duration = Duration::from_millis(10);
pub(super) const BURST: u32 = 20;
const IN_FLIGHT: usize = 8;

/// Signs tenants in.
pub(super) struct Store {
    service: TableServiceClient,
    transport: Arc<dyn Transport>,
    table: String,
    limits: sync::Mutex<HashMap<String, Arc<RateLimit>>>,
}

impl Store {
    /// The service has the account's key, which signs the requests of each tenant.
    pub(super) fn new(
        service: TableServiceClient,
        transport: Arc<dyn Transport>,
        table: String,
    ) -> Self {
        Self { service, transport, table, limits: sync::Mutex::default() }
    }

    pub(super) async fn create_table(&self) -> TableResult<()> {
        self.service.create_table(&self.table).await.map(drop)
    }

    pub(super) async fn delete_table(&self) -> TableResult<()> {
        self.service.delete_table(&self.table).await.map(drop)
    }

    /// Returns the tenant of a session. The caller has verified the name, for example as the claim of a token.
    pub(super) fn sign_in(&self, name: &str) -> Result<Tenant, AnyError> {
        let id = TenantId(name.to_owned());
        let all = TablePermissions::READ
            | TablePermissions::ADD
            | TablePermissions::UPDATE
            | TablePermissions::DELETE;
        let token = self.sign(&id, all, SESSION)?;
        let limit = {
            let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(limits.entry(name.to_owned()).or_default())
        };
        let service = TableServiceClient::builder(self.service.endpoint(), token)
            .transport(Arc::clone(&self.transport))
            .max_in_flight(IN_FLIGHT)
            .build()?;
        Ok(Tenant { id, invoices: service.table_named(&self.table), limit })
    }

    /// Returns a signature that reads the tenant's rows, for a report or a browser.
    pub(super) fn share(&self, tenant: &Tenant, lifetime: Duration) -> Result<SasToken, AnyError> {
        self.sign(&tenant.id, TablePermissions::READ, lifetime)
    }

    /// Deletes the rows of a tenant that has left. Sessions that are still open may write more of them, so that a
    /// program repeats this after [`SESSION`].
    pub(super) async fn delete_rows(&self, tenant: &Tenant) -> Result<BulkReport, BulkError> {
        let invoices = self.service.table_named::<Invoice>(&self.table);
        let of_tenant = invoices.query().filter(|i| i.partition_key.starts_with((&tenant.id,)));
        invoices.bulk().any_version().delete_found(of_tenant).await
    }

    fn sign(
        &self,
        id: &TenantId,
        permissions: TablePermissions,
        lifetime: Duration,
    ) -> Result<SasToken, AnyError> {
        let keys = Invoice::partition_prefix((id,))?;
        // The signature includes its last PartitionKey, which no tenant has: it is not the key of an invoice.
        let last = keys.upper().ok_or("the keys of the tenant have no upper bound")?;
        let sas = TableSas::new(&self.table)
            .permissions(permissions)
            .start_partition_key(keys.lower())
            .end_partition_key(last)
            .expires_at(SystemTime::now() + lifetime);
        Ok(self.service.sign_table_sas(&sas)?)
    }
}

/// The rows of one tenant.
pub(super) struct Tenant {
    id: TenantId,
    invoices: TableClient<Invoice>,
    limit: Arc<RateLimit>,
}

impl Tenant {
    pub(super) fn name(&self) -> &str {
        &self.id.0
    }

    pub(super) async fn add(&self, month: u32, number: u32, cents: i64) -> TableResult<()> {
        let invoice = Invoice { tenant: self.id.clone(), month, number, cents };
        self.limit.turn().await;
        self.invoices.insert(&invoice).await.map(drop)
    }

    pub(super) async fn get(
        &self,
        month: u32,
        number: u32,
    ) -> TableResult<Option<Stored<Invoice>>> {
        self.limit.turn().await;
        self.invoices.get_if_exists(Invoice::key(&self.id, month, number)).await
    }

    /// Queries all invoices, in one turn. A filter that a handler adds cannot widen the query, because all filters must match.
    pub(super) async fn query(&self) -> Query<Invoice> {
        self.limit.turn().await;
        self.invoices.query().filter(|i| i.partition_key.starts_with((&self.id,)))
    }

    /// Queries one partition, in one turn.
    pub(super) async fn month(&self, month: u32) -> Query<Invoice> {
        self.limit.turn().await;
        self.invoices.query().filter(|i| i.partition_key.eq((&self.id, month)))
    }

    /// Writes the rows as JSON lines, with their types. Returns their number.
    pub(super) async fn export(&self, out: &mut impl Write) -> Result<usize, AnyError> {
        let keys = Invoice::partition_prefix((&self.id,))?;
        let rows = self.invoices.with_entity::<DynamicEntity>();
        let mut pages = rows.query().matching(&Filter::partitions_in(&keys)).pages();
        let mut count = 0;
        loop {
            self.limit.turn().await;
            let Some(page) = pages.next().await.transpose()? else { return Ok(count) };
            for row in page.entities {
                writeln!(out, "{}", row.to_json()?)?;
                count += 1;
            }
        }
    }
}

/// The rate limit of one tenant, so that its requests do not slow down those of others. The turn is awaited before the
/// call: the time-outs of a call are for the service.
#[derive(Debug, Default)]
struct RateLimit(Mutex<Option<Instant>>);

impl RateLimit {
    /// Callers wait in their order. Those that give up leave their turn to the next.
    async fn turn(&self) {
        let mut next = self.0.lock().await;
        // Turns that were not used are kept for a burst.
        let first = Instant::now() - GAP * (BURST - 1);
        let turn = next.map_or(first, |next| next.max(first));
        tokio::time::sleep_until(turn).await;
        *next = Some(turn + GAP);
    }
}
