//! The faults of a round: about a third of the requests meet one.

use azure_table_client::mock::{AddedFault, MockTableService};
use serde_json::Value;

/// The share of requests on entities that meet a fault.
const SHARE: f64 = 1.0 / 3.0;

/// A fault in the plan of a round.
#[derive(Debug, Clone)]
pub struct ActiveFault {
    /// The fault without its scope.
    pub name: String,
    /// Counts the requests that met it.
    pub added: AddedFault,
    /// Whether it counts for the share of requests with a fault; short pages do not count.
    pub is_failure: bool,
    /// Whether it delivers a request twice.
    pub is_repetition: bool,
}

/// Adds the faults that the seed of the mock selects.
pub fn add(mock: &MockTableService) -> Vec<ActiveFault> {
    let added = mock.faults().random(SHARE);
    let plan: Value = serde_json::from_str(&mock.faults().to_json()).unwrap();
    let faults = plan["faults"].as_array().unwrap();
    assert_eq!(faults.len(), added.len());
    added.into_iter().zip(faults).map(|(added, fault)| ActiveFault::new(added, fault)).collect()
}

impl ActiveFault {
    fn new(added: AddedFault, fault: &Value) -> Self {
        let kind = fault["fault"].as_str().unwrap();
        let members = fault.as_object().unwrap().iter();
        let details =
            members.filter(|it| !["fault", "on", "probability", "struck"].contains(&&**it.0));
        let details = details.map(|(name, value)| format!(" {name}={value}"));
        Self {
            name: format!("{kind}{}", details.collect::<String>()),
            added,
            is_failure: !["split_page", "table_being_deleted"].contains(&kind),
            is_repetition: kind == "deliver_twice",
        }
    }
}
