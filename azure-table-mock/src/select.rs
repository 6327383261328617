//! `$select`: the properties in a response.

use percent_encoding::{AsciiSet, utf8_percent_encode};

use crate::failure::Failure;
use crate::limits::{SYSTEM_PROPERTIES, check_property_name};
use crate::names::Names;
use crate::request::ParsedRequest;
use crate::row::{Member, StoredProperties};

/// The characters that the text of a selection can contain and a URL cannot, besides those outside of ASCII.
const ESCAPED: &AsciiSet = &percent_encoding::CONTROLS.add(b' ');

/// The selected properties, and the text that the response repeats.
pub(crate) struct Select {
    names: Names<String>,
    /// As sent, and percent-encoded like in the service's responses.
    text: String,
}

impl Select {
    pub(crate) fn of(request: &ParsedRequest<'_>) -> Result<Option<Self>, Failure> {
        let Some(text) = request.raw.option("$select") else {
            return Ok(None);
        };
        if !request.protocol()?.has_select() {
            return Err(Failure::invalid_input());
        }
        let mut names = Names::default();
        // Cosmos DB takes a space for a part of the name (recorded for `age, sex`).
        let trim = |name| if request.dialect.is_cosmos() { name } else { str::trim(name) };
        for name in text.split(',').map(trim).filter(|name| !name.is_empty()) {
            let is_name = name == "*"
                || SYSTEM_PROPERTIES.contains(&name)
                || check_property_name(name.trim()).is_ok();
            if !is_name {
                return Err(Failure::invalid_input());
            }
            names.add(name.to_owned());
        }
        Ok(Some(Self { text: utf8_percent_encode(&text, ESCAPED).to_string(), names }))
    }

    /// Returns `true` if all properties are selected, by an empty list or by `*`.
    pub(crate) fn is_all(&self) -> bool {
        self.names.list().is_empty() || self.names().any(|name| name == "*")
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.list().iter().map(String::as_str)
    }

    /// The selected properties of a row, in the order of the names.
    pub(crate) fn members<'r>(&self, properties: StoredProperties<'r>) -> Vec<Option<Member<'r>>> {
        let mut members = vec![None; self.names.list().len()];
        for member in properties.members() {
            if let Some(index) = self.names.index_of(&member) {
                members[index] = Some(member);
            }
        }
        members
    }

    /// The part of `odata.metadata` that repeats the selection.
    pub(crate) fn suffix(select: Option<&Self>) -> String {
        select.map_or_else(String::new, |select| format!("&$select={}", select.text))
    }
}

#[cfg(test)]
mod tests {
    use crate::service::TableService;
    use crate::transport::HttpRequest;

    #[test]
    fn the_context_url_repeats_the_text_of_the_selection() {
        let service = TableService::builder().loose(true).build();
        let now = std::time::UNIX_EPOCH;
        service.core().store.write().create("Blogs", now).unwrap();
        for (query, expected) in [
            ("age,%20sex", "age,%20sex"),
            ("age%2Csex", "age,sex"),
            ("age+,sex,", "age%20,sex,"),
            ("age,age", "age,age"),
            ("%C3%A9", "%C3%A9"),
            ("", ""),
            ("*", "*"),
        ] {
            let url = format!("http://h/devstoreaccount1/Blogs()?$select={query}");
            let response =
                service.respond(&HttpRequest::new(http::Method::GET, url.parse().unwrap()));
            let body = String::from_utf8(response.body.to_vec()).unwrap();
            let expected = format!("$metadata#Blogs&$select={expected}\"");
            assert!(body.contains(&expected), "{query}: {body}");
        }
    }
}
