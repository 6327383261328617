//! Errors that the macros report.

use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    rating: Option<i32>,
}

mod filter_expression_not_of_a_column {
    use azure_table_client::{TableEntity, filter};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        rating: i32,
    }

    fn usage() {
        let _ = filter!(Blog, b => !b.rating == 3);
    }
}

mod filter_expression_with_arithmetic {
    use azure_table_client::{TableClient, TableEntity, filter};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: i32,
        hot: bool,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(filter!(Blog, b => b.rating + 1));
    }
}

mod filter_expression_without_columns {
    use azure_table_client::{TableClient, TableEntity, filter};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: i32,
        hot: bool,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(filter!(Blog, rating == 3));
    }
}

mod filter_expression_without_condition {
    use azure_table_client::{TableClient, TableEntity, filter};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: i32,
        hot: bool,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(filter!(Blog, b => b.rating == 3 &&));
    }
}

mod projection_as_enum {
    use super::Blog;
    use azure_table_client::filter::Projection;

    #[derive(Projection)]
    #[table(of = "Blog")]
    enum Summary {
        Text(String),
    }
}

mod projection_of_the_version_as_a_column {
    use super::Blog;
    use azure_table_client::ETag;
    use azure_table_client::filter::Projection;

    #[derive(Projection)]
    #[table(of = "Blog")]
    struct Summary {
        text: String,
        #[table(etag, column = "rating")]
        version: ETag,
    }
}

mod projection_of_an_invalid_type {
    use azure_table_client::filter::Projection;

    #[derive(Projection)]
    #[table(of = "a blog")]
    struct Summary {
        text: String,
    }
}

mod projection_without_entity {
    use azure_table_client::filter::Projection;

    #[derive(Projection)]
    struct Summary {
        text: String,
    }
}

mod projection_with_rename {
    use super::Blog;
    use azure_table_client::filter::Projection;

    #[derive(Projection)]
    #[table(of = "Blog")]
    struct Summary {
        #[table(rename = "Text")]
        text: String,
        #[table(column = "the rating")]
        stars: Option<i32>,
        #[table(colum = "rating")]
        likes: Option<i32>,
    }
}

mod projection_without_fields {
    use super::Blog;
    use azure_table_client::filter::Projection;

    #[derive(Projection)]
    #[table(of = "Blog")]
    struct Summary {}
}

fn main() {}
