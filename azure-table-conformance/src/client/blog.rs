//! An entity for the behaviors that are not about its type.

use azure_table_client::TableEntity;

/// A blog of a channel.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
pub(crate) struct Blog {
    /// The channel.
    #[table(partition_key)]
    pub(crate) channel: String,
    /// The id within the channel.
    #[table(row_key)]
    pub(crate) id: String,
    /// The text.
    pub(crate) text: String,
    /// The rating, if there is one.
    pub(crate) rating: Option<i32>,
}

impl Blog {
    /// Creates a blog with a rating of 3.
    pub(crate) fn new(channel: &str, id: &str, text: &str) -> Self {
        Self { channel: channel.into(), id: id.into(), text: text.into(), rating: Some(3) }
    }
}
