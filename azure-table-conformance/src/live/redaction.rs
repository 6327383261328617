//! Removes secrets, and the account's name and host, from every text that leaves the program.

use std::sync::{Arc, Mutex, PoisonError};

use crate::wire::Server;

/// Put in place of a secret.
const REMOVED: &str = "[removed]";
/// The length of an HMAC-SHA256 in Base64 without its `=`.
const SIGNATURE: usize = 43;

/// The texts that are replaced.
pub(super) struct Redaction {
    /// Texts and their replacements, the longest first.
    names: Vec<(String, &'static str)>,
    secrets: Secrets,
}

/// The secrets that the run has received.
#[derive(Clone, Default)]
pub(super) struct Secrets(Arc<Mutex<Vec<String>>>);

impl Secrets {
    pub(super) fn add(&self, secret: &str) {
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !secret.is_empty() && !secrets.iter().any(|known| known == secret) {
            secrets.push(secret.to_owned());
        }
    }

    fn remove_from(&self, text: &str) -> String {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REMOVED))
    }
}

impl Redaction {
    pub(super) fn new(server: &Server, names_account: bool) -> Self {
        let mut names = Vec::new();
        if !names_account {
            names.push((server.authority.clone(), "HOST"));
            names.push((server.host.clone(), "HOST"));
            if server.account != "devstoreaccount1" {
                names.push((server.account.clone(), "ACCOUNT"));
            }
        }
        let key = server.key.to_base64();
        let secrets = Secrets::default();
        secrets.add(&key);
        Self { names, secrets }
    }

    /// Adds a secret that the run received.
    pub(super) fn add(&self, secret: &str) {
        self.secrets.add(secret);
    }

    /// The list for secrets that arrive later.
    pub(super) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    /// Replaces all secrets and names.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut text = without_signatures(&self.secrets.remove_from(text));
        for (name, replacement) in &self.names {
            text = replace_ignoring_case(&text, name, replacement);
        }
        text
    }
}

/// Replaces what looks like a signature (43 characters of Base64 and `=`) or like a JSON Web Token.
fn without_signatures(text: &str) -> String {
    let is_inner = |it: char| it.is_ascii_alphanumeric() || "+/%_.-".contains(it);
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(is_inner) {
        result.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let end = rest.find(|it| !is_inner(it)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_padded = after.starts_with('=') || word.to_ascii_lowercase().ends_with("%3d");
        let is_token = word.starts_with("eyJ") && word.len() > 20;
        let is_secret = is_token || (is_padded && word.len() >= SIGNATURE);
        result.push_str(if is_secret { REMOVED } else { word });
        rest = if is_secret { after.trim_start_matches('=') } else { after };
    }
    result.push_str(rest);
    result
}

fn replace_ignoring_case(text: &str, name: &str, replacement: &str) -> String {
    // ASCII letters keep their positions.
    let (lower, name) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in lower.match_indices(&name) {
        result.push_str(&text[from..at]);
        result.push_str(replacement);
        from = at + found.len();
    }
    result.push_str(&text[from..]);
    result
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const KEY: &str = "cGxhbnRlZCBrZXkgb2YgYSB0ZXN0";

    fn redaction(names_account: bool) -> Redaction {
        let server = Server::new("https://mine.table.core.windows.net", "mine", KEY).unwrap();
        Redaction::new(&server, names_account)
    }

    #[test]
    fn secrets_and_names_are_removed() {
        let signature = "0123456789abcdefghijklmnopqrstuvwxyzABCD+/x=";
        let encoded = "0123456789abcdefghijklmnopqrstuvwxyzABCD%2B%2Fx%3D";
        let token = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJodHRwczovLyJ9.c2ln";
        let redaction = redaction(false);
        redaction.add("opaque token");
        let text = format!(
            "key {KEY} for https://Mine.table.core.windows.net/Tables: found in the request \
             '{signature}', sig={encoded}&sp=r, Bearer {token}, opaque token, account mine"
        );
        let expected = "key [removed] for https://HOST/Tables: found in the request '[removed]', \
            sig=[removed]&sp=r, Bearer [removed], [removed], account ACCOUNT";
        assert_eq!(redaction.apply(&text), expected);
    }

    #[test]
    fn secrets_are_removed_before_texts_are_shortened() {
        let redaction = redaction(false);
        redaction.secrets().add(&"later ".repeat(200));
        let part = crate::live::part::Part::skipped(format!("{}!", "later ".repeat(200)));
        assert_eq!(part.redacted(&redaction).skipped.as_deref(), Some("[removed]!"));
    }

    #[test]
    fn other_texts_stay() {
        let path = "/devstoreaccount1/live0123456789abcdefn12table()?$filter=PartitionKey%20eq";
        assert_eq!(redaction(false).apply(path), path);
        let account = "the account mine at mine.table.core.windows.net";
        assert_eq!(redaction(true).apply(account), account);
    }
}
