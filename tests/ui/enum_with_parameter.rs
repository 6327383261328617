use azure_table_client::TableEnum;

#[derive(TableEnum)]
enum Status<T> {
    Draft,
    #[table(other)]
    Other(T),
}

fn main() {}
