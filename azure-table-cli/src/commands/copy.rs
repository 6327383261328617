//! `copy`.

use crate::args::{Copy, Globals};
use crate::failure::{Exit, Failure, Result};

#[expect(clippy::unused_async, reason = "not built yet")]
pub(crate) async fn run(_args: Copy, _globals: &Globals) -> Result<()> {
    Err(Failure::new(Exit::Failed, "not built yet"))
}
