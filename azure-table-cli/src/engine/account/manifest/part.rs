//! The part of an account that a backup has.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::args::Export;
use crate::engine::account::pattern::Pattern;

/// The options of an export that left out rows, properties or tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    filter: Option<String>,
    select: Vec<String>,
    include: Vec<String>,
    exclude: Vec<String>,
}

impl Part {
    /// Returns `None` for an export of everything.
    pub(crate) fn of(args: &Export) -> Option<Self> {
        let patterns = |patterns: &[Pattern]| patterns.iter().map(ToString::to_string).collect();
        let part = Self {
            filter: args.filter.clone(),
            select: args.select.clone(),
            include: patterns(&args.selection.include),
            exclude: patterns(&args.selection.exclude),
        };
        let Self { filter, select, include, exclude } = &part;
        let is_all = filter.is_none() && [select, include, exclude].iter().all(|it| it.is_empty());
        (!is_all).then_some(part)
    }
}

/// Writes the options: `--filter "Rating ge 3", --include "Log*"`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists =
            [("select", &self.select), ("include", &self.include), ("exclude", &self.exclude)];
        let filter = self.filter.iter().map(|filter| ("filter", filter));
        let lists = lists.iter().flat_map(|(name, values)| values.iter().map(|it| (*name, it)));
        for (at, (name, value)) in filter.chain(lists).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}--{name} {value:?}")?;
        }
        Ok(())
    }
}
