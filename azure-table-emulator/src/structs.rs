//! Structs with `#[derive(TableEntity)]` for the rows of a table: the page of the emulator and `azure-table schema --rust` print them.
//!
//! The interface is only for these two: any version may change it.

pub mod identifiers;

use std::fmt::Write as _;

use azure_table_client::edm::EdmType;
use azure_table_client::{DynamicEntity, limits};

use identifiers::{Identifiers, capitalized, field, pascal};

/// The derives of each item.
pub const DERIVE: &str = "#[derive(Debug, Clone, PartialEq, TableEntity)]\n";
/// The fields of each struct.
const OWN_FIELDS: [&str; 5] = ["partition_key", "row_key", "timestamp", "etag", "extra"];

/// A property of the rows, without the keys.
#[derive(Debug, Clone)]
pub struct Column<'r> {
    /// The name of the property.
    pub name: &'r str,
    /// The types of its values, in the order in which they were found.
    pub types: Vec<EdmType>,
    /// Whether each row has it.
    pub is_required: bool,
}

impl<'r> Column<'r> {
    /// Returns the columns of rows, in the order in which they were found.
    fn all_of(rows: &'r [DynamicEntity]) -> Vec<Self> {
        let mut columns: Vec<(Self, usize)> = Vec::new();
        for (name, value) in rows.iter().flat_map(DynamicEntity::properties) {
            let edm_type = value.edm_type();
            match columns.iter_mut().find(|(column, _)| column.name == name) {
                Some((column, found)) => {
                    *found += 1;
                    if !column.types.contains(&edm_type) {
                        column.types.push(edm_type);
                    }
                }
                None => {
                    columns.push((Self { name, types: vec![edm_type], is_required: false }, 1));
                }
            }
        }
        let required = |(column, found)| Self { is_required: found == rows.len(), ..column };
        columns.into_iter().map(required).collect()
    }

    /// `Rating (Edm.Int32, Edm.String)`
    fn description(&self) -> String {
        let types: Vec<_> = self.types.iter().map(|edm_type| edm_type.as_str()).collect();
        format!("{} ({})", self.name.escape_debug(), types.join(", "))
    }
}

/// How `rename_all` of the derive names the property of a field.
#[derive(Debug, Clone, Copy)]
enum Renaming {
    Unchanged,
    Pascal,
    Camel,
}

impl Renaming {
    /// With `Unchanged` first, a struct has no attribute that it does not need.
    const ALL: [Self; 3] = [Self::Unchanged, Self::Pascal, Self::Camel];

    const fn spelling(self) -> Option<&'static str> {
        match self {
            Self::Unchanged => None,
            Self::Pascal => Some("PascalCase"),
            Self::Camel => Some("camelCase"),
        }
    }

    fn of_field(self, field: &str) -> String {
        let mut words = field.split('_');
        match self {
            Self::Unchanged => field.to_owned(),
            Self::Pascal => words.map(capitalized).collect(),
            Self::Camel => {
                let pascal: String = words.by_ref().map(capitalized).collect();
                let mut chars = pascal.chars();
                chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
            }
        }
    }
}

/// Returns the struct of some rows of a table.
pub(crate) fn of_rows(table: &str, rows: &[DynamicEntity]) -> String {
    let number = match rows.len() {
        1 => "one row".to_owned(),
        number => format!("{number} rows"),
    };
    let mut code = head(&format!("{number} of the table {}", table.escape_debug()), false);
    let name = Identifiers::new(&[]).add(&row_type(table), "");
    structure(&mut code, &name, table_name(table), &Column::all_of(rows), None);
    code
}

/// Returns the lines before the items. `rows` describes the rows: `all 3 rows of the table Blogs`.
pub fn head(rows: &str, has_kinds: bool) -> String {
    let dynamic = if has_kinds { "DynamicEntity, " } else { "" };
    format!(
        "// The columns of {rows}, printed by azure-table.\n\n\
         use std::collections::BTreeMap;\n\n\
         use azure_table_client::edm::{{EdmDateTime, EdmValue}};\n\
         use azure_table_client::{{{dynamic}ETag, TableEntity}};\n"
    )
}

/// Returns the name of the type of a table's rows.
pub fn row_type(table: &str) -> String {
    format!("{}Row", pascal(table, "Table"))
}

/// Returns the attribute of the table's name, if the derive accepts the name.
pub fn table_name(table: &str) -> Vec<String> {
    let is_valid = limits::check_table_name(table).is_ok();
    is_valid.then(|| format!("name = {table:?}")).into_iter().collect()
}

/// Writes a struct. The discriminator is not a field: the enum writes it.
pub fn structure(
    code: &mut String,
    name: &str,
    mut attributes: Vec<String>,
    columns: &[Column<'_>],
    discriminator: Option<&str>,
) {
    let (columns, others) = fields(columns, discriminator);
    let mut used = Identifiers::new(&OWN_FIELDS);
    let columns: Vec<_> = columns
        .into_iter()
        .map(|(column, edm_type)| (used.add(&field(column.name), "_"), column, edm_type))
        .collect();
    let renames = |rule: Renaming| {
        columns.iter().filter(|(ident, column, _)| rule.of_field(ident) != column.name).count()
    };
    let rule = Renaming::ALL.into_iter().min_by_key(|rule| renames(*rule));
    let rule = rule.unwrap_or(Renaming::Unchanged);
    attributes.extend(rule.spelling().map(|spelling| format!("rename_all = {spelling:?}")));
    line(code, format_args!("\n{}", DERIVE.trim_end()));
    if !attributes.is_empty() {
        line(code, format_args!("#[table({})]", attributes.join(", ")));
    }
    line(code, format_args!("pub struct {name} {{"));
    for (attribute, member) in [
        ("partition_key", "partition_key: String"),
        ("row_key", "row_key: String"),
        ("timestamp", "timestamp: Option<EdmDateTime>"),
        ("etag", "etag: Option<ETag>"),
    ] {
        line(code, format_args!("    #[table({attribute})]\n    pub {member},"));
    }
    for (ident, column, edm_type) in &columns {
        if rule.of_field(ident) != column.name {
            line(code, format_args!("    #[table(rename = {:?})]", column.name));
        }
        let ty = rust_type(*edm_type);
        let ty = if column.is_required { ty.to_owned() } else { format!("Option<{ty}>") };
        line(code, format_args!("    pub {ident}: {ty},"));
    }
    for column in others {
        line(code, format_args!("    // In `extra`: {}.", column.description()));
    }
    line(code, format_args!("    #[table(extra)]\n    pub extra: BTreeMap<String, EdmValue>,\n}}"));
}

/// The columns that become fields, with their types, and the others, which are kept in `extra`.
fn fields<'c, 'r>(
    columns: &'c [Column<'r>],
    discriminator: Option<&str>,
) -> (Vec<(&'c Column<'r>, EdmType)>, Vec<&'c Column<'r>>) {
    // The discriminator is a property, too.
    let most = limits::PROPERTIES - usize::from(discriminator.is_some());
    let (mut fields, mut others) = (Vec::new(), Vec::new());
    for column in columns.iter().filter(|column| Some(column.name) != discriminator) {
        match column.types[..] {
            [edm_type]
                if fields.len() < most && limits::check_property_name(column.name).is_ok() =>
            {
                fields.push((column, edm_type));
            }
            _ => others.push(column),
        }
    }
    (fields, others)
}

const fn rust_type(edm_type: EdmType) -> &'static str {
    match edm_type {
        EdmType::String => "String",
        EdmType::Boolean => "bool",
        EdmType::Int32 => "i32",
        EdmType::Int64 => "i64",
        EdmType::Double => "f64",
        // Unlike the types of chrono, it holds each time of the service, and needs no other crate.
        EdmType::DateTime => "EdmDateTime",
        EdmType::Guid => "uuid::Uuid",
        EdmType::Binary => "Vec<u8>",
    }
}

/// Adds a line to code.
pub fn line(code: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(code, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_language_reserves_get_an_underscore() {
        let row = DynamicEntity::new("p", "1").with("self", 1).with("Type", 2).with("crate", 3);
        let code = of_rows("Blogs", &[row]);
        for field in ["self_", "type_", "crate_"] {
            assert!(code.contains(&format!("    pub {field}: i32,\n")), "{code}");
        }
        assert!(code.contains("#[table(rename = \"Type\")]"), "{code}");
    }

    #[test]
    fn a_property_of_some_rows_is_an_option_and_one_of_several_types_is_in_extra() {
        let row = DynamicEntity::new("p", "1").with("ViewCount", 1_i64).with("Mixed", 1);
        let other = DynamicEntity::new("p", "2").with("Mixed", "text");
        let code = of_rows("Blogs", &[row, other]);
        assert!(code.starts_with("// The columns of 2 rows of the table Blogs, "), "{code}");
        let attributes =
            "#[table(name = \"Blogs\", rename_all = \"PascalCase\")]\npub struct BlogsRow {";
        assert!(code.contains(attributes), "{code}");
        assert!(code.contains("    pub view_count: Option<i64>,\n"), "{code}");
        assert!(code.contains("    // In `extra`: Mixed (Edm.Int32, Edm.String).\n"), "{code}");
    }
}
