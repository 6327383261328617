//! An HTML writer that cannot forget to escape: markup is always a literal of this program, and all other
//! text goes through [`Html::text`].

use super::{Page, VERSION};
use crate::page_state::PageState;

#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Writes markup.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Writes text in an element or in a quoted attribute. Control characters and characters that change the
    /// text direction are shown as their code points.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(character),
                _ if is_shown_as_code(character) => {
                    self.0.extend(character.escape_unicode());
                }
                _ => self.0.push(character),
            }
        }
        self
    }

    /// Writes a number without separators, for names of inputs.
    pub(super) fn number(&mut self, number: usize) -> &mut Self {
        self.0.push_str(&number.to_string());
        self
    }

    /// Writes text that is isolated from the direction of the text around it.
    pub(super) fn bdi(&mut self, text: &str) -> &mut Self {
        self.raw("<bdi>").text(text).raw("</bdi>")
    }

    /// Writes a hidden input.
    pub(super) fn hidden(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.raw("<input type=\"hidden\" name=\"")
            .raw(name)
            .raw("\" value=\"")
            .text(value)
            .raw("\">")
    }

    /// Writes the inputs that every form with an action needs.
    pub(super) fn secrets(&mut self, state: &PageState) -> &mut Self {
        self.hidden("token", &state.token)
    }

    /// Writes the path of a table's pages.
    pub(super) fn path(&mut self, account: &str, table: &str) -> &mut Self {
        self.raw("/-/").text(account).raw("/").text(table)
    }

    /// Writes a message about a refused action.
    pub(super) fn alert(&mut self, text: &str) -> &mut Self {
        self.raw("<p class=\"alert\" role=\"alert\">").text(text).raw("</p>")
    }

    /// Writes the way from the tables to this page: the account, and the table with a link if the page is
    /// below it.
    pub(super) fn trail(&mut self, account: &str, table: &str, below: Option<&str>) -> &mut Self {
        self.raw("<nav class=\"path\" aria-label=\"Path\"><a href=\"/-/\">").text(account);
        self.raw("</a> / ");
        match below {
            None => self.text(table),
            Some(below) => {
                self.raw("<a href=\"").path(account, table).raw("\">").text(table);
                self.raw("</a> / ").text(below)
            }
        };
        self.raw("</nav>")
    }

    /// Writes a count: `12,345`.
    pub(super) fn count(&mut self, count: usize) -> &mut Self {
        let digits = count.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                self.0.push(',');
            }
            self.0.push(digit);
        }
        self
    }

    /// Writes a count and a noun: `1 row`, `2 rows`.
    pub(super) fn counted(&mut self, count: usize, one: &'static str) -> &mut Self {
        self.count(count).raw(" ").raw(one);
        if count == 1 { self } else { self.raw("s") }
    }

    /// Writes a count and a noun with an irregular plural: `2 entities`.
    pub(super) fn counted_as(
        &mut self,
        count: usize,
        one: &'static str,
        many: &'static str,
    ) -> &mut Self {
        self.count(count).raw(" ").raw(if count == 1 { one } else { many })
    }

    pub(super) fn append(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }
}

/// Returns `true` if the page shows the code point in place of the character.
pub(super) fn is_shown_as_code(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t') || is_directional(character)
}

fn is_directional(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Page {
    /// Returns the whole document. The version is the one of [`changes`](super::changes) when the page was read.
    pub(super) fn finish(self, can_write: bool, version: &str) -> String {
        let mut html = Html::default();
        html.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>")
            .text(&self.title)
            .raw(" - azure-table-emulator</title>")
            .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
            .raw("<meta name=\"color-scheme\" content=\"light dark\">")
            .raw("<link rel=\"stylesheet\" href=\"/-/style.css\">")
            .raw("<link rel=\"icon\" href=\"/-/icon.svg\" type=\"image/svg+xml\">")
            .raw("<script src=\"/-/script.js\" defer></script></head>\n<body data-version=\"")
            .text(version)
            .raw("\">")
            .raw("<a class=\"skip\" href=\"#main\">Skip to the content</a><header><a class=\"name\" href=\"/-/\">azure-table-emulator</a>")
            .raw("<nav aria-label=\"Pages\"><a href=\"/-/\">Tables</a> ")
            .raw("<a href=\"/-/requests\">Requests</a></nav>")
            .raw("<label class=\"live\" hidden><input type=\"checkbox\" id=\"live\" checked> Live</label>")
            .raw("<span class=\"version\">")
            .text(VERSION)
            .raw(if can_write { "" } else { ", read-only" })
            .raw("</span></header>\n<main id=\"main\">")
            .append(&self.body)
            .raw("</main></body></html>\n");
        html.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut html = Html::default();
        html.text("<script>\"&'</script>\n\0\u{1b}[1m\u{202e}é");
        let expected = "&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;\n\\u{0}\\u{1b}[1m\\u{202e}é";
        assert_eq!(html.0, expected);
    }

    #[test]
    fn counts_are_grouped() {
        for (count, expected) in [
            (0, "0 rows"),
            (1, "1 row"),
            (999, "999 rows"),
            (1000, "1,000 rows"),
            (1_234_567, "1,234,567 rows"),
        ] {
            assert_eq!(Html::default().counted(count, "row").0, expected);
        }
    }
}
