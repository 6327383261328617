use azure_table_client::entity::PropertyGroup;

#[derive(PropertyGroup)]
enum Address {
    Home,
}

fn main() {}
