//! `$select`: the properties in a response.

use std::collections::HashSet;

use crate::limits::{SYSTEM_PROPERTIES, check_property_name};
use crate::mock::failure::Failure;
use crate::mock::request::Request;

/// The selected properties, and the text that the response repeats.
pub(in crate::mock) struct Select {
    names: Vec<String>,
    text: String,
}

impl Select {
    pub(super) fn of(request: &Request<'_>) -> Result<Option<Self>, Failure> {
        let Some(text) = request.raw.option("$select") else {
            return Ok(None);
        };
        if !request.protocol()?.has_select() {
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

    /// The selected properties, or `None` for all: an empty list and `*` select all.
    pub(in crate::mock) fn names(&self) -> Option<&[String]> {
        let all = self.names.is_empty() || self.names.iter().any(|name| name == "*");
        (!all).then_some(&self.names)
    }

    /// The part of `odata.metadata` that repeats the selection.
    pub(in crate::mock) fn suffix(select: Option<&Self>) -> String {
        select.map_or_else(String::new, |select| format!("&$select={}", select.text))
    }
}
