//! An access policy in a manifest.

use azure_table_client::client::StoredAccessPolicy;
use azure_table_client::edm::EdmDateTime;
use serde::{Deserialize, Serialize};

use crate::engine::permissions::table_permissions;
use crate::failure::{Exit, Failure, Result};

/// A policy as texts, in the forms of `policies get --output jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    id: String,
    permissions: Option<String>,
    start: Option<String>,
    expiry: Option<String>,
}

impl From<&StoredAccessPolicy> for Policy {
    fn from(policy: &StoredAccessPolicy) -> Self {
        Self {
            id: policy.id.clone(),
            permissions: policy.permissions.map(|permissions| permissions.to_string()),
            start: policy.start.map(|time| time.to_string()),
            expiry: policy.expiry.map(|time| time.to_string()),
        }
    }
}

impl Policy {
    /// Returns the policy for the service.
    pub(crate) fn stored(&self) -> Result<StoredAccessPolicy> {
        let time = |text: &String| {
            text.parse::<EdmDateTime>().map_err(|error| {
                let message = format!("the policy {:?} has an invalid time: {error}", self.id);
                Failure::new(Exit::Failed, message)
            })
        };
        Ok(StoredAccessPolicy {
            permissions: self.permissions.as_deref().map(table_permissions).transpose()?,
            start: self.start.as_ref().map(time).transpose()?,
            expiry: self.expiry.as_ref().map(time).transpose()?,
            ..StoredAccessPolicy::new(&*self.id)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_survives_its_text() {
        let full = Policy {
            id: "readers".to_owned(),
            permissions: Some("rd".to_owned()),
            start: Some("2027-01-01T00:00:00.1234567Z".to_owned()),
            expiry: None,
        };
        assert_eq!(Policy::from(&full.stored().unwrap()), full);
        for bad in [
            Policy { start: Some("tomorrow".to_owned()), ..full.clone() },
            Policy { permissions: Some("x".to_owned()), ..full },
        ] {
            assert!(bad.stored().is_err());
        }
    }
}
