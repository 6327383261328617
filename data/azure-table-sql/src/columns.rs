//! Columns that are declared as an argument.

use std::str::FromStr;

use azure_table_cli::edm_type;
use azure_table_client::edm::EdmType;

/// The columns of a table: `Blogs=Rating:Edm.Int32,Text:Edm.String`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableColumns {
    pub(crate) table: String,
    pub(crate) columns: Vec<(String, EdmType)>,
}

impl FromStr for TableColumns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (table, columns) = text
            .split_once('=')
            .filter(|(table, _)| !table.is_empty())
            .ok_or("no table: write TABLE=NAME:TYPE,NAME:TYPE")?;
        let column = |column: &str| {
            let (name, edm_type) = column
                .split_once(':')
                .ok_or_else(|| format!("no type: {column:?}; write NAME:TYPE"))?;
            let edm_type = edm_type::parse(edm_type).map_err(|why| format!("{name:?}: {why}"))?;
            Ok::<_, String>((name.to_owned(), edm_type))
        };
        let columns = columns.split(',').filter(|text| !text.is_empty()).map(column);
        Ok(Self { table: table.to_owned(), columns: columns.collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_a_table_and_types() {
        let parsed: TableColumns = "Blogs=Rating:Int32,Text:Edm.String".parse().unwrap();
        assert_eq!(parsed.table, "Blogs");
        let columns = [("Rating".to_owned(), EdmType::Int32), ("Text".to_owned(), EdmType::String)];
        assert_eq!(parsed.columns, columns);
        assert_eq!("Blogs=".parse::<TableColumns>().unwrap().columns, []);
        for bad in ["Blogs", "=A:Edm.Int32", "Blogs=A", "Blogs=A:Int", "Blogs=A:Edm.Null"] {
            assert!(bad.parse::<TableColumns>().is_err(), "{bad}");
        }
    }
}
