use azure_table_client::entity::PropertyGroup;

#[derive(PropertyGroup)]
struct Address {
    #[table(partition_key)]
    city: String,
}

fn main() {}
