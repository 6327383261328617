//! The mock behind a loopback port, by each transport.

use azure_table_tests::SocketTransport;

use crate::behaviors::{self, for_each_behavior, ignored_tests, tests};
use crate::target::Target;

mod by_reqwest {
    use super::{SocketTransport, Target, behaviors, for_each_behavior, tests};

    fn check(behavior: &str) {
        behaviors::check(behavior, Target::mock_server(SocketTransport::Reqwest));
    }

    for_each_behavior!(tests);
}

mod by_hyper {
    use super::{SocketTransport, Target, behaviors, for_each_behavior, ignored_tests};

    fn check(behavior: &str) {
        behaviors::check(behavior, Target::mock_server(SocketTransport::Hyper));
    }

    for_each_behavior!(ignored_tests);
}
