use azure_table_client::TableEntity;
use azure_table_client::edm::{ConvertError, EdmCow, EdmType, ToEdm};

struct Views(i64);

impl ToEdm for Views {
    const EDM_TYPE: EdmType = EdmType::Int64;

    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        self.0.to_edm()
    }
}

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    views: Views,
}

fn main() {}
