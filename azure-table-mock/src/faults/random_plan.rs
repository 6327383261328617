//! Fault plans that a seed selects.

use serde_json::{Map, Value, json};

use super::{AddedFault, Faults, random};
use crate::lock::lock;

/// The faults, as in [`Faults::add_json`]; the probability is the weight of a fault among the others.
///
/// Delays of 45 s are longer than a client waits: the attempt is applied after those that follow it. 3 s are longer than an
/// impatient caller waits. A wait of 600 s closes the partition of a bulk run.
const FAULTS: &str = include_str!("random_plan.json");
/// The operations of a fault that names none.
const OPERATIONS: &str =
    "Insert Merge Replace InsertOrMerge InsertOrReplace Delete Transaction Get Query";
/// Faults of every plan, in addition.
const OTHERS: &str = r#"[{"fault": "split_page", "probability": 0.2},
    {"fault": "table_being_deleted", "milliseconds": 2000, "probability": 0.5}]"#;

impl Faults<'_> {
    /// Adds random faults, which the seed selects, and returns them. `share` is the share of transactions that meet a
    /// fault, from 0 to 1; fewer other writes do, and fewer reads. Requests on tables do not fail, but the name of a deleted
    /// table may be unusable for two seconds.
    ///
    /// Each kind of fault is active for about half of the seeds, so that some seeds have many faults of one kind: requests
    /// and responses that are lost or late, up to longer than a client waits, writes that arrive twice or that are applied
    /// although the response is an error, throttling, pages of proxies and captive portals, and responses to other requests.
    /// In addition, pages of queries end early, at random. Another call adds other faults.
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{DynamicEntity, Operation};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// let mock = MockTableService::with_random_seed(17);
    /// let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    /// blogs.create().await?;
    /// let faults = mock.faults().random(0.3);
    /// for row in 0..50 {
    ///     let _ = blogs.insert(&DynamicEntity::new("Channel9", row.to_string())).await;
    /// }
    /// assert!(faults.iter().any(|fault| fault.struck() > 0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn random(&self, share: f64) -> Vec<AddedFault> {
        let (seed, added) = {
            let state = lock(&self.plan.state);
            (state.seed, state.added)
        };
        // The random numbers of requests have the numbers of faults, which never are that large.
        let is_active =
            |at: &u64| random::fraction(random::number([seed, u64::MAX - added, *at])) < 0.5;
        let read = |plan| serde_json::from_str::<Vec<Map<String, Value>>>(plan).unwrap_or_default();
        let active = (0..).zip(read(FAULTS)).filter(|(at, _)| is_active(at));
        let mut faults: Vec<_> = active.map(|(_, fault)| fault).collect();
        let weight = |fault: &Map<String, Value>| fault["probability"].as_f64().unwrap_or_default();
        let total: f64 = faults.iter().map(weight).sum();
        // The first of the faults strikes, so that a later one is drawn only if no earlier one strikes.
        let mut left = 1.0;
        for fault in &mut faults {
            let part = share.clamp(0.0, 1.0) * weight(fault) / total;
            fault.insert("probability".to_owned(), json!(part / left));
            fault.entry("on").or_insert_with(|| OPERATIONS.split(' ').collect());
            left -= part;
        }
        faults.extend(read(OTHERS));
        self.add_json(&json!(faults).to_string()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::TableService;

    #[test]
    fn a_seed_selects_about_half_of_the_faults_and_their_shares_add_up() {
        let mut plans = BTreeSet::new();
        for seed in 0..100 {
            let service = TableService::builder().random_seed(seed).build();
            let added = service.faults().random(0.3);
            assert!((5..30).contains(&added.len()), "{}", added.len());
            let plan = service.faults().to_json();
            let faults: serde_json::Value = serde_json::from_str(&plan).unwrap();
            let faults = faults["faults"].as_array().unwrap();
            let shares = faults.iter().map(|fault| fault["probability"].as_f64().unwrap());
            let failures = faults.len() - 2;
            let none: f64 = shares.take(failures).map(|probability| 1.0 - probability).product();
            assert!((none - 0.7).abs() < 1e-9, "{plan}");
            plans.insert(plan);
        }
        assert_eq!(plans.len(), 100);
    }
}
