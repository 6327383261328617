//! The challenge of a service that requires a token, or another one.

use http::{HeaderMap, header};
use url::Url;

/// `WWW-Authenticate: Bearer authorization_uri=https://login.microsoftonline.com/tenant/oauth2/authorize
/// resource_id=https://storage.azure.com`
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// The tenant that the account belongs to.
    pub(crate) tenant: Option<String>,
    /// The audience that the service wants.
    pub(crate) resource: Option<String>,
}

impl Challenge {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(header::WWW_AUTHENTICATE).iter();
        values.filter_map(|value| value.to_str().ok()).find_map(Self::parse)
    }

    /// The parameters are separated by spaces or commas, and quoted or not.
    fn parse(value: &str) -> Option<Self> {
        let (scheme, parameters) = value.trim().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("Bearer") {
            return None;
        }
        let mut challenge = Self::default();
        for parameter in parameters.split([' ', ',']) {
            let Some((name, value)) = parameter.split_once('=') else { continue };
            let value = value.trim_matches('"');
            match name {
                "authorization_uri" | "authorization" => challenge.tenant = tenant(value),
                "resource_id" | "resource" if !value.is_empty() => {
                    challenge.resource = Some(value.to_owned());
                }
                _ => {}
            }
        }
        Some(challenge)
    }
}

/// Returns the first part of the path. The client sends nothing to that address, so its host does not matter;
/// the tenant becomes part of another one.
fn tenant(uri: &str) -> Option<String> {
    let uri = Url::parse(uri).ok().filter(|uri| uri.scheme() == "https")?;
    let tenant = uri.path_segments()?.next()?;
    let is_name = !tenant.is_empty()
        && tenant.starts_with(|c: char| c.is_ascii_alphanumeric())
        && tenant.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
    is_name.then(|| tenant.to_owned())
}
