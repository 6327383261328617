//! An entity as users write it, for tests that are not about its type.

use azure_table_client::TableEntity;

/// A blog of a channel.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
pub struct Blog {
    /// The channel.
    #[table(partition_key)]
    pub channel: String,
    /// The id within the channel.
    #[table(row_key)]
    pub id: String,
    /// The text.
    pub text: String,
    /// The rating, if there is one.
    pub rating: Option<i32>,
}

impl Blog {
    /// Creates a blog with a rating of 3.
    pub fn new(channel: &str, id: &str, text: &str) -> Self {
        Self { channel: channel.into(), id: id.into(), text: text.into(), rating: Some(3) }
    }
}
