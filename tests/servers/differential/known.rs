//! The known differences, in order: a difference that is recognized is removed from both responses,
//! and the rest must be equal.

mod batches;
mod contents;
mod formats;
mod headers;
mod recognise;
mod refusals;
mod texts;

use super::answer::Answer;
use super::sent::Sent;

/// The service that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Azurite,
    /// No source decides it.
    Open,
}

/// A kind of difference.
pub(super) struct Known {
    /// Azurite's behavior.
    pub(super) name: &'static str,
    pub(super) fault: Fault,
    pub(super) source: &'static str,
    /// Returns whether the responses of the mock and of Azurite have this difference, and removes
    /// it.
    pub(super) recognise: fn(&Sent, &mut Answer, &mut Answer) -> bool,
}

const RECORDED: &str = "recordings of the service";
const LIVE: &str = "the official clients and their live tests";
const DOCUMENTED: &str = "the REST reference";
const EMULATOR: &str = "texts of the old storage emulator";

/// All known differences.
pub(super) fn known() -> impl Iterator<Item = &'static Known> {
    [headers::KNOWN, formats::KNOWN, texts::KNOWN, contents::KNOWN, batches::KNOWN, refusals::KNOWN]
        .into_iter()
        .flatten()
}
