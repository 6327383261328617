//! Keeps the spans and events of a test.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

/// The recorded spans and events, in the order of their beginning.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) spans: Vec<RecordedSpan>,
    pub(super) events: Vec<RecordedEvent>,
    stack: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct RecordedSpan {
    pub(super) name: &'static str,
    pub(super) parent: Option<usize>,
    pub(super) fields: Fields,
}

#[derive(Debug)]
pub(super) struct RecordedEvent {
    pub(super) level: Level,
    pub(super) parent: Option<usize>,
    pub(super) fields: Fields,
}

/// Follows a number that is not an `i64`; `tracing-opentelemetry` exports it as text.
pub(super) const AS_TEXT: &str = " as text";

#[derive(Debug, Default)]
pub(super) struct Fields(BTreeMap<&'static str, String>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name(), format!("{value}{AS_TEXT}"));
    }
    fn record_u128(&mut self, field: &Field, value: u128) {
        self.0.insert(field.name(), format!("{value}{AS_TEXT}"));
    }
}

impl Recorded {
    pub(super) fn calls(&self) -> impl Iterator<Item = (usize, &RecordedSpan)> {
        self.spans.iter().enumerate().filter(|(_, span)| span.name == "azure_table.call")
    }

    pub(super) fn attempts_of(&self, call: usize) -> Vec<&RecordedSpan> {
        let is_its =
            |span: &&RecordedSpan| span.parent == Some(call) && span.name == "azure_table.attempt";
        self.spans.iter().filter(is_its).collect()
    }

    /// The only call, and its attempts.
    #[track_caller]
    pub(super) fn one_call(&self) -> (&RecordedSpan, Vec<&RecordedSpan>) {
        let calls: Vec<_> = self.calls().collect();
        assert_eq!(calls.len(), 1, "{calls:?}");
        (calls[0].1, self.attempts_of(calls[0].0))
    }

    /// The warnings with this text.
    pub(super) fn warnings(&self, text: &str) -> Vec<&RecordedEvent> {
        let is_it = |event: &&RecordedEvent| {
            event.level == Level::WARN && event.fields.get("message") == text
        };
        self.events.iter().filter(is_it).collect()
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for fields in
            self.spans.iter().map(|s| &s.fields).chain(self.events.iter().map(|e| &e.fields))
        {
            writeln!(text, "{:?}", fields.0).unwrap();
        }
        text
    }
}

thread_local! {
    static RECORDED: RefCell<Recorded> = RefCell::default();
    static WITHOUT_SPANS: Cell<bool> = const { Cell::new(false) };
}

/// Records everything that one thread traces. Each test has its own thread.
pub(super) struct Recorder;

impl Recorder {
    /// Clears the recording.
    pub(super) fn start() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| tracing::subscriber::set_global_default(Self).unwrap());
        RECORDED.take();
        WITHOUT_SPANS.set(false);
    }

    /// Records warnings only, and no spans.
    pub(super) fn start_without_spans() {
        Self::start();
        WITHOUT_SPANS.set(true);
    }

    pub(super) fn take() -> Recorded {
        RECORDED.take()
    }
}

fn index(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Subscriber for Recorder {
    /// Each test decides for itself.
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("azure_table")
            && (!WITHOUT_SPANS.get() || *metadata.level() == Level::WARN)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        RECORDED.with_borrow_mut(|all| {
            let parent = all.stack.last().copied();
            all.spans.push(RecordedSpan { name: span.metadata().name(), parent, fields });
            Id::from_u64(all.spans.len() as u64)
        })
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        RECORDED.with_borrow_mut(|all| {
            if let Some(span) = all.spans.get_mut(index(id)) {
                values.record(&mut span.fields);
            }
        });
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = *event.metadata().level();
        RECORDED.with_borrow_mut(|all| {
            let parent = all.stack.last().copied();
            all.events.push(RecordedEvent { level, parent, fields });
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, id: &Id) {
        RECORDED.with_borrow_mut(|all| all.stack.push(index(id)));
    }

    fn exit(&self, _: &Id) {
        RECORDED.with_borrow_mut(|all| all.stack.pop());
    }
}
