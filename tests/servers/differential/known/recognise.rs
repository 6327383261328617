//! Recognizes a difference and removes it from both responses.

use serde_json::Value;

use super::super::answer::Answer;
use super::super::sent::{Resource, Sent};

/// Makes the responses equal.
pub(super) fn put_aside(mock: &Answer, azurite: &mut Answer) -> bool {
    azurite.clone_from(mock);
    true
}

/// Compares the responses and those within, if the numbers are equal.
pub(super) fn in_all(
    mock: &mut Answer,
    azurite: &mut Answer,
    recognise: fn(&mut Answer, &mut Answer) -> bool,
) -> bool {
    let mut found = recognise(mock, azurite);
    if mock.parts.len() == azurite.parts.len() {
        for (mock, azurite) in mock.parts.iter_mut().zip(&mut azurite.parts) {
            found |= recognise(mock, azurite);
        }
    }
    found
}

/// Removes a header that only the first response has.
pub(super) fn only_in(first: &mut Answer, second: &Answer, name: &str) -> bool {
    !second.headers.contains_key(name) && first.headers.remove(name).is_some()
}

/// Removes a header whose values differ.
pub(super) fn header_differs(mock: &mut Answer, azurite: &mut Answer, name: &str) -> bool {
    let differs = mock.headers.get(name) != azurite.headers.get(name);
    if differs {
        mock.headers.remove(name);
        azurite.headers.remove(name);
    }
    differs
}

/// Whether both name the same level of JSON metadata.
pub(super) fn content_type(mock: &mut Answer, azurite: &mut Answer) -> bool {
    let level = |answer: &Answer| {
        let kind = answer.headers.get("content-type")?.strip_prefix("application/json;odata=")?;
        Some(kind.split(';').next().unwrap_or_default().to_owned())
    };
    let same = level(mock).is_some() && level(mock) == level(azurite);
    same && header_differs(mock, azurite, "content-type")
}

pub(super) fn is_batch(sent: &Sent) -> bool {
    matches!(sent.resource, Resource::Batch)
}

pub(super) fn is(answer: &Answer, status: u16, code: &str) -> bool {
    answer.status == status && answer.code.as_deref() == Some(code)
}

/// Whether a batch was refused because of its structure.
pub(super) fn breaks_rule(answer: &Answer) -> bool {
    let rules = ["InvalidDuplicateRow", "CommandsInBatchActOnDifferentPartitions", "InvalidInput"];
    let code = answer.parts.first().and_then(|part| part.code.as_deref());
    code.is_some_and(|code| rules.contains(&code))
}

/// Pages of different rows, or with different tokens.
pub(super) fn pages_differ(mock: &Answer, azurite: &mut Answer) -> bool {
    let are_pages = mock.rows().is_some() && azurite.rows().is_some();
    let differ = mock.rows() != azurite.rows() || mock.is_continued() != azurite.is_continued();
    are_pages && differ && put_aside(mock, azurite)
}

/// Compares the bodies, and the rows in them if the numbers are equal.
pub(super) fn in_rows(
    mock: &mut Answer,
    azurite: &mut Answer,
    recognise: fn(&mut Value, &mut Value) -> bool,
) -> bool {
    let mut found = recognise(&mut mock.body, &mut azurite.body);
    let rows = mock.body.get_mut("value").and_then(Value::as_array_mut);
    let others = azurite.body.get_mut("value").and_then(Value::as_array_mut);
    if let (Some(rows), Some(others)) = (rows, others)
        && rows.len() == others.len()
    {
        for (row, other) in rows.iter_mut().zip(others) {
            found |= recognise(row, other);
        }
    }
    found
}

/// Removes a member that both bodies have with different values.
pub(super) fn member_differs(first: &mut Value, second: &mut Value, name: &str) -> bool {
    let (Some(first), Some(second)) = (first.as_object_mut(), second.as_object_mut()) else {
        return false;
    };
    let both = first.contains_key(name) && second.contains_key(name);
    let differs = both && first[name] != second[name];
    if differs {
        first.remove(name);
        second.remove(name);
    }
    differs
}

/// Removes nulls that the second body lacks.
pub(super) fn nulls_of_the_first(first: &mut Value, second: &mut Value) -> bool {
    let (Some(first), Some(second)) = (first.as_object_mut(), second.as_object()) else {
        return false;
    };
    let count = first.len();
    first.retain(|name, value| !value.is_null() || second.contains_key(name));
    first.len() < count
}

/// Removes properties whose values differ, and annotations that only the second body has.
pub(super) fn texts_differ(first: &mut Value, second: &mut Value) -> bool {
    let (Some(first), Some(second)) = (first.as_object_mut(), second.as_object_mut()) else {
        return false;
    };
    let count = first.len() + second.len();
    let is_own = |name: &str| name.ends_with("Key") || name == "Timestamp";
    second.retain(|name, value| {
        let is_annotation = name.contains("odata.") && !first.contains_key(name);
        let is_other = first.get(name).is_some_and(|other| other != value);
        let differs = is_annotation || is_other && !is_own(name);
        if differs {
            first.remove(name);
        }
        !differs
    });
    first.len() + second.len() < count
}
