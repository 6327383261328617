//! Errors of indexes that the macros report.

mod invalid_fields {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(index(by = "emial", unique), index(by = "name"), index(by = "name", unique))]
    #[table(index(by = "channel"), index(by = "tags"), index(by = "views"), index(by = "cpu"))]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        email: String,
        name: String,
        #[table(as_json)]
        tags: Vec<String>,
        #[table(read_only)]
        views: i32,
        #[table(series)]
        cpu: [f64; 3],
    }
}

mod invalid_options {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(index, index = "email", index(), index(by), index(by = 3), index(unique, unique))]
    #[table(index(by = "email", uniqe), index(by = "name" unique), index(by = "name", by = "id"))]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        email: String,
        name: String,
    }
}

mod other_places {
    use azure_table_client::TableEntity;
    use azure_table_client::entity::PropertyGroup;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(index)]
        email: String,
    }

    #[derive(PropertyGroup)]
    #[table(index(by = "street"))]
    struct Address {
        street: String,
    }
}

fn main() {}
