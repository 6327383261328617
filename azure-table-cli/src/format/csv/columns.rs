//! The columns of properties in a CSV file.

use std::collections::BTreeMap;
use std::str::FromStr;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmType, EdmValue};

use crate::edm_type;

const TYPES: [EdmType; 8] = [
    EdmType::Binary,
    EdmType::Boolean,
    EdmType::DateTime,
    EdmType::Double,
    EdmType::Guid,
    EdmType::Int32,
    EdmType::Int64,
    EdmType::String,
];

/// The columns of properties, ordered by name and then by type. A property that has two types has two columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    by_name: BTreeMap<String, [bool; TYPES.len()]>,
}

impl Columns {
    /// Adds a column for each property of the row, unless it exists.
    pub(crate) fn add_row(&mut self, row: &DynamicEntity) {
        for (name, value) in row.properties() {
            match self.by_name.get_mut(name) {
                Some(types) => types[index(value.edm_type())] = true,
                None => self.add(name, value.edm_type()),
            }
        }
    }

    fn add(&mut self, name: &str, ty: EdmType) {
        self.by_name.entry(name.to_owned()).or_default()[index(ty)] = true;
    }

    /// The names and types in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, EdmType)> {
        self.by_name.iter().flat_map(|(name, types)| {
            let types = TYPES.into_iter().zip(types).filter(|(_, has)| **has);
            types.map(|(ty, _)| (name.as_str(), ty))
        })
    }

    /// The positions of all columns, for the values of rows.
    pub(super) fn positions(&self) -> Positions {
        let mut by_name: BTreeMap<String, [Option<usize>; TYPES.len()]> = BTreeMap::new();
        for (position, (name, ty)) in self.iter().enumerate() {
            by_name.entry(name.to_owned()).or_default()[index(ty)] = Some(position);
        }
        Positions { by_name }
    }
}

/// Parses `Rating@Edm.Int32,Text@String`.
impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut columns = Self::default();
        for column in text.split(',').filter(|column| !column.is_empty()) {
            let (name, ty) = parse_column(column)?;
            columns.add(name, ty);
        }
        Ok(columns)
    }
}

/// Parses `Rating@Edm.Int32`, and the forms that people write: `Rating@Int32` and `Rating:Int32`. The last separator ends the
/// name.
pub(super) fn parse_column(text: &str) -> Result<(&str, EdmType), String> {
    let Some((name, ty)) = text.rsplit_once(['@', ':']).filter(|(name, _)| !name.is_empty()) else {
        return Err(format!("column {text:?} has no type, as in {:?}", format!("{text}@String")));
    };
    let ty = edm_type::parse(ty).map_err(|why| format!("column {text:?}: {why}"))?;
    Ok((name, ty))
}

fn index(ty: EdmType) -> usize {
    TYPES.iter().position(|known| *known == ty).unwrap_or_default()
}

/// The position of each column.
pub(super) struct Positions {
    by_name: BTreeMap<String, [Option<usize>; TYPES.len()]>,
}

impl Positions {
    pub(super) fn of(&self, name: &str, value: &EdmValue) -> Option<usize> {
        self.by_name.get(name)?[index(value.edm_type())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_a_type_after_the_last_separator() {
        for (text, name, ty) in [
            ("Rating@Edm.Int32", "Rating", EdmType::Int32),
            ("Rating@Int32", "Rating", EdmType::Int32),
            ("Rating:Int32", "Rating", EdmType::Int32),
            ("Rating:Edm.Int32", "Rating", EdmType::Int32),
            ("Rating:Int32@Edm.String", "Rating:Int32", EdmType::String),
            ("a@b:Guid", "a@b", EdmType::Guid),
        ] {
            assert_eq!(parse_column(text).unwrap(), (name, ty), "{text}");
        }
        for (text, why) in [
            ("Rating", "has no type"),
            (":Int32", "has no type"),
            ("Rating:int32", "the type \"int32\" is unknown"),
            ("Rating:", "the type \"\" is unknown"),
        ] {
            let error = parse_column(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
