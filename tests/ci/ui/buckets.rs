//! A constant of a key type is evaluated before those of the structs, and hides their errors.

mod no_buckets {
    use azure_table_client::TableEntity;
    use azure_table_client::entity::Bucketed;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: Bucketed<u8, 0>,
        #[table(row_key)]
        id: u32,
    }
}

fn main() {}
