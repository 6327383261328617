//! The stored form of an entity in a Rust file.

use azure_table_client::entity::schema::Schema;
use syn::{Data, DeriveInput};

use super::attributes::Attributes;
use super::entity::Definitions;
use super::items;

/// Returns the form of the entity with this name; without one, of the entity that names the table, or of the only one.
pub(super) fn schema(text: &str, table: &str, name: Option<&str>) -> Result<Schema, String> {
    let definitions = Definitions::new(items::read(text)?);
    let entities = definitions.entities();
    let chosen = match name {
        Some(name) => entities.iter().find(|entity| entity.ident == name),
        None => choose(&entities, table),
    };
    let names = || {
        let names: Vec<_> = entities.iter().map(|entity| entity.ident.to_string()).collect();
        names.join(", ")
    };
    match (chosen, name) {
        (Some(entity), _) => definitions.schema(entity),
        _ if entities.is_empty() => Err("no struct or enum with #[derive(TableEntity)]".to_owned()),
        (None, Some(name)) => Err(format!("no entity {name}: it has {}", names())),
        (None, None) => Err(format!("several entities: add --entity with one of {}", names())),
    }
}

/// The entity that names the table, or the only one that is not a kind of another one.
fn choose<'d>(entities: &'d [&'d DeriveInput], table: &str) -> Option<&'d &'d DeriveInput> {
    let names_table = |entity: &&&DeriveInput| {
        let name =
            Attributes::read(&entity.attrs).ok().and_then(|mut attributes| attributes.text("name"));
        name.is_some_and(|name| name.eq_ignore_ascii_case(table))
    };
    let is_kind = |entity: &&&DeriveInput| {
        entities.iter().any(|other| holds(other, &entity.ident.to_string()))
    };
    let only =
        |mut found: Vec<&'d &'d DeriveInput>| if found.len() == 1 { found.pop() } else { None };
    only(entities.iter().filter(names_table).collect())
        .or_else(|| only(entities.iter().filter(|entity| !is_kind(entity)).collect()))
}

/// Whether a variant of an enum holds the struct.
fn holds(entity: &DeriveInput, name: &str) -> bool {
    let Data::Enum(data) = &entity.data else { return false };
    let mut fields = data.variants.iter().flat_map(|variant| &variant.fields);
    fields.any(|field| super::types::last_word(&field.ty).as_deref() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = "#[table(partition_key)] p: String, #[table(row_key)] r: String";

    fn file(items: &[(&str, &str)]) -> String {
        let items = items.iter().map(|(attribute, name)| {
            format!("#[derive(TableEntity)] {attribute} struct {name} {{ {KEYS} }}\n")
        });
        items.collect()
    }

    #[test]
    fn the_entity_of_the_table_is_chosen() {
        let table = |text: &str, name| schema(text, "Blogs", name).map(|schema| schema.table);
        let one = file(&[("", "Blog")]);
        assert_eq!(table(&one, None), Ok(None));
        let two = file(&[("#[table(name = \"Blogs\")]", "Blog"), ("", "Photo")]);
        assert_eq!(table(&two, None), Ok(Some("Blogs".into())));
        assert_eq!(table(&two, Some("Photo")), Ok(None));
        let two = file(&[("", "Blog"), ("", "Photo")]);
        assert_eq!(
            table(&two, None),
            Err("several entities: add --entity with one of Blog, Photo".into())
        );
        assert_eq!(table(&two, Some("Post")), Err("no entity Post: it has Blog, Photo".into()));
        assert!(table("fn main() {}", None).unwrap_err().contains("no struct or enum"));
    }

    #[test]
    fn other_code_is_skipped_and_modules_are_read() {
        let text = format!(
            "#![allow(dead_code)]\n//! A file.\nuse a::{{b, c}};\nconst N: X = X {{ a: 1 }};\nfn f() {{ {} }}\nmod m {{ {} }}",
            "-".repeat(100_000),
            file(&[("", "Blog")])
        );
        assert!(schema(&text, "Blogs", None).is_ok());
    }

    #[test]
    fn a_file_that_is_not_rust_or_too_deep_is_an_error() {
        let error = schema("struct {\n'", "Blogs", None).unwrap_err();
        assert!(error.starts_with("line "), "{error}");
        let error = schema("\n#[derive(TableEntity)] struct A { a b }", "Blogs", None).unwrap_err();
        assert!(error.starts_with("line 2: "), "{error}");
        for ty in [
            format!("{}u8{}", "Vec<".repeat(100_000), ">".repeat(100_000)),
            format!("{}u8{}", "[".repeat(10_000), "]".repeat(10_000)),
            format!("{}u8", "&".repeat(100_000)),
            format!("[u8; 0{}]", "[0]".repeat(100_000)),
        ] {
            let text = format!("#[derive(TableEntity)] struct A {{ {KEYS}, a: {ty} }}");
            let error = schema(&text, "Blogs", None).unwrap_err();
            assert!(error.contains("nested too deeply"), "{error}");
        }
    }
}
