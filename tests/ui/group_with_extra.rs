use azure_table_client::edm::EdmValue;
use azure_table_client::entity::PropertyGroup;

#[derive(PropertyGroup)]
struct Address {
    city: String,
    #[table(extra)]
    others: Vec<(String, EdmValue)>,
}

fn main() {}
