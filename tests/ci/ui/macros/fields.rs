//! Errors that the macros report.

mod collect_without_errors {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(on_mistyped = "collect")]
        rating: i32,
    }
}

mod computed_with_rename {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(computed = "sum", rename = "Sum")]
        sum: i32,
    }

    fn sum(_: &Blog) -> i32 {
        5
    }
}

mod default_with_etag {
    use azure_table_client::{ETag, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(etag, default = "none")]
        version: Option<ETag>,
    }

    fn none() -> Option<ETag> {
        None
    }
}

mod default_with_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key, default)]
        id: String,
        text: String,
    }
}

mod default_with_skip {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(skip, default)]
        text: String,
    }
}

mod errors_without_collect {
    use azure_table_client::TableEntity;
    use azure_table_client::entity::DecodeError;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        rating: i32,
        #[table(errors)]
        errors: Vec<DecodeError>,
    }
}

mod policy_none_on_struct {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(on_mistyped = "none")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        rating: i32,
    }
}

mod policy_none_without_option {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(on_mistyped = "none")]
        rating: i32,
    }
}

mod policy_on_a_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key, on_missing = "default")]
        channel: String,
        #[table(row_key)]
        id: String,
    }
}

mod read_only_with_skip_if {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(read_only, skip_if = "Vec::is_empty", default)]
        data: Vec<u8>,
    }
}

mod rename_with_skip {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(skip, rename = "Text")]
        text: String,
    }
}

mod rename_with_timestamp {
    use azure_table_client::TableEntity;
    use azure_table_client::edm::EdmDateTime;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(timestamp, rename = "Changed")]
        changed: Option<EdmDateTime>,
    }
}

mod skip_if_without_default {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(skip_if = "Vec::is_empty")]
        data: Vec<u8>,
    }
}

mod timestamp_with_etag {
    use azure_table_client::{ETag, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(timestamp)]
        #[table(etag)]
        version: Option<ETag>,
    }
}

mod two_codecs {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(as_string, as_i64)]
        size: u64,
    }
}

mod two_etags {
    use azure_table_client::{ETag, TableEntity};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(etag)]
        version: Option<ETag>,
        #[table(etag)]
        tag: Option<ETag>,
    }
}

mod two_timestamps {
    use azure_table_client::TableEntity;
    use azure_table_client::edm::EdmDateTime;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(timestamp)]
        changed: Option<EdmDateTime>,
        #[table(timestamp)]
        written: Option<EdmDateTime>,
    }
}

mod option_in_an_option {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: Option<Option<String>>,
    }
}

mod inexact_without_error {
    use azure_table_client::TableEntity;
    use chrono::{DateTime, Utc};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(on_inexact = "collect")]
        posted: DateTime<Utc>,
    }
}

mod inexact_with_a_codec {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(on_inexact = "error", as_i64)]
        posted: u64,
    }
}

mod inexact_of_a_group {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(on_inexact = "error", flatten)]
        posted: (),
    }
}

fn main() {}
