//! The rows of a wide entity: their keys, and how properties are divided among them. No I/O.

use std::collections::BTreeMap;

use azure_table_client::edm::EdmValue;
use azure_table_client::entity::{EncodeError, KeyRange};
use azure_table_client::limits::{BINARY_BYTES, STRING_UTF16_UNITS, check_key};
use azure_table_client::{DynamicEntity, EntityKey};
use uuid::Uuid;

/// The properties of a part row: two fewer than the service allows, for a column with write ids.
const PART_PROPERTIES: usize = 250;
/// The bytes of the properties of a part row. The rest of 1 MiB is for the keys and a write id.
const PART_BYTES: usize = 1_000_000;
/// Ends the escaped RowKey of an entity, and its generation.
const END: char = '!';

/// The row keys of one entity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RowKeys {
    /// The escaped RowKey, which does not contain [`END`]. No two entities share it, so that no two entities share a
    /// row.
    escaped: String,
}

/// The purpose of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Header,
    Intent(Uuid),
    Part(Uuid),
}

impl RowKeys {
    pub(super) fn of(row_key: &str) -> Self {
        Self { escaped: row_key.replace('~', "~0").replace(END, "~1") }
    }

    /// Refuses keys that the service would refuse in a part row.
    pub(super) fn check(&self, partition_key: &str) -> Result<(), azure_table_client::Error> {
        check_key("PartitionKey", partition_key)?;
        Ok(check_key("RowKey", &self.part(Uuid::nil(), 1))?)
    }

    pub(super) fn header(&self) -> String {
        format!("{}{END}", self.escaped)
    }

    pub(super) fn intent(&self, generation: Uuid) -> String {
        format!("{}{END}{}", self.escaped, generation.simple())
    }

    pub(super) fn part(&self, generation: Uuid, number: usize) -> String {
        format!("{}{END}{number:06}", self.intent(generation))
    }

    /// The row keys of the entity.
    pub(super) fn range(&self) -> KeyRange {
        KeyRange::of_prefix(self.header())
    }

    /// The row keys of the parts of a generation.
    pub(super) fn range_of_parts(&self, generation: Uuid) -> KeyRange {
        KeyRange::of_prefix(format!("{}{END}", self.intent(generation)))
    }

    /// Reads a row key; `None` for the row of another pattern or program.
    pub(super) fn parse(row_key: &str) -> Option<(Self, Role)> {
        let (escaped, rest) = row_key.split_once(END)?;
        let keys = Self { escaped: escaped.to_owned() };
        if rest.is_empty() {
            return Some((keys, Role::Header));
        }
        let (generation, number) = rest.split_once(END).unwrap_or((rest, ""));
        let generation = Uuid::try_parse(generation).ok()?;
        let role = match number.parse() {
            _ if keys.intent(generation) == row_key => Role::Intent(generation),
            Ok(number) if keys.part(generation, number) == row_key => Role::Part(generation),
            _ => return None,
        };
        Some((keys, role))
    }
}

/// Divides the properties among part rows of about `part_bytes`. An entity without properties has one part.
pub(super) fn divide(
    entity: &DynamicEntity,
    keys: &RowKeys,
    generation: Uuid,
    part_bytes: usize,
) -> Result<Vec<DynamicEntity>, EncodeError> {
    check_values(entity)?;
    let part_bytes = part_bytes.min(PART_BYTES);
    let row = |number| {
        DynamicEntity::new(entity.key().partition_key.as_str(), keys.part(generation, number))
    };
    let (mut parts, mut bytes) = (vec![row(1)], 0);
    for (name, value) in entity.properties() {
        if number_of(name).is_some() {
            return Err(EncodeError::Other(format!(
                "property {name:?}: names that end with two underscores and a number are those of further pieces \
                 of a long value"
            )));
        }
        for (piece, value) in (1..).zip(pieces(value, part_bytes)) {
            let name = if piece == 1 { name.to_owned() } else { format!("{name}__{piece}") };
            let size = size_of(&name, &value);
            let count = parts.last().map_or(0, |part| part.properties().len());
            if count == PART_PROPERTIES || (count > 0 && bytes + size > part_bytes) {
                parts.push(row(parts.len() + 1));
                bytes = 0;
            }
            bytes += size;
            if let Some(part) = parts.last_mut() {
                part.set(name, value);
            }
        }
    }
    for part in &parts {
        DynamicEntity::from_entity(part)?;
    }
    Ok(parts)
}

/// Refuses values that [`DynamicEntity::set`] could not convert, which its properties do not include.
fn check_values(entity: &DynamicEntity) -> Result<(), EncodeError> {
    let mut others = entity.clone();
    for (name, _) in entity {
        others.remove(name);
    }
    DynamicEntity::from_entity(&others).map(drop)
}

/// Joins the properties of all parts.
pub(super) fn join(key: EntityKey, parts: Vec<DynamicEntity>) -> DynamicEntity {
    let mut entity = DynamicEntity::new(key.partition_key, key.row_key);
    let mut further: BTreeMap<String, BTreeMap<u32, EdmValue>> = BTreeMap::new();
    for (name, value) in parts.into_iter().flatten() {
        match number_of(&name) {
            Some((base, number)) => {
                further.entry(base.to_owned()).or_default().insert(number, value);
            }
            None => _ = entity.set(name, value),
        }
    }
    for (name, pieces) in further {
        let first = entity.value(&name).cloned();
        if let Some(value) = concat(first.into_iter().chain(pieces.into_values())) {
            entity.set(name, value);
        }
    }
    entity
}

/// The name and the number of a further piece of a value.
fn number_of(name: &str) -> Option<(&str, u32)> {
    let (base, number) = name.rsplit_once("__")?;
    let piece = number.parse().ok()?;
    (!base.is_empty() && piece >= 2 && format!("{piece}") == number).then_some((base, piece))
}

/// Cuts a value into pieces of at most 64 KiB or `part_bytes`.
fn pieces(value: &EdmValue, part_bytes: usize) -> Vec<EdmValue> {
    let (most_bytes, most_units) =
        (part_bytes.min(BINARY_BYTES), (part_bytes / 2).min(STRING_UTF16_UNITS));
    match value {
        EdmValue::Binary(bytes) if bytes.len() > most_bytes => {
            let starts = (0..bytes.len()).step_by(most_bytes);
            let piece = |start: usize| bytes.slice(start..bytes.len().min(start + most_bytes));
            starts.map(piece).map(EdmValue::Binary).collect()
        }
        EdmValue::String(text) if text.len() > most_units => {
            let (mut pieces, mut units) = (vec![String::new()], 0);
            for character in text.chars() {
                units += character.len_utf16();
                if units > most_units {
                    units = character.len_utf16();
                    pieces.push(String::new());
                }
                if let Some(piece) = pieces.last_mut() {
                    piece.push(character);
                }
            }
            pieces.into_iter().map(EdmValue::String).collect()
        }
        short => vec![short.clone()],
    }
}

/// Joins the pieces of a value.
fn concat(pieces: impl Iterator<Item = EdmValue>) -> Option<EdmValue> {
    let (mut text, mut bytes, mut is_text) = (String::new(), Vec::new(), None);
    for piece in pieces {
        match piece {
            EdmValue::String(piece) if is_text != Some(false) => {
                is_text = Some(true);
                text.push_str(&piece);
            }
            EdmValue::Binary(piece) if is_text != Some(true) => {
                is_text = Some(false);
                bytes.extend_from_slice(&piece);
            }
            _ => return None,
        }
    }
    Some(if is_text? { text.into() } else { bytes.into() })
}

/// The bytes of a property by the service's count, or a few more.
fn size_of(name: &str, value: &EdmValue) -> usize {
    let value = match value {
        EdmValue::String(text) => 2 * text.encode_utf16().count(),
        EdmValue::Binary(bytes) => bytes.len(),
        _ => 16,
    };
    16 + 2 * name.encode_utf16().count() + value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(entity: &DynamicEntity) -> Vec<DynamicEntity> {
        divide(entity, &RowKeys::of("r"), Uuid::nil(), PART_BYTES).unwrap()
    }

    #[test]
    fn no_two_entities_share_a_row_key() {
        let generation = Uuid::from_u128(7);
        let names = ["", "a", "a!", "a~", "a~1", "a~0", "!", "~", "a!b", "a b", "é"];
        let keys = names.map(RowKeys::of);
        let mut all = std::collections::BTreeSet::new();
        for keys in &keys {
            for (row_key, role) in [
                (keys.header(), Role::Header),
                (keys.intent(generation), Role::Intent(generation)),
                (keys.part(generation, 1), Role::Part(generation)),
                (keys.part(generation, 1_234_567), Role::Part(generation)),
            ] {
                assert_eq!(RowKeys::parse(&row_key), Some((keys.clone(), role)));
                let parts = keys.range_of_parts(generation);
                assert_eq!(parts.contains(&row_key), matches!(role, Role::Part(_)));
                assert!(!keys.range_of_parts(Uuid::nil()).contains(&row_key));
                assert!(all.insert(row_key));
            }
        }
        for (keys, others) in keys.iter().flat_map(|one| keys.iter().map(move |two| (one, two))) {
            for row_key in [others.header(), others.intent(generation), others.part(generation, 1)]
            {
                assert_eq!(keys.range().contains(&row_key), keys == others, "{row_key}");
            }
        }
        for foreign in ["", "a", "a!x", "a!00000000-0000-0000-0000-000000000007", "a!7!1"] {
            assert_eq!(RowKeys::parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn properties_are_divided_and_joined() {
        let long = "ü😀".repeat(40_000);
        let bytes: Vec<u8> = (0..2_500_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        let mut entity = DynamicEntity::new("p", "r").with("Text", long).with("Bytes", bytes);
        for n in 0..600 {
            entity.set(format!("N{n}"), n);
        }
        let parts = divided(&entity);
        assert_eq!(parts.len(), 5);
        let joined = join(entity.key().clone(), parts);
        assert_eq!(joined.properties().len(), entity.properties().len());
        for (name, value) in entity.properties() {
            assert_eq!(joined.value(name), Some(value), "{name}");
        }
    }

    #[test]
    fn an_entity_without_properties_has_one_part() {
        let entity = DynamicEntity::new("p", "r");
        assert_eq!(divided(&entity).len(), 1);
        assert_eq!(join(entity.key().clone(), divided(&entity)), entity);
    }

    #[test]
    fn values_at_the_limit_are_one_piece() {
        for (length, count) in [(0, 1), (65_536, 1), (65_537, 2), (131_072, 2), (131_073, 3)] {
            assert_eq!(
                pieces(&vec![7_u8; length].into(), PART_BYTES).len(),
                count,
                "{length} bytes"
            );
        }
        for (length, count) in [(32_768, 1), (32_769, 2), (65_536, 2), (65_537, 3)] {
            assert_eq!(
                pieces(&"x".repeat(length).into(), PART_BYTES).len(),
                count,
                "{length} characters"
            );
        }
        // No surrogate pair is cut.
        let [first, second] = &*pieces(&format!("x{}", "😀".repeat(16_384)).into(), PART_BYTES)
        else {
            panic!()
        };
        assert_eq!(first, &EdmValue::from(format!("x{}", "😀".repeat(16_383))));
        assert_eq!(second, &EdmValue::from("😀"));
    }

    #[test]
    fn names_of_further_pieces_are_refused() {
        for name in ["Text__2", "a__b__17"] {
            let entity = DynamicEntity::new("p", "r").with(name, 1);
            assert!(divide(&entity, &RowKeys::of("r"), Uuid::nil(), PART_BYTES).is_err(), "{name}");
        }
        for name in ["Text__1", "Text__02", "Text__x", "__2", "Text_2"] {
            let entity = DynamicEntity::new("p", "r").with(name, 1);
            assert_eq!(join(entity.key().clone(), divided(&entity)), entity);
        }
    }
}
