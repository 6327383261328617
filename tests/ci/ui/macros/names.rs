//! Errors that the macros report.

mod alias_is_another_field {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
        #[table(alias = "text")]
        body: String,
    }
}

mod alias_is_not_a_name {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(alias = "my text")]
        text: String,
    }
}

mod alias_twice {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(alias = "body", alias = "body")]
        text: String,
    }
}

mod alias_with_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key, alias = "old")]
        channel: String,
        #[table(row_key)]
        id: String,
    }
}

mod digit_by_rename_all {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(rename_all = "PascalCase")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        _2nd_text: String,
    }
}

mod name_without_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table("Blogs")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod property_name_begins_with_digit {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(rename = "2nd")]
        text: String,
    }
}

mod property_name_empty {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(rename = "")]
        text: String,
    }
}

mod property_name_of_the_protocol {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(rename = "odata.etag")]
        text: String,
    }
}

mod property_name_reserved {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(rename = "RowKey")]
        text: String,
    }
}

mod property_name_too_long {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(
            rename = "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT"
        )]
        text: String,
    }
}

mod property_name_with_hyphen {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(rename = "my-text")]
        text: String,
    }
}

mod property_name_with_space {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(rename = "my text")]
        text: String,
    }
}

mod rename_without_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table("Text")]
        text: String,
    }
}

mod reserved_by_rename_all {
    use azure_table_client::TableEntity;
    use azure_table_client::edm::EdmDateTime;

    #[derive(TableEntity)]
    #[table(rename_all = "PascalCase")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
        timestamp: Option<EdmDateTime>,
    }
}

mod same_name_by_rename {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
        #[table(rename = "text")]
        body: String,
    }
}

mod same_name_by_rename_all {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(rename_all = "PascalCase")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        is_hot: bool,
        is__hot: bool,
    }
}

mod set_with_a_bad_name {
    use azure_table_client::client::TableSet;
    use azure_table_client::{DynamicEntity, TableClient};

    #[derive(TableSet)]
    struct Database {
        #[table(name = "my-blogs")]
        blogs: TableClient<DynamicEntity>,
    }
}

mod table_name_begins_with_digit {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "1Blogs")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod table_name_empty {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod table_name_not_ascii {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Blögs")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod table_name_reserved {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Tables")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod table_name_too_long {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod table_name_too_short {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "ab")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod table_name_with_hyphen {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "my-blogs")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

fn main() {}
