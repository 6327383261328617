//! The faults of the mock behind a loopback port.

use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableServer};
use azure_table_client::{DynamicEntity, ErrorKind, Proof, RetryPolicy, TableServiceClient};

use azure_table_tests::SocketTransport;

fn row(id: usize) -> DynamicEntity {
    let mut row = DynamicEntity::new("p", format!("{id:03}"));
    row.set("Text", "some text");
    row
}

#[tokio::test]
async fn by_reqwest() {
    faults_over_http(SocketTransport::Reqwest).await;
}

#[tokio::test]
async fn by_hyper() {
    faults_over_http(SocketTransport::Hyper).await;
}

async fn faults_over_http(transport: SocketTransport) {
    use ErrorKind::{Interrupted, Service, Timeout, UnexpectedReply};
    let long = Duration::from_secs(10 * 60);
    for (fault, kind, is_done) in [
        (Fault::refuse_connection(), Interrupted, false),
        (Fault::lose_request(), Interrupted, false),
        (Fault::lose_reply(), Interrupted, true),
        (Fault::hang(), Timeout, false),
        (Fault::delay_request(long), Timeout, true),
        (Fault::delay_reply(long), Timeout, true),
        (Fault::busy(), Service, false),
        (Fault::timed_out().after_commit(), Service, true),
        (Fault::proxy_page(502), UnexpectedReply, false),
    ] {
        let server = MockTableServer::start().await;
        let mock = server.service();
        let builder =
            TableServiceClient::builder_from_connection_string(&server.connection_string())
                .unwrap()
                .retry(RetryPolicy::none())
                .proof(Proof::Response)
                .try_timeout(Duration::from_millis(500));
        let service = transport.of(builder).build().unwrap();
        let table = service.table_named::<DynamicEntity>("Blogs");
        table.create().await.unwrap();
        let what = format!("{fault:?}");
        let added = mock.faults().add(fault);
        let error = table.insert(&row(1)).await.expect_err(&what);
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert_eq!(mock.row_count("Blogs"), Some(usize::from(is_done)), "{what}");
        assert_eq!(added.struck(), 1, "{what}");

        mock.faults().clear();
        table.insert(&row(2)).await.unwrap();
        mock.faults().add(Fault::truncate_reply());
        let error = table.get(("p", "002")).await.expect_err(&what);
        assert_eq!(error.kind(), UnexpectedReply, "{error}");
    }
}
