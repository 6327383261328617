//! Structs with the derive that read all rows of a sample.

use std::fmt::Write as _;

use azure_table_client::edm::EdmType;
use azure_table_client::limits;

use super::identifiers::{Identifiers, field, pascal};
use super::kinds::Kinds;
use super::profile::{Column, Profile};
use super::rename::RenameRule;
use crate::progress::counted;

const DERIVE: &str = "#[derive(Debug, Clone, PartialEq, TableEntity)]\n";
/// The fields of each struct.
const OWN_FIELDS: [&str; 5] = ["partition_key", "row_key", "timestamp", "etag", "extra"];
/// The rules that the printed structs use, with their spellings.
const RULES: [(RenameRule, &str); 3] = [
    (RenameRule::Unchanged, ""),
    (RenameRule::Pascal, "PascalCase"),
    (RenameRule::Camel, "camelCase"),
];

/// Returns the code of the rows of a table: one struct, or an enum with a struct for each kind.
pub(super) fn code(table: &str, whole: &Profile, is_sample: bool, kinds: Option<&Kinds>) -> String {
    let mut types = Identifiers::new(&[]);
    let name = types.add(&format!("{}Row", pascal(table, "Table")), "");
    let mut attributes = Vec::new();
    if limits::check_table_name(table).is_ok() {
        attributes.push(format!("name = {table:?}"));
    }
    let mut code = head(table, whole, is_sample, kinds.is_some());
    match kinds {
        None => structure(&mut code, &name, attributes, whole, None),
        Some(kinds) => {
            attributes.push(format!("discriminator = {:?}", kinds.column));
            enumeration(&mut code, &name, &attributes, kinds, &mut types);
        }
    }
    code
}

fn head(table: &str, whole: &Profile, is_sample: bool, has_kinds: bool) -> String {
    let table = table.escape_debug();
    let dynamic = if has_kinds { "DynamicEntity, " } else { "" };
    let rows = counted(whole.rows, "row");
    let rows = if is_sample {
        format!("the first {rows} of the table {table} (--sample all reads every row)")
    } else {
        format!("all {rows} of the table {table}")
    };
    format!(
        "// The columns of {rows}, printed by azure-table.\n\n\
         use std::collections::BTreeMap;\n\n\
         use azure_table_client::edm::{{EdmDateTime, EdmValue}};\n\
         use azure_table_client::{{{dynamic}ETag, TableEntity}};\n"
    )
}

/// Writes the enum of the kinds, and their structs.
fn enumeration(
    code: &mut String,
    name: &str,
    attributes: &[String],
    kinds: &Kinds,
    types: &mut Identifiers,
) {
    let mut variants = Identifiers::new(&["Other"]);
    let mut structures = String::new();
    line(code, format_args!("\n{DERIVE}#[table({})]\npub enum {name} {{", attributes.join(", ")));
    for (kind, profile) in &kinds.list {
        let variant = variants.add(&pascal(kind, "Kind"), "");
        let structure_name = types.add(&format!("{variant}Row"), "");
        if variant != *kind {
            line(code, format_args!("    #[table(rename = {kind:?})]"));
        }
        line(code, format_args!("    {variant}({structure_name}),"));
        structure(&mut structures, &structure_name, Vec::new(), profile, Some(&kinds.column));
    }
    line(code, format_args!("    #[table(other)]\n    Other(DynamicEntity),\n}}"));
    code.push_str(&structures);
}

/// Writes a struct. The discriminator is not a field: the enum writes it.
fn structure(
    code: &mut String,
    name: &str,
    mut attributes: Vec<String>,
    profile: &Profile,
    discriminator: Option<&str>,
) {
    let (columns, others) = fields(profile, discriminator);
    let mut used = Identifiers::new(&OWN_FIELDS);
    let columns: Vec<_> = columns
        .into_iter()
        .map(|(column, edm_type)| (used.add(&field(&column.name), "_"), column, edm_type))
        .collect();
    let renames = |rule: RenameRule| {
        columns.iter().filter(|(ident, column, _)| rule.of_field(ident) != column.name).count()
    };
    let (rule, spelling) =
        RULES.into_iter().min_by_key(|(rule, _)| renames(*rule)).unwrap_or_default();
    if !spelling.is_empty() {
        attributes.push(format!("rename_all = {spelling:?}"));
    }
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
        let is_required = column.rows() == profile.rows;
        let ty = if is_required { ty.to_owned() } else { format!("Option<{ty}>") };
        line(code, format_args!("    pub {ident}: {ty},"));
    }
    for column in others {
        line(code, format_args!("    // In `extra`: {}.", description(column)));
    }
    line(code, format_args!("    #[table(extra)]\n    pub extra: BTreeMap<String, EdmValue>,\n}}"));
}

/// The columns that become fields, with their types, and the others, which are kept in `extra`.
fn fields<'p>(
    profile: &'p Profile,
    discriminator: Option<&str>,
) -> (Vec<(&'p Column, EdmType)>, Vec<&'p Column>) {
    // The discriminator is a property, too.
    let most = limits::PROPERTIES - usize::from(discriminator.is_some());
    let (mut fields, mut others) = (Vec::new(), Vec::new());
    for column in profile.properties().filter(|column| Some(&*column.name) != discriminator) {
        match column.single_type() {
            Some(edm_type)
                if fields.len() < most && limits::check_property_name(&column.name).is_ok() =>
            {
                fields.push((column, edm_type));
            }
            _ => others.push(column),
        }
    }
    (fields, others)
}

/// `Rating (Edm.Int32, Edm.String)`
fn description(column: &Column) -> String {
    let types: Vec<_> = column.types.iter().map(|(edm_type, _)| edm_type.as_str()).collect();
    format!("{} ({})", column.name.escape_debug(), types.join(", "))
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

fn line(code: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(code, "{text}");
}
