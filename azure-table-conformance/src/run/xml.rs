//! The comparison of XML as text.

/// XML in the one form in which it is compared: without a declaration, spaces between tags and namespaces, and with `<a/>`
/// for an empty element. Other text stays.
pub(super) fn normal(text: &str) -> String {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let text = lines.collect::<Vec<_>>().join("\n").replace(">\n<", "><");
    let mut normal = String::new();
    let mut rest = text.as_str();
    while let Some((before, tag, after)) = next_tag(rest) {
        normal.push_str(before);
        push(&mut normal, tag);
        rest = after;
    }
    normal.push_str(rest);
    normal
}

/// The text before the first tag, the tag without its brackets, and the text behind it.
fn next_tag(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('<')?;
    let (tag, after) = rest.split_once('>')?;
    Some((before, tag, after))
}

fn push(normal: &mut String, tag: &str) {
    if tag.starts_with('?') {
        return;
    }
    if let Some(name) = tag.strip_prefix('/') {
        let open = format!("<{name}>");
        if normal.ends_with(&open) {
            normal.truncate(normal.len() - open.len());
            normal.extend(["<", name, "/>"]);
        } else {
            normal.extend(["</", name, ">"]);
        }
        return;
    }
    let (tag, end) = tag.strip_suffix('/').map_or((tag, ">"), |tag| (tag, "/>"));
    let mut words = tag.split_whitespace();
    normal.extend(["<", words.next().unwrap_or_default()]);
    for word in words.filter(|word| !word.starts_with("xmlns")) {
        normal.extend([" ", word]);
    }
    normal.push_str(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_documents_have_one_form() {
        for text in [
            "<a><b/></a>",
            "<a><b></b></a>",
            "\u{feff}<?xml version=\"1.0\"?>\r\n<a>\r\n  <b />\r\n</a>",
            "<a xmlns:i=\"http://i\" xmlns='x'><b  /></a >".trim_end_matches(" >"),
        ] {
            let text = if text.ends_with('>') { text.to_owned() } else { format!("{text}>") };
            assert_eq!(normal(&text), "<a><b/></a>", "{text}");
        }
        assert_eq!(normal("<a b=\"1\">x</a>"), "<a b=\"1\">x</a>");
        assert_eq!(normal("</a><b>* < c"), "</a><b>* < c");
    }
}
