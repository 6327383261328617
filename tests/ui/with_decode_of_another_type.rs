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

    pub fn encode(size: &u8) -> Result<i32, ConvertError> {
        Ok(i32::from(*size))
    }

    pub fn decode(size: i32) -> Result<u16, ConvertError> {
        Ok(size as u16)
    }
}

fn main() {}
