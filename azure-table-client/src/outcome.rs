//! Decides whether a write was applied whose attempts have no response.
//!
//! A response of the service closes its attempt; `operation::origin` decides which responses do. An attempt without such
//! a response stays *open*: it may have been applied, or may be applied later. [`open`](fn@open) then reads the rows
//! back, and [`rules`] compare them with the write. Calls and transactions send with [`write`] and bulk runs settle with
//! [`settle`](fn@settle); a context, which keeps the open writes of several saves, calls [`open`](fn@open) itself.

mod claims;
mod evidence;
mod open;
mod properties;
mod read_back;
mod rules;
mod settle;
mod unconfirmed;

pub(crate) use claims::{applied, not_applied, unknown};
pub(crate) use evidence::Found;
pub(crate) use open::{Judged, OpenWrite, accepted, is_expired, open, rows_left};
pub(crate) use properties::{MapEntity, Properties, properties_of};
pub(crate) use read_back::read_back;
pub(crate) use rules::{Judgment, Verdict};
pub(crate) use settle::{settle, write};
pub(crate) use unconfirmed::Unconfirmed;
