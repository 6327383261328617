//! OpenTelemetry to the console: the spans of a call and of its attempts, and the time of the calls as
//! a histogram.
//!
//! The client creates the spans. An observer fills the histogram, whose name follows the
//! conventions of OpenTelemetry. For a collector, use `opentelemetry-otlp` instead of
//! `opentelemetry-stdout`.
//!
//! `cargo run -p azure-table-integrations --example console_telemetry` runs it on the mock, which is busy once. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use azure_table_client::mock::Fault;
use azure_table_client::telemetry::{CallOutcome, Finished, Observer};
use azure_table_client::{DynamicEntity, ErrorCode, Operation, TableServiceClient};
use opentelemetry::metrics::{Histogram, MeterProvider as _};
use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

const TABLE: &str = "ExampleTelemetry";

/// Records the durations of the calls.
#[derive(Debug)]
struct Durations(Histogram<f64>);

impl Observer for Durations {
    fn call_finished(&self, finished: &Finished<'_>) {
        let mut attributes = vec![
            KeyValue::new("db.system.name", "azure.table_storage"),
            KeyValue::new("db.operation.name", finished.operation.as_str()),
            KeyValue::new("db.collection.name", finished.table.to_owned()),
        ];
        if let CallOutcome::Failed(error) = finished.outcome {
            let kind = error.code().map_or("_OTHER", ErrorCode::as_str).to_owned();
            attributes.push(KeyValue::new("error.type", kind));
        }
        self.0.record(finished.duration.as_secs_f64(), &attributes);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let resource = Resource::builder().with_service_name("console-telemetry").build();
    // Keeps the printed spans for the checks below.
    let printed = InMemorySpanExporter::default();
    let traces = SdkTracerProvider::builder()
        .with_resource(resource.clone())
        .with_simple_exporter(opentelemetry_stdout::SpanExporter::default())
        .with_simple_exporter(printed.clone())
        .build();
    // DEBUG includes the attempts, INFO only the calls.
    let wanted = Targets::new().with_target("azure_table_client", LevelFilter::DEBUG);
    let layer = tracing_opentelemetry::layer().with_tracer(traces.tracer("console_telemetry"));
    let layer = layer.with_location(false).with_threads(false).with_tracked_inactivity(false);
    tracing_subscriber::registry().with(layer.with_filter(wanted)).init();
    let metrics = SdkMeterProvider::builder()
        .with_resource(resource)
        .with_periodic_exporter(opentelemetry_stdout::MetricExporter::default())
        .build();
    let meter = metrics.meter("console_telemetry");
    let durations = meter
        .f64_histogram("db.client.operation.duration")
        .with_unit("s")
        .with_boundaries(vec![0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0])
        .build();

    let (builder, mock) = azure_table_examples::builder()?;
    let service = builder.observer(Arc::new(Durations(durations))).build()?;
    if let Some(mock) = &mock {
        mock.faults().add(Fault::busy().on(Operation::Insert).times(1));
    }
    work(&service).await?;
    let spans = printed.get_finished_spans()?;
    // Sends the spans that are not sent yet.
    traces.shutdown()?;
    metrics.shutdown()?;

    let attempts = check(&spans)?;
    println!("\n{} spans; the insert took {attempts} attempts.", spans.len());
    assert_eq!(attempts, if mock.is_some() { 2 } else { 1 });
    Ok(())
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let blogs = service.table_named::<DynamicEntity>(TABLE);
    blogs.create().await?;
    let mut blog = DynamicEntity::new("Channel9", "secret-key");
    blog.set("Text", "secret text");
    blogs.insert(&blog).await?;
    // The row does not exist, which is an expected result.
    blogs.get_if_exists(("Channel9", "secret-name")).await?;
    blogs.delete_table().await?;
    Ok(())
}

/// Checks the spans of the insert. Returns the number of its attempts.
fn check(spans: &[SpanData]) -> Result<usize, Box<dyn Error>> {
    let name = format!("Insert {TABLE}");
    let call = spans.iter().find(|span| span.name == name).ok_or("no span of the insert")?;
    assert_eq!(call.span_kind, SpanKind::Client);
    let attempts: Vec<_> =
        spans.iter().filter(|span| span.parent_span_id == call.span_context.span_id()).collect();
    let (last, before) = attempts.split_last().ok_or("no attempt")?;
    // A retried attempt is an error; the call that succeeds is not.
    for failed in before {
        assert!(matches!(failed.status, Status::Error { .. }));
        assert_eq!(attribute(failed, "http.response.status_code"), Some(Value::I64(503)));
    }
    assert_eq!(attribute(last, "http.response.status_code"), Some(Value::I64(204)));
    assert_eq!((&last.status, &call.status), (&Status::Unset, &Status::Unset));
    let counted = i64::try_from(attempts.len())?;
    assert_eq!(attribute(call, "azure_table.attempts"), Some(Value::I64(counted)));
    // The spans contain neither keys nor values.
    assert!(!format!("{spans:?}").contains("secret"));
    Ok(attempts.len())
}

fn attribute(span: &SpanData, name: &str) -> Option<Value> {
    span.attributes.iter().find(|known| known.key.as_str() == name).map(|known| known.value.clone())
}
