use azure_table_client::TableEnum;

#[derive(TableEnum)]
enum Status {
    Draft,
    #[table(other)]
    Other(u32),
}

fn main() {}
