//! The text of an error.

use std::fmt::{self, Write as _};

use super::text::{self, MESSAGE_CHARS, Rounded};
use super::{Error, ErrorFields, Outcome};
use crate::wire::escape::Escaping;

impl ErrorFields {
    fn write_message(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let Some(deadline) = self.deadline else { return out.write_str(&self.message) };
        write!(out, "deadline of {} reached", Rounded(deadline))?;
        match self.attempts {
            // Earlier rounds sent attempts.
            0 if self.rounds > 1 => {}
            0 => out.write_str(" before the first attempt")?,
            1 => out.write_str(" after 1 attempt")?,
            attempts => write!(out, " after {attempts} attempts")?,
        }
        if self.message.is_empty() { Ok(()) } else { write!(out, ": {}", self.message) }
    }

    /// Returns the key as the text shows it, unless the message shows it already.
    fn shown_key(&self) -> Option<String> {
        let key = text::key(self.entity_key.as_ref()?);
        (!self.message.contains(&key)).then_some(key)
    }

    fn details(&self) -> Vec<String> {
        let mut details = Vec::new();
        if let Some(status) = self.status {
            details.push(match &self.code {
                Some(code) => format!("{} {}", status.as_u16(), text::name(code.as_str())),
                None => status.as_u16().to_string(),
            });
        }
        match (self.batch_index, self.shown_key()) {
            (Some(index), Some(key)) => {
                details.push(format!("operation {index} of the batch, on {key}"));
            }
            (Some(index), None) => details.push(format!("operation {index} of the batch")),
            (None, Some(key)) => details.push(format!("entity {key}")),
            (None, None) => {}
        }
        if self.attempts > 1 && self.deadline.is_none() {
            details.push(format!("{} attempts", self.attempts));
        }
        if self.rounds > 1 {
            details.push(format!("{} rounds", self.rounds));
        }
        if self.outcome == Outcome::Unknown {
            details.push("outcome unknown".to_owned());
            if self.matching_state.is_some() {
                details.push("the state matches what was written".to_owned());
            }
        }
        if let Some(id) = &self.request_id {
            details.push(format!("request id {}", text::name(id)));
        }
        details
    }

    /// Returns the texts of the causes, without those that the message repeats.
    fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut next = self.source.as_deref().map(|source| source as &dyn std::error::Error);
        while let Some(cause) = next {
            let text = cause.to_string();
            if text != self.message {
                causes.push(text::bounded(&text, MESSAGE_CHARS).into_owned());
            }
            next = cause.source();
        }
        causes
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        let mut out = Escaping(f);
        if let Some((operation, resource)) = &inner.operation {
            write!(out, "{operation} on {resource}: ")?;
        }
        inner.write_message(&mut out)?;
        if let Some(hint) = self.hint() {
            let end = if inner.message.ends_with('.') { "" } else { "." };
            write!(out, "{end} {hint}")?;
        }
        let details = inner.details();
        if details.is_empty() { Ok(()) } else { write!(out, " ({})", details.join(", ")) }
    }
}

/// Starts with the text of the error, because a `main` that fails prints this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(f, "{self}")?;
        let mut fields = f.debug_struct("");
        fields.field("kind", &inner.kind).field("outcome", &inner.outcome);
        if let Some(status) = inner.status {
            fields.field("status", &status.as_u16());
        }
        if let Some(code) = &inner.code {
            fields.field("code", &text::name(code.as_str()));
        }
        if let Some(id) = &inner.request_id {
            fields.field("request_id", &text::name(id));
        }
        if let Some(id) = &inner.client_request_id {
            fields.field("client_request_id", &text::name(id));
        }
        if let Some(index) = inner.batch_index {
            fields.field("batch_index", &index);
        }
        if let Some(key) = &inner.entity_key {
            fields.field("entity_key", &format_args!("{}", text::key(key)));
        }
        if inner.attempts > 0 {
            fields.field("attempts", &inner.attempts);
        }
        if inner.rounds > 0 {
            fields.field("rounds", &inner.rounds);
        }
        if let Some(wait) = inner.retry_after {
            fields.field("retry_after", &wait);
        }
        let causes = inner.causes();
        if !causes.is_empty() {
            fields.field("causes", &causes);
        }
        fields.finish()
    }
}
