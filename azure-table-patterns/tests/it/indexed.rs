//! Secondary indexes and unique values.

mod chaos;
mod crashes;
mod examples;
mod keys;
mod requests;
mod users;
mod watch;
