//! Pages of the documentation, whose links lead to files, with links for rustdoc.

/// Replaces links to other pages by links to their items: `](batches.md#deleting)` by
/// `](crate::guide::batches#deleting)`.
pub(crate) fn for_rustdoc(page: &str) -> String {
    let mut parts = page.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (target, rest) = part.split_at(part.find(')').unwrap_or(part.len()));
        text.push_str("](");
        text.push_str(&item(target).unwrap_or_else(|| target.to_owned()));
        text.push_str(rest);
    }
    text
}

/// The item whose documentation is the page of a link, unless the link leads elsewhere.
fn item(target: &str) -> Option<String> {
    let (path, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
    let page = path.strip_suffix(".md").filter(|page| !page.contains("://"))?;
    let name = page.rsplit('/').next()?;
    let item = match name {
        "derive" => "derive@crate::TableEntity",
        "services" => "crate::Dialect",
        _ => return Some(format!("crate::guide::{name}{anchor}")),
    };
    Some(format!("{item}{anchor}"))
}

#[cfg(test)]
mod tests {
    use super::for_rustdoc;

    #[test]
    fn links_to_pages_become_links_to_items() {
        let page = "See [a](batches.md#deleting), [b](../derive.md), [c](https://a.b/c.md#d), ![d](e.svg) and [`F`].";
        let expected = "See [a](crate::guide::batches#deleting), [b](derive@crate::TableEntity), \
            [c](https://a.b/c.md#d), ![d](e.svg) and [`F`].";
        assert_eq!(for_rustdoc(page), expected);
        assert_eq!(for_rustdoc("[a](b.md"), "[a](crate::guide::b");
    }
}
