use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(computed = "sum", rename = "Sum")]
    sum: i32,
}

fn sum(_: &Blog) -> i32 {
    5
}

fn main() {}
