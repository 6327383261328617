//! Types that do not satisfy the generated code or the client.

use azure_table_client::TableEntity;

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

mod prefix_of_a_number {
    use super::Blog;
    use azure_table_client::TableClient;

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.rating.starts_with("3"));
    }
}

mod filter_expression_of_an_unknown_column {
    use super::Blog;
    use azure_table_client::{TableClient, filter};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(filter!(Blog, b => b.ratings == 3));
    }
}

mod filter_expression_of_another_type {
    use super::Blog;
    use azure_table_client::{TableClient, filter};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(filter!(Blog, b => b.rating >= 3.5 && b.channel == "x"));
    }
}

mod filter_by_order_of_descending_values {
    use azure_table_client::entity::Descending;
    use azure_table_client::{TableClient, TableEntity, filter};

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        posted: Descending<u64>,
    }

    #[derive(TableEntity)]
    #[table(partition_key = "{channel}_{year:inv4}", row_key(rating, id))]
    struct Ranked {
        channel: String,
        year: u16,
        rating: Descending<u8>,
        id: u32,
    }

    fn query(posts: &TableClient<Post>, ranked: &TableClient<Ranked>) {
        let _ = posts.query().filter(|p| p.posted.gt(5));
        let _ = posts.query().filter(|p| p.posted.between(5_u64, 9_u64));
        let _ = posts.query().filter(filter!(Post, p => p.posted > 5_u64));
        let _ = ranked.query().filter(|r| r.row_key.lt((5_u8, 1)));
        let _ = ranked.query().filter(|r| r.partition_key.ge(("Football", 2009_u16)));
        let _ = ranked.query().filter(|r| r.partition_key.newer_than(("Football",)));
        // Values in stored order, and without order.
        let _ = posts.query().filter(|p| p.posted.gt(Descending(5)) & p.posted.is_in([5, 6]));
        let _ = ranked.query().filter(|r| r.row_key.eq((5, 1)) | r.row_key.newer_than((5,)));
    }
}

mod filter_is_true_of_text {
    use azure_table_client::{TableClient, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        #[table(as_string)]
        hot: bool,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.hot.is_true());
    }
}

mod filter_key_of_another_type {
    use super::Blog;
    use azure_table_client::TableClient;

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.id.eq("7"));
    }
}

mod filter_of_another_entity {
    use super::Blog;
    use azure_table_client::{TableClient, TableEntity, filter};

    #[derive(TableEntity)]
    struct Other {
        #[table(partition_key)]
        p: String,
        #[table(row_key)]
        r: String,
        rating: i32,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(filter!(Other, b => b.rating == 3));
    }
}

mod filter_unknown_column {
    use super::Blog;
    use azure_table_client::TableClient;

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.ratings.eq(3));
    }
}

mod filter_value_of_another_type {
    use super::Blog;
    use azure_table_client::TableClient;

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.rating.eq("3"));
    }
}

mod filter_by_a_column_that_is_not_boolean {
    use super::Blog;
    use azure_table_client::{TableClient, filter};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.text);
        let _ = blogs.query().filter(|b| b.hot & b.text);
        let _ = blogs.query().filter(filter!(Blog, b => b.rating));
        let _ = blogs.query().filter(|b| Some(b.hot.is_true()));
    }
}

mod filter_with_operators {
    use super::Blog;
    use azure_table_client::TableClient;

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.rating == 3);
        let _ = blogs.query().filter(|b| b.rating.ge(3) && b.text.eq("Hello"));
    }
}

mod filter_without_order {
    use super::Blog;
    use azure_table_client::TableClient;

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.hot.lt(true));
    }
}

mod prefix_of_another_type {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(row_key(year, id))]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        year: u32,
        id: String,
    }

    fn read() {
        let _ = Blog::row_prefix(("2009",));
    }
}

mod projection_of_another_entity {
    use azure_table_client::filter::Projection;
    use azure_table_client::{TableClient, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: Option<i32>,
    }

    #[derive(TableEntity)]
    struct Channel {
        #[table(partition_key)]
        name: String,
        #[table(row_key)]
        kind: String,
        text: String,
    }

    #[derive(Projection)]
    #[table(of = "Channel")]
    struct Summary {
        text: String,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().select_as::<Summary>();
    }
}

mod projection_of_another_type {
    use azure_table_client::TableEntity;
    use azure_table_client::filter::Projection;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: Option<i32>,
    }

    #[derive(Projection)]
    #[table(of = "Blog")]
    struct Summary {
        text: String,
        rating: i32,
    }
}

mod projection_of_an_unknown_column {
    use azure_table_client::TableEntity;
    use azure_table_client::filter::Projection;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: Option<i32>,
    }

    #[derive(Projection)]
    #[table(of = "Blog")]
    struct Summary {
        text: String,
        ratings: Option<i32>,
    }
}

mod projection_of_a_type_that_is_not_an_entity {
    use azure_table_client::TableEntity;
    use azure_table_client::filter::Projection;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: Option<i32>,
    }

    struct Other;

    #[derive(Projection)]
    #[table(of = "Other")]
    struct Summary {
        text: String,
    }
}

mod select_as_a_type_without_projection {
    use azure_table_client::{TableClient, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: Option<i32>,
    }

    struct Summary {
        text: String,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().select_as::<Summary>();
    }
}

mod select_of_a_value {
    use azure_table_client::{TableClient, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: Option<i32>,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().select(|b| (b.text, 5));
    }
}

mod select_of_another_type {
    use azure_table_client::{TableClient, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: Option<i32>,
    }

    async fn query(blogs: &TableClient<Blog>) {
        let texts: Vec<(String, i32)> =
            blogs.query().select(|b| (b.text, b.rating)).await.unwrap().into_vec();
        drop(texts);
    }
}

mod select_of_an_unknown_column {
    use azure_table_client::{TableClient, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: Option<i32>,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().select(|b| (b.text, b.ratings));
    }
}

mod json_in_a_filter {
    use azure_table_client::{TableClient, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        #[table(as_json)]
        tags: Vec<String>,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.tags.eq(vec!["rust".to_owned()]));
    }
}

mod order_of_an_enum_with_other_values {
    use azure_table_client::{TableClient, TableEntity, TableEnum};

    #[derive(TableEnum)]
    #[table(as_i32)]
    enum Level {
        Low,
        #[table(other)]
        Other(i32),
    }

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        level: Level,
    }

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.level.ge(Level::Low));
    }
}

fn main() {}
