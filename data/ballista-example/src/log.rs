//! The events of scans, printed.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::Error;

/// Prints a line for each key range that this process reads, for example `range read: 895 rows, PartitionKey ge 'region-02'`.
pub(crate) fn print_ranges() -> Result<(), Error> {
    Ok(tracing_subscriber::registry().with(Ranges).try_init()?)
}

struct Ranges;

impl<S: Subscriber> Layer<S> for Ranges {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "azure_table_datafusion::scan" {
            let mut fields = Fields::default();
            event.record(&mut fields);
            println!("{}: {} rows, {}", fields.message, fields.rows, fields.filter);
        }
    }
}

/// The texts of an event.
#[derive(Default)]
struct Fields {
    message: String,
    rows: String,
    filter: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "filter" {
            value.clone_into(&mut self.filter);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "rows" => self.rows = format!("{value:?}"),
            _ => {}
        }
    }
}
