//! Errors that the macros report.

mod accept_unknown {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(accept = "anything")]
        rating: i64,
    }
}

mod duplicate_attribute {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(rename = "Text", rename = "Body")]
        text: String,
    }
}

mod duplicate_in_another_list {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Blogs")]
    #[table(name = "Posts")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod enum_attribute_misspelled {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    #[table(as_int)]
    enum Level {
        Low,
    }
}

mod field_attribute_on_struct {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(rename = "Blogs")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod kebab_case {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(rename_all = "kebab-case")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod key_attribute_on_struct {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key = "channel", row_key = "id")]
    struct Blog {
        channel: String,
        id: String,
        text: String,
    }
}

mod misspelled_case {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(rename_all = "pascal_case")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod misspelled_field_attribute {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(skipp)]
        text: String,
    }
}

mod misspelled_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(PartitionKey)]
        channel: String,
        #[table(rowkey)]
        id: String,
        text: String,
    }
}

mod misspelled_struct_attribute {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(rename_al = "PascalCase")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod policy_misspelled {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(on_missing = "defualt")]
        rating: i32,
    }
}

mod struct_attribute_on_field {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(name = "Text")]
        text: String,
        #[table(rename_all = "PascalCase")]
        rating: i32,
    }
}

mod unknown_field_attribute {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(unique)]
        text: String,
    }
}

mod unknown_struct_attribute {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(index = "Text")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

fn main() {}
