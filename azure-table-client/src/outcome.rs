//! Whether a write was applied: the one place that decides it.
//!
//! A response of the service settles the attempt that it belongs to. An attempt without such a response
//! stays *open*: it may have been applied, or may still be. [`send`] and [`resolve`] then read the rows
//! back, and [`judge`](rules::judge) compares them with what was sent. Calls, transactions, contexts and
//! bulk runs all go through here.

mod claims;
mod evidence;
mod properties;
mod read_back;
mod resolve;
mod rules;

pub(crate) use claims::{applied, not_applied, unknown};
pub(crate) use evidence::{Found, Wrote};
pub(crate) use properties::{MapEntity, Properties, properties_of};
pub(crate) use read_back::read_back;
pub(crate) use resolve::{is_expired, policy, send, settle, write};
pub(crate) use rules::{Evidence, Verdict, judge};
