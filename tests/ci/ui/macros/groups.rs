//! Errors that the macros report.

mod extra_with_default {
    use azure_table_client::TableEntity;
    use azure_table_client::edm::EdmValue;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(extra, default)]
        others: Vec<(String, EdmValue)>,
    }
}

mod extra_with_deny_unknown {
    use azure_table_client::TableEntity;
    use azure_table_client::edm::EdmValue;

    #[derive(TableEntity)]
    #[table(deny_unknown)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(extra)]
        others: Vec<(String, EdmValue)>,
    }
}

mod flatten_prefix_is_not_a_name {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(flatten = "my home")]
        address: String,
    }
}

mod flatten_with_rename {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(flatten, rename = "Home_")]
        address: String,
    }
}

mod group_on_enum {
    use azure_table_client::entity::PropertyGroup;

    #[derive(PropertyGroup)]
    enum Address {
        Home,
    }
}

mod group_with_decode_errors {
    use azure_table_client::entity::PropertyGroup;

    #[derive(PropertyGroup)]
    struct Address {
        #[table(on_missing = "collect")]
        city: String,
    }
}

mod group_with_extra {
    use azure_table_client::edm::EdmValue;
    use azure_table_client::entity::PropertyGroup;

    #[derive(PropertyGroup)]
    struct Address {
        city: String,
        #[table(extra)]
        others: Vec<(String, EdmValue)>,
    }
}

mod group_with_key {
    use azure_table_client::entity::PropertyGroup;

    #[derive(PropertyGroup)]
    struct Address {
        #[table(partition_key)]
        city: String,
    }
}

mod group_with_table_name {
    use azure_table_client::entity::PropertyGroup;

    #[derive(PropertyGroup)]
    #[table(name = "Addresses")]
    struct Address {
        city: String,
    }
}

mod series_template_without_placeholder {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(series = "Cpu")]
        cpu: [f64; 24],
    }
}

mod series_with_rename {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(series = "Cpu{:02}", rename = "Load")]
        cpu: [f64; 24],
    }
}

mod series_with_skip_if {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(series, skip_if = "is_idle")]
        cpu: [f64; 24],
    }
}

mod two_extras {
    use azure_table_client::TableEntity;
    use azure_table_client::edm::EdmValue;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(extra)]
        a: Vec<(String, EdmValue)>,
        #[table(extra)]
        b: Vec<(String, EdmValue)>,
    }
}

fn main() {}
