use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(discriminator = "Kind")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
}

fn main() {}
