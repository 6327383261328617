//! Paths in attributes that do not resolve.

mod crate_is_not_the_client {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(crate = "std")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod missing_default_function {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(default = "defaults::three")]
        rating: i32,
    }

    mod defaults {}
}

mod missing_codec_module {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(with = "hex")]
        text: String,
    }
}

mod codec_module_without_decode {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(with = "upper")]
        text: String,
    }

    mod upper {
        use azure_table_client::edm::ConvertError;

        pub fn encode(text: &str) -> Result<String, ConvertError> {
            Ok(text.to_uppercase())
        }
    }
}

fn main() {}
