use azure_table_client::entity::PropertyGroup;

#[derive(PropertyGroup)]
#[table(name = "Addresses")]
struct Address {
    city: String,
}

fn main() {}
