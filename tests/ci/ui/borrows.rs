//! Errors that the borrow checker reports.

mod change_of_a_stored_entity {
    use azure_table_client::TableEntity;
    use azure_table_client::client::Fetched;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: u32,
        text: String,
        rating: i32,
        hot: bool,
    }

    fn change(mut blog: Fetched<Blog>) {
        blog.rating = 5;
    }
}

fn main() {}
