use azure_table_client::TableEntity;

#[derive(TableEntity)]
union Blog {
    text: i32,
    rating: f32,
}

fn main() {}
