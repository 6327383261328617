use azure_table_client::filter::Projection;
use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    text: String,
    rating: Option<i32>,
}

#[derive(Projection)]
#[table(of = "Blog")]
struct Summary {
    #[table(rename = "Text")]
    text: String,
    #[table(column = "the rating")]
    stars: Option<i32>,
    #[table(colum = "rating")]
    likes: Option<i32>,
}

fn main() {}
