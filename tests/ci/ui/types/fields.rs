//! Types that do not satisfy the generated code or the client.

mod borrowed_text {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        views: &'static str,
    }
}

mod method_named_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }

    impl Blog {
        fn key(&self) -> String {
            self.id.clone()
        }
    }
}

mod enum_number_other_of_text {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    #[table(as_i32)]
    enum Status {
        Draft,
        #[table(other)]
        Other(String),
    }
}

mod enum_other_of_another_type {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    enum Status {
        Draft,
        #[table(other)]
        Other(u32),
    }
}

mod generic_with_u64 {
    use azure_table_client::{DynamicEntity, TableEntity};

    #[derive(TableEntity)]
    struct Sample<V> {
        #[table(partition_key)]
        sensor: String,
        #[table(row_key)]
        at: String,
        value: V,
    }

    fn usage() {
        let sample = Sample { sensor: "s".into(), at: "1".into(), value: 5_u64 };
        let _ = DynamicEntity::from_entity(&sample);
    }
}

mod local_time {
    use azure_table_client::TableEntity;
    use chrono::{DateTime, FixedOffset};

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        posted: DateTime<FixedOffset>,
    }
}

// A type that does not fit is reported once, although it is written and read.
mod one_error_for_each_wrong_type {
    use azure_table_client::{DynamicEntity, TableEntity};

    #[derive(TableEntity)]
    #[table(name = "Blogs")]
    struct Blog {
        #[table(partition_key)]
        channel: f32,
        #[table(row_key)]
        id: f64,
        views: u64,
        size: usize,
        #[table(default)]
        tags: Option<Vec<String>>,
        #[table(timestamp)]
        changed: i64,
    }

    fn usage() {
        let blog = Blog { channel: 1, id: 1.0, views: 1, size: 1, tags: None, changed: 1 };
        let _ = DynamicEntity::from_entity(&blog);
    }
}

mod option_of_u64 {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        views: Option<u64>,
    }
}

mod own_type_without_from_edm {
    use azure_table_client::TableEntity;
    use azure_table_client::edm::{ConvertError, EdmCow, EdmType, ToEdm};

    struct Views(i64);

    impl ToEdm for Views {
        const EDM_TYPE: EdmType = EdmType::Int64;

        fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
            self.0.to_edm()
        }
    }

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        views: Views,
    }
}

mod own_type_without_edm {
    use azure_table_client::TableEntity;

    struct Views(i64);

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        views: Views,
    }
}

mod rc_text {
    use std::rc::Rc;

    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        views: Rc<str>,
    }
}

mod usize_property {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        views: usize,
    }
}

mod text_as_etag {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(etag)]
        version: Option<String>,
    }
}

mod text_as_timestamp {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(timestamp)]
        changed: String,
    }
}

mod u64_property {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        views: u64,
    }
}

fn main() {}
