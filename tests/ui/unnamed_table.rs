use azure_table_client::TableEntity;
use azure_table_client::entity::NamedTable;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    text: String,
}

fn name<T: NamedTable>() -> &'static str {
    T::TABLE_NAME
}

fn main() {
    name::<Blog>();
}
