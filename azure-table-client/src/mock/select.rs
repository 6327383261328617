//! `$select`: which properties an answer has.

use std::collections::HashSet;

use super::failure::Failure;
use super::respond::Asked;
use crate::limits::{SYSTEM_PROPERTIES, check_property_name};

/// `$select`: the properties, and the text that the reply repeats.
pub(super) struct Select {
    names: Vec<String>,
    text: String,
}

impl Select {
    pub(super) fn of(asked: &Asked<'_>) -> Result<Option<Self>, Failure> {
        let Some(text) = asked.request.option("$select") else {
            return Ok(None);
        };
        if !asked.protocol.has_select() {
            return Err(Failure::invalid_input());
        }
        let mut seen = HashSet::new();
        let names: Vec<String> = text
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty() && seen.insert(name.clone()))
            .collect();
        let is_name = |name: &String| {
            name == "*"
                || SYSTEM_PROPERTIES.contains(&name.as_str())
                || check_property_name(name).is_ok()
        };
        if !names.iter().all(is_name) {
            return Err(Failure::invalid_input());
        }
        Ok(Some(Self { text: names.join(","), names }))
    }

    /// The properties; an empty list and `*` select all.
    pub(super) fn names(&self) -> Option<&[String]> {
        let all = self.names.is_empty() || self.names.iter().any(|name| name == "*");
        (!all).then_some(&self.names)
    }

    pub(super) fn suffix(select: Option<&Self>) -> String {
        select.map_or_else(String::new, |select| format!("&$select={}", select.text))
    }
}
