//! The error of every pattern.

use std::fmt;

use azure_table_client::clock::RandomSourceError;
use azure_table_client::entity::{DecodeError, EncodeError, KeyError};
use azure_table_client::{EntityKey, Error as ClientError, ErrorKind, Outcome};

/// The reason why an operation of a pattern failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// A request failed, or the client refused its input.
    Client {
        /// The error of the client.
        error: ClientError,
    },
    /// The input is outside the limits of the pattern. Nothing was sent.
    InvalidInput {
        /// The input and its limit.
        reason: String,
    },
    /// A row contradicts the pattern, or is missing: another program wrote or deleted it. Correct or delete the row.
    InvalidRow {
        /// The key of the row.
        key: EntityKey,
        /// The contradiction.
        reason: String,
    },
    /// An operation of several requests failed, or one that was sent several times. Repeat one that is not applied. If the
    /// outcome is unknown, the page of the pattern states how to find out.
    Failed {
        /// Whether the operation was applied, as far as the service's responses prove it.
        outcome: Outcome,
        /// The error of the request that failed; none if the operation took too long.
        error: Option<ClientError>,
    },
    /// Another program changed the entity first, and nothing was written. Read it again.
    Conflict {
        /// The key of the entity.
        key: EntityKey,
    },
    /// An event stream does not have the version that the append expects, and none of the append's events. Load the
    /// events since then, and decide again.
    WrongVersion {
        /// The PartitionKey of the stream.
        stream: String,
        /// The version that the append expects.
        expected: u64,
        /// The version of the stream.
        version: u64,
    },
    /// Another entity has the value of a unique index: choose another value. The value itself is not shown, since it may
    /// be secret.
    ValueTaken {
        /// The property of the index.
        index: &'static str,
        /// The entity that has the value, if it is known.
        owner: Option<EntityKey>,
    },
    /// The lease is lost: another program may hold it, its row is gone, or a row has seen a newer token. Stop the work, and
    /// acquire the lease again.
    Lost {
        /// The token of the lost lease.
        token: i64,
        /// Whether the call was applied before. The outcome of a call that was sent in time is often unknown.
        outcome: Outcome,
    },
    /// Other programs wrote first in each of several rounds, and nothing was applied. Try again, with fewer writers at a time.
    Contended {
        /// The operation that was repeated.
        what: String,
        /// The number of rounds.
        rounds: u32,
    },
    /// A sequence has too few numbers left.
    Exhausted {
        /// The key of its row.
        key: EntityKey,
    },
}

impl Error {
    /// Returns whether the operation was applied, as far as the service's responses prove it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Client { error } => error.outcome(),
            Self::Failed { outcome, .. } | Self::Lost { outcome, .. } => *outcome,
            Self::InvalidRow { .. } => Outcome::Unknown,
            Self::InvalidInput { .. }
            | Self::Conflict { .. }
            | Self::WrongVersion { .. }
            | Self::ValueTaken { .. }
            | Self::Contended { .. }
            | Self::Exhausted { .. } => Outcome::NotApplied,
        }
    }

    /// Returns the error of the request that failed, or of the client's check of the input; `None` for the results of a
    /// pattern, such as a conflict.
    pub const fn client(&self) -> Option<&ClientError> {
        match self {
            Self::Client { error } | Self::Failed { error: Some(error), .. } => Some(error),
            _ => None,
        }
    }

    /// Returns the kind of the error, like [the client's](ClientError::kind); `None` for the results of a pattern, which
    /// are variants of this enum.
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::InvalidInput { .. } => Some(ErrorKind::InvalidInput),
            Self::InvalidRow { .. } => Some(ErrorKind::Decode),
            Self::Failed { error: None, .. } => Some(ErrorKind::Timeout),
            other => other.client().map(ClientError::kind),
        }
    }

    /// Returns whether the pattern or the client refused the input: [`kind`](Self::kind) is
    /// [`InvalidInput`](ErrorKind::InvalidInput).
    pub fn is_invalid_input(&self) -> bool {
        self.kind() == Some(ErrorKind::InvalidInput)
    }

    /// Returns whether another program wrote the entity or the stream first: [`Conflict`](Self::Conflict) or
    /// [`WrongVersion`](Self::WrongVersion). Read it again, and decide again.
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::WrongVersion { .. })
    }

    /// Returns whether another entity has the value of a unique index.
    pub const fn is_value_taken(&self) -> bool {
        matches!(self, Self::ValueTaken { .. })
    }

    /// Returns whether the lease is lost.
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Returns whether other programs wrote first in each round. A later call may succeed.
    pub const fn is_contended(&self) -> bool {
        matches!(self, Self::Contended { .. })
    }

    /// Returns whether a sequence has too few numbers left.
    pub const fn is_exhausted(&self) -> bool {
        matches!(self, Self::Exhausted { .. })
    }

    /// Returns whether the service responded that the row or the table does not exist (404).
    pub fn is_not_found(&self) -> bool {
        self.client().is_some_and(ClientError::is_not_found)
    }

    /// Returns whether the service is busy or throttles (429, 503), or a proxy in front of it.
    pub fn is_throttled(&self) -> bool {
        self.client().is_some_and(ClientError::is_throttled)
    }

    /// Whether a later attempt may succeed.
    pub(crate) fn may_pass(&self) -> bool {
        let Self::Client { error: client } = self else {
            return matches!(self, Self::Failed { .. });
        };
        client.outcome() == Outcome::Unknown
            || client.is_throttled()
            || client.status().is_some_and(|status| status >= 500)
            || matches!(
                client.kind(),
                ErrorKind::Connect
                    | ErrorKind::Interrupted
                    | ErrorKind::Timeout
                    | ErrorKind::UnexpectedReply
            )
    }

    pub(crate) fn invalid_input(reason: impl Into<String>) -> Self {
        Self::InvalidInput { reason: reason.into() }
    }

    /// A failure of an operation that can never be applied.
    pub(crate) const fn not_applied(error: Option<ClientError>) -> Self {
        Self::Failed { outcome: Outcome::NotApplied, error }
    }

    /// Reports that the outcome is unknown if an earlier request of the operation may have been applied.
    pub(crate) fn unless_proved(self, is_open: bool) -> Self {
        match self {
            Self::Client { error } if is_open && error.outcome() == Outcome::NotApplied => {
                Self::unknown(error)
            }
            other => other,
        }
    }

    /// A failure whose outcome is not proved.
    pub(crate) const fn unknown(error: ClientError) -> Self {
        Self::Failed { outcome: Outcome::Unknown, error: Some(error) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client { error } => error.fmt(f),
            Self::InvalidInput { reason } => write!(f, "invalid input: {reason}"),
            Self::InvalidRow { key, reason } => write!(f, "invalid row {key}: {reason}"),
            Self::Failed { outcome, error } => {
                f.write_str(match outcome {
                    Outcome::Applied => "the operation was applied, and replaced since",
                    Outcome::NotApplied => "the operation was not applied, repeat it",
                    Outcome::Unknown => "it is unknown whether the operation was applied",
                })?;
                match error {
                    Some(error) => write!(f, ": {error}"),
                    None => f.write_str(": it took too long"),
                }
            }
            Self::Conflict { key } => {
                write!(f, "entity changed: another program wrote {key} first, read it again")
            }
            Self::WrongVersion { stream, expected, version } => write!(
                f,
                "event stream {stream:?} has another version: load the events since then, and decide again \
                 (version {version}, expected {expected})"
            ),
            Self::ValueTaken { index, owner: None } => {
                write!(f, "value taken: another entity has the value of {index}")
            }
            Self::ValueTaken { index, owner: Some(owner) } => {
                write!(f, "value taken: the entity {owner} has the value of {index}")
            }
            Self::Lost { token, .. } => write!(
                f,
                "lease lost: another program may hold it (token {token}); stop the work and acquire the lease again"
            ),
            Self::Contended { what, rounds } => {
                write!(f, "{what}: other programs wrote first, try again ({rounds} rounds)")
            }
            Self::Exhausted { key } => {
                write!(f, "sequence exhausted: {key} has too few numbers left; start another row")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Client { error } => error.source(),
            Self::Failed { error: Some(error), .. } => Some(error),
            _ => None,
        }
    }
}

impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        Self::Client { error }
    }
}

/// Converts the reasons for which the client refuses input, or cannot read a row.
macro_rules! from_client {
    ($($error:ty),+) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Client { error: error.into() }
            }
        })+
    };
}

from_client!(KeyError, EncodeError, DecodeError, RandomSourceError);

#[cfg(test)]
mod tests {
    use azure_table_client::DynamicEntity;
    use azure_table_client::mock::{Fault, MockTableService};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_kind_is_that_of_the_client_s_error() {
        let mock = MockTableService::new();
        mock.faults().add(Fault::busy());
        let table = mock.client().table_named::<DynamicEntity>("Orders");
        let busy = table.get(("p", "r")).await.unwrap_err();
        for error in [Error::from(busy.clone()), Error::unknown(busy)] {
            assert!(error.is_throttled() && error.kind() == Some(ErrorKind::Service), "{error}");
            assert_eq!(error.client().and_then(ClientError::status), Some(503));
        }
        let key = EntityKey::new("p", "r");
        for (error, kind) in [
            (Error::from(KeyError::new("a part is missing")), Some(ErrorKind::InvalidInput)),
            (Error::invalid_input("too long"), Some(ErrorKind::InvalidInput)),
            (Error::not_applied(None), Some(ErrorKind::Timeout)),
            (Error::Conflict { key }, None),
        ] {
            assert_eq!((error.kind(), error.is_throttled()), (kind, false), "{error}");
            assert_eq!(error.is_invalid_input(), kind == Some(ErrorKind::InvalidInput), "{error}");
        }
    }

    #[tokio::test]
    async fn predicates_name_their_variants() {
        let key = EntityKey::new("p", "r");
        let table = MockTableService::new().client().table_named::<DynamicEntity>("Orders");
        let missing = Error::from(table.get(("p", "r")).await.unwrap_err());
        let (outcome, what, stream) = (Outcome::NotApplied, String::new(), String::new());
        let predicates = |error: &Error| {
            [
                error.is_conflict(),
                error.is_value_taken(),
                error.is_lost(),
                error.is_contended(),
                error.is_exhausted(),
                error.is_not_found(),
            ]
        };
        for (at, error) in [
            (0, Error::Conflict { key: key.clone() }),
            (0, Error::WrongVersion { stream, expected: 1, version: 2 }),
            (1, Error::ValueTaken { index: "Email", owner: None }),
            (2, Error::Lost { token: 1, outcome }),
            (3, Error::Contended { what, rounds: 3 }),
            (4, Error::Exhausted { key }),
            (5, missing),
        ] {
            let expected: [bool; 6] = std::array::from_fn(|other| other == at);
            assert_eq!(predicates(&error), expected, "{error}");
        }
    }
}
