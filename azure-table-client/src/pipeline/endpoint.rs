use std::sync::Arc;

use bytes::Bytes;
use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::error::Error;
use crate::transport::is_this_machine;

/// The address of the service: `scheme://host[:port][/path]` without a slash at the end.
///
/// Account hosts and custom domains have no path; emulators have the account there.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    base: Arc<str>,
    path_at: usize,
    scheme: Scheme,
    authority: Authority,
    is_loopback: bool,
}

impl Endpoint {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        // The text is not shown: a SAS may have been pasted with it.
        let refused = |reason: &str| Error::configuration(format!("the endpoint {reason}"));
        let url = Url::parse(text.trim()).map_err(|error| {
            refused("is not a URL of the form https://account.table.core.windows.net")
                .with_source(error)
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("must begin with http:// or https://"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("has a query; a shared access signature is given as a credential"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("has a user name or a password"));
        }
        // Without the `?`, the signature would be a part of the host or the path, which are shown in telemetry.
        let parts = [url.host_str().unwrap_or_default(), url.path()];
        let has_query = |part: &&str| percent_decode_str(part).any(|byte| b"?&=".contains(&byte));
        if parts.iter().any(has_query) {
            return Err(refused(
                "has a character that no endpoint has: a shared access signature, which may lack its question mark, \
                 is given as a credential",
            ));
        }
        let Some(host) = url.host() else { return Err(refused("has no host")) };
        // The path would be a part of the table's name, and of what is signed.
        if is_azure(url.host_str().unwrap_or_default()) && url.path() != "/" {
            return Err(refused(
                "has a path, which endpoints of Azure do not have: pass https://account.table.core.windows.net, and the \
                 name of the table when you open it",
            ));
        }
        let is_loopback = is_this_machine(&host);
        let scheme = if url.scheme() == "https" { Scheme::HTTPS } else { Scheme::HTTP };
        // The rest of the authority, a user name and a password, is refused above.
        let authority = url.authority().parse().map_err(|error| {
            refused("has a host with characters that a host cannot have").with_source(error)
        })?;
        Ok(Self::at(scheme, authority, url.path().trim_end_matches('/'), is_loopback))
    }

    /// The endpoint at a path of a server.
    pub(crate) fn at(scheme: Scheme, authority: Authority, path: &str, is_loopback: bool) -> Self {
        let base = [scheme.as_str(), "://", authority.as_str(), path].concat();
        Self { path_at: base.len() - path.len(), base: base.into(), scheme, authority, is_loopback }
    }

    /// The URI of a path and a query on this server. The path begins with [`path`](Self::path).
    ///
    /// # Errors
    /// The text has a character that a URI cannot have, or it is longer than 64 KiB.
    pub(crate) fn uri(&self, path_and_query: String) -> Result<Uri, http::Error> {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(PathAndQuery::from_maybe_shared(Bytes::from(path_and_query))?);
        Ok(Uri::from_parts(parts)?)
    }

    /// Everything before the resource's path.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn shared_base(&self) -> Arc<str> {
        Arc::clone(&self.base)
    }

    /// The part of [`base`](Self::base) that belongs to the path: empty or `/account`.
    pub(crate) fn path(&self) -> &str {
        &self.base[self.path_at..]
    }

    /// Returns whether the connection is encrypted.
    pub(crate) fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Returns whether requests go to this machine without encryption.
    #[cfg(feature = "reqwest")]
    pub(crate) fn is_local(&self) -> bool {
        self.is_loopback && !self.is_https()
    }

    /// The name or the address of the host, without brackets.
    pub(crate) fn host(&self) -> &str {
        self.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// The port, also where the URL leaves it out.
    pub(crate) fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(if self.is_https() { 443 } else { 80 })
    }

    /// Returns the account: from the path of an emulator, otherwise from the host. A custom domain has no
    /// account.
    pub(crate) fn account(&self) -> Option<&str> {
        let in_path = self.path().rsplit('/').next().filter(|name| !name.is_empty());
        let in_host = || {
            let (name, rest) = self.host().split_once('.')?;
            let name = name.strip_suffix("-secondary").unwrap_or(name);
            rest.starts_with("table.").then_some(name)
        };
        in_path.or_else(in_host)
    }

    /// Returns whether secrets are safe from readers of the network.
    pub(crate) fn is_private(&self) -> bool {
        self.is_https() || self.is_loopback
    }
}

/// Whether a host belongs to a cloud of Azure, where the account is a part of the host.
fn is_azure(host: &str) -> bool {
    [".core.windows.net", ".core.usgovcloudapi.net", ".core.chinacloudapi.cn", ".storage.azure.net"]
        .iter()
        .any(|suffix| host.ends_with(suffix))
        || host.contains(".table.cosmos.azure.")
        || host.contains(".table.cosmosdb.azure.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_endpoints() {
        for (text, base, path) in [
            ("https://me.table.core.windows.net/", "https://me.table.core.windows.net", ""),
            (
                "http://127.0.0.1:10002/devstoreaccount1",
                "http://127.0.0.1:10002/devstoreaccount1",
                "/devstoreaccount1",
            ),
            (" HTTPS://Tables.Example.com:443 ", "https://tables.example.com", ""),
            ("http://[::1]:1/a/", "http://[::1]:1/a", "/a"),
            ("http://[::ffff:127.0.0.1]:1/me", "http://[::ffff:7f00:1]:1/me", "/me"),
            ("http://LocalHost.:1/me", "http://localhost.:1/me", "/me"),
            ("http://127.1/me", "http://127.0.0.1/me", "/me"),
        ] {
            let endpoint = Endpoint::parse(text).unwrap();
            assert_eq!((endpoint.base(), endpoint.path()), (base, path));
            assert!(endpoint.is_private());
        }
        assert!(!Endpoint::parse("http://azurite:10002/devstoreaccount1").unwrap().is_private());
        assert!(!Endpoint::parse("http://127.0.0.1.example.com").unwrap().is_private());
    }

    #[test]
    fn what_telemetry_is_told() {
        for (text, host, port, account) in [
            ("https://me.table.core.windows.net", "me.table.core.windows.net", 443, "me"),
            (
                "https://me-secondary.table.core.windows.net",
                "me-secondary.table.core.windows.net",
                443,
                "me",
            ),
            ("http://127.0.0.1:10002/devstoreaccount1", "127.0.0.1", 10_002, "devstoreaccount1"),
            ("http://[::1]/a", "::1", 80, "a"),
            ("http://[::1]:7/a", "::1", 7, "a"),
            ("https://tables.example.com:444", "tables.example.com", 444, ""),
            ("https://me.table.cosmos.azure.com:443", "me.table.cosmos.azure.com", 443, "me"),
        ] {
            let endpoint = Endpoint::parse(text).unwrap();
            assert_eq!((endpoint.host(), endpoint.port()), (host, port));
            assert_eq!(endpoint.account().unwrap_or_default(), account);
        }
    }

    #[test]
    fn what_is_no_endpoint() {
        for text in [
            "",
            "me",
            "ftp://a",
            "https://",
            "https://a?sig=secret",
            "https://a#b",
            "https://a/sv=2019-02-02&sig=secret",
            "https://a.example.com/sig=secret",
            "https://asv=2019-02-02&sig=secret",
            "https://a/me/sv%3D2019-02-02%26sig%3Dsecret",
            "https://a/%3Fsig=secret",
            "https://u:p@a",
            "/path",
            "https://a:99999",
            "https://me.table.core.windows.net/Blogs",
            "https://me.table.cosmos.azure.com:443/Blogs",
            "https://me.table.core.chinacloudapi.cn//",
        ] {
            let error = Endpoint::parse(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
    }
}
