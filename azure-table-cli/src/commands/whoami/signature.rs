//! The fields of a shared access signature, without the signature itself.

use azure_table_client::edm::EdmDateTime;
use url::form_urlencoded;

use crate::connect::table_of;

/// The fields that are explained, in order. Fields of no interest for a user are left out, such as the version.
const FIELDS: [(&str, &str); 13] = [
    ("tn", "table"),
    ("ss", "services"),
    ("srt", "resource types"),
    ("sp", "permissions"),
    ("si", "policy"),
    ("st", "valid from"),
    ("se", "valid until"),
    ("spk", "first PartitionKey"),
    ("srk", "first RowKey"),
    ("epk", "last PartitionKey"),
    ("erk", "last RowKey"),
    ("sip", "addresses"),
    ("spr", "protocols"),
];

/// Returns the fields with their names.
pub(super) fn fields(token: &str) -> Vec<(&'static str, String)> {
    let found =
        FIELDS.iter().filter_map(|(field, name)| Some((*field, *name, value(token, field)?)));
    found.map(|(field, name, value)| (name, explained(token, field, &value))).collect()
}

fn value(token: &str, name: &str) -> Option<String> {
    let mut fields = form_urlencoded::parse(token.trim_start_matches('?').as_bytes());
    fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.into_owned())
}

fn explained(token: &str, field: &str, value: &str) -> String {
    let words: &[(char, &str)] = match field {
        "sp" if table_of(token).is_some() => {
            &[('r', "read rows"), ('a', "add rows"), ('u', "update rows"), ('d', "delete rows")]
        }
        "sp" => &[
            ('r', "read"),
            ('w', "create tables, change settings"),
            ('d', "delete"),
            ('l', "list tables"),
            ('a', "add rows"),
            ('c', "create tables"),
            ('u', "update rows"),
        ],
        "srt" => &[('s', "service"), ('c', "tables"), ('o', "rows")],
        "ss" => &[('b', "blobs"), ('q', "queues"), ('t', "tables"), ('f', "files")],
        "se" => return format!("{value}{}", state(value, " (expired)", "")),
        "st" => return format!("{value}{}", state(value, "", " (not yet valid)")),
        _ => return value.to_owned(),
    };
    let known = value.chars().map(|letter| words.iter().find(|(name, _)| *name == letter));
    let known: Vec<_> = known.map(|word| word.map_or("unknown", |(_, word)| *word)).collect();
    format!("{value} ({})", known.join(", "))
}

/// Compares a time with the clock of this machine.
fn state(time: &str, past: &'static str, future: &'static str) -> &'static str {
    match time.parse::<EdmDateTime>() {
        Ok(time) if time <= EdmDateTime::now() => past,
        Ok(_) => future,
        Err(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_explained_and_the_signature_is_not_shown() {
        let token =
            "?sv=2019-02-02&tn=Blogs&sp=ra&se=2020-01-01T00%3A00%3A00Z&spk=a%20b&sig=c2VjcmV0";
        let shown = fields(token);
        let expected = [
            ("table", "Blogs"),
            ("permissions", "ra (read rows, add rows)"),
            ("valid until", "2020-01-01T00:00:00Z (expired)"),
            ("first PartitionKey", "a b"),
        ];
        assert_eq!(shown, expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn signatures_for_the_account_name_services_and_types() {
        let shown = fields("sv=2019-02-02&ss=t&srt=co&sp=rl&se=2999-01-01T00:00:00Z&sig=c2VjcmV0");
        assert_eq!(shown[0], ("services", "t (tables)".to_owned()));
        assert_eq!(shown[1], ("resource types", "co (tables, rows)".to_owned()));
        assert_eq!(shown[2], ("permissions", "rl (read, list tables)".to_owned()));
        assert_eq!(shown[3], ("valid until", "2999-01-01T00:00:00Z".to_owned()));
    }
}
