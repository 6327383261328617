//! The resource that the path of a request names.

use percent_encoding::percent_decode_str;

use crate::failure::Failure;

/// The resource that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    Service,
    Tables,
    Table(String),
    Entities(String),
    Entity(EntityPath),
    Batch,
    /// A path below a table, such as `/Blogs/$batch`.
    BelowTable(BelowTable),
}

/// A table, and the rest of a path below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BelowTable {
    pub(crate) table: String,
    /// Whether the path ends in parentheses that have other keys than an entity, as in `/Blogs/Tables('Posts')`.
    pub(crate) has_other_keys: bool,
}

/// The table and the keys of one entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntityPath {
    pub(crate) table: String,
    pub(crate) partition_key: String,
    pub(crate) row_key: String,
}

impl Resource {
    /// Parses a path below the account: `/Tables`, `/Blogs()`, `/Blogs(PartitionKey='…',RowKey='…')`.
    pub(crate) fn parse(path: &str) -> Result<Self, Failure> {
        let path = percent_decode_str(path).decode_utf8().map_err(|_| Failure::invalid_input())?;
        let path = path.trim_matches('/');
        if path.split(['(', '\'']).next().is_some_and(|table| table.contains('/')) {
            let table = path.split('/').next().unwrap_or_default().to_owned();
            let arguments = path.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
            let has_other_keys =
                arguments.is_some_and(|it| !it.is_empty() && key_arguments(it).is_none());
            return Ok(Self::BelowTable(BelowTable { table, has_other_keys }));
        }
        let (name, arguments) = match path.split_once('(') {
            Some((name, rest)) => {
                let arguments = rest.strip_suffix(')').ok_or_else(Failure::invalid_input)?;
                (name, arguments.trim())
            }
            None => (path, ""),
        };
        match (name, arguments) {
            ("", "") => Ok(Self::Service),
            ("$batch", "") => Ok(Self::Batch),
            _ if name.eq_ignore_ascii_case("tables") => match arguments {
                "" => Ok(Self::Tables),
                quoted => {
                    Ok(Self::Table(table_argument(quoted).ok_or_else(Failure::invalid_input)?))
                }
            },
            (_, "") => Ok(Self::Entities(name.to_owned())),
            _ => {
                let (partition_key, row_key) =
                    key_arguments(arguments).ok_or_else(Failure::invalid_input)?;
                Ok(Self::Entity(EntityPath { table: name.to_owned(), partition_key, row_key }))
            }
        }
    }

    /// The table of the resource, if it has one.
    pub(crate) fn table(&self) -> Option<&str> {
        match self {
            Self::Table(table) | Self::Entities(table) | Self::Entity(EntityPath { table, .. }) => {
                Some(table)
            }
            Self::Service | Self::Tables | Self::Batch | Self::BelowTable(_) => None,
        }
    }
}

/// `'Blogs'` or `TableName='Blogs'`.
fn table_argument(arguments: &str) -> Option<String> {
    let quoted = arguments.strip_prefix("TableName=").unwrap_or(arguments);
    let (name, rest) = quoted_text(quoted)?;
    rest.is_empty().then_some(name)
}

/// `PartitionKey='…',RowKey='…'`, in either order, quotes doubled.
fn key_arguments(arguments: &str) -> Option<(String, String)> {
    let (mut partition_key, mut row_key) = (None, None);
    let mut rest = arguments;
    loop {
        let (name, value) = rest.split_once('=')?;
        let slot = match name.trim() {
            "PartitionKey" => &mut partition_key,
            "RowKey" => &mut row_key,
            _ => return None,
        };
        let (text, after) = quoted_text(value.trim_start())?;
        if slot.replace(text).is_some() {
            return None;
        }
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None if rest.is_empty() => return Some((partition_key?, row_key?)),
            None => return None,
        }
    }
}

/// Splits off the literal `'it''s'` at the beginning: its text, and the rest.
fn quoted_text(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut value = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        value.push_str(part);
        match after.strip_prefix('\'') {
            Some(next) => {
                value.push('\'');
                rest = next;
            }
            None => return Some((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(partition_key: &str, row_key: &str) -> Resource {
        Resource::Entity(EntityPath {
            table: "T".into(),
            partition_key: partition_key.into(),
            row_key: row_key.into(),
        })
    }

    #[test]
    fn paths_name_resources() {
        let below =
            |has_other_keys| Resource::BelowTable(BelowTable { table: "T".into(), has_other_keys });
        for (path, expected) in [
            ("", Resource::Service),
            ("/", Resource::Service),
            ("/$batch", Resource::Batch),
            ("/Tables", Resource::Tables),
            ("/tables()", Resource::Tables),
            ("/Tables('T')", Resource::Table("T".into())),
            ("/Tables(TableName='T')", Resource::Table("T".into())),
            ("/T", Resource::Entities("T".into())),
            ("/T/$batch", below(false)),
            ("/T/Tables('T')", below(true)),
            ("/T/U(PartitionKey='p',RowKey='r')", below(false)),
            ("/T()", Resource::Entities("T".into())),
            ("/T(PartitionKey='p',RowKey='r')", entity("p", "r")),
            ("/T(RowKey='r',%20PartitionKey='')", entity("", "r")),
            ("/T(PartitionKey='it%27%27s',RowKey='%28a%2C%29%2Fé')", entity("it's", "(a,)/é")),
            ("/T(PartitionKey='%2527',RowKey='a+b')", entity("%27", "a+b")),
        ] {
            assert_eq!(Resource::parse(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn malformed_paths_are_refused() {
        for path in [
            "/T(",
            "/T(PartitionKey='p')",
            "/T(PartitionKey='p',RowKey='r'x)",
            "/T(x='y')",
            "/T(PartitionKey='p',PartitionKey='p')",
            "/T(PartitionKey='p,RowKey='r')",
            "/%ff",
            "/Tables(x)",
            "/T(PartitionKey=p,RowKey=r)",
        ] {
            assert!(Resource::parse(path).is_err(), "{path}");
        }
    }
}
