//! The load that servers carry, compared in one run with the same generator.
//!
//! ```text
//! load --rows 100000 --seconds 3 --server 'azurite=azurite-table --tablePort {port} …' \
//!     --server 'emulator=azure-table-emulator --port {port}'
//! ```
//!
//! Requests are built and signed by the client before the clock starts, and sent over plain
//! sockets, so that the generator costs little compared with a server. The first column is a server without
//! logic (`load serve`), with which the others are compared. A server whose command contains `{data}` is
//! measured for inserts to the disk only.
//!
//! `load scale PROGRAM` measures how the emulator and the client grow with the number of rows, and `load founding
//! PROGRAM` the figures of the documents that this project was created from.
//!
//! It runs on Linux only, since the memory and the processor time of a server come from `/proc`.

#![allow(clippy::print_stdout, reason = "the figures are its output")]

mod canned;
mod connection;
mod founding;
mod load;
mod requests;
mod scale;
mod server;

use std::io::{Error, Result};
use std::time::Duration;

use load::{Figure, Role};
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

fn usage() -> Error {
    Error::other("load [--rows N] [--seconds N] [--only TEXT] --server NAME=COMMAND …")
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options {
        rows: 100_000,
        time: Duration::from_secs(3),
        only: String::new(),
        servers: Vec::new(),
    };
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
    // A scan finds one row of a hundred, and a range has a thousand.
    let is_valid = options.rows > 1000 && options.rows.is_multiple_of(100);
    if options.servers.is_empty() || !is_valid { Err(usage()) } else { Ok(options) }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if_eq("serve").is_some() {
        let port = arguments.next().and_then(|port| port.parse().ok());
        return canned::serve(port.ok_or_else(usage)?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if arguments.next_if_eq("scale").is_some() {
        return runtime.block_on(scale::run(&arguments.collect::<Vec<_>>()));
    }
    if arguments.next_if_eq("founding").is_some() {
        return runtime.block_on(founding::run(&arguments.collect::<Vec<_>>()));
    }
    let options = options(arguments)?;
    runtime.block_on(compare(&options))
}

async fn compare(options: &Options) -> Result<()> {
    let canned = format!("{} serve {{port}}", std::env::current_exe()?.display());
    let mut columns = vec![("without logic", measure(&canned, Role::Canned, options).await?)];
    for (name, command) in &options.servers {
        let role = if command.contains("{data}") { Role::Durable } else { Role::Service };
        println!("{name}: {command}");
        columns.push((name, measure(command, role, options).await?));
    }
    print_table(&columns);
    Ok(())
}

async fn measure(command: &str, role: Role, options: &Options) -> Result<Vec<Figure>> {
    load::run(&Server::start(command).await?, role, options).await
}

/// Prints a row for each measurement, with its ratio to the first server that has it.
fn print_table(columns: &[(&str, Vec<Figure>)]) {
    let mut rows: Vec<&str> = Vec::new();
    let mut longest_first: Vec<_> = columns.iter().map(|(_, figures)| figures).collect();
    longest_first.sort_by_key(|figures| std::cmp::Reverse(figures.len()));
    for figure in longest_first.into_iter().flatten() {
        if !rows.contains(&&*figure.what) {
            rows.push(&figure.what);
        }
    }
    print!("\n{:<40}", "");
    for (name, _) in columns {
        print!("{name:<36}");
    }
    println!();
    for row in rows {
        let of_row = |figures: &'_ [Figure]| figures.iter().position(|figure| figure.what == row);
        let base = columns.iter().find_map(|(_, figures)| Some(figures[of_row(figures)?].value));
        print!("{row:<40}");
        for (_, figures) in columns {
            let cell = of_row(figures).map_or_else(String::new, |at| {
                let Figure { value, unit, cpu, .. } = &figures[at];
                let cpu = cpu.map_or_else(String::new, |cpu| format!(", {:.1} us CPU", cpu * 1e6));
                let ratio = base.map_or(1.0, |base| value / base);
                format!("{value:.0}{unit}{cpu} ({ratio:.2}x)")
            });
            print!("{cell:<36}");
        }
        println!();
    }
}
