//! A shortcut for tests: a client of the mock.

use http::uri::{Authority, Scheme};

use super::{IN_PROCESS_AUTHORITY, MockTableService};
use crate::client::TableServiceClient;
use crate::client_core::Settings;
use crate::pipeline::{AcceptedCredentials, CurrentCredential, Endpoint, Pipeline};

impl MockTableService {
    /// Creates an in-process client of this service that uses its clock.
    ///
    /// For other settings, pass [`transport`](Self::transport) and [`clock`](Self::clock) to a
    /// [`builder`](TableServiceClient::builder).
    pub fn client(&self) -> TableServiceClient {
        let authority = Authority::from_static(IN_PROCESS_AUTHORITY);
        let path = format!("/{}", self.account());
        let endpoint = Endpoint::at(Scheme::HTTP, authority, &path, true);
        let credential = self.core().rules.keys.first().into();
        let accepted = AcceptedCredentials { keys: true, tokens: true };
        let credential = CurrentCredential::unchecked(credential, "", accepted);
        let pipeline = Pipeline::new(endpoint, credential, self.transport(), self.clock());
        TableServiceClient::new(pipeline, Settings::default())
    }
}
