use azure_table_client::TableEnum;

#[derive(TableEnum)]
#[table(as_i32)]
enum Level {
    #[table(rename = "low")]
    Low = 1,
}

fn main() {}
