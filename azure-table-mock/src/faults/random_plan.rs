//! Fault plans that a seed selects.

use std::time::Duration;

use super::{AddedFault, Fault, Faults, random};
use crate::lock::lock;
use crate::wire::Operation;

const WRITES: &[Operation] = OPERATIONS.split_at(7).0;
const OPERATIONS: [Operation; 9] = [
    Operation::Insert,
    Operation::Merge,
    Operation::Replace,
    Operation::InsertOrMerge,
    Operation::InsertOrReplace,
    Operation::Delete,
    Operation::Transaction,
    Operation::Get,
    Operation::Query,
];

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
            |at: u64| random::fraction(random::number([seed, u64::MAX - added, at])) < 0.5;
        let active = (0..).zip(failures()).filter(|(at, _)| is_active(*at));
        let active: Vec<_> = active.map(|(_, weighted)| weighted).collect();
        let total: f64 = active.iter().map(|(_, weight)| weight).sum();
        // The first of the faults strikes, so that a later one is drawn only if no earlier one strikes.
        let mut left = 1.0;
        let failures = active.into_iter().map(|(fault, weight)| {
            let part = share.clamp(0.0, 1.0) * weight / total;
            let probability = part / left;
            left -= part;
            fault.probability(probability)
        });
        let others = [
            Fault::split_page().probability(0.2),
            Fault::table_being_deleted(Duration::from_secs(2)).probability(0.5),
        ];
        failures.chain(others).map(|fault| self.add(fault)).collect()
    }
}

/// The faults that are drawn, with their weights.
fn failures() -> impl Iterator<Item = (Fault, f64)> {
    let (ms, secs) = (Duration::from_millis, Duration::from_secs);
    let of_any = [
        (Fault::refuse_connection(), 15.0),
        (Fault::lose_request(), 20.0),
        (Fault::lose_reply(), 45.0),
        (Fault::hang(), 5.0),
        // Longer than a client waits: the attempt is applied after the attempts that follow it.
        (Fault::delay_request(secs(45)), 20.0),
        // Longer than an impatient caller waits.
        (Fault::delay_request(secs(3)), 20.0),
        (Fault::delay_request(ms(5)), 20.0),
        (Fault::delay_reply(secs(45)), 10.0),
        (Fault::busy().retry_after(secs(1)), 20.0),
        (Fault::busy().retry_after_date(secs(2)), 10.0),
        (Fault::too_many_requests(), 5.0),
        (Fault::internal_error(), 10.0),
        (Fault::internal_error().after_commit(), 5.0),
        (Fault::timed_out(), 10.0),
        (Fault::timed_out().after_commit(), 10.0),
        (Fault::proxy_page(502), 5.0),
        (Fault::proxy_page(502).after_commit(), 5.0),
        (Fault::proxy_page(503), 5.0),
        (Fault::proxy_page(503).after_commit(), 10.0),
        (Fault::proxy_page(503).without_body().after_commit(), 10.0),
        (Fault::proxy_page(200).after_commit(), 2.0),
        (Fault::captive_portal(200), 4.0),
        (Fault::captive_portal(200).without_body(), 4.0),
        (Fault::captive_portal(204), 4.0),
        (Fault::error(408, "RequestTimeout"), 3.0),
        (Fault::error(408, "RequestTimeout").after_commit(), 5.0),
        (Fault::swap_reply(), 20.0),
        (Fault::error(403, "AccountIsDisabled"), 2.0),
        (Fault::error(404, "TableNotFound"), 2.0),
        (Fault::truncate_reply(), 5.0),
    ];
    let on = |fault: Fault, operations: &[Operation]| {
        operations.iter().fold(fault, |fault, operation| fault.on(*operation))
    };
    let of_any = of_any.into_iter().map(move |(fault, weight)| (on(fault, &OPERATIONS), weight));
    // It closes the partition of a bulk run.
    let closes = Fault::busy().retry_after(secs(600)).on(Operation::Transaction);
    of_any.chain([(closes, 30.0), (on(Fault::deliver_twice(), WRITES), 30.0)])
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
