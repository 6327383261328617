//! `query`.

use crate::args::{Globals, Query};
use crate::failure::{Exit, Failure, Result};

#[expect(clippy::unused_async, reason = "not built yet")]
pub(crate) async fn run(_args: Query, _globals: &Globals) -> Result<()> {
    Err(Failure::new(Exit::Failed, "not built yet"))
}
