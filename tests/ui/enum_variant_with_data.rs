use azure_table_client::TableEnum;

#[derive(TableEnum)]
enum Status {
    Draft,
    Live(i32),
}

fn main() {}
