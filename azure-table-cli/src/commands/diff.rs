//! `diff`.

use crate::args::{Diff, Globals};
use crate::failure::{Exit, Failure, Result};

#[expect(clippy::unused_async, reason = "not built yet")]
pub(crate) async fn run(_args: Diff, _globals: &Globals) -> Result<()> {
    Err(Failure::new(Exit::Failed, "not built yet"))
}
