//! The decisions of a host that has read only the head of a request.

use std::net::IpAddr;

use http::Method;

use crate::authorize::authorize;
use crate::delivery::MAX_URL_BYTES;
use crate::handlers;
use crate::request::RawRequest;
use crate::service::TableService;
use crate::transport::HttpRequest;
use crate::wire::Location;

impl TableService {
    /// Returns `true` if the response to a request depends on its body. `head` is the request without its
    /// body.
    ///
    /// A signature covers only the head. A host can therefore refuse a request before it reads the body: it
    /// delivers `head` if this returns `false`, and the response is the same as with the body.
    pub fn needs_body(&self, head: &HttpRequest, sender: IpAddr) -> bool {
        let core = self.core();
        let request = RawRequest::in_process(head, sender);
        if request.method == Method::OPTIONS || request.url_bytes() > MAX_URL_BYTES {
            return false;
        }
        let location =
            request.location(&core.rules).map_or(Location::Primary, |(location, _)| location);
        authorize(core, &request, location, core.clock.now()).is_ok()
    }

    /// Returns `true` if a CORS rule of the account allows web pages of this origin to send requests with
    /// this method.
    pub fn allows_origin(&self, origin: &str, method: &Method) -> bool {
        handlers::allows(self.core(), origin, method)
    }
}
