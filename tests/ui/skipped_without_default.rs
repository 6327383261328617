use azure_table_client::TableEntity;

struct Handle(i32);

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(skip)]
    handle: Handle,
}

fn main() {}
