//! Types that do not satisfy the generated code or the client.

mod float_as_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: f64,
        #[table(row_key)]
        id: String,
    }
}

mod key_format_digits_of_text {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key = "{channel:04}", row_key = "{id}")]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod key_of_another_type {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }

    fn read() {
        let _ = Blog::key("Channel9", 5);
    }
}

mod optional_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: Option<String>,
        text: String,
    }
}

mod part_of_a_key_of_a_wrong_type {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key(channel, score))]
    struct Blog {
        channel: String,
        score: f64,
        #[table(row_key)]
        id: String,
    }
}

mod row_key_of_a_kind_without_form {
    use azure_table_client::{DynamicEntity, TableEntity};

    struct Post {
        user: String,
        id: String,
        kind: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator_in_row_key)]
    enum Item {
        Any(DynamicEntity),
    }
}

mod split_of_a_number {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(split)]
        size: i64,
    }
}

fn main() {}
