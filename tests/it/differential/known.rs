//! What is known to differ, in order: a difference that is recognised is put aside in both answers,
//! and what remains has to be equal.

mod batches;
mod contents;
mod headers;
mod recognise;
mod refusals;

use super::answer::Answer;
use super::sent::Sent;

/// Who is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Azurite,
    /// No source settles it.
    Open,
}

/// A kind of difference.
pub(super) struct Known {
    /// What Azurite does.
    pub(super) name: &'static str,
    pub(super) fault: Fault,
    pub(super) source: &'static str,
    /// Whether it is there in the answers of the mock and of Azurite; if so, it is put aside.
    pub(super) recognise: fn(&Sent, &mut Answer, &mut Answer) -> bool,
}

const RECORDED: &str = "recordings of the service";
const LIVE: &str = "the official clients and their live tests";
const DOCUMENTED: &str = "the REST reference";
const EMULATOR: &str = "texts of the old storage emulator";

/// All of them.
pub(super) fn known() -> impl Iterator<Item = &'static Known> {
    [headers::KNOWN, contents::KNOWN, batches::KNOWN, refusals::KNOWN].into_iter().flatten()
}
