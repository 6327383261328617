//! A shared access signature for a browser: a page calls the service directly, with the permissions that it
//! needs and no more.
//!
//! The server has the account's key and knows the logged-in user. Without a request to the service, it creates a
//! signature that permits reading one partition of one table for an hour, and passes a URL to the page. The page's
//! requests then bypass the server. The service accepts requests of pages from that origin if a
//! CORS rule of the account permits it.
//!
//! `cargo run -p azure-table-integrations --example sas_for_browser` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator; the account's CORS rules
//! are restored.

#![expect(clippy::print_stdout, reason = "examples print")]

use std::error::Error;
use std::time::{Duration, SystemTime};

use azure_table_client::auth::{SasToken, TablePermissions, TableSas};
use azure_table_client::client::{CorsRule, ServiceProperties};
use azure_table_client::transport::{HttpRequest, HttpResponse};
use azure_table_client::{TableClient, TableEntity, TableServiceClient};
use azure_table_examples::Steps;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Message {
    #[table(partition_key)]
    to: String,
    #[table(row_key)]
    number: u32,
    text: String,
}

const ORIGIN: &str = "https://www.example.org";
/// The longest time that a change of the rules may take.
const MAX_WAIT: Duration = Duration::from_secs(2 * 60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let messages = service.table_named(azure_table_examples::unique("ExampleMessages"));
    messages.create().await?;
    for (to, number) in [("joe", 1), ("joe", 2), ("ann", 1)] {
        let message = Message { to: to.to_owned(), number, text: format!("Hello {to}") };
        messages.insert(&message).await?;
    }
    steps.done("messages for Joe and for Ann", "");

    // The signature begins a little earlier, so that a clock that is behind does not refuse it.
    let now = SystemTime::now();
    let sas = TableSas::new(messages.name())
        .permissions(TablePermissions::READ)
        .partition_key("joe")
        .starts_at(now - Duration::from_secs(15 * 60))
        .expires_at(now + Duration::from_secs(60 * 60));
    let token = service.sign_table_sas(&sas)?;
    steps.done("sign for Joe, who has just logged in", "without a request");

    check_the_permissions(&service, messages.name(), token.clone(), &mut steps).await?;

    let url = format!("{}/{}()?{}", service.endpoint(), messages.name(), token.as_query());
    let before = service.properties().await?;
    let seen = from_the_page(&service, &before, &url, &mut steps).await;
    let cors = Some(before.cors.unwrap_or_default());
    service.set_properties(&ServiceProperties { cors, ..ServiceProperties::default() }).await?;
    messages.delete_table().await?;
    steps.done("restore the CORS rules, delete the table", "");
    seen?;
    steps.total();

    let shown = url.split("&sig=").next().unwrap_or_default();
    println!(
        "\nIn the page:\n
  const url = \"{shown}&sig=(the signature)\";
  const reply = await fetch(url, {{ headers: {{ Accept: \"application/json;odata=nometadata\" }} }});
  for (const message of (await reply.json()).value) console.log(message.Text);"
    );
    Ok(())
}

/// Uses a client that has the signature and no key.
async fn check_the_permissions(
    service: &TableServiceClient,
    table: &str,
    token: SasToken,
    steps: &mut Steps,
) -> Result<(), Box<dyn Error>> {
    let joe = TableServiceClient::builder(service.endpoint(), token)
        .transport(steps.transport())
        .build()?;
    let inbox: TableClient<Message> = joe.table_named(table);
    let mine = inbox.query().filter(|m| m.to.eq("joe")).await?;
    assert_eq!(mine.len(), 2);

    // Rows outside the range are invisible to Joe, in a query and by their keys.
    let listed = inbox.query().filter(|m| m.to.eq("ann")).await?;
    let read = inbox.get_if_exists(Message::key("ann", 1_u32)?).await?;
    let of_ann = match (listed.is_empty(), read) {
        (true, None) => "and none of Ann's",
        _ if azure_table_examples::is_azurite(service, steps.transport()).await => {
            "and Ann's too: Azurite ignores the keys of a signature"
        }
        _ => return Err("a signature for one partition has read another".into()),
    };
    steps.done("the holder of the signature reads Joe's messages", of_ann);

    let Err(refused) = inbox.insert(&Message { number: 3, ..mine[0].clone() }).await else {
        return Err("a signature for reading has written".into());
    };
    assert_eq!(refused.status(), Some(403));
    steps.done("and writes nothing", refused.to_string());
    Ok(())
}

/// Sends the requests of a browser for a page of this origin, and checks whether the page may read the responses.
async fn from_the_page(
    service: &TableServiceClient,
    before: &ServiceProperties,
    url: &str,
    steps: &mut Steps,
) -> Result<(), Box<dyn Error>> {
    let rule = CorsRule {
        allowed_origins: vec![ORIGIN.to_owned()],
        allowed_methods: vec!["GET".to_owned()],
        allowed_headers: vec!["x-ms-*".to_owned()],
        // Lets the page read the continuation of a query.
        exposed_headers: vec!["x-ms-continuation-*".to_owned()],
        max_age: Duration::from_secs(5 * 60),
    };
    // The rules are one list: a request sets all of them, and the first match counts.
    let rules = before.cors.iter().flatten().cloned();
    let cors = Some([rule].into_iter().chain(rules).take(5).collect());
    service.set_properties(&ServiceProperties { cors, ..ServiceProperties::default() }).await?;
    let start = tokio::time::Instant::now();
    loop {
        let reply = fetch(steps, url, ORIGIN).await?;
        assert_eq!(reply.status, 200);
        assert!(std::str::from_utf8(&reply.body)?.contains("Hello joe"));
        if let Some(allowed) = reply.headers.get("access-control-allow-origin") {
            assert_eq!(allowed, ORIGIN);
            break;
        }
        if start.elapsed() > MAX_WAIT {
            return Err("the CORS rule was set, and has no effect".into());
        }
        // An account may take half a minute.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let elsewhere = fetch(steps, url, "https://elsewhere.example").await?;
    // Existing rules may permit other origins.
    let has_others = before.cors.iter().flatten().next().is_some();
    assert!(has_others || !elsewhere.headers.contains_key("access-control-allow-origin"));
    steps
        .done("a CORS rule, and requests as browsers send them", format!("accepted from {ORIGIN}"));
    Ok(())
}

/// Sends a request like `fetch`. The browser sets the origin; the page cannot.
async fn fetch(steps: &Steps, url: &str, origin: &str) -> Result<HttpResponse, Box<dyn Error>> {
    let headers = [
        ("accept".parse()?, "application/json;odata=nometadata".parse()?),
        ("origin".parse()?, origin.parse()?),
    ];
    let headers = headers.into_iter().collect();
    let request = HttpRequest { headers, ..HttpRequest::new("GET".parse()?, url.parse()?) };
    Ok(steps.transport().send(request).await?)
}
