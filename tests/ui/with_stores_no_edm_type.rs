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

    pub fn encode(size: &u8) -> Result<u64, ConvertError> {
        Ok(u64::from(*size))
    }

    pub fn decode(size: u64) -> Result<u8, ConvertError> {
        Ok(size as u8)
    }
}

fn main() {}
