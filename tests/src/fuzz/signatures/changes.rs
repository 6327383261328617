//! Changes of a request.

use std::fmt::Write as _;

use super::{DATE, Text};

/// Texts that have a meaning in a path, a query or a header.
const WORDS: &[&str] = &[
    "comp=acl",
    "Comp=acl",
    "%63omp=acl",
    "comp=%61cl",
    "comp=",
    "&",
    "=",
    "%26",
    "%3D",
    "%00",
    "%2F",
    "/",
    "//",
    "?",
    "+",
    "%20",
    "%0A",
    "restype=service&comp=properties",
    "sig=",
    "SIG=",
    "sv=2012-02-12",
    "sv=2019-02-02",
    "tn=others",
    "TN=Others",
    "%74n=Others",
    "sp=raud",
    "sp=rwdlacup",
    "sp=r",
    "spr=https",
    "st=2008-01-01",
    "se=2999-01-01T00:00:00Z",
    "se=",
    "si=",
    "sip=127.0.0.1",
    "spk=q",
    "srk=",
    "epk=z",
    "erk=",
    "ss=t",
    "srt=sco",
    "srt=o",
    "ses=x",
    "$top=1",
    "$filter=PartitionKey eq 'q'",
    "timeout=5",
    "Tables",
    "Others",
    "Blogs",
    "$batch",
    "-secondary",
    "/devstoreaccount1",
    "('Blogs')",
    "()",
    "PartitionKey='q'",
    "RowKey='q'",
    "SharedKey",
    "SharedKeyLite",
    "Bearer x",
    "devstoreaccount1:",
    "other:",
    "é",
    "\u{1f600}",
    "application/json",
    "application/atom+xml",
    "application/json;odata=nometadata",
    "2009-08-19",
    ",",
    ";",
    " ",
    "Wed, 19 Aug 2009 17:00:01 GMT",
    "Wed, 19 Aug 2009 16:59:59 GMT",
    DATE,
    "*",
    "2011-08-18",
    "2021-12-02",
    "2026-04-06",
    "skoid=x",
    "sktid=",
    "skt=2009-08-19",
    "ske=2999-01-01T00:00:00Z",
    "sks=b",
    "skv=2026-04-06",
    "skdutid=x",
    "sduoid=x",
    "sv=2025-07-05",
];
const METHODS: [&str; 9] =
    ["GET", "POST", "PUT", "MERGE", "PATCH", "DELETE", "HEAD", "OPTIONS", "get"];
const HEADERS: [&str; 12] = [
    "authorization",
    "x-ms-date",
    "date",
    "content-type",
    "content-md5",
    "x-ms-version",
    "accept",
    "if-match",
    "prefer",
    "dataserviceversion",
    "maxdataserviceversion",
    "content-encoding",
];

/// The unread part of the input.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl Input<'_> {
    pub(super) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn below(&mut self, end: usize) -> usize {
        (usize::from(self.byte()) << 8 | usize::from(self.byte())) % end.max(1)
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

/// Makes one change.
pub(super) fn change(text: &mut Text, input: &mut Input<'_>) {
    match input.byte() % 10 {
        0 => text.method = input.of(&METHODS).to_owned(),
        1 | 2 => edit(&mut text.path, input),
        3..=5 => edit(&mut text.query, input),
        6 => {
            let at = input.below(text.headers.len());
            edit(&mut text.headers[at].1, input);
        }
        7 => {
            let (name, value) = (input.of(&HEADERS).to_owned(), input.of(WORDS).to_owned());
            let at = input.below(text.headers.len() + 1);
            text.headers.insert(at, (name, value));
        }
        8 if text.headers.len() > 1 => {
            let at = input.below(text.headers.len());
            text.headers.remove(at);
        }
        _ => edit(&mut text.body, input),
    }
}

/// Changes a text at one place.
fn edit(text: &mut String, input: &mut Input<'_>) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let at = places[input.below(places.len())];
    let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
    match input.byte() % 7 {
        0 => text.replace_range(at..end, ""),
        1 => text.insert(at, char::from(input.byte() % 128)),
        2 => text.replace_range(at..end, &char::from(input.byte() % 128).to_string()),
        3 => text.insert_str(at, input.of(WORDS)),
        4 => {
            // The same character in another spelling.
            let encoded: String = text[at..end].bytes().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "%{byte:02x}");
                text
            });
            text.replace_range(at..end, &encoded);
        }
        5 => {
            let swapped = match text[at..end].chars().next() {
                Some(letter) if letter.is_ascii_lowercase() => {
                    letter.to_ascii_uppercase().to_string()
                }
                Some(letter) => letter.to_ascii_lowercase().to_string(),
                None => String::new(),
            };
            text.replace_range(at..end, &swapped);
        }
        _ => {
            // A whole option, before or after the others.
            let word = input.of(WORDS);
            *text = match input.byte() % 2 {
                0 => format!("{word}&{text}"),
                _ => format!("{text}&{word}"),
            };
        }
    }
}
