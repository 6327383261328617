//! The only module that decides whether a write was applied.
//!
//! A response of the service closes its attempt. An attempt without such a response stays *open*: it may
//! have been applied, or may be applied later. [`send`] and [`resolve`](fn@resolve) then read the rows back, and
//! [`judge`] compares them with the write. Calls, transactions, contexts and bulk runs all use this module.

mod claims;
mod evidence;
mod properties;
mod read_back;
mod resolve;
mod rules;

pub(crate) use claims::{applied, not_applied, unknown};
pub(crate) use evidence::{Found, SentWrite};
pub(crate) use properties::{MapEntity, Properties, properties_of};
pub(crate) use read_back::read_back;
pub(crate) use resolve::{is_expired, policy, send, settle, write};
pub(crate) use rules::{Evidence, Verdict, judge};
