use azure_table_client::TableEnum;

#[derive(TableEnum)]
#[table(as_int)]
enum Level {
    Low,
}

fn main() {}
