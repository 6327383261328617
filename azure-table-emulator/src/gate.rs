//! The checks that keep web pages of other origins out, before the body of a request is read.
//!
//! The development key is public, so any page in a browser on this machine can sign requests. Two checks
//! remain. A page reaches the emulator under its own name only if that name resolves to this machine (DNS
//! rebinding), so the name in `Host` must be local. A browser sends the `Origin` of the page with each write,
//! so it must be this server's own, unless a CORS rule of the account allows it.
//!
//! The checks are our own because middleware for CORS applies fixed rules and does not check the name in `Host`, while
//! these rules depend on the account and on the address of the listener.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body_util::Full;

use crate::accounts::Served;
use crate::start::is_loopback;

/// The option that allows every name.
const EVERY_NAME: &str = "*";

/// The name of this machine in its containers. No other machine can have it.
const CONTAINER_HOST: &str = "host.docker.internal";

/// The names under which requests are accepted.
#[derive(Debug)]
pub(crate) struct Gate {
    /// The server listens only for this machine.
    is_loopback: bool,
    /// The names of `--allow-host`.
    allowed: Vec<String>,
}

/// The receiver of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// The pages below `/-/`, which need no key.
    Page,
    /// The control API, which may need a token.
    Control {
        has_token: bool,
    },
    Account(&'a Served),
}

impl Gate {
    pub(crate) fn new(address: SocketAddr, allowed: &[String]) -> Self {
        let allowed = allowed.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { is_loopback: is_loopback(address.ip()), allowed }
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// Returns the refusal of a request, or `None` if it may pass.
    pub(crate) fn refuse(
        &self,
        request: &Parts,
        target: Target<'_>,
    ) -> Option<Response<Full<Bytes>>> {
        self.reason(request, target).map(|(status, reason)| text(status, reason))
    }

    /// Returns the status and the text of the refusal of a request.
    pub(crate) fn reason(
        &self,
        request: &Parts,
        target: Target<'_>,
    ) -> Option<(StatusCode, &'static str)> {
        let mut hosts = request.headers.get_all(header::HOST).iter();
        let host = hosts.next();
        if hosts.next().is_some() {
            return Some((StatusCode::BAD_REQUEST, "The request has more than one Host header.\n"));
        }
        let host = host.map(|host| host.to_str().unwrap_or_default());
        let named = request.uri.authority().map(Authority::as_str);
        if self.checks_names(target)
            && ![host, named].into_iter().flatten().all(|it| self.knows(it))
        {
            return Some((
                StatusCode::FORBIDDEN,
                "The Host header names neither an address nor a local name. Use 127.0.0.1 or localhost, or \
                 start azure-table-emulator with --allow-host NAME.\n",
            ));
        }
        if is_foreign_write(request, host, target) {
            let reason = match target {
                Target::Page | Target::Control { .. } => {
                    "A web page of another origin sent this write.\n"
                }
                Target::Account(_) => {
                    "A web page of another origin sent this write. Set a CORS rule that allows the \
                     origin.\n"
                }
            };
            return Some((StatusCode::FORBIDDEN, reason));
        }
        None
    }

    /// With `--allow-host` all names are checked. Otherwise the names matter where only this machine can
    /// connect and no secret protects the data.
    fn checks_names(&self, target: Target<'_>) -> bool {
        let is_open = match target {
            Target::Page => true,
            Target::Control { has_token } => !has_token,
            Target::Account(account) => account.is_open(),
        };
        !self.allowed.is_empty() || self.is_loopback && is_open
    }

    /// Returns `true` for an address, a local name, and a name of `--allow-host` or below it.
    fn knows(&self, host: &str) -> bool {
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        if name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return true;
        }
        let name = name.to_ascii_lowercase();
        let is_below = |parent: &str| {
            let rest = name.strip_suffix(parent);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        is_below("localhost")
            || name == CONTAINER_HOST
            || self.allowed.iter().any(|allowed| allowed == EVERY_NAME || is_below(allowed))
    }
}

/// Returns `true` for a write by a page of another origin without a rule that allows it. Its reads are
/// harmless, since the browser hides the responses.
fn is_foreign_write(request: &Parts, host: Option<&str>, target: Target<'_>) -> bool {
    let method = &request.method;
    let Some(origin) = request.headers.get(header::ORIGIN) else {
        return false;
    };
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return false;
    }
    let origin = origin.to_str().unwrap_or_default();
    let is_own = host.is_some_and(|host| {
        let named = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        named.is_some_and(|named| named.eq_ignore_ascii_case(host))
    });
    !is_own
        && match target {
            Target::Page | Target::Control { .. } => true,
            Target::Account(account) => {
                account.is_open() && !account.service.allows_origin(origin, method)
            }
        }
}

/// A response in plain text.
pub(crate) fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Request;

    use super::*;
    use crate::accounts::Accounts;
    use crate::options::Command;

    const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

    fn gate(address: [u8; 4], allowed: &[&str]) -> Gate {
        let allowed: Vec<_> = allowed.iter().map(|&name| name.to_owned()).collect();
        Gate::new((address, 10002).into(), &allowed)
    }

    fn accounts(arguments: &[&str]) -> Accounts {
        let parsed = Command::parse(arguments.iter().map(Into::into), |_| None);
        let Ok(Command::Run(options)) = parsed else { panic!("{parsed:?}") };
        Accounts::open(&Arc::from(options)).unwrap()
    }

    fn parts(method: Method, uri: &str, headers: &[(&'static str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn status(gate: &Gate, target: Target<'_>, request: &Parts) -> u16 {
        gate.refuse(request, target).map_or(200, |refusal| refusal.status().as_u16())
    }

    #[test]
    fn names_that_are_not_local_are_refused() {
        let gate = gate(LOOPBACK, &[]);
        for (host, expected) in [
            ("127.0.0.1:10002", 200),
            ("localhost", 200),
            ("LocalHost:80", 200),
            ("tables.localhost:80", 200),
            ("[::1]:80", 200),
            ("host.docker.internal:80", 200),
            ("evil.host.docker.internal", 403),
            ("evil.example:10002", 403),
            ("evil-localhost", 403),
            ("127.0.0.1.evil.example", 403),
            ("localhost@evil.example", 403),
            ("", 403),
        ] {
            let request = parts(Method::GET, "/-/", &[("host", host)]);
            assert_eq!(status(&gate, Target::Page, &request), expected, "{host}");
        }
        assert_eq!(status(&gate, Target::Page, &parts(Method::GET, "/-/", &[])), 200);
        let absolute = parts(Method::GET, "http://evil.example/-/", &[("host", "localhost")]);
        assert_eq!(status(&gate, Target::Page, &absolute), 403);
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(status(&gate, Target::Page, &parts(Method::GET, "/-/", &twice)), 400);
    }

    #[test]
    fn names_are_checked_where_no_secret_protects_the_data() {
        let secret = ["--account", "one", "--account-key", "b25l"];
        let foreign = parts(Method::GET, "/", &[("host", "evil.example")]);
        for (address, allowed, arguments, page, api) in [
            (LOOPBACK, &[][..], &[][..], 403, 403),
            (LOOPBACK, &[], &secret, 403, 200),
            (LOOPBACK, &[], &[secret.as_slice(), &["--loose"]].concat(), 403, 403),
            (LOOPBACK, &["evil.example"], &[], 200, 200),
            (LOOPBACK, &["example"], &[], 200, 200),
            (LOOPBACK, &["*"], &[], 200, 200),
            (LOOPBACK, &["vil.example"], &[], 403, 403),
            ([0, 0, 0, 0], &[], &[], 200, 200),
            ([0, 0, 0, 0], &["tables"], &[], 403, 403),
            ([0, 0, 0, 0], &["tables"], &secret, 403, 403),
        ] {
            let (gate, accounts) = (gate(address, allowed), accounts(arguments));
            let account = accounts.iter().next().unwrap();
            let account = Target::Account(&account);
            let found = (status(&gate, Target::Page, &foreign), status(&gate, account, &foreign));
            assert_eq!(found, (page, api), "{address:?} {allowed:?} {arguments:?}");
        }
    }

    #[test]
    fn a_page_of_another_origin_cannot_write() {
        let gate = gate([0, 0, 0, 0], &[]);
        let (open, closed) =
            (accounts(&[]), accounts(&["--account", "one", "--account-key", "b25l"]));
        let (open, closed) = (open.iter().next().unwrap(), closed.iter().next().unwrap());
        let (open, closed) = (Target::Account(&open), Target::Account(&closed));
        for (method, origin, expected) in [
            (Method::POST, "http://evil.example", [403, 403, 200]),
            (Method::POST, "null", [403, 403, 200]),
            (Method::DELETE, "http://127.0.0.1:1", [403, 403, 200]),
            (Method::POST, "http://127.0.0.1:10002", [200; 3]),
            (Method::POST, "https://127.0.0.1:10002", [200; 3]),
            (Method::GET, "http://evil.example", [200; 3]),
            (Method::OPTIONS, "http://evil.example", [200; 3]),
        ] {
            let headers = [("host", "127.0.0.1:10002"), ("origin", origin)];
            let request = parts(method, "/", &headers);
            let found = [Target::Page, open, closed].map(|target| status(&gate, target, &request));
            assert_eq!(found, expected, "{} {origin}", request.method);
        }
    }
}
