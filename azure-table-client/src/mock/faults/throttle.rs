//! How much each partition may still do.

use std::collections::HashMap;
use std::time::SystemTime;

use super::subject::Subject;

/// A bucket for each partition: it fills at the rate that is allowed, up to what is allowed in a
/// second.
#[derive(Debug, Default)]
pub(super) struct Buckets(HashMap<(String, String), Bucket>);

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: SystemTime,
}

impl Buckets {
    /// Takes the entities of a request out, if they are there.
    pub(super) fn take(&mut self, per_second: u32, subject: &Subject, now: SystemTime) -> bool {
        // No request is about several partitions.
        let Some((partition, _)) = subject.keys.first() else { return true };
        let most = f64::from(per_second);
        let entities = f64::from(u32::try_from(subject.keys.len()).unwrap_or(u32::MAX));
        let table = subject.table.clone().unwrap_or_default().to_ascii_lowercase();
        let bucket =
            self.0.entry((table, partition.clone())).or_insert(Bucket { left: most, at: now });
        let since = now.duration_since(bucket.at).unwrap_or_default();
        bucket.left = (bucket.left + since.as_secs_f64() * most).min(most);
        bucket.at = now;
        // One that is larger than the bucket waits until it is full, and then owes the rest.
        if bucket.left < entities.min(most) || per_second == 0 {
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

    fn subject(partition: &str, entities: usize) -> Subject {
        Subject {
            operation: Operation::Transaction,
            table: Some("Blogs".to_owned()),
            keys: (0..entities).map(|n| (partition.to_owned(), n.to_string())).collect(),
        }
    }

    #[test]
    fn a_second_of_entities_at_once_and_then_the_rate() {
        let mut buckets = Buckets::default();
        let at = |ms| UNIX_EPOCH + Duration::from_millis(ms);
        let mut take =
            |partition, entities, ms| buckets.take(100, &subject(partition, entities), at(ms));
        assert!(take("p", 60, 0) && take("p", 40, 0) && !take("p", 1, 0));
        assert!(take("q", 100, 0), "another partition");
        assert!(!take("p", 51, 500) && take("p", 50, 500));
        assert!(!take("p", 1, 400), "a clock that goes back");
        assert!(take("p", 100, 60_000) && !take("p", 1, 60_000), "no more than a second's");
        assert!(take("p", 0, 60_000), "a query");
    }

    #[test]
    fn what_is_larger_than_the_bucket_passes_and_owes() {
        let mut buckets = Buckets::default();
        let mut take =
            |s, n| buckets.take(50, &subject("p", n), UNIX_EPOCH + Duration::from_secs(s));
        assert!(take(0, 100) && !take(1, 1) && take(2, 50));
        assert!(!Buckets::default().take(0, &subject("p", 1), UNIX_EPOCH));
    }
}
