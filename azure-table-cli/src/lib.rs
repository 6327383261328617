//! The parts that the programs `azure-table` and `azure-table-sql` share: the options of an account, failures with their exit
//! codes, confirmations, signals and the names of types.
//!
//! The interface is only for these programs: any version may change it.

// `terminal::message` ignores a closed standard error, where `eprintln!` panics.
#![cfg_attr(not(test), warn(clippy::print_stderr))]

pub mod confirm;
pub mod connect;
pub mod edm_type;
pub mod failure;
pub mod interrupt;
pub mod links;
pub mod terminal;
