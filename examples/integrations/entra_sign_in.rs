//! Signing in with Microsoft Entra ID: the program has an identity instead of a key or a signature.
//!
//! A key opens a whole account and does not identify its user. With Entra ID each person and each
//! service has a role (`Storage Table Data Contributor` on the account or one table). The client
//! requests tokens from a credential of `azure_identity`, keeps them, and renews them in time.
//!
//! `cargo run -p azure-table-integrations --example entra_sign_in --features entra` runs it on the mock, with a
//! credential of its own. With `AZURE_TABLE_ENDPOINT` set, such as
//! `https://account.table.core.windows.net`, it runs there as the user who is logged in by `az login` or
//! `azd auth login`. It uses no connection string.

#![expect(clippy::print_stdout, reason = "examples print")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::time::OffsetDateTime;
use azure_identity::DeveloperToolsCredential;
use azure_table_client::clock::Clock;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::HttpTransport;
use azure_table_client::{ErrorKind, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::Steps;

const ENDPOINT: &str = "AZURE_TABLE_ENDPOINT";
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Visit {
    #[table(partition_key)]
    page: String,
    #[table(row_key)]
    number: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::var(ENDPOINT) {
        Ok(endpoint) => on_account(&endpoint).await,
        Err(_) => on_mock().await,
    }
}

async fn on_account(endpoint: &str) -> Result<(), Box<dyn Error>> {
    println!("Running on {endpoint}, as the user who is logged in.\n");
    // Inside Azure, use ManagedIdentityCredential instead.
    let credential = DeveloperToolsCredential::new(None)?;
    let mut steps = Steps::counting(Arc::new(HttpTransport::new(MAX_RESPONSE_BYTES)?));
    let service =
        TableServiceClient::builder(endpoint, credential).transport(steps.transport()).build()?;
    let visits = work(&service, &mut steps).await.map_err(|error| cause(&error))?;
    visits.delete_table().await?;
    steps.done("delete the table", "");
    steps.total();
    Ok(())
}

/// Runs on the mock, which accepts the tokens of a credential that is part of this example.
async fn on_mock() -> Result<(), Box<dyn Error>> {
    println!("Running on the mock; set {ENDPOINT} for a real service.\n");
    let accepted = Arc::new(AtomicU64::new(1));
    let number = Arc::clone(&accepted);
    let is_valid = move |token: &str| token == format!("token-{}", number.load(Ordering::Relaxed));
    let mock = MockTableService::builder().tokens(is_valid).build();
    let mut steps = Steps::counting(mock.transport());
    // Tokens are not sent over plain HTTP, not even to this machine.
    let transport = steps.transport();
    let client = |credential: &Arc<Issuer>| {
        TableServiceClient::builder("https://localhost/devstoreaccount1", Arc::clone(credential))
            .transport(Arc::clone(&transport))
            .clock(mock.clock())
            .build()
    };

    let issuer = Issuer::of(2, mock.clock());
    let service = client(&issuer)?;
    let visits = work(&service, &mut steps).await?;
    assert_eq!(issuer.requests(), 1);

    // Simulates a session that was ended early. The client retries the refused request.
    accepted.store(2, Ordering::Relaxed);
    assert_eq!(visits.query().count().await?, 5);
    assert_eq!(issuer.requests(), 2);
    steps.done("the token is refused: the client renews it and continues", "one refused request");

    accepted.store(3, Ordering::Relaxed);
    let Err(refused) = visits.query().count().await else {
        return Err("an invalid token was accepted".into());
    };
    assert_eq!(refused.kind(), ErrorKind::Credential);
    steps.done("a user who may not sign in any more", cause(&refused));

    let signed_out = Issuer::of(0, mock.clock());
    let stranger: TableClient<Visit> = client(&signed_out)?.table_named(visits.name());
    let Err(refused) = stranger.query().count().await else {
        return Err("the call succeeded without a user".into());
    };
    assert_eq!(refused.kind(), ErrorKind::Credential);
    assert_eq!(signed_out.requests(), 1);
    steps.done("a user who is not signed in: nothing is sent", cause(&refused));

    // The table is dropped with the mock.
    steps.total();
    Ok(())
}

/// A program uses the same calls with a token as with a key.
async fn work(
    service: &TableServiceClient,
    steps: &mut Steps,
) -> Result<TableClient<Visit>, azure_table_client::Error> {
    let visits = service.table_named(azure_table_examples::unique("ExampleVisits"));
    visits.create().await?;
    for number in 0..5 {
        visits.insert(&Visit { page: "home".to_owned(), number }).await?;
    }
    let count = visits.query().filter(|v| v.page.eq("home")).count().await?;
    assert_eq!(count, 5);
    steps.done("sign in, create a table, write five visits and count them", count.to_string());
    Ok(visits)
}

/// Returns the cause that the credential reports.
fn cause(error: &azure_table_client::Error) -> String {
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

/// Issues `token-1`, `token-2` … up to `most` tokens, each valid for an hour.
#[derive(Debug)]
struct Issuer {
    clock: Arc<dyn Clock>,
    requests: AtomicU64,
    most: u64,
}

impl Issuer {
    fn of(most: u64, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, requests: AtomicU64::new(0), most })
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

#[async_trait::async_trait]
impl TokenCredential for Issuer {
    async fn get_token(
        &self,
        scopes: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure_core::Result<AccessToken> {
        assert_eq!(scopes, ["https://storage.azure.com/.default"]);
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if number > self.most {
            let kind = azure_core::error::ErrorKind::Credential;
            return Err(azure_core::Error::with_message(kind, "please log in"));
        }
        let expires = OffsetDateTime::from(self.clock.now() + Duration::from_secs(60 * 60));
        Ok(AccessToken::new(format!("token-{number}"), expires))
    }
}
