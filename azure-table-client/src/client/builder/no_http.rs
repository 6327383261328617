//! The builder without an HTTP client: the client needs a custom transport.

use std::sync::Arc;

use crate::error::Error;
use crate::pipeline::Endpoint;
use crate::transport::Transport;

/// The settings of the crate's own transports, which the features `reqwest` and `hyper` add.
#[derive(Default)]
pub(super) struct HttpSettings {}

/// Returns the transport of a client.
pub(super) fn transport(
    custom: Option<Arc<dyn Transport>>,
    _: HttpSettings,
    _: &[&Endpoint],
) -> Result<Arc<dyn Transport>, Error> {
    custom.ok_or_else(|| {
        Error::configuration(
            "the client has no transport: call transport(..) on its builder, or turn on the feature \
             reqwest or hyper of azure-table-client, with rustls for https",
        )
    })
}

#[cfg(all(test, feature = "mock"))]
mod tests {
    use super::super::TableServiceClientBuilder;
    use crate::error::ErrorKind;
    use crate::mock::MockTableService;

    #[test]
    fn without_reqwest_a_client_needs_a_transport() {
        let mock = MockTableService::new();
        let builder = || {
            TableServiceClientBuilder::from_connection_string(&mock.connection_string()).unwrap()
        };
        let error = builder().build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        let page = include_str!("../../../docs/troubleshooting.md");
        assert!(page.contains(&error.to_string()), "{error}");
        builder().transport(mock.transport()).build().unwrap();
    }
}
