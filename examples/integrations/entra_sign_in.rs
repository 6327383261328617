//! Signing in with Microsoft Entra ID: no key and no signature anywhere in the program, but who runs it.
//!
//! A key opens all of an account and does not say who used it. With Entra ID each person and each
//! service has a role (`Storage Table Data Contributor` on the account or one table), and the client
//! asks a credential of `azure_identity` for tokens, keeps them, and has them renewed in time.
//!
//! `cargo run -p azure-table-integrations --example entra_sign_in --features entra` runs it on the embedded service, with a
//! credential of its own. With `AZURE_TABLE_ENDPOINT` set, such as
//! `https://account.table.core.windows.net`, it runs there as who is logged in by `az login` or
//! `azd auth login`. A connection string has no part in this.

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
        Err(_) => embedded().await,
    }
}

async fn on_account(endpoint: &str) -> Result<(), Box<dyn Error>> {
    println!("Running on {endpoint}, as who is logged in.\n");
    // In Azure itself, ManagedIdentityCredential takes its place; the rest stays.
    let credential = DeveloperToolsCredential::new(None)?;
    let mut steps = Steps::counting(Arc::new(HttpTransport::new(MAX_RESPONSE_BYTES)?));
    let service =
        TableServiceClient::builder(endpoint, credential).transport(steps.transport()).build()?;
    let visits = work(&service, &mut steps).await.map_err(|error| said(&error))?;
    visits.delete_table().await?;
    steps.done("delete the table", "");
    steps.total();
    Ok(())
}

/// The embedded service takes the tokens of a credential that is part of this example.
async fn embedded() -> Result<(), Box<dyn Error>> {
    println!("Running on the embedded service; set {ENDPOINT} for a real one.\n");
    let taken = Arc::new(AtomicU64::new(1));
    let number = Arc::clone(&taken);
    let is_valid = move |token: &str| token == format!("token-{}", number.load(Ordering::Relaxed));
    let mock = MockTableService::builder().tokens(is_valid).build();
    let mut steps = Steps::counting(mock.transport());
    // Tokens do not travel over plain HTTP, and so not on this machine either.
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
    assert_eq!(issuer.asked(), 1);

    // As if the session had been ended before its time. The refused request is sent once more.
    taken.store(2, Ordering::Relaxed);
    assert_eq!(visits.query().count().await?, 5);
    assert_eq!(issuer.asked(), 2);
    steps.done(
        "the token is not taken any more: another one, and on it goes",
        "one refused request",
    );

    taken.store(3, Ordering::Relaxed);
    let Err(refused) = visits.query().count().await else {
        return Err("a token that is not valid was taken".into());
    };
    assert_eq!(refused.kind(), ErrorKind::Credential);
    steps.done("whoever may not sign in any more", said(&refused));

    let nobody = Issuer::of(0, mock.clock());
    let stranger: TableClient<Visit> = client(&nobody)?.table_named(visits.name());
    let Err(refused) = stranger.query().count().await else {
        return Err("nobody was signed in".into());
    };
    assert_eq!(refused.kind(), ErrorKind::Credential);
    assert_eq!(nobody.asked(), 1);
    steps.done("who is not signed in at all: nothing is sent", said(&refused));

    // The table goes with the service.
    steps.total();
    Ok(())
}

/// With a token a program does what it does with a key.
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

/// What the credential says is the cause.
fn said(error: &azure_table_client::Error) -> String {
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

/// Issues `token-1`, `token-2` … up to `most` of them, each for an hour.
#[derive(Debug)]
struct Issuer {
    clock: Arc<dyn Clock>,
    asked: AtomicU64,
    most: u64,
}

impl Issuer {
    fn of(most: u64, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, asked: AtomicU64::new(0), most })
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
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
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        if number > self.most {
            let kind = azure_core::error::ErrorKind::Credential;
            return Err(azure_core::Error::with_message(kind, "please log in"));
        }
        let expires = OffsetDateTime::from(self.clock.now() + Duration::from_hours(1));
        Ok(AccessToken::new(format!("token-{number}"), expires))
    }
}
