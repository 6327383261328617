//! The number of requests in flight. No I/O.

/// Limits the number of requests in flight. The limit grows by one after each group of responses, and shrinks by
/// 30 % if an eighth of them report that a partition is throttled. That points to a limit of the account or of its
/// connections that the [`RateLimit`](super::rate_limit::RateLimit)s do not know.
#[derive(Debug)]
pub(super) struct Concurrency {
    limit: usize,
    most: usize,
    responses: u32,
    throttled: u32,
}

/// The number of responses after which the limit is adjusted.
const RESPONSES: u32 = 16;

impl Concurrency {
    pub(super) fn new(most: usize) -> Self {
        Self { limit: most, most, responses: 0, throttled: 0 }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn responded(&mut self, is_throttled: bool) {
        self.responses += 1;
        self.throttled += u32::from(is_throttled);
        if self.responses < RESPONSES {
            return;
        }
        self.limit = if self.throttled * 8 >= self.responses {
            (self.limit * 7 / 10).max(1)
        } else {
            (self.limit + 1).min(self.most)
        };
        (self.responses, self.throttled) = (0, 0);
    }
}
