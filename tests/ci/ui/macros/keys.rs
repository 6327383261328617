//! Errors that the macros report.

mod field_twice_in_a_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key(channel), row_key(id, channel, id))]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod key_format_of_an_unknown_field {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key = "{channel}_{yaer:04}", row_key = "{id}")]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod key_format_too_large_minuend {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key = "{year:inv2(100)}", row_key = "{id}")]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod key_format_with_forbidden_character {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key = "{channel}/{year:04}", row_key = "{id}")]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod key_format_with_unknown_form {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key = "{channel}_{year:hex}", row_key = "{id}")]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod key_format_without_brace {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key = "{channel", row_key = "{id}")]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod key_of_an_unknown_field {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key(channel, yaer), row_key = "{id}")]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod key_of_seven_parts {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key(a, b, c, d, e, f, g))]
    struct Blog {
        a: u8,
        b: u8,
        c: u8,
        d: u8,
        e: u8,
        f: u8,
        g: u8,
        #[table(row_key)]
        id: String,
    }
}

mod key_on_struct_and_field {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key(channel))]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
    }
}

mod key_without_fields {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key(), row_key = "{id}")]
    struct Blog {
        channel: String,
        year: i32,
        id: String,
        text: String,
    }
}

mod no_keys {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        text: String,
    }
}

mod no_partition_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod no_row_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        id: String,
        text: String,
    }
}

mod part_of_a_key_with_rename {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key(channel, year))]
    struct Blog {
        channel: String,
        #[table(rename = "Year")]
        year: i32,
        #[table(row_key)]
        id: String,
    }
}

mod part_of_a_key_with_skip {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(partition_key(channel, year))]
    struct Blog {
        channel: String,
        #[table(skip)]
        year: i32,
        #[table(row_key)]
        id: String,
    }
}

mod partition_key_and_row_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key, row_key)]
        id: String,
        text: String,
    }
}

mod rename_with_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key, rename = "Channel")]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod skip_with_partition_key {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(skip, partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod two_partition_keys {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(partition_key)]
        tenant: String,
    }
}

mod two_row_keys {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(row_key)]
        posted: String,
    }
}

mod key_with_a_codec {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key, as_string)]
        id: u64,
    }
}

mod also_property_of_a_property {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[table(also_property)]
        text: String,
    }
}

mod also_property_with_default {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key, also_property, default, alias = "Id")]
        id: String,
    }
}

fn main() {}
