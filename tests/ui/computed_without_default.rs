use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(computed = "handle")]
    handle: Handle,
}

struct Handle;

fn handle(_: &Blog) -> Handle {
    Handle
}

fn main() {}
