//! Calls that a beginner expects and that the service or the client does not have: each message says what to write.

use azure_table_client::{TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    score: f64,
    rating: Option<i32>,
}

#[derive(TableEntity)]
#[table(partition_key(country, city), row_key = "{year}_{id}")]
struct Event {
    country: String,
    city: String,
    year: u32,
    id: String,
    title: String,
}

mod text_functions {
    use super::{Blog, TableClient};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.text.contains("rust"));
        let _ = blogs.query().filter(|b| b.text.ends_with(".rs"));
        let _ = blogs.query().filter(|b| b.text.to_lowercase().eq("hello"));
        let _ = blogs.query().filter(|b| b.channel.contains("9"));
    }
}

mod null {
    use super::{Blog, TableClient};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.rating.is_none());
        let _ = blogs.query().filter(|b| b.rating.is_some());
    }
}

mod order_by {
    use super::{Blog, TableClient};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().order_by(|b| b.rating);
    }
}

mod operators {
    use super::{Blog, TableClient};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.rating > 3);
        let _ = blogs.query().filter(|b| b.channel == "Channel9");
    }
}

mod integer_for_a_double {
    use super::{Blog, TableClient};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.score.ge(3));
    }
}

mod unknown_column_without_a_similar_one {
    use super::{Blog, TableClient};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.author.eq("Joe"));
    }
}

mod key_of_a_pair_with_a_number {
    use super::{Blog, TableClient};

    fn get(blogs: &TableClient<Blog>) {
        let _ = blogs.get(("Channel9", 1));
    }
}

mod part_of_a_key {
    use super::{Event, TableClient};

    fn query(events: &TableClient<Event>) {
        let _ = events.query().filter(|e| e.year.eq(2009));
        let _ = events.query().filter(|e| e.city.between("a", "b"));
        let _ = events.query().select(|e| (e.title, e.year));
    }
}

mod kinds {
    use super::{Blog, Event, TableClient};
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(discriminator = "Kind")]
    enum Item {
        Blog(Blog),
    }

    #[derive(TableEntity)]
    #[table(discriminator_in_row_key)]
    enum ByKey {
        Blog(Blog),
    }

    fn query(items: &TableClient<Item>, by_key: &TableClient<ByKey>) {
        let _ = items.query().of_kind::<Event>();
        let _ = items.query().filter(|i| i.kind().eq("Blog"));
        let _ = by_key.query().of_kind::<Blog>();
    }
}

mod private_column {
    mod model {
        use azure_table_client::TableEntity;

        #[derive(TableEntity)]
        pub struct Account {
            #[table(partition_key)]
            pub tenant: String,
            #[table(row_key)]
            pub id: String,
            secret: String,
        }
    }

    use azure_table_client::TableClient;

    fn query(accounts: &TableClient<model::Account>) {
        let _ = accounts.query().filter(|a| a.tenant.eq("acme") & a.secret.eq("x"));
    }
}

mod one_field_as_both_keys {
    use azure_table_client::{TableClient, TableEntity};

    #[derive(TableEntity)]
    struct Customer {
        #[table(partition_key, row_key)]
        id: u32,
    }

    fn query(customers: &TableClient<Customer>) {
        let _ = customers.query().filter(|c| c.id.eq(1));
    }
}

fn main() {}
