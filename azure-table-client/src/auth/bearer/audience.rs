//! The audience of a token.
//!
//! Storage has one audience in all clouds: Entra ID refuses `https://storage.azure.us` with AADSTS500011
//! (azure-sdk-for-go#25542). The audiences of Cosmos DB are those of `TableAudience` of Azure.Data.Tables for .NET.

use url::Url;

/// The audience of table services without an audience of their own.
pub(super) const STORAGE: &str = "https://storage.azure.com";

/// The endings of hosts, and the audiences of their services.
const AUDIENCES: [(&str, &str); 4] = [
    (".table.cosmos.azure.com", "https://cosmos.azure.com"),
    (".table.cosmosdb.azure.com", "https://cosmos.azure.com"),
    (".table.cosmos.azure.us", "https://cosmos.azure.us"),
    (".table.cosmos.azure.cn", "https://cosmos.azure.cn"),
];

/// The audience of the service at this URL.
pub(super) fn audience_of_endpoint(endpoint: &str) -> &'static str {
    let url = Url::parse(endpoint).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let known = AUDIENCES.iter().find(|(suffix, _)| host.ends_with(suffix));
    known.map_or(STORAGE, |(_, audience)| audience)
}

/// The scope of all permissions that the identity has at this audience.
pub(super) fn scope_of_audience(audience: &str) -> String {
    let audience = audience.trim().trim_end_matches("/.default").trim_end_matches('/');
    format!("{audience}/.default")
}
