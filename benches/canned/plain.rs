//! The entity as a struct of serde, for comparison.

use serde::{Deserialize, Serialize};

use super::Blog;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[expect(dead_code, reason = "the version and the time are decoded, as our client does")]
pub(crate) struct Plain {
    #[serde(rename = "odata.etag", skip_serializing)]
    etag: String,
    partition_key: String,
    row_key: String,
    #[serde(skip_serializing)]
    timestamp: String,
    text: String,
    author: String,
    title: String,
    url: String,
    rating: i32,
    votes: i32,
    #[serde(rename = "Views@odata.type", skip_deserializing)]
    views_type: &'static str,
    #[serde(with = "int64")]
    views: i64,
    #[serde(rename = "Size@odata.type", skip_deserializing)]
    size_type: &'static str,
    #[serde(with = "int64")]
    size: i64,
    score: f64,
    open: bool,
}

impl From<Blog> for Plain {
    fn from(blog: Blog) -> Self {
        Self {
            etag: String::new(),
            partition_key: blog.partition,
            row_key: blog.row,
            timestamp: String::new(),
            text: blog.text,
            author: blog.author,
            title: blog.title,
            url: blog.url,
            rating: blog.rating,
            votes: blog.votes,
            views_type: "Edm.Int64",
            views: blog.views,
            size_type: "Edm.Int64",
            size: blog.size,
            score: blog.score,
            open: blog.open,
        }
    }
}

/// A page of a query.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) value: Vec<Plain>,
}

/// Int64 is text in the JSON of the service.
mod int64 {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(value: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        <&str>::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
