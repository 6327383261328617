use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(PartitionKey)]
    channel: String,
    #[table(rowkey)]
    id: String,
    text: String,
}

fn main() {}
