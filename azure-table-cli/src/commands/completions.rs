//! `completions`: the completions of a shell.

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use crate::args::{Arguments, Completions};
use crate::failure::{Failure, Result};

pub(crate) fn run(args: &Completions) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "azure-table", &mut text);
    let mut out = io::stdout().lock();
    out.write_all(&text).and_then(|()| out.flush()).map_err(|error| Failure::stdout(&error))
}
