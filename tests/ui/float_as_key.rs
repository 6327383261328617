use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: f64,
    #[table(row_key)]
    id: String,
}

fn main() {}
