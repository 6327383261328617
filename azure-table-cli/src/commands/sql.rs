//! `sql`.

use crate::args::{Globals, Sql};
use crate::failure::{Exit, Failure, Result};

#[expect(clippy::unused_async, reason = "not built yet")]
pub(crate) async fn run(_args: Sql, _globals: &Globals) -> Result<()> {
    Err(Failure::new(Exit::Failed, "not built yet"))
}
