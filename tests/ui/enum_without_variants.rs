use azure_table_client::TableEnum;

#[derive(TableEnum)]
enum Status {}

fn main() {}
