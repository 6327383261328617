use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
}

fn read() {
    let _ = Blog::key("Channel9", 5);
}

fn main() {}
