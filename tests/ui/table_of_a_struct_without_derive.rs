use azure_table_client::TableServiceClient;

struct Blog {
    text: String,
}

fn open(service: &TableServiceClient) {
    let _ = service.table::<Blog>();
}

fn main() {}
