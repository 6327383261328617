use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(series, skip_if = "is_idle")]
    cpu: [f64; 24],
}

fn main() {}
