use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(row_key(year, id))]
struct Blog {
    #[table(partition_key)]
    channel: String,
    year: u32,
    id: String,
}

fn read() {
    let _ = Blog::row_prefix(("2009",));
}

fn main() {}
