use azure_table_client::TableEntity;

#[derive(TableEntity)]
#[table(name = "Blogs")]
enum Blog {
    Draft { text: String },
    Published { text: String, rating: i32 },
}

fn main() {}
