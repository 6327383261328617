//! The load that servers carry, compared in one run with the same generator.
//!
//! ```text
//! load --rows 100000 --seconds 3 --server 'azurite=azurite-table --tablePort {port} …' --server 'mock=azure-table-mock --port {port}'
//! ```
//!
//! Requests are built and signed by the client before the clock starts, and sent over plain
//! sockets, so that the generator costs little compared with a server.

#![allow(clippy::print_stdout, reason = "the figures are its output")]

mod connection;
mod load;
mod requests;
mod server;

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::time::Duration;

use load::Figures;
use server::Server;

/// The options of the command line.
struct Options {
    rows: usize,
    time: Duration,
    /// Measure only tests with this in their name.
    only: String,
    /// Names and command lines.
    servers: Vec<(String, String)>,
}

fn options() -> Result<Options> {
    let usage =
        || Error::other("load [--rows N] [--seconds N] [--only TEXT] --server NAME=COMMAND …");
    let mut options = Options {
        rows: 100_000,
        time: Duration::from_secs(3),
        only: String::new(),
        servers: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(usage)?;
        match name.as_str() {
            "--rows" => options.rows = value.parse().map_err(|_| usage())?,
            "--seconds" => {
                options.time = Duration::from_secs_f64(value.parse().map_err(|_| usage())?);
            }
            "--only" => options.only = value,
            "--server" => {
                let (name, command) = value.split_once('=').ok_or_else(usage)?;
                options.servers.push((name.to_owned(), command.to_owned()));
            }
            _ => return Err(usage()),
        }
    }
    if options.servers.is_empty() { Err(usage()) } else { Ok(options) }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = options()?;
    // By measurement, in their order.
    let mut table: BTreeMap<usize, (String, Vec<String>)> = BTreeMap::new();
    let mut first: BTreeMap<usize, f64> = BTreeMap::new();
    for (name, command) in &options.servers {
        println!("{name}: {command}");
        let server = Server::start(command).await?;
        let figures = load::run(&server, &options).await?;
        for (row, Figures { what, value, unit, cpu }) in figures.into_iter().enumerate() {
            let base = *first.entry(row).or_insert(value);
            let cpu = cpu.map_or_else(String::new, |cpu| format!(", {:.1} us CPU", cpu * 1e6));
            let cell = format!("{value:.0}{unit}{cpu} ({:.2}x)", value / base);
            table.entry(row).or_insert_with(|| (what, Vec::new())).1.push(cell);
        }
    }
    print!("\n{:<34}", "");
    for (name, _) in &options.servers {
        print!("{name:<36}");
    }
    println!();
    for (what, cells) in table.values() {
        print!("{what:<34}");
        for cell in cells {
            print!("{cell:<36}");
        }
        println!();
    }
    Ok(())
}
