//! Errors that the macros report.

mod attribute_without_parentheses {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table = "Blogs"]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table]
        text: String,
    }
}

mod computed_is_not_a_path {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(computed = "1 + 1")]
        sum: i32,
    }
}

mod crate_is_not_a_path {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(crate = "azure table client")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod default_is_a_value {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(default = 3)]
        rating: i32,
    }
}

mod default_is_an_expression {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(default = "1 + 2")]
        rating: i32,
    }
}

mod key_struct_attribute_without_value {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key)]
    struct Blog {
        channel: String,
        #[table(row_key)]
        id: String,
    }
}

mod missing_comma {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Blogs" rename_all = "PascalCase")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

// All mistakes are reported at once, and none of the uses that suffer from them.
mod one_error_for_each_mistake {
    use azure_table_client::entity::NamedTable;
    use azure_table_client::{DynamicEntity, TableEntity};

    #[derive(TableEntity)]
    #[table(name = "my-blogs", rename_all = "Pascal", cached)]
    struct Blog {
        #[table(partition_key, rename = "Channel")]
        channel: String,
        #[table(rename = "1")]
        text: String,
        #[table(skip, timestamp)]
        rating: i32,
        #[table(etag = "version")]
        version: String,
    }

    fn name<T: NamedTable>() -> &'static str {
        T::TABLE_NAME
    }

    fn usage() {
        let blog = Blog { channel: "c".into(), text: "t".into(), rating: 3, version: "v".into() };
        let _ = DynamicEntity::from_entity(&blog);
        let _ = blog.entity_key();
        name::<Blog>();
    }
}

mod rename_without_quotes {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(rename = Text)]
        text: String,
        #[table(rename("Rating"))]
        rating: i32,
        #[table(rename = 5)]
        views: i64,
    }
}

mod rename_without_value {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(rename)]
        text: String,
        #[table(rename =)]
        rating: i32,
    }
}

mod skip_if_is_not_a_path {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(skip_if = "|v| v.is_empty()", default)]
        data: Vec<u8>,
    }
}

mod value_on_a_flag {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key = "Channel")]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(skip(true))]
        text: String,
    }
}

mod with_is_not_a_path {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(with = "my-module")]
        text: String,
    }
}

fn main() {}
