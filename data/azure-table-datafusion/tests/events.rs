//! The events of scans. The test has a process of its own, because it sets the subscriber of the process.

use std::sync::{Arc, Mutex, PoisonError};

use azure_table_arrow::SchemaOptions;
use azure_table_client::DynamicEntity;
use azure_table_client::mock::MockTableService;
use azure_table_datafusion::AzureTable;
use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures_util::TryStreamExt as _;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{self, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// The message and the number of rows of each event.
#[derive(Default, Clone)]
struct Events(Arc<Mutex<Vec<(String, String)>>>);

#[derive(Default)]
struct Texts {
    message: String,
    rows: String,
}

impl Visit for Texts {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "rows" => self.rows = format!("{value:?}"),
            _ => {}
        }
    }
}

impl<S: Subscriber> Layer<S> for Events {
    fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
        if event.metadata().target() == "azure_table_datafusion::scan" {
            let mut texts = Texts::default();
            event.record(&mut texts);
            let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            events.push((texts.message, texts.rows));
        }
    }
}

#[tokio::test]
async fn a_range_is_reported_as_read_only_at_its_end() {
    let events = Events::default();
    tracing_subscriber::registry().with(events.clone()).init();
    let reported = || std::mem::take(&mut *events.0.lock().unwrap());
    let event = |message: &str, rows: usize| (message.to_owned(), rows.to_string());

    let table = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    for row in 0..100 {
        table.insert(&DynamicEntity::new("p", format!("{row:02}"))).await.unwrap();
    }
    let table = AzureTable::infer(table, 1, &SchemaOptions::new()).await.unwrap();
    let session = SessionContext::new_with_config(SessionConfig::new().with_batch_size(7));
    session.register_table("t", Arc::new(table)).unwrap();
    let stream = async |sql| session.sql(sql).await.unwrap().execute_stream().await.unwrap();

    let rows: Vec<_> = stream("SELECT * FROM t").await.try_collect().await.unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 100);
    assert_eq!(reported(), [event("range read", 100)]);

    let mut rows = stream("SELECT * FROM t").await;
    assert_eq!(rows.try_next().await.unwrap().unwrap().num_rows(), 7);
    assert_eq!(reported(), []);
    drop(rows);
    assert_eq!(reported(), [event("range read in part", 7)]);

    // A limit that is sent leaves rows in the table.
    let rows: Vec<_> = stream("SELECT * FROM t LIMIT 10").await.try_collect().await.unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    assert_eq!(reported(), [event("range read in part", 10)]);
}
