//! The tables that the patterns of a run select.

use super::Pattern;
use crate::args::Selection;
use crate::failure::{Failure, Result};

impl Selection {
    /// Returns the selected names. A pattern that matches none of all names is a usage error.
    pub(super) fn of(&self, mut names: Vec<String>) -> Result<Vec<String>> {
        let is_in =
            |patterns: &[Pattern], name: &str| patterns.iter().any(|pattern| pattern.matches(name));
        let unused = self.include.iter().chain(&self.exclude);
        let mut unused = unused.filter(|pattern| !names.iter().any(|name| pattern.matches(name)));
        if let Some(pattern) = unused.next() {
            return Err(Failure::usage(format!("no table matches the pattern {pattern}")));
        }
        names.retain(|name| {
            (self.include.is_empty() || is_in(&self.include, name)) && !is_in(&self.exclude, name)
        });
        Ok(names)
    }

    /// The patterns of a side as one text, to compare them with those of a resumed run.
    pub(super) fn text(patterns: &[Pattern]) -> String {
        patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excluded_tables_are_left_out_and_patterns_need_a_table() {
        let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let selected = |include: &[&str], exclude: &[&str]| {
            let selection = Selection { include: patterns(include), exclude: patterns(exclude) };
            selection.of(["Blogs", "Log1", "Log2"].map(String::from).to_vec())
        };
        assert_eq!(selected(&[], &[]).unwrap().len(), 3);
        assert_eq!(selected(&["log*", "blogs"], &["*2"]).unwrap(), ["Blogs", "Log1"]);
        for (include, exclude) in [(&["x"][..], &[][..]), (&["Blogs"], &["x*"])] {
            let error = selected(include, exclude).unwrap_err();
            assert!(error.message().starts_with("no table matches the pattern x"), "{error:?}");
        }
    }
}
