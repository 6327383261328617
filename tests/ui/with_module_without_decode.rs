use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(with = "upper")]
    text: String,
}

mod upper {
    use azure_table_client::edm::ConvertError;

    pub fn encode(text: &str) -> Result<String, ConvertError> {
        Ok(text.to_uppercase())
    }
}

fn main() {}
