// Rust: cargo add testcontainers azure-table-client tokio
use azure_table_client::{DynamicEntity, TableServiceClient, auth::DEVELOPMENT_KEY};
use testcontainers::core::{IntoContainerPort as _, WaitFor};
use testcontainers::{GenericImage, runners::AsyncRunner as _};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let container = GenericImage::new("azure-table-mock", "latest")
        .with_exposed_port(10002.tcp())
        .with_wait_for(WaitFor::healthcheck())
        .start()
        .await?;
    let (host, port) = (container.get_host().await?, container.get_host_port_ipv4(10002).await?);
    let service = TableServiceClient::from_connection_string(&format!(
        "AccountName=devstoreaccount1;AccountKey={DEVELOPMENT_KEY};\
         TableEndpoint=http://{host}:{port}/devstoreaccount1"
    ))?;
    let orders = service.table_named::<DynamicEntity>("Orders");
    orders.create().await?;
    orders.insert(&DynamicEntity::new("2026", "1")).await?;
    Ok(())
}
