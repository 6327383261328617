//! Filters on text: quotes, characters with a meaning in URLs and OData, and the order by UTF-16
//! code units.

use std::cmp::Ordering;
use std::sync::Arc;

use azure_table_client::{TableEntity, filter};

use super::{Case, cases, check};
use crate::client::target::Target;

/// A row with text.
#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Note {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    n: u8,
    text: String,
    shared: Arc<str>,
}

const TEXTS: [&str; 30] = [
    "",
    " ",
    "  ",
    "'",
    "''",
    "it's",
    "' or true or '",
    "') or (PartitionKey ne '",
    "100%",
    "%27",
    "a&b",
    "a+b",
    "a b",
    "&#1",
    "a\nb",
    "a",
    "A",
    "ab",
    "a\u{ffff}",
    "a\u{ffff}z",
    "\u{e9}",
    "e\u{301}",
    "\u{d7ff}",
    "\u{d7ff}x",
    "\u{1f600}",
    "\u{1f600}\u{1f601}",
    "\u{10ffff}x",
    "\u{e000}",
    "\u{ffff}",
    "\u{ffff}\u{ffff}",
];

fn rows() -> Vec<Note> {
    let row = |(n, text): (u8, &&str)| {
        let text = *text;
        Note { p: "p".into(), n, text: text.into(), shared: text.into() }
    };
    (0..).zip(&TEXTS).map(row).collect()
}

/// Compares by UTF-16 code units.
fn order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

fn on_what_looks_like_syntax() -> Vec<Case<Note>> {
    let quote = '\'';
    let injected = format!("{quote} or true or {quote}");
    cases! { Note:
        |b| b.text.ne(""), filter!(Note, b => b.text != ""), "text ne ''", |r| !r.text.is_empty();
        |b| b.text.le(""), filter!(Note, b => b.text <= ""), "text le ''", |r| r.text.is_empty();
        |b| b.text.eq(" "), filter!(Note, b => " " == b.text), "text eq ' '", |r| r.text == " ";
        |b| b.text.eq("  "), filter!(Note, b => b.text == "  "), "text eq '  '", |r| r.text == "  ";
        |b| b.text.eq("'"), filter!(Note, b => b.text == "'"), "text eq ''''", |r| r.text == "'";
        |b| b.text.eq(quote.to_string() + "'"), filter!(Note, b => b.text == quote.to_string() + "'"), "text eq ''''''", |r| r.text == "''";
        |b| b.text.is_in(["", "'", "''"]), filter!(Note, b => b.text in ["", "'", "''"]), "text eq '' or text eq '''' or text eq ''''''", |r| ["", "'", "''"].contains(&&*r.text);
        |b| b.text.eq(&injected), filter!(Note, b => b.text == &injected), "text eq ''' or true or '''", |r| r.text == "' or true or '";
        |b| !b.text.eq(injected.as_str()), filter!(Note, b => !(b.text == injected.as_str())), "not (text eq ''' or true or ''')", |r| r.text != "' or true or '";
        |b| b.text.eq("') or (PartitionKey ne '"), filter!(Note, b => b.text == "') or (PartitionKey ne '"), "text eq ''') or (PartitionKey ne '''", |r| r.n == 7;
        |b| b.text.starts_with("' or"), filter!(Note, b => b.text.starts_with("' or")), "text ge ''' or' and text lt ''' os'", |r| r.text.starts_with("' or");
        |b| b.text.eq("100%"), filter!(Note, b => b.text == "100%"), "text eq '100%'", |r| r.text == "100%";
        |b| b.text.eq("%27"), filter!(Note, b => b.text == "%27"), "text eq '%27'", |r| r.text == "%27";
        |b| b.text.eq("a&b"), filter!(Note, b => b.text == "a&b"), "text eq 'a&b'", |r| r.text == "a&b";
        |b| b.text.eq("a+b"), filter!(Note, b => b.text == "a+b"), "text eq 'a+b'", |r| r.text == "a+b";
        |b| b.text.eq("&#1"), filter!(Note, b => b.text == "&#1"), "text eq '&#1'", |r| r.text == "&#1";
        |b| b.text.eq("a\nb"), filter!(Note, b => b.text == "a\nb"), "text eq 'a\nb'", |r| r.text == "a\nb";
        |b| b.shared.is_in(TEXTS[8..14].to_vec()), filter!(Note, b => b.shared in TEXTS[8..14].to_vec()), "shared eq '100%' or shared eq '%27' or shared eq 'a&b' or shared eq 'a+b' or shared eq 'a b' or shared eq '&#1'", |r| (8..14).contains(&r.n);
    }
}

fn on_the_order_of_characters() -> Vec<Case<Note>> {
    let limit = Arc::<str>::from("\u{1f600}");
    cases! { Note:
        |b| b.text.eq("a"), filter!(Note, b => b.text == "a"), "text eq 'a'", |r| r.n == 15;
        |b| b.text.eq("\u{e9}"), filter!(Note, b => b.text == "\u{e9}"), "text eq 'é'", |r| r.n == 20;
        |b| b.text.lt("a"), filter!(Note, b => b.text < "a"), "text lt 'a'", |r| order(&r.text, "a").is_lt();
        |b| b.text.ge("\u{d7ff}"), filter!(Note, b => b.text >= "\u{d7ff}"), "text ge '\u{d7ff}'", |r| r.n >= 22;
        |b| b.text.lt("\u{e000}"), filter!(Note, b => b.text < "\u{e000}"), "text lt '\u{e000}'", |r| r.n < 27;
        |b| b.text.gt("\u{1f600}"), filter!(Note, b => "\u{1f600}" < b.text), "text gt '\u{1f600}'", |r| r.n > 24;
        |b| b.shared.le(&limit), filter!(Note, b => b.shared <= &limit), "shared le '\u{1f600}'", |r| order(&r.shared, "\u{1f600}").is_le();
        |b| b.text.between("\u{d7ff}x", "\u{e000}"), filter!(Note, b => b.text >= "\u{d7ff}x" && b.text <= "\u{e000}"), "text ge '\u{d7ff}x' and text le '\u{e000}'", |r| (23..=27).contains(&r.n);
        |b| b.text.ge("\u{ffff}") & b.text.ne("\u{ffff}"), filter!(Note, b => b.text >= "\u{ffff}" && b.text != "\u{ffff}"), "text ge '\u{ffff}' and text ne '\u{ffff}'", |r| r.n == 29;
        |b| !b.text.between("'", "a"), filter!(Note, b => !b.text.between("'", "a")), "not (text ge '''' and text le 'a')", |r| order(&r.text, "'").is_lt() || order(&r.text, "a").is_gt();
    }
}

fn on_beginnings() -> Vec<Case<Note>> {
    let (a, pair) = (String::from("a"), '\u{1f600}'.to_string());
    cases! { Note:
        |b| b.text.starts_with(""), filter!(Note, b => b.text.starts_with("")), "text ge ''", |_r| true;
        |b| !b.text.starts_with(""), filter!(Note, b => !b.text.starts_with("")), "not (text ge '')", |_r| false;
        |b| b.text.starts_with(" "), filter!(Note, b => b.text.starts_with(" ")), "text ge ' ' and text lt '!'", |r| r.text.starts_with(' ');
        |b| b.text.starts_with("'"), filter!(Note, b => b.text.starts_with("'")), "text ge '''' and text lt '('", |r| r.text.starts_with('\'');
        |b| !b.text.starts_with("&"), filter!(Note, b => !b.text.starts_with("&")), "not (text ge '&' and text lt '''')", |r| !r.text.starts_with('&');
        |b| b.text.starts_with(&a), filter!(Note, b => b.text.starts_with(&a)), "text ge 'a' and text lt 'b'", |r| r.text.starts_with('a');
        |b| b.text.starts_with("a\u{ffff}"), filter!(Note, b => b.text.starts_with("a\u{ffff}")), "text ge 'a\u{ffff}' and text lt 'b'", |r| r.text.starts_with("a\u{ffff}");
        |b| b.text.starts_with("\u{ffff}"), filter!(Note, b => b.text.starts_with("\u{ffff}")), "text ge '\u{ffff}'", |r| r.text.starts_with('\u{ffff}');
        |b| !b.text.starts_with("\u{ffff}\u{ffff}"), filter!(Note, b => !b.text.starts_with("\u{ffff}\u{ffff}")), "not (text ge '\u{ffff}\u{ffff}')", |r| r.n < 29;
        |b| b.text.starts_with("\u{d7ff}"), filter!(Note, b => b.text.starts_with("\u{d7ff}")), "text ge '\u{d7ff}' and text lt '\u{10000}'", |r| r.text.starts_with('\u{d7ff}');
        |b| b.text.starts_with(&pair), filter!(Note, b => b.text.starts_with(&pair)), "text ge '\u{1f600}' and text lt '\u{1f601}'", |r| r.text.starts_with('\u{1f600}');
        |b| b.text.starts_with("\u{10ffff}"), filter!(Note, b => b.text.starts_with("\u{10ffff}")), "text ge '\u{10ffff}' and text lt '\u{e000}'", |r| r.text.starts_with('\u{10ffff}');
        |b| b.shared.starts_with("a") & !b.shared.starts_with("a\u{ffff}"), filter!(Note, b => b.shared.starts_with("a") && !b.shared.starts_with("a\u{ffff}")), "shared ge 'a' and shared lt 'b' and not (shared ge 'a\u{ffff}' and shared lt 'b')", |r| r.text.starts_with('a') && !r.text.starts_with("a\u{ffff}");
    }
}

/// Every text is found as text and in its order.
pub(crate) async fn filters_on_text(target: &Target) {
    let mut cases = on_what_looks_like_syntax();
    cases.extend(on_the_order_of_characters());
    cases.extend(on_beginnings());
    check(target, "text", &rows(), cases).await.delete_table().await.unwrap();
}
