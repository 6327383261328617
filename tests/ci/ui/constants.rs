//! Errors that constant evaluation reports, after the type check.

mod key_parts_without_separator {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key = "{channel}{text}", row_key = "{id}")]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod discriminator_is_also_a_property {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        user: String,
        #[table(row_key)]
        id: String,
        kind: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "kind")]
    enum Item {
        Post(Post),
    }

    fn write(item: &Item) {
        let _ = azure_table_client::DynamicEntity::from_entity(item);
    }
}

fn main() {}
