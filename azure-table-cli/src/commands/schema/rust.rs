//! Structs with the derive that read all rows of a sample.

use azure_table_emulator::structs::identifiers::{Identifiers, pascal};
use azure_table_emulator::structs::{self, DERIVE, head, line, row_type, table_name};

use super::kinds::Kinds;
use super::profile::Profile;
use crate::progress::counted;

/// Returns the code of the rows of a table: one struct, or an enum with a struct for each kind.
pub(super) fn code(table: &str, whole: &Profile, is_sample: bool, kinds: Option<&Kinds>) -> String {
    let mut types = Identifiers::new(&[]);
    let name = types.add(&row_type(table), "");
    let mut attributes = table_name(table);
    let rows = counted(whole.rows, "row");
    let shown = table.escape_debug();
    let rows = if is_sample {
        format!("the first {rows} of the table {shown} (--sample all reads every row)")
    } else {
        format!("all {rows} of the table {shown}")
    };
    let mut code = head(&rows, kinds.is_some());
    match kinds {
        None => structure(&mut code, &name, attributes, whole, None),
        Some(kinds) => {
            attributes.push(format!("discriminator = {:?}", kinds.column));
            enumeration(&mut code, &name, &attributes, kinds, &mut types);
        }
    }
    code
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

fn structure(
    code: &mut String,
    name: &str,
    attributes: Vec<String>,
    profile: &Profile,
    discriminator: Option<&str>,
) {
    let columns = profile.properties().map(|column| structs::Column {
        name: &column.name,
        types: column.types.iter().map(|(edm_type, _)| *edm_type).collect(),
        is_required: column.rows() == profile.rows,
    });
    structs::structure(code, name, attributes, &columns.collect::<Vec<_>>(), discriminator);
}
