//! The values of names in cases, such as `{table}` and `{time:+1h}`.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::wire::{Server, encoded};

/// The names that the signing of a request replaces.
const SIGNATURES: [&str; 6] = ["sign", "sign-lite", "sign-bare", "wrong-sign", "sas", "wrong-sas"];

/// Whether a word names a table of the case: `table`, `table2` and so on, which the runner creates, or `name`, `name2` and so
/// on, which it does not. It deletes all of them.
fn is_table(word: &str) -> bool {
    let word = word.trim_end_matches(|last: char| last.is_ascii_digit());
    word == "table" || word == "name"
}

/// The words in a text that name tables.
pub(super) fn tables_in(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split('{').skip(1).filter_map(|rest| Some(name(rest)?.0));
    names.map(|name| name.strip_prefix("upper:").unwrap_or(name)).filter(|name| is_table(name))
}

/// The values of a case while it runs.
#[derive(Debug, Clone)]
pub(crate) struct Values<'s> {
    server: &'s Server,
    now: DateTime<Utc>,
    /// The beginning of the names of the case's tables.
    tables: String,
    bound: BTreeMap<String, String>,
}

impl<'s> Values<'s> {
    pub(crate) fn new(server: &'s Server, tables: &str) -> Self {
        Self { server, now: Utc::now(), tables: tables.to_owned(), bound: BTreeMap::new() }
    }

    pub(crate) fn server(&self) -> &'s Server {
        self.server
    }

    /// A text with its names replaced, or as it is if one has no value.
    pub(crate) fn shown(&self, text: &str) -> String {
        self.fill(text).unwrap_or_else(|_| text.to_owned())
    }

    pub(crate) fn bind(&mut self, name: &str, value: String) {
        self.bound.insert(name.to_owned(), value);
    }

    /// The value of a name with its argument, which follows a colon.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let (word, argument) = name.split_once(':').unwrap_or((name, ""));
        Some(match word {
            _ if is_table(word) => self.table(word),
            "account" => self.server.account.clone(),
            "endpoint" => self.server.endpoint(),
            "path" => self.server.path.clone(),
            "host" => self.server.authority.clone(),
            "crlf" => "\r\n".to_owned(),
            "space" => " ".to_owned(),
            "star" => "*".to_owned(),
            "brace" => "{".to_owned(),
            "time" => (self.now + offset(argument)?).format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "date" => {
                (self.now + offset(argument)?).format("%a, %d %b %Y %H:%M:%S GMT").to_string()
            }
            "upper" => self.get(argument)?.to_uppercase(),
            "repeat" => {
                let (text, times) = argument.rsplit_once(':')?;
                text.repeat(times.parse().ok()?)
            }
            "each" => each(argument)?,
            _ => return self.bound.get(name).cloned(),
        })
    }

    /// The name of a table.
    pub(crate) fn table(&self, word: &str) -> String {
        format!("{}{word}", self.tables)
    }

    /// Replaces the names in a text by their values, except the names of signatures. Fails with the name that has no value.
    pub(crate) fn fill(&self, text: &str) -> Result<String, String> {
        self.replace(text, &|value| value)
    }

    /// Replaces the names in a target. The values of a response are encoded.
    pub(crate) fn fill_target(&self, text: &str) -> Result<String, String> {
        self.replace(text, &|value| encoded(&value))
    }

    fn replace(&self, text: &str, bound: &dyn Fn(String) -> String) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let Some((name, after)) = name(rest) else {
                filled.push('{');
                continue;
            };
            rest = after;
            if SIGNATURES.contains(&name) {
                filled.extend(["{", name, "}"]);
                continue;
            }
            let value = self.get(name).ok_or_else(|| format!("{{{name}}} has no value"))?;
            filled.push_str(&match () {
                // The text of a repetition has names too.
                () if name.starts_with("each:") => self.replace(&value, bound)?,
                () if self.bound.contains_key(name) => bound(value),
                () => value,
            });
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// The name at the beginning of a text, and the text behind its closing brace. A name begins with a lower-case letter,
/// which distinguishes it from JSON; braces in its argument are paired.
pub(super) fn name(text: &str) -> Option<(&str, &str)> {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let word = text.bytes().position(|byte| !is_word(byte))?;
    if word == 0 || !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        return None;
    }
    match text.as_bytes()[word] {
        b'}' => Some((&text[..word], &text[word + 1..])),
        b':' => {
            let mut open = 1;
            let end = text.bytes().position(|byte| {
                match byte {
                    b'{' => open += 1,
                    b'}' => open -= 1,
                    _ => {}
                }
                open == 0
            })?;
            Some((&text[..end], &text[end + 1..]))
        }
        _ => None,
    }
}

/// Reads `+1h`, `-20m` or `+0s`.
fn offset(text: &str) -> Option<TimeDelta> {
    let unit = text.chars().last()?;
    let number: i64 = text.strip_suffix(unit)?.parse().ok()?;
    match unit {
        's' => TimeDelta::try_seconds(number),
        'm' => TimeDelta::try_minutes(number),
        'h' => TimeDelta::try_hours(number),
        'd' => TimeDelta::try_days(number),
        _ => None,
    }
}

/// Reads `1-3:TEXT`: the text for each number, which replaces `#`. Commas separate them if the text ends with one.
fn each(argument: &str) -> Option<String> {
    let (range, text) = argument.split_once(':')?;
    let (first, last) = range.split_once('-')?;
    let numbers = first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?;
    let all: String = numbers.map(|number| text.replace('#', &number.to_string())).collect();
    Some(all.strip_suffix(',').map_or(all.clone(), str::to_owned))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        let server = Server::new("http://h:1/one", "one", "a2V5").unwrap();
        Values::new(&server, "t1").fill(text)
    }

    #[test]
    fn names_are_replaced() {
        for (text, expected) in [
            ("/{table}()", "/t1table()"),
            ("{\"a\":{\"b\":{}}}", "{\"a\":{\"b\":{}}}"),
            ("{endpoint}/{name}", "http://h:1/one/t1name"),
            ("{upper:table}", "T1TABLE"),
            ("{repeat:ab:3}", "ababab"),
            ("{repeat:a:b:2}", "a:ba:b"),
            ("{each:1-3:\"P#\":#,}", "\"P1\":1,\"P2\":2,\"P3\":3"),
            (
                "{each:1-2:{\"A\":{\"T\":\"{table}\"}}}",
                "{\"A\":{\"T\":\"t1table\"}}{\"A\":{\"T\":\"t1table\"}}",
            ),
            ("{account}:{sign}", "one:{sign}"),
            ("{", "{"),
        ] {
            assert_eq!(filled(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn names_without_a_value_are_failures() {
        for text in ["{etag}", "{time:1}", "{time:1x}", "{repeat:a}", "{each:1:a}"] {
            assert!(filled(text).unwrap_err().contains("has no value"), "{text}");
        }
    }

    #[test]
    fn times_are_relative() {
        let time = filled("{time:-1d}").unwrap();
        let time: DateTime<Utc> = time.parse().unwrap();
        let age = Utc::now() - time;
        assert!(age >= TimeDelta::days(1) && age < TimeDelta::days(1) + TimeDelta::minutes(5));
        let date = filled("{date:+0s}").unwrap();
        assert!(DateTime::parse_from_rfc2822(&date).is_ok(), "{date}");
    }
}
