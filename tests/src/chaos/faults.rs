//! The faults of a round: about a third of the requests meet one.

use std::time::Duration;

use azure_table_client::Operation;
use azure_table_client::mock::{AddedFault, Fault, MockTableService};

/// A fault in the plan of a round.
#[derive(Debug, Clone)]
pub struct ActiveFault {
    /// What happens.
    pub name: &'static str,
    /// Counts the requests that met it.
    pub added: AddedFault,
    /// Whether it counts for the share of requests with a fault; short pages do not count.
    pub is_failure: bool,
    /// Whether it delivers a request twice.
    pub is_repetition: bool,
}

const ENTITY_OPERATIONS: [Operation; 9] = [
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

const WRITES: &[Operation] = ENTITY_OPERATIONS.split_at(7).0;

/// Closes the partition of a bulk run.
const CLOSING: &str = "busy for 10 minutes";
const REPEATED: &str = "delivered twice";
const SHORT_PAGE: &str = "short page";
const HELD_NAME: &str = "table being deleted";

/// Adds the faults to the mock.
pub fn add(mock: &MockTableService) -> Vec<ActiveFault> {
    let (ms, secs) = (Duration::from_millis, Duration::from_secs);
    let faults = [
        ("connection refused", Fault::refuse_connection(), 0.015),
        ("request lost", Fault::lose_request(), 0.02),
        ("reply lost", Fault::lose_reply(), 0.045),
        ("hang", Fault::hang(), 0.005),
        // Longer than the client waits: the attempt is applied after the attempts that follow it.
        ("applied after 45 s", Fault::delay_request(secs(45)), 0.02),
        // Longer than an impatient caller waits.
        ("applied after 3 s", Fault::delay_request(secs(3)), 0.02),
        ("applied after 5 ms", Fault::delay_request(ms(5)), 0.02),
        ("response after 45 s", Fault::delay_reply(secs(45)), 0.01),
        ("busy", Fault::busy().retry_after(secs(1)), 0.02),
        ("busy until a date", Fault::busy().retry_after_date(secs(2)), 0.01),
        (CLOSING, Fault::busy().retry_after(secs(600)), 0.03),
        ("429", Fault::too_many_requests(), 0.005),
        ("internal error", Fault::internal_error(), 0.01),
        ("internal error after commit", Fault::internal_error().after_commit(), 0.005),
        ("timeout", Fault::timed_out(), 0.01),
        ("timeout after commit", Fault::timed_out().after_commit(), 0.01),
        ("proxy's 502", Fault::proxy_page(502), 0.005),
        ("proxy's 502 after commit", Fault::proxy_page(502).after_commit(), 0.005),
        ("proxy's 503", Fault::proxy_page(503), 0.005),
        ("proxy's 503 after commit", Fault::proxy_page(503).after_commit(), 0.01),
        ("empty 503 after commit", Fault::proxy_page(503).without_body().after_commit(), 0.01),
        ("proxy's 200 after commit", Fault::proxy_page(200).after_commit(), 0.002),
        ("captive portal's 200", Fault::captive_portal(200), 0.004),
        ("captive portal's empty 200", Fault::captive_portal(200).without_body(), 0.004),
        ("captive portal's 204", Fault::captive_portal(204), 0.004),
        ("408", Fault::error(408, "RequestTimeout"), 0.003),
        ("408 after commit", Fault::error(408, "RequestTimeout").after_commit(), 0.005),
        ("response of another request", Fault::swap_reply(), 0.02),
        (REPEATED, Fault::deliver_twice(), 0.03),
        ("403 of the account", Fault::error(403, "AccountIsDisabled"), 0.002),
        ("404 of the table", Fault::error(404, "TableNotFound"), 0.002),
        ("truncated response", Fault::truncate_reply(), 0.005),
        (SHORT_PAGE, Fault::split_page(), 0.2),
        (HELD_NAME, Fault::table_being_deleted(secs(2)), 0.5),
    ];
    let active = faults.map(|(name, fault, probability)| {
        // Creating and deleting the table always works, so that the test knows which rows a deletion
        // removed.
        let operations = match name {
            CLOSING => &[Operation::Transaction],
            REPEATED => WRITES,
            SHORT_PAGE | HELD_NAME => &[],
            _ => &ENTITY_OPERATIONS[..],
        };
        let fault = operations.iter().fold(fault, |fault, operation| fault.on(*operation));
        let added = mock.faults().add(fault.probability(probability));
        let is_failure = ![SHORT_PAGE, HELD_NAME].contains(&name);
        ActiveFault { name, added, is_failure, is_repetition: name == REPEATED }
    });
    active.into()
}
