//! A recorded reply, and a transport that returns it.

use std::sync::Arc;

use azure_table_client::auth::Credential;
use azure_table_client::transport::HttpResponse;
use azure_table_client::{RetryPolicy, TableServiceClient};
use azure_table_tests::scripted::Scripted;
use serde_json::Value;

/// A reply of the service.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) method: String,
    /// Below the account, without the query.
    pub(super) path: String,
    pub(super) query: String,
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) text: String,
    /// The body, if it is JSON.
    pub(super) body: Value,
}

impl Reply {
    /// A line of the recordings.
    pub(super) fn read(line: &str) -> Self {
        let stated: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| stated[name].as_str().unwrap_or_default().to_owned();
        let url = text("url");
        let (_, rest) = url.split_once("://").unwrap();
        let rest = &rest[rest.find('/').unwrap()..];
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let headers = stated["headers"].as_object().unwrap().iter();
        Self {
            method: text("method"),
            path: path.to_owned(),
            query: query.to_owned(),
            status: u16::try_from(stated["status"].as_u64().unwrap()).unwrap(),
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.as_str().unwrap().to_owned()))
                .collect(),
            text: text("body"),
            body: serde_json::from_str(&text("body")).unwrap_or_default(),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
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
