//! The limits on the filters of one request.

use azure_table_client::filter::Filter;
use azure_table_client::limits::COMPARISONS;

use super::Forbidden;

/// The bounds of a key range, which every request may have besides the pushed filters.
const BOUNDS: usize = 2;
/// The limit on the encoded text of the pushed filters. It leaves most of a URL to the bounds, the selected columns and the
/// continuation.
const TEXT_BYTES: usize = 4096;

/// The comparisons and the bytes that are left for filters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    comparisons: usize,
    bytes: usize,
}

impl Budget {
    pub(crate) const fn new(forbidden: Forbidden) -> Self {
        if forbidden.any_length {
            return Self { comparisons: usize::MAX, bytes: usize::MAX };
        }
        Self { comparisons: COMPARISONS - BOUNDS, bytes: TEXT_BYTES }
    }

    pub(crate) fn fits(&self, filter: &Filter) -> bool {
        filter.comparisons() <= self.comparisons && encoded_bytes(filter) <= self.bytes
    }

    /// Reserves the space of a filter. Returns `false` if there is not enough.
    pub(crate) fn take(&mut self, filter: &Filter) -> bool {
        let fits = self.fits(filter);
        if fits {
            self.comparisons -= filter.comparisons();
            self.bytes -= encoded_bytes(filter);
        }
        fits
    }
}

/// The bytes in a URL, at most: with `and` and parentheses, and every byte percent-encoded that may be.
fn encoded_bytes(filter: &Filter) -> usize {
    let text = filter.to_string();
    let plain = text.bytes().filter(u8::is_ascii_alphanumeric).count();
    plain + 3 * (text.len() - plain) + " and ()".len() * 3
}
