//! `crate = "…"`: the client under another name, for crates that re-export it.

#![deny(warnings, unused_qualifications)]

mod facade {
    pub mod tables {
        pub use ::azure_table_client::*;
    }
}

/// Not the crate.
#[allow(dead_code)]
mod azure_table_client {}

use facade::tables::entity::NamedTable;
use facade::tables::{TableEntity, filter};

#[derive(TableEntity)]
#[table(name = "Blogs", crate = "crate::facade::tables")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
}

mod inner {
    #[derive(crate::facade::tables::TableEntity)]
    #[table(crate = "super::facade::tables")]
    pub struct Inner {
        #[table(partition_key)]
        pub p: String,
        #[table(row_key)]
        pub r: String,
    }
}

fn main() {
    assert_eq!(Blog::TABLE_NAME, "Blogs");
    let blog = Blog { channel: "c".into(), id: "1".into(), text: "Hello".into() };
    assert_eq!(blog.partition_key().unwrap(), "c");
    assert_eq!(blog.row_key().unwrap(), "1");
    assert_eq!(blog.text, "Hello");
    let condition = filter!(Blog, b => b.text == "Hello" && b.id in ["1", "2"]);
    let columns = <Blog as filter::HasColumns>::typed_columns::<Blog>("");
    let filter = condition(columns).into_filter().unwrap();
    assert_eq!(filter.comparisons(), 3);
    let inner = inner::Inner { p: "p".into(), r: "r".into() };
    assert_eq!(inner.entity_key().unwrap(), ("p", "r").into());
}
