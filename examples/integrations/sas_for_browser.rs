//! A shared access signature for a browser: a page asks the service itself, and can do what it is to
//! do and nothing else.
//!
//! The server knows the account's key and who is logged in. It signs, without asking the service, a
//! signature that reads one partition of one table for an hour, and hands the page a URL. The page's
//! requests then do not pass through the server at all. For that the service must let pages of that
//! origin ask it, which a CORS rule of the account says.
//!
//! `cargo run -p azure-table-integrations --example sas_for_browser` runs it on the embedded service. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator; the account's CORS rules
//! are put back as they were.

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
/// How long a change of the rules may take.
const PATIENCE: Duration = Duration::from_mins(2);

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

    // A signature begins a little earlier, lest a clock that is behind take it for one of the future.
    let now = SystemTime::now();
    let sas = TableSas::new(messages.name())
        .permissions(TablePermissions::READ)
        .partition_key("joe")
        .starts_at(now - Duration::from_mins(15))
        .expires_at(now + Duration::from_hours(1));
    let token = service.sign_table_sas(&sas)?;
    steps.done("sign for Joe, who has just logged in", "nothing is asked of the service");

    only_what_it_says(&service, messages.name(), token.clone(), &mut steps).await?;

    let url = format!("{}/{}()?{}", service.endpoint(), messages.name(), token.as_query());
    let before = service.properties().await?;
    let seen = from_the_page(&service, &before, &url, &mut steps).await;
    let cors = Some(before.cors.unwrap_or_default());
    service.set_properties(&ServiceProperties { cors, ..ServiceProperties::default() }).await?;
    messages.delete_table().await?;
    steps.done("put the CORS rules back, delete the table", "");
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

/// A client of its own that has the signature and no key.
async fn only_what_it_says(
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

    // What is out of the range is not there for him, in a query or by its key.
    let listed = inbox.query().filter(|m| m.to.eq("ann")).await?;
    let read = inbox.get_if_exists(Message::key("ann", 1_u32)?).await?;
    let of_ann = match (listed.is_empty(), read) {
        (true, None) => "and none of Ann's",
        _ if is_azurite(steps, service.endpoint()).await? => {
            "and Ann's too: Azurite does not look at the keys of a signature"
        }
        _ => return Err("a signature for one partition has read another".into()),
    };
    steps.done("whoever has the signature reads Joe's messages", of_ann);

    let Err(refused) = inbox.insert(&Message { number: 3, ..mine[0].clone() }).await else {
        return Err("a signature to read has written".into());
    };
    assert_eq!(refused.status(), Some(403));
    steps.done("and writes nothing", refused.to_string());
    Ok(())
}

async fn is_azurite(steps: &Steps, url: &str) -> Result<bool, Box<dyn Error>> {
    let reply = fetch(steps, url, ORIGIN).await?;
    let server = reply.headers.get("server").and_then(|value| value.to_str().ok());
    Ok(server.is_some_and(|server| server.starts_with("Azurite")))
}

/// What a browser sends for a page of this origin, and whether it would show the page the answer.
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
        // So that the page sees where the next one begins.
        exposed_headers: vec!["x-ms-continuation-*".to_owned()],
        max_age: Duration::from_mins(5),
    };
    // The rules are one list: what is to stay is in it, and the first one that fits counts.
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
        if start.elapsed() > PATIENCE {
            return Err("the CORS rule was set, and does not hold".into());
        }
        // An account may take half a minute.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let elsewhere = fetch(steps, url, "https://elsewhere.example").await?;
    // Rules that were there before may let in whom they want.
    let has_others = before.cors.iter().flatten().next().is_some();
    assert!(has_others || !elsewhere.headers.contains_key("access-control-allow-origin"));
    steps.done("a CORS rule, and requests as browsers send them", format!("taken from {ORIGIN}"));
    Ok(())
}

/// What `fetch` sends. The origin is the browser's to say, not the page's.
async fn fetch(steps: &Steps, url: &str, origin: &str) -> Result<HttpResponse, Box<dyn Error>> {
    let headers = [
        ("accept".parse()?, "application/json;odata=nometadata".parse()?),
        ("origin".parse()?, origin.parse()?),
    ];
    let headers = headers.into_iter().collect();
    let (url, body) = (url.to_owned(), "".into());
    Ok(steps.transport().send(HttpRequest { method: "GET".parse()?, url, headers, body }).await?)
}
