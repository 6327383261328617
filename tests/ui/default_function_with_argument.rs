use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(default = "three")]
    rating: i32,
}

fn three(plus: i32) -> i32 {
    3 + plus
}

fn main() {}
