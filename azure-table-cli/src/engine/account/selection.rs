//! The tables that the patterns of a run select.

use super::pattern::Pattern;
use crate::args::{Globals, Selection};
use crate::failure::{Failure, Result};
use crate::output::note;

impl Selection {
    /// Returns the selected names. A pattern of `--include` that matches none of all names is a usage error; one of
    /// `--exclude` is a note, because a regular run must not fail once the last of these tables is gone.
    pub(crate) fn of(&self, mut names: Vec<String>, globals: &Globals) -> Result<Vec<String>> {
        let is_in =
            |patterns: &[Pattern], name: &str| patterns.iter().any(|pattern| pattern.matches(name));
        let is_unused = |pattern: &&Pattern| !names.iter().any(|name| pattern.matches(name));
        if let Some(pattern) = self.include.iter().find(is_unused) {
            return Err(Failure::usage(format!("no table matches the pattern {pattern}")));
        }
        for pattern in self.exclude.iter().filter(is_unused) {
            note(globals, &format!("note: no table matches the excluded pattern {pattern}"));
        }
        names.retain(|name| {
            (self.include.is_empty() || is_in(&self.include, name)) && !is_in(&self.exclude, name)
        });
        Ok(names)
    }

    /// The patterns of a side as one text, to compare them with those of a resumed run.
    pub(crate) fn text(patterns: &[Pattern]) -> String {
        patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn excluded_tables_are_left_out_and_included_patterns_need_a_table() {
        let globals =
            crate::args::Arguments::try_parse_from(["azure-table", "tables"]).unwrap().globals;
        let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let selected = |include: &[&str], exclude: &[&str]| {
            let selection = Selection { include: patterns(include), exclude: patterns(exclude) };
            selection.of(["Blogs", "Log1", "Log2"].map(String::from).to_vec(), &globals)
        };
        assert_eq!(selected(&[], &[]).unwrap().len(), 3);
        assert_eq!(selected(&["log*", "blogs"], &["*2"]).unwrap(), ["Blogs", "Log1"]);
        let error = selected(&["x"], &[]).unwrap_err();
        assert!(error.message().starts_with("no table matches the pattern x"), "{error:?}");
        assert_eq!(selected(&["Blogs"], &["x*"]).unwrap(), ["Blogs"]);
    }
}
