//! The members of a JSON object of a fault plan.

use serde_json::{Map, Value};

/// The members of an object that were not read yet, and the names of those that it can have: the reader has asked for them.
pub(super) struct ObjectReader {
    unread: Map<String, Value>,
    known: Vec<&'static str>,
}

impl ObjectReader {
    pub(super) fn of(object: Map<String, Value>) -> Self {
        Self { unread: object, known: Vec::new() }
    }

    /// Removes a member.
    pub(super) fn remove(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.unread.remove(name)
    }

    /// Removes a member that has no effect.
    pub(super) fn ignore(&mut self, name: &str) {
        self.unread.remove(name);
    }

    /// Removes an optional member.
    pub(super) fn take<T>(
        &mut self,
        name: &'static str,
        kind: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let value = self
            .remove(name)
            .map(|value| read(&value).ok_or_else(|| format!("{name} must be {kind}, not {value}")));
        value.transpose()
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, String> {
        self.take(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn count(&mut self, name: &'static str) -> Result<Option<u64>, String> {
        self.take(name, "a whole number", Value::as_u64)
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, String> {
        Ok(self.take(name, "true or false", Value::as_bool)?.unwrap_or_default())
    }

    /// Checks that all members were read. `object` names the object in the error.
    pub(super) fn end(&self, object: &str) -> Result<(), String> {
        match self.unread.keys().next() {
            Some(name) => {
                let known = self.known.join(", ");
                Err(format!("unknown member {name:?}: {object} has the members {known}"))
            }
            None => Ok(()),
        }
    }
}
