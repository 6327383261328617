//! Integration tests: one binary, so that it links once.
#![allow(missing_docs, reason = "tests")]

mod derive;
mod endpoint;
mod hostile_replies;
mod mock;
mod mock_server;
mod real_replies;
mod retry;
mod security;
