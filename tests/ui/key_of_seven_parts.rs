use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(partition_key(a, b, c, d, e, f, g))]
struct Blog {
    a: u8,
    b: u8,
    c: u8,
    d: u8,
    e: u8,
    f: u8,
    g: u8,
    #[table(row_key)]
    id: String,
}

fn main() {}
