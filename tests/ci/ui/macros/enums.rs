//! Errors that the macros report.

mod enum_number_with_rename {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    #[table(as_i32)]
    enum Level {
        #[table(rename = "low")]
        Low = 1,
    }
}

mod enum_number_with_rename_all {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    #[table(as_i32, rename_all = "lowercase")]
    enum Level {
        Low = 1,
    }
}

mod newtype_of_an_enum {
    use azure_table_client::TableValue;

    #[derive(TableValue)]
    enum Level {
        Low,
    }
}

mod newtype_of_two_fields {
    use azure_table_client::TableValue;

    #[derive(TableValue)]
    struct Point(f64, f64);
}

mod variants_of_the_same_text {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    #[table(rename_all = "lowercase")]
    enum Status {
        Draft,
        DRAFT,
    }
}

mod enum_on_struct {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    struct Status;
}

mod enum_other_without_value {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    enum Status {
        Draft,
        #[table(other)]
        Other,
    }
}

mod enum_variant_with_data {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    enum Status {
        Draft,
        Live(i32),
    }
}

mod enum_with_parameter {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    enum Status<T> {
        Draft,
        #[table(other)]
        Other(T),
    }
}

mod enum_without_variants {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    enum Status {}
}

mod enum_on_newtype {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    struct Id(String);
}

mod enum_as_i64 {
    use azure_table_client::TableEnum;

    #[derive(TableEnum)]
    #[table(as_i64)]
    enum Level {
        Low = 1,
    }
}

fn main() {}
