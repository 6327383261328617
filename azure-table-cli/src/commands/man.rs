//! `man`: a man page for the program and one for each command.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man as Page;

use crate::args::{Arguments, Man};
use crate::failure::{Failure, Result};

pub(crate) fn run(args: &Man) -> Result<()> {
    fs::create_dir_all(&args.folder)
        .map_err(|error| Failure::file("create", &args.folder, error))?;
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let written = program
        .get_subcommands()
        .try_for_each(|command| write(command, "EXAMPLES", &args.folder))
        .and_then(|()| write(&program, "\"EXIT STATUS\"", &args.folder));
    written.map_err(|error| Failure::file("write the man pages to", &args.folder, error))
}

/// Writes the page of a command. `notes` is the title of the text after the options of its help.
fn write(command: &Command, notes: &str, folder: &Path) -> io::Result<()> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let beginning = command.get_before_help().map(ToString::to_string);
    let page = Page::new(command.clone());
    let mut out = Vec::new();
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    if let Some(beginning) = beginning {
        write!(out, ".SH \"FIRST STEPS\"\n{}", roff(&beginning))?;
    }
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut out)?;
    }
    write!(out, ".SH {notes}\n{}", roff(&text))?;
    page.render_version_section(&mut out)?;
    fs::write(folder.join(page.get_filename()), out)
}

/// Returns the text in the language of man pages. Lines that begin with a space keep their columns and breaks, which clap's own
/// section would fill.
fn roff(text: &str) -> String {
    let (mut out, mut is_verbatim) = (String::new(), false);
    for line in text.lines() {
        if is_verbatim != line.starts_with(' ') {
            is_verbatim = !is_verbatim;
            out.push_str(if is_verbatim { ".nf\n" } else { ".fi\n" });
        }
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A line that begins with one of these would be a request.
        let mark = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        out.extend([if line.is_empty() { ".PP" } else { mark }, &line, "\n"]);
    }
    if is_verbatim {
        out.push_str(".fi\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::roff;

    #[test]
    fn tables_keep_their_columns() {
        let text = "Codes:\n  0 a    1 b\n  2 c\n\n.x\\ -y";
        let page = "Codes:\n.nf\n  0 a    1 b\n  2 c\n.fi\n.PP\n\\&.x\\e \\-y\n";
        assert_eq!(roff(text), page);
        assert_eq!(roff(" a"), ".nf\n a\n.fi\n");
    }
}
