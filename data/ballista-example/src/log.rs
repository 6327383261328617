//! The events of scans, printed.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::Error;

/// Prints a line for each key range that this process reads.
pub(crate) fn print_ranges(process: &str) -> Result<(), Error> {
    Ok(tracing_subscriber::registry().with(Ranges { process: process.to_owned() }).try_init()?)
}

struct Ranges {
    process: String,
}

impl<S: Subscriber> Layer<S> for Ranges {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "azure_table_datafusion::scan" {
            let mut fields = Fields::default();
            event.record(&mut fields);
            println!("{}: {}: {}", self.process, fields.message, fields.others.join(", "));
        }
    }
}

/// The texts of an event.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.others.push(format!("{name}={value:?}")),
        }
    }
}
