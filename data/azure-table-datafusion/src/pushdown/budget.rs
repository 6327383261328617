//! The limits on the filters of one request.

use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::limits::COMPARISONS;

/// The bounds of a key range, which every request may have besides the pushed filters.
const BOUNDS: usize = 2;
/// The limit on the encoded text of the pushed filters. It leaves most of a URL to the bounds, the selected columns and the
/// continuation.
const TEXT_BYTES: usize = 4096;
/// The limit on the partition keys of a list. The client reads each partition with a request of its own.
const PARTITIONS: usize = 1000;

/// The comparisons and the bytes that are left for filters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    comparisons: usize,
    bytes: usize,
}

impl Budget {
    pub(crate) const fn new() -> Self {
        Self { comparisons: COMPARISONS - BOUNDS, bytes: TEXT_BYTES }
    }

    pub(crate) fn fits(&self, filter: &Filter) -> bool {
        let needed = Self::needed_by(filter);
        needed.comparisons <= self.comparisons && needed.bytes <= self.bytes
    }

    /// Returns the space that a filter needs in the largest of its requests.
    fn needed_by(filter: &Filter) -> Self {
        let all = match filter {
            Filter::Or { 0: all, .. }
                if all.len() <= PARTITIONS && all.iter().all(is_partition) =>
            {
                all
            }
            one => std::slice::from_ref(one),
        };
        Self {
            comparisons: all.iter().map(Filter::comparisons).max().unwrap_or_default(),
            bytes: all.iter().map(encoded_bytes).max().unwrap_or_default(),
        }
    }

    /// Reserves the space of a filter. Returns `false` if there is not enough.
    pub(crate) fn take(&mut self, filter: &Filter) -> bool {
        let fits = self.fits(filter);
        if fits {
            let needed = Self::needed_by(filter);
            self.comparisons -= needed.comparisons;
            self.bytes -= needed.bytes;
        }
        fits
    }
}

/// Whether the filter is a whole partition.
fn is_partition(filter: &Filter) -> bool {
    matches!(filter, Filter::Compare { property, op: CompareOp::Eq, .. } if property == "PartitionKey")
}

/// The bytes in a URL, at most: with `and` and parentheses, and every byte percent-encoded that may be.
fn encoded_bytes(filter: &Filter) -> usize {
    let text = filter.to_string();
    let plain = text.bytes().filter(u8::is_ascii_alphanumeric).count();
    plain + 3 * (text.len() - plain) + " and ()".len() * 3
}
