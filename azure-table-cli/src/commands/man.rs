//! `man`: a man page for the program and one for each command.

use std::fs;

use clap::CommandFactory as _;

use crate::args::{Arguments, Man};
use crate::failure::{Failure, Result};

pub(crate) fn run(args: &Man) -> Result<()> {
    fs::create_dir_all(&args.folder)
        .map_err(|error| Failure::file("create", &args.folder, error))?;
    clap_mangen::generate_to(Arguments::command(), &args.folder)
        .map_err(|error| Failure::file("write the man pages to", &args.folder, error))
}
