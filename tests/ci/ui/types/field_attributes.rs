//! Types that do not satisfy the generated code or the client.

mod as_i64_of_text {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(as_i64)]
        text: String,
    }
}

mod as_padded_of_a_type_without_order {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(as_padded)]
        score: f64,
    }
}

mod as_string_of_a_type_without_text {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(as_string)]
        data: Vec<u8>,
    }
}

mod computed_of_another_type {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(computed = "sum")]
        sum: i32,
    }

    fn sum(_: &Blog) -> String {
        String::new()
    }
}

mod computed_without_default {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(computed = "handle")]
        handle: Handle,
    }

    struct Handle;

    fn handle(_: &Blog) -> Handle {
        Handle
    }
}

mod default_function_of_another_type {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(default = "three")]
        rating: i32,
    }

    fn three() -> i64 {
        3
    }
}

mod default_function_with_argument {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(default = "three")]
        rating: i32,
    }

    fn three(plus: i32) -> i32 {
        3 + plus
    }
}

mod default_of_a_type_without_default {
    use azure_table_client::TableEntity;
    use azure_table_client::edm::EdmDateTime;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(default)]
        posted: EdmDateTime,
    }
}

mod errors_of_another_type {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(on_mistyped = "collect")]
        rating: i32,
        #[table(errors)]
        errors: Vec<String>,
    }
}

mod policy_default_without_default {
    use azure_table_client::TableEntity;
    use azure_table_client::edm::EdmDateTime;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(on_missing = "default")]
        posted: EdmDateTime,
    }
}

mod skip_if_of_another_type {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(skip_if = "Vec::is_empty", default)]
        text: String,
    }
}

mod skip_if_without_bool {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(skip_if = "Vec::len", default)]
        data: Vec<u8>,
    }
}

mod skipped_without_default {
    use azure_table_client::TableEntity;

    struct Handle(i32);

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(skip)]
        handle: Handle,
    }
}

mod codec_decodes_another_type {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(with = "codec")]
        size: u8,
    }

    mod codec {
        use azure_table_client::edm::ConvertError;

        pub fn encode(size: &u8) -> Result<i32, ConvertError> {
            Ok(i32::from(*size))
        }

        pub fn decode(size: i32) -> Result<u16, ConvertError> {
            Ok(size as u16)
        }
    }
}

mod codec_decodes_borrowed_text {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(with = "codec")]
        size: u8,
    }

    mod codec {
        use azure_table_client::edm::ConvertError;

        pub fn encode(size: &u8) -> Result<String, ConvertError> {
            Ok(size.to_string())
        }

        pub fn decode(text: &str) -> Result<u8, ConvertError> {
            Ok(text.len() as u8)
        }
    }
}

mod codec_encodes_without_result {
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

        pub fn encode(text: &str) -> String {
            text.to_uppercase()
        }

        pub fn decode(text: String) -> Result<String, ConvertError> {
            Ok(text)
        }
    }
}

mod codec_stores_an_unsupported_type {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(with = "codec")]
        size: u8,
    }

    mod codec {
        use azure_table_client::edm::ConvertError;

        pub fn encode(size: &u8) -> Result<u64, ConvertError> {
            Ok(u64::from(*size))
        }

        pub fn decode(size: u64) -> Result<u8, ConvertError> {
            Ok(size as u8)
        }
    }
}

mod as_json_without_serde {
    use azure_table_client::TableEntity;

    struct Link(String);

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(as_json)]
        link: Link,
    }
}

mod inexact_text {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(on_inexact = "error")]
        posted: String,
    }
}

mod inexact_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key, on_inexact = "error")]
        id: u32,
        text: String,
    }
}

fn main() {}
