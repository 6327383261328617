//! The one place where the mock knows the client: a shortcut for tests.

use super::{IN_PROCESS_ORIGIN, MockTableService};
use crate::client::TableServiceClient;
use crate::client_core::Settings;
use crate::pipeline::{CurrentCredential, Endpoint, Pipeline};

impl MockTableService {
    /// A client of this service, in process and on its clock.
    ///
    /// For one with settings of its own, give [`transport`](Self::transport) and
    /// [`clock`](Self::clock) to a [`builder`](TableServiceClient::builder).
    pub fn client(&self) -> TableServiceClient {
        let endpoint = Endpoint::of_account(IN_PROCESS_ORIGIN, self.account());
        let credential = CurrentCredential::on_this_machine(self.0.credential.clone().into());
        let pipeline = Pipeline::new(endpoint, credential, self.transport(), self.clock());
        TableServiceClient::new(pipeline, Settings::default())
    }
}
