//! A lint that is allowed on the struct is allowed in the generated code, which repeats the field
//! types.

#![deny(warnings, unused_qualifications, clippy::pedantic, clippy::absolute_paths)]

use azure_table_client::TableEntity;

#[deprecated]
type Old = String;

#[allow(deprecated, unused_qualifications, clippy::absolute_paths)]
#[derive(Debug, TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: std::string::String,
    #[table(row_key)]
    id: String,
    text: Old,
    data: std::vec::Vec<u8>,
    #[table(default = "std::vec::Vec::new")]
    more: std::vec::Vec<u8>,
    #[deprecated]
    rating: i32,
}

fn main() {
    assert_eq!(Blog::COLUMNS, ["text", "data", "more", "rating"]);
    let read: fn(Blog) -> (String, String) = |blog| (blog.channel, blog.id);
    assert_eq!(size_of_val(&read), size_of::<usize>());
}
