//! Names and values that callers expect: each message names the call or the value to write.

use azure_table_client::{IfMatch, TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    rating: Option<i32>,
}

mod upsert {
    use super::{Blog, TableClient};

    async fn write(blogs: &TableClient<Blog>, blog: &Blog) {
        let _ = blogs.upsert(blog).await;
        let _ = blogs.transaction().upsert(blog);
    }
}

mod update {
    use super::{Blog, IfMatch, TableClient};

    async fn write(blogs: &TableClient<Blog>, blog: &Blog) {
        let _ = blogs.update(blog, IfMatch::Any).await;
        let _ = blogs.transaction().update(blog, IfMatch::Any).await;
    }
}

mod exists {
    use super::{Blog, TableClient};

    fn find(blogs: &TableClient<Blog>) {
        let _ = blogs.exists(Blog::key("Channel9", 1));
        let _ = blogs.exists();
    }
}

mod many {
    use super::{Blog, TableClient};

    fn write(blogs: &TableClient<Blog>, rows: Vec<Blog>) {
        let _ = blogs.insert_or_replace_many(&rows);
        let _ = blogs.delete_many([("Channel9", "1")]);
    }
}

mod private_names {
    use super::{Blog, TableClient};

    fn write(blogs: &TableClient<Blog>, blog: &Blog) {
        let _ = blogs.write(blog);
        let _ = blogs.read(("Channel9", "1"));
        let _ = blogs.transaction().add(blog);
        let _ = blogs.bulk().delete([("Channel9", "1")]);
    }
}

mod condition_as_text {
    use super::{Blog, TableClient};

    fn write(blogs: &TableClient<Blog>, blog: &Blog) {
        let _ = blogs.replace(blog, "*");
        let _ = blogs.delete(("Channel9", "1"), None);
        let _ = blogs.transaction().merge(blog, String::from("*"));
    }
}

mod none {
    use super::{Blog, TableClient};

    fn query(blogs: &TableClient<Blog>) {
        let _ = blogs.query().filter(|b| b.rating.eq(None));
    }
}

mod enum_as_i64 {
    use azure_table_client::TableEntity;

    enum Level {
        Low = 1,
    }

    #[derive(TableEntity)]
    struct Task {
        #[table(partition_key)]
        list: String,
        #[table(row_key)]
        id: u32,
        #[table(as_i64)]
        level: Level,
    }
}

mod entity_that_is_not_send {
    use std::rc::Rc;

    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Task {
        #[table(partition_key)]
        list: String,
        #[table(row_key)]
        id: u32,
        #[table(skip)]
        cache: Rc<str>,
    }
}

fn main() {}
