//! The program as it is used: started, asked over HTTP, looked at, and stopped.

mod page;
mod process;
mod requests;
mod server;
