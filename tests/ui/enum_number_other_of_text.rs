use azure_table_client::TableEnum;

#[derive(TableEnum)]
#[table(as_i32)]
enum Status {
    Draft,
    #[table(other)]
    Other(String),
}

fn main() {}
