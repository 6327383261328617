//! A Rust struct for the rows of a table, with the annotations of `#[derive(TableEntity)]`.

use std::fmt::Write as _;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::EdmType;

/// A property of the rows.
struct Column<'r> {
    name: &'r str,
    /// The type in all rows; `None` if it differs.
    edm_type: Option<EdmType>,
    rows: usize,
}

/// Returns the struct. A property that some rows do not have is an `Option`.
pub(super) fn text(table: &str, rows: &[DynamicEntity]) -> String {
    let mut columns: Vec<Column<'_>> = Vec::new();
    for (name, value) in rows.iter().flat_map(DynamicEntity::properties) {
        let edm_type = Some(value.edm_type());
        match columns.iter_mut().find(|column| column.name == name) {
            Some(column) => {
                column.rows += 1;
                column.edm_type = column.edm_type.filter(|_| column.edm_type == edm_type);
            }
            None => columns.push(Column { name, edm_type, rows: 1 }),
        }
    }
    let is_regular = columns.iter().all(|column| pascal(&snake(column.name)) == column.name);
    let has = |edm_type| columns.iter().any(|column| column.edm_type == Some(edm_type));
    let is_mixed = columns.iter().any(|column| column.edm_type.is_none());
    let mut text = String::new();
    if is_mixed {
        text.push_str("use std::collections::BTreeMap;\n\n");
    }
    text.push_str("use azure_table_client::TableEntity;\n");
    match (has(EdmType::DateTime), is_mixed) {
        (true, true) => text.push_str("use azure_table_client::edm::{EdmDateTime, EdmValue};\n"),
        (true, false) => text.push_str("use azure_table_client::edm::EdmDateTime;\n"),
        (false, true) => text.push_str("use azure_table_client::edm::EdmValue;\n"),
        (false, false) => {}
    }
    if has(EdmType::Guid) {
        text.push_str("use uuid::Uuid;\n");
    }
    let rename_all = if is_regular { ", rename_all = \"PascalCase\"" } else { "" };
    let _ = write!(
        text,
        "\n#[derive(Debug, Clone, TableEntity)]\n#[table(name = \"{table}\"{rename_all})]\n\
         pub struct {} {{\n    #[table(partition_key)]\n    pub partition_key: String,\n    \
         #[table(row_key)]\n    pub row_key: String,\n",
        type_name(table),
    );
    let mut fields = vec!["partition_key".to_owned(), "row_key".to_owned(), "others".to_owned()];
    for Column { name, edm_type, rows: count } in &columns {
        let Some(edm_type) = edm_type else { continue };
        let plain = snake(name);
        let mut field = plain.clone();
        while fields.contains(&field) {
            field.push('_');
        }
        if !is_regular || field != plain {
            let _ = writeln!(text, "    #[table(rename = \"{name}\")]");
        }
        let rust_type = match edm_type {
            EdmType::String => "String",
            EdmType::Boolean => "bool",
            EdmType::Int32 => "i32",
            EdmType::Int64 => "i64",
            EdmType::Double => "f64",
            EdmType::DateTime => "EdmDateTime",
            EdmType::Guid => "Uuid",
            EdmType::Binary => "Vec<u8>",
        };
        let raw = if is_keyword(&field) { "r#" } else { "" };
        let _ = if *count == rows.len() {
            writeln!(text, "    pub {raw}{field}: {rust_type},")
        } else {
            writeln!(text, "    pub {raw}{field}: Option<{rust_type}>,")
        };
        fields.push(field);
    }
    if is_mixed {
        text.push_str("    /// Properties whose types differ from row to row.\n");
        text.push_str("    #[table(extra)]\n    pub others: BTreeMap<String, EdmValue>,\n");
    }
    text.push_str("}\n");
    text
}

/// The name of a row's type: `Blogs` has rows of the type `Blog`.
fn type_name(table: &str) -> String {
    let name = pascal(&snake(table));
    let is_plural = name.len() > 3 && name.ends_with('s') && !name.ends_with("ss");
    name[..name.len() - usize::from(is_plural)].to_owned()
}

/// `ViewCount` as `view_count`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    let mut before = None;
    for character in name.chars() {
        let ends_word = |before: char| before.is_lowercase() || before.is_numeric();
        if character.is_uppercase() && before.is_some_and(ends_word) {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
        before = Some(character);
    }
    snake
}

/// `view_count` as `ViewCount`.
fn pascal(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut characters = word.chars();
        let first = characters.next().map(|first| first.to_uppercase().to_string());
        first.unwrap_or_default() + characters.as_str()
    });
    words.collect()
}

/// Returns `true` if a field of this name needs `r#`.
fn is_keyword(name: &str) -> bool {
    const KEYWORDS: [&str; 48] = [
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do",
        "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in",
        "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
        "return", "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe",
        "unsized", "use", "virtual", "where", "while", "yield",
    ];
    KEYWORDS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Declares the items, and their text.
    macro_rules! declared {
        ($module:ident $name:ident: $($item:tt)*) => {
            #[allow(dead_code, unreachable_pub, reason = "the struct only has to compile")]
            mod $module {
                $($item)*
            }
            const $name: &str = stringify!($($item)*);
        };
    }

    declared! { regular REGULAR:
        use azure_table_client::TableEntity;
        use azure_table_client::edm::EdmDateTime;
        use uuid::Uuid;

        #[derive(Debug, Clone, TableEntity)]
        #[table(name = "Blogs", rename_all = "PascalCase")]
        pub struct Blog {
            #[table(partition_key)]
            pub partition_key: String,
            #[table(row_key)]
            pub row_key: String,
            pub text: String,
            pub view_count: Option<i64>,
            pub r#type: i32,
            pub rate: f64,
            pub live: bool,
            pub posted: EdmDateTime,
            pub id: Uuid,
            pub cover: Vec<u8>,
        }
    }

    declared! { irregular IRREGULAR:
        use std::collections::BTreeMap;

        use azure_table_client::TableEntity;
        use azure_table_client::edm::EdmValue;

        #[derive(Debug, Clone, TableEntity)]
        #[table(name = "logs")]
        pub struct Log {
            #[table(partition_key)]
            pub partition_key: String,
            #[table(row_key)]
            pub row_key: String,
            #[table(rename = "camelCase")]
            pub camel_case: i32,
            #[table(rename = "URL")]
            pub url: String,
            #[table(rename = "Url")]
            pub url_: String,
            #[table(extra)]
            pub others: BTreeMap<String, EdmValue>,
        }
    }

    fn without_layout(text: &str) -> String {
        let text = text.replace("/// Properties whose types differ from row to row.", "");
        text.split_whitespace().collect()
    }

    #[test]
    fn the_struct_of_regular_names_compiles() {
        let row = DynamicEntity::new("p", "1")
            .with("Text", "a")
            .with("ViewCount", 1_i64)
            .with("Type", 1)
            .with("Rate", 5.0)
            .with("Live", true)
            .with("Posted", azure_table_client::edm::EdmDateTime::MIN)
            .with("Id", uuid::Uuid::nil())
            .with("Cover", vec![1_u8]);
        let mut other = row.clone();
        other.remove("ViewCount");
        assert_eq!(without_layout(&text("Blogs", &[row, other])), without_layout(REGULAR));
    }

    #[test]
    fn the_struct_of_other_names_compiles() {
        let row = DynamicEntity::new("p", "1")
            .with("camelCase", 1)
            .with("URL", "x")
            .with("Url", "y")
            .with("Mixed", 1);
        let other = row.clone().with("Mixed", "text");
        assert_eq!(without_layout(&text("logs", &[row, other])), without_layout(IRREGULAR));
    }
}
