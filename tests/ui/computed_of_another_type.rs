use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(computed = "sum")]
    sum: i32,
}

fn sum(_: &Blog) -> String {
    String::new()
}

fn main() {}
