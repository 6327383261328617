//! A service whose tenants share a table, and cannot read each other's rows.
//!
//! | question | this example |
//! |---|---|
//! | Can a handler forget the tenant? | no: [`store`] has no call without one, and its keys are private |
//! | Can a filter or a link from outside reach another tenant? | no: all filters of a query must match, and a link belongs to one query |
//! | And if the program has a bug? | the service refuses the request: a tenant's client has a signature for its keys only |
//! | Can a busy tenant slow down the others? | its requests have a rate limit of their own |
//! | Can a tenant leave? | its rows are exported and deleted, a range of keys |
//!
//! `cargo run -p azure-table-examples --example multi_tenant` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator. Its tests run by
//! `cargo test -p azure-table-examples --examples`.

#[path = "multi_tenant/store.rs"]
mod store;
#[cfg(test)]
#[path = "multi_tenant/tests.rs"]
mod tests;

use std::error::Error;
use std::time::{Duration, Instant};

use azure_table_client::auth::SasToken;
use azure_table_client::{DynamicEntity, TableClient, TableServiceClient};
use azure_table_examples::{Columns, Steps, Style, plural};
use futures_util::future::try_join_all;
use store::{BURST, GAP, Invoice, Store, Tenant};

type AnyError = Box<dyn Error + Send + Sync>;

const TENANTS: [&str; 3] = ["acme", "acme-labs", "globex"];
const MONTHS: [u32; 2] = [202_610, 202_611];
const NOISY: u32 = 80;

/// A handler: the sum of a month.
async fn revenue(tenant: &Tenant, month: u32) -> Result<i64, AnyError> {
    Ok(tenant.month(month).await.await?.iter().map(|invoice| invoice.cents).sum())
}

/// A handler: a search with a filter that the visitor writes.
async fn search(tenant: &Tenant, filter: &str) -> Result<Vec<Invoice>, AnyError> {
    Ok(tenant.query().await.filter_text(filter).await?.into_vec())
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let (service, mut steps) =
        azure_table_examples::connect().map_err(|error| error.to_string())?;
    let table = azure_table_examples::unique("ExampleInvoices");
    let store = Store::new(service.clone(), steps.transport(), table.clone());
    store.create_table().await?;
    let tenants = TENANTS.map(|name| store.sign_in(name)).into_iter().collect::<Result<_, _>>()?;
    run(&store, tenants, &service, &table, &mut steps).await?;
    store.delete_table().await?;
    steps.done("delete the table", "");
    steps.total();
    Ok(())
}

async fn run(
    store: &Store,
    tenants: Vec<Tenant>,
    service: &TableServiceClient,
    table: &str,
    steps: &mut Steps,
) -> Result<(), AnyError> {
    let [acme, labs, globex] = &tenants[..] else { return Err("not three tenants".into()) };
    let mut columns = Columns::new(["tenant", "invoices", "October", "November"]);
    for (tenant, count) in [(acme, 5), (labs, 3), (globex, 4)] {
        for (number, month) in (1..=count).flat_map(|n| MONTHS.map(|month| (n, month))) {
            tenant.add(month, number, 1990 * i64::from(number)).await?;
        }
        let [october, november] =
            [revenue(tenant, MONTHS[0]).await?, revenue(tenant, MONTHS[1]).await?];
        assert_eq!(october, 1990 * i64::from(count * (count + 1) / 2));
        let invoices = tenant.query().await.count().await?;
        assert_eq!(invoices, 2 * u64::from(count));
        let euros = |cents: i64| format!("{}.{:02} €", cents / 100, cents % 100);
        columns.row([
            tenant.name().to_owned(),
            invoices.to_string(),
            euros(october),
            euros(november),
        ]);
    }
    steps.done("three tenants in one table", columns.to_string());

    let hostile = "Cents gt 0L or PartitionKey gt ''";
    let found = search(acme, hostile).await?;
    assert_eq!(found.len(), 10);
    let found = plural(found.len(), "invoice");
    steps.done(&format!("acme searches for {hostile}"), format!("{found}, all of its own"));

    let token = store.share(acme, Duration::from_secs(5 * 60))?;
    check_signature(service, table, token, steps).await?;
    neighbours(acme, globex, steps).await?;

    let mut file = Vec::new();
    let exported = labs.export(&mut file).await?;
    assert_eq!(exported, 6);
    let text = String::from_utf8(file)?;
    assert!(text.lines().count() == 6 && text.lines().all(|line| line.contains("acme-labs")));
    steps.done("acme-labs leaves: export its rows", text.lines().next().unwrap_or_default());
    let report = store.delete_rows(labs).await?;
    assert_eq!(report.progress.applied, 6);
    steps.done("and delete them", report.to_string());
    assert_eq!(labs.query().await.count().await?, 0);
    let kept = acme.query().await.count().await?;
    assert_eq!(kept, 10 + u64::from(NOISY));
    steps.done("acme, with the same first letters, keeps its rows", format!("{kept} invoices"));
    Ok(())
}

/// Uses a client that has only the signature, and may send any request.
async fn check_signature(
    service: &TableServiceClient,
    table: &str,
    token: SasToken,
    steps: &mut Steps,
) -> Result<(), AnyError> {
    let holder = TableServiceClient::builder(service.endpoint(), token)
        .transport(steps.transport())
        .build()?;
    let rows: TableClient<DynamicEntity> = holder.table_named(table);
    let visible = rows.query().allow_scan().await?;
    let of_others =
        visible.iter().filter(|row| !row.key().partition_key.starts_with("acme!")).count();
    let result = match (visible.len(), of_others) {
        (10, 0) => "the 10 invoices of acme: the service leaves out all others",
        _ if azure_table_examples::is_azurite(service, steps.transport()).await => {
            "all invoices: Azurite ignores the keys of a signature"
        }
        _ => return Err(Style::Red.of("the signature of a tenant reads another one").into()),
    };
    steps.done("the holder of a signature of acme reads the whole table", result);
    let Err(refused) = rows.insert(&DynamicEntity::new("acme!0000202611", "0000000099")).await
    else {
        return Err("a signature for reading has written".into());
    };
    assert_eq!(refused.status(), Some(403));
    steps.done("and writes nothing", refused.to_string());
    Ok(())
}

/// One tenant writes as fast as it can, the other reads.
async fn neighbours(noisy: &Tenant, quiet: &Tenant, steps: &mut Steps) -> Result<(), AnyError> {
    let start = Instant::now();
    let load = async {
        try_join_all((100..100 + NOISY).map(|number| noisy.add(202_612, number, 1))).await?;
        Ok::<_, AnyError>(start.elapsed())
    };
    let visits = async {
        let mut longest = Duration::ZERO;
        for number in [1, 2, 3] {
            let start = Instant::now();
            assert!(quiet.get(MONTHS[0], number).await?.is_some());
            longest = longest.max(start.elapsed());
        }
        Ok::<_, AnyError>(longest)
    };
    let (load, longest) = tokio::try_join!(load, visits)?;
    // A burst is not delayed.
    assert!(load >= GAP * (NOISY - BURST) && load > longest, "{load:?}, {longest:?}");
    let mut columns = Columns::new(["tenant", "requests", "time"]);
    columns.row(["acme".to_owned(), format!("{NOISY} at once"), format!("{load:.0?} for all")]);
    columns.row([
        "globex".to_owned(),
        "3 meanwhile".to_owned(),
        format!("{longest:.1?} for the slowest"),
    ]);
    steps.done("acme is busy; globex is not delayed", columns.to_string());
    Ok(())
}
