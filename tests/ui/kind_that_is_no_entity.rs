use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(discriminator = "Kind")]
enum Item {
    Text(String),
}

fn main() {}
