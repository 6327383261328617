//! A recorded reply, and a transport that returns it.

use std::collections::BTreeMap;
use std::sync::Arc;

use azure_table_client::auth::Credential;
use azure_table_client::transport::HttpResponse;
use azure_table_client::{RetryPolicy, TableServiceClient};
use azure_table_tests::recordings::{Exchange, Response};
use azure_table_tests::scripted::Scripted;
use http::Uri;
use serde_json::Value;

/// A reply of the service.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) method: String,
    /// Below the account, without the query.
    pub(super) path: String,
    pub(super) query: String,
    pub(super) status: u16,
    headers: BTreeMap<String, String>,
    pub(super) text: String,
    /// The body, if it is JSON.
    pub(super) body: Value,
}

impl Reply {
    /// A line of a file that has replies only.
    pub(super) fn read(line: &str) -> Self {
        let stated: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| stated[name].as_str().unwrap_or_default().to_owned();
        let uri: Uri = text("url").parse().unwrap();
        let response = serde_json::from_str(line).unwrap();
        Self::new(text("method"), uri.path(), uri.query().unwrap_or_default(), response)
    }

    pub(super) fn recorded(exchange: Exchange) -> Self {
        let Exchange { method, path, query, response, .. } = exchange;
        Self::new(method, &path, &query, response)
    }

    fn new(method: String, path: &str, query: &str, response: Response) -> Self {
        Self {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            status: response.status,
            body: serde_json::from_str(&response.body).unwrap_or_default(),
            text: response.body,
            headers: response.headers,
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The table of its rows, which the body may name; any table if it has no rows.
    pub(super) fn table(&self) -> &str {
        let name = self.path.trim_start_matches('/').split('(').next().unwrap();
        if matches!(name, "Tables" | "$batch" | "") { "Blogs" } else { name }
    }

    /// Whether its rows have no types.
    pub(super) fn is_untyped(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.contains("odata=nometadata"))
    }

    fn response(&self) -> HttpResponse {
        let headers = self.headers.iter().map(|(name, value)| {
            (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap())
        });
        HttpResponse {
            status: self.status.try_into().unwrap(),
            headers: headers.collect(),
            body: self.text.clone().into(),
        }
    }

    /// A client whose requests all get this reply, and the record of the requests.
    pub(super) fn service(&self) -> (TableServiceClient, Arc<Scripted>) {
        let canned = Scripted::always(self.response());
        let service =
            TableServiceClient::builder("https://account.example.com", Credential::Anonymous)
                .transport(canned.clone())
                .retry(RetryPolicy::none())
                .build()
                .unwrap();
        (service, canned)
    }
}
