//! Types that do not satisfy the generated code or the client.

mod extra_of_text {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(extra)]
        others: String,
    }
}

mod flatten_of_a_type_without_group {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(flatten)]
        address: String,
    }
}

mod kind_that_is_not_an_entity {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(discriminator = "Kind")]
    enum Item {
        Text(String),
    }
}

mod list_of_text {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        views: Vec<String>,
    }
}

mod series_of_a_type_without_edm {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(series)]
        cpu: [u64; 24],
    }
}

mod series_of_text {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(series)]
        cpu: String,
    }
}

mod set_of_a_table_without_name {
    use azure_table_client::client::TableSet;
    use azure_table_client::{TableClient, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
    }

    #[derive(TableSet)]
    struct Database {
        blogs: TableClient<Blog>,
    }
}

mod set_of_a_type_without_table {
    use azure_table_client::client::TableSet;

    #[derive(TableSet)]
    struct Database {
        blogs: String,
    }
}

mod unnamed_table {
    use azure_table_client::TableEntity;
    use azure_table_client::entity::NamedTable;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }

    fn name<T: NamedTable>() -> &'static str {
        T::TABLE_NAME
    }

    fn usage() {
        name::<Blog>();
    }
}

fn main() {}
