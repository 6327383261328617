//! A visitor of the service: writes notes, reads them page by page, and deletes them.

use azure_table_examples::Style;
use reqwest::header::{CONTENT_TYPE, ETAG, HeaderName, IF_MATCH, IF_NONE_MATCH};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::AnyError;

/// Sends a few requests and checks the responses.
pub(super) async fn visit(url: &str) -> Result<(), AnyError> {
    let visitor = Visitor { client: Client::builder().no_proxy().build()?, url };
    let book = format!("/notes/diary-{}", std::process::id());
    let monday = format!("{book}/monday");
    let is_new = Some((IF_NONE_MATCH, "*"));

    let (first, _) = visitor.visit(201, Method::PUT, &monday, is_new.clone(), Some("Rain")).await?;
    let first = || Some((IF_MATCH, first.as_str()));
    visitor.visit(412, Method::PUT, &monday, is_new.clone(), Some("Rain")).await?;
    visitor.visit(204, Method::PUT, &monday, first(), Some("Sun")).await?;
    visitor.visit(412, Method::PUT, &monday, first(), Some("Snow")).await?;
    let (_, note) = visitor.visit(200, Method::GET, &monday, None, None).await?;
    assert_eq!(note["text"], "Sun");

    for n in 1..=24 {
        let path = format!("{book}/note-{n:02}");
        visitor.send(201, Method::PUT, &path, is_new.clone(), Some("Hello")).await?;
    }
    let (mut names, mut next) = (Vec::new(), Some(String::new()));
    while let Some(query) = next {
        let path = format!("{book}{query}");
        let (_, page) = visitor.visit(200, Method::GET, &path, None, None).await?;
        let notes = page["notes"].as_array().into_iter().flatten();
        names.extend(notes.filter_map(|note| note["name"].as_str()).map(str::to_owned));
        next = page["next"].as_str().map(str::to_owned);
    }
    assert_eq!(names.len(), 25);
    for name in names {
        let any = Some((IF_MATCH, "*"));
        visitor.send(204, Method::DELETE, &format!("{book}/{name}"), any, None).await?;
    }
    visitor.visit(404, Method::GET, &monday, None, None).await?;
    Ok(())
}

struct Visitor<'a> {
    client: Client,
    url: &'a str,
}

/// The name of a header and its value.
type Condition<'a> = Option<(HeaderName, &'a str)>;

impl Visitor<'_> {
    /// Sends and prints a request whose response must have this status. Returns its ETag and body.
    async fn visit(
        &self,
        status: u16,
        method: Method,
        path: &str,
        condition: Condition<'_>,
        text: Option<&str>,
    ) -> Result<(String, Value), AnyError> {
        let shown = Style::of_status(status);
        let with = condition.as_ref().map(|(name, value)| format!("  {name}: {value}"));
        println!(
            "{shown} {method:4} {path}{}",
            with.map(|with| Style::Dim.of(with)).unwrap_or_default()
        );
        self.send(status, method, path, condition, text).await
    }

    async fn send(
        &self,
        status: u16,
        method: Method,
        path: &str,
        condition: Condition<'_>,
        text: Option<&str>,
    ) -> Result<(String, Value), AnyError> {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some((name, value)) = condition {
            request = request.header(name, value);
        }
        if let Some(text) = text {
            let body = json!({ "text": text }).to_string();
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let response = request.send().await?;
        assert_eq!(response.status(), status, "{path}");
        let etag = response.headers().get(ETAG).map(|etag| etag.to_str()).transpose()?;
        let etag = etag.unwrap_or_default().to_owned();
        let body = response.bytes().await?;
        let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
        Ok((etag, body))
    }
}
