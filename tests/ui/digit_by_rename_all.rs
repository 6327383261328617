use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    _2nd_text: String,
}

fn main() {}
