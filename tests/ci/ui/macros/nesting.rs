//! Types that are nested too deep for the compiler's stack.

mod options {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        #[rustfmt::skip]
        views: Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<Option<u8>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>,
    }
}

mod references {
    use azure_table_client::TableValue;

    #[derive(TableValue)]
    struct Text(#[rustfmt::skip] &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static &'static str);
}

fn main() {}
