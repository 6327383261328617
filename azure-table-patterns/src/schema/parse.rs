//! Parsing a snapshot.

use std::fmt;
use std::iter::Peekable;
use std::str::FromStr;

use azure_table_client::edm::EdmType;
use azure_table_client::entity::schema::{
    Absent, KeyElement, Layout, Others, PropertySchema, ValueChoice, ValueForm,
};

use super::snapshot::{KindList, Snapshot};
use super::write::END;

/// The error of a text that is not a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The number of the line, from 1.
    line: usize,
    reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for ParseError {}

type Result<T> = std::result::Result<T, String>;

/// A line with its number, its indentation and its tokens.
struct Line {
    number: usize,
    indent: usize,
    tokens: Tokens,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
}

/// The tokens of a line that are not read yet.
struct Tokens(Peekable<std::vec::IntoIter<Token>>);

fn snapshot(text: &str) -> std::result::Result<Snapshot, ParseError> {
    let mut lines = Vec::new();
    let mut count = 0;
    for (at, line) in text.lines().enumerate() {
        count = at + 1;
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let tokens = tokens(content).map_err(|reason| ParseError { line: count, reason })?;
        let indent = line.len() - content.len();
        lines.push(Line { number: count, indent, tokens: Tokens(tokens.into_iter().peekable()) });
    }
    let is_end = |line: &mut Line| line.tokens.0.next_if_eq(&Token::Word(END.to_owned())).is_some();
    if !lines.last_mut().is_some_and(is_end) {
        let reason = format!("the last line is not `{END}`: the file is incomplete");
        return Err(ParseError { line: count, reason });
    }
    lines.pop();
    let mut lines = lines.into_iter().peekable();
    let snapshot = block(&mut lines, 0)?;
    match lines.next() {
        None => Ok(snapshot),
        Some(line) => {
            Err(ParseError { line: line.number, reason: "unexpected indentation".to_owned() })
        }
    }
}

impl FromStr for Snapshot {
    type Err = ParseError;

    fn from_str(text: &str) -> std::result::Result<Self, ParseError> {
        snapshot(text)
    }
}

fn block(
    lines: &mut Peekable<std::vec::IntoIter<Line>>,
    indent: usize,
) -> std::result::Result<Snapshot, ParseError> {
    let mut snapshot = Snapshot::default();
    while let Some(mut line) = lines.next_if(|line| line.indent == indent) {
        let number = line.number;
        let read = statement(&mut snapshot, &mut line.tokens);
        let kind = read.map_err(|reason| ParseError { line: number, reason })?;
        if let Some(name) = kind {
            let inner = block(lines, indent + 2)?;
            let kinds = snapshot.kinds.get_or_insert_default();
            kinds.list.push((name, inner));
        }
    }
    Ok(snapshot)
}

/// Reads a line; returns the name of the kind that begins with it.
fn statement(snapshot: &mut Snapshot, tokens: &mut Tokens) -> Result<Option<String>> {
    let Snapshot { schema, removed, kinds } = snapshot;
    match &*tokens.word()? {
        "table" => schema.table = Some(tokens.text()?),
        "partition-key" => schema.partition_key = tokens.key()?,
        "row-key" => schema.row_key = tokens.key()?,
        "others" => {
            schema.others = match &*tokens.word()? {
                "kept" => Others::Kept,
                "refused" => Others::Refused,
                other => return Err(format!("unknown word `{other}`")),
            }
        }
        "property" => schema.properties.push(tokens.property()?),
        "removed" => removed.push(tokens.property()?),
        "kinds" => {
            let property = match &*tokens.word()? {
                "by" => Some(tokens.text()?),
                _ => None,
            };
            *kinds = Some(KindList { property, ..KindList::default() });
        }
        "kind" => return tokens.text().map(Some),
        "other-kinds" => kinds.get_or_insert_default().has_other = true,
        other => return Err(format!("unknown word `{other}`")),
    }
    match tokens.0.next() {
        None => Ok(None),
        Some(token) => Err(format!("unexpected {token:?}")),
    }
}

impl Tokens {
    fn word(&mut self) -> Result<String> {
        match self.0.next() {
            Some(Token::Word(word)) => Ok(word),
            found => Err(format!("expected a word, found {found:?}")),
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.0.next() {
            Some(Token::Text(text)) => Ok(text),
            found => Err(format!("expected a text in quotes, found {found:?}")),
        }
    }

    fn number(&mut self) -> Result<usize> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("`{word}` is not a number"))
    }

    fn key(&mut self) -> Result<Vec<KeyElement>> {
        let mut elements: Vec<KeyElement> = Vec::new();
        while self.0.peek().is_some() {
            let word = self.word()?;
            match (&*word, elements.last_mut()) {
                ("literal", _) => elements.push(KeyElement::Constant(self.text()?)),
                ("field", _) => elements.push(KeyElement::Field {
                    name: self.text()?,
                    format: String::new(),
                    form: ValueForm::Unknown,
                    rust_type: String::new(),
                }),
                ("format", Some(KeyElement::Field { format, .. })) => *format = self.text()?,
                (_, Some(KeyElement::Field { form, rust_type, .. })) => {
                    self.values(&word, form, rust_type)?;
                }
                _ => return Err(format!("unknown word `{word}`")),
            }
        }
        Ok(elements)
    }

    fn property(&mut self) -> Result<PropertySchema> {
        let mut property = PropertySchema::new(self.text()?);
        while self.0.peek().is_some() {
            let word = self.word()?;
            match &*word {
                "codec" => property.codec = self.text()?,
                "series" => {
                    let digits = self.number()?;
                    let any = Token::Word("any".to_owned());
                    let size =
                        if self.0.next_if_eq(&any).is_some() { None } else { Some(self.number()?) };
                    property.layout = Layout::Series { digits, size };
                }
                "split" => property.layout = Layout::Split,
                "required" => property.absent = Absent::Required,
                "optional" => property.absent = Absent::Optional,
                "default" => {
                    let varies = Token::Word("varies".to_owned());
                    let varies = self.0.next_if_eq(&varies).is_some();
                    property.absent =
                        Absent::DefaultValue(if varies { None } else { Some(self.text()?) });
                }
                "alias" => property.aliases.push(self.text()?),
                "accepts" => property.accept = self.word()?,
                "tolerant" => property.is_tolerant = true,
                "copy-of-key" => property.is_copy = true,
                "group" => property.groups.push(self.text()?),
                edm if EdmType::from_name(edm).is_some() => {
                    property.edm_type = EdmType::from_name(edm);
                }
                _ => self.values(&word, &mut property.form, &mut property.rust_type)?,
            }
        }
        Ok(property)
    }

    /// Reads the values that begin with `word`.
    fn values(&mut self, word: &str, form: &mut ValueForm, rust_type: &mut String) -> Result<()> {
        match (word, form) {
            ("form", form) => *form = ValueForm::Named(self.text()?.into()),
            ("rust", _) => *rust_type = self.text()?,
            ("choice", form) => {
                let choice = ValueChoice::new(self.text()?, self.text()?);
                match form {
                    ValueForm::Choice { choices, .. } => choices.push(choice),
                    other => {
                        *other = ValueForm::Choice { choices: vec![choice], has_other: false };
                    }
                }
            }
            ("or", ValueForm::Choice { choices, .. }) if !choices.is_empty() => {
                let alias = self.text()?;
                choices.iter_mut().rev().take(1).for_each(|last| last.aliases.push(alias.clone()));
            }
            ("other-choices", ValueForm::Choice { has_other, .. }) => *has_other = true,
            ("other-choices", form) => {
                *form = ValueForm::Choice { choices: Vec::new(), has_other: true };
            }
            _ => return Err(format!("unknown word `{word}`")),
        }
        Ok(())
    }
}

fn tokens(line: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let end = if let Some(quoted) = rest.strip_prefix('"') {
            let (text, length) = unquoted(quoted)?;
            tokens.push(Token::Text(text));
            length + 1
        } else {
            let end = rest.find(' ').unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            end
        };
        rest = rest[end..].trim_start_matches(' ');
    }
    Ok(tokens)
}

/// Returns the text before the closing quote, and the length of its source with the quote.
fn unquoted(source: &str) -> Result<(String, usize)> {
    let mut text = String::new();
    let mut chars = source.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((text, at + 1)),
            '\\' => match chars.next() {
                Some((_, c @ ('"' | '\\'))) => text.push(c),
                Some((at, 'u')) => {
                    let code =
                        source[at + 1..].strip_prefix('{').and_then(|code| code.split_once('}'));
                    let c = code.and_then(|(code, _)| u32::from_str_radix(code, 16).ok());
                    text.push(c.and_then(char::from_u32).ok_or("an escape is not a character")?);
                    chars.find(|(_, c)| *c == '}');
                }
                _ => return Err("unknown escape".to_owned()),
            },
            c => text.push(c),
        }
    }
    Err("a text has no closing quote".to_owned())
}
