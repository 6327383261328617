use azure_table_client::TableEntity;

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(with = "codec")]
    size: u8,
}

mod codec {
    use azure_table_client::edm::ConvertError;

    pub fn encode(size: &u8) -> Result<String, ConvertError> {
        Ok(size.to_string())
    }

    pub fn decode(text: &str) -> Result<u8, ConvertError> {
        Ok(text.len() as u8)
    }
}

fn main() {}
