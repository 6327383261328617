use azure_table_client::TableEnum;

#[derive(TableEnum)]
#[table(rename_all = "lowercase")]
enum Status {
    Draft,
    DRAFT,
}

fn main() {}
