//! The in-process mock.

use azure_table_client::mock::MockTableService;

use crate::behaviors::{self, for_each_behavior, tests};
use crate::target::Target;

fn check(behavior: &str) {
    behaviors::check(behavior, async { Target::mock(&MockTableService::new()) });
}

for_each_behavior!(tests);
