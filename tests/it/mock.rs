//! The service as the client sees it.

mod data;
mod endpoints;
mod records;
mod rows;
mod signatures;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_client::clock::Clock;
use azure_table_client::mock::MockTableService;

/// A clock that does not advance.
#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(419_532 * 3600)
    }
}

/// A service that checks signatures, with a table.
async fn with_blogs() -> MockTableService {
    let service = MockTableService::builder().clock(Arc::new(Standing)).build();
    service.client().create_table("Blogs").await.unwrap();
    service.requests().clear();
    service
}

#[test]
fn values_can_be_sent_shared_and_cloned() {
    fn is_shared<T: Send + Sync>() {}
    fn is_value<T: Send + Sync + Clone>() {}
    is_value::<azure_table_mock::DiskStatus>();
    is_value::<azure_table_mock::SeedError>();
    is_shared::<azure_table_mock::Seed>();
}
