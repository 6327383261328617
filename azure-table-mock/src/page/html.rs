//! An HTML writer that cannot forget to escape: markup is always a literal of this program, and all other
//! text goes through [`Html::text`].

use super::{Page, VERSION};

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
                _ if character.is_control() || is_directional(character) => {
                    self.0.extend(character.escape_unicode());
                }
                _ => self.0.push(character),
            }
        }
        self
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

    pub(super) fn append(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }
}

fn is_directional(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Page {
    /// Returns the whole document.
    pub(super) fn finish(self) -> String {
        let mut html = Html::default();
        html.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>")
            .text(&self.title)
            .raw(" - azure-table-mock</title>")
            .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
            .raw("<meta name=\"color-scheme\" content=\"light dark\">")
            .raw("<link rel=\"stylesheet\" href=\"/-/style.css\">")
            .raw("<link rel=\"icon\" href=\"/-/icon.svg\" type=\"image/svg+xml\"></head>\n<body>")
            .raw("<header><a class=\"name\" href=\"/-/\">azure-table-mock</a>")
            .raw("<nav aria-label=\"Pages\"><a href=\"/-/\">Tables</a> ")
            .raw("<a href=\"/-/requests\">Requests</a></nav>")
            .raw("<span class=\"version\">")
            .text(VERSION)
            .raw("</span></header>\n<main>")
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
