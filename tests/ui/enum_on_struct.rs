use azure_table_client::TableEnum;

#[derive(TableEnum)]
struct Status;

fn main() {}
