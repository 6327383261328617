use azure_table_client::entity::PropertyGroup;

#[derive(PropertyGroup)]
struct Address {
    #[table(on_missing = "collect")]
    city: String,
}

fn main() {}
