//! The rate limits of partitions and of the account.

use std::collections::HashMap;
use std::time::SystemTime;

use super::scope::FaultSubject;

/// The entities per second that a partition or the account accepts.
#[derive(Debug, Clone, Copy)]
pub(super) enum ThrottleLimit {
    Partition(u32),
    Account(u32),
}

/// One token bucket per partition, or one for the account. It fills at the allowed rate, up to the entities of one
/// second.
#[derive(Debug, Default)]
pub(super) struct Buckets(HashMap<(String, String), Bucket>);

#[derive(Debug)]
struct Bucket {
    left: f64,
    updated: SystemTime,
}

impl Buckets {
    /// Removes the entities of a request from its bucket. Returns `false` if the bucket holds too few.
    pub(super) fn take(
        &mut self,
        limit: ThrottleLimit,
        subject: &FaultSubject,
        now: SystemTime,
    ) -> bool {
        let Some((partition, _)) = subject.keys.first() else { return true };
        let entities = f64::from(u32::try_from(subject.keys.len()).unwrap_or(u32::MAX));
        let (per_second, key) = match limit {
            ThrottleLimit::Partition(per_second) => {
                let table = subject.table.clone().unwrap_or_default().to_ascii_lowercase();
                (per_second, (table, partition.clone()))
            }
            ThrottleLimit::Account(per_second) => (per_second, Default::default()),
        };
        let capacity = f64::from(per_second);
        let bucket = self.0.entry(key).or_insert(Bucket { left: capacity, updated: now });
        let since = now.duration_since(bucket.updated).unwrap_or_default();
        bucket.left = (bucket.left + since.as_secs_f64() * capacity).min(capacity);
        bucket.updated = now;
        // A request larger than the bucket passes when the bucket is full, which then owes the rest.
        if bucket.left < entities.min(capacity) || per_second == 0 {
            return false;
        }
        bucket.left -= entities;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::wire::Operation;

    fn subject(partition: &str, entities: usize) -> FaultSubject {
        FaultSubject {
            operation: Operation::Transaction,
            table: Some("Blogs".to_owned()),
            keys: (0..entities).map(|n| (partition.to_owned(), n.to_string())).collect(),
        }
    }

    #[test]
    fn a_burst_of_one_second_passes_and_then_the_rate_applies() {
        let mut buckets = Buckets::default();
        let at = |ms| UNIX_EPOCH + Duration::from_millis(ms);
        let mut take = |partition, entities, ms| {
            buckets.take(ThrottleLimit::Partition(100), &subject(partition, entities), at(ms))
        };
        assert!(take("p", 60, 0) && take("p", 40, 0) && !take("p", 1, 0));
        assert!(take("q", 100, 0), "another partition");
        assert!(!take("p", 51, 500) && take("p", 50, 500));
        assert!(!take("p", 1, 400), "the clock goes back");
        assert!(
            take("p", 100, 60_000) && !take("p", 1, 60_000),
            "at most the entities of one second"
        );
        assert!(take("p", 0, 60_000), "a query");
    }

    #[test]
    fn a_request_larger_than_the_bucket_passes_and_owes_the_rest() {
        let mut buckets = Buckets::default();
        let limit = ThrottleLimit::Partition(50);
        let mut take =
            |s, n| buckets.take(limit, &subject("p", n), UNIX_EPOCH + Duration::from_secs(s));
        assert!(take(0, 100) && !take(1, 1) && take(2, 50));
        let nothing = ThrottleLimit::Partition(0);
        assert!(!Buckets::default().take(nothing, &subject("p", 1), UNIX_EPOCH));
    }

    #[test]
    fn the_partitions_of_an_account_share_its_limit() {
        let mut buckets = Buckets::default();
        let mut take = |partition| {
            buckets.take(ThrottleLimit::Account(100), &subject(partition, 50), UNIX_EPOCH)
        };
        assert!(take("p") && take("q") && !take("r"));
    }
}
