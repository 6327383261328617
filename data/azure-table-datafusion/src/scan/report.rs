//! The report of a range.

use azure_table_client::filter::Filter;

/// Reports the rows of a range as an event when its stream is dropped, with the message `range read`, or `range read in part`
/// if rows may be left.
pub(super) struct RangeReport {
    table: String,
    filter: String,
    rows: usize,
    is_complete: bool,
}

impl RangeReport {
    pub(super) fn new(table: &str, filter: Option<&Filter>) -> Self {
        let (table, filter) = (table.to_owned(), super::text(filter));
        Self { table, filter, rows: 0, is_complete: false }
    }

    pub(super) const fn add(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// The stream ended. It has all rows, unless it ended at its limit.
    pub(super) fn end(&mut self, limit: Option<usize>) {
        self.is_complete = limit.is_none_or(|limit| self.rows < limit);
    }
}

impl Drop for RangeReport {
    fn drop(&mut self) {
        let Self { table, filter, rows, is_complete } = self;
        let message = if *is_complete { "range read" } else { "range read in part" };
        tracing::info!(target: "azure_table_datafusion::scan", table, filter, rows, "{message}");
    }
}
