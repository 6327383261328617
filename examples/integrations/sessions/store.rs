//! A store of tower-sessions in a table, for axum: `create`, `save`, `load` and `delete` of sessions, and a sweep of
//! the expired ones. It is built on wide entities. Copy this file into your application.
//!
//! # When to use it
//!
//! - Several web servers share their sessions, and each page view loads one by its id.
//! - Sessions are small as a rule, and some are larger than a row.
//! - The application already has an account for tables, so it needs no cache server.
//!
//! # When not
//!
//! - If a page view must not wait 10 ms for its session, put a cache in front: `CachingSessionStore` of
//!   tower-sessions. A session that is deleted on one server then lives on in the caches of the others.
//! - If two requests of one visitor often change the same session, keep the changed data in entities of its own, and
//!   only the user's key in the session: the last save replaces all of it.
//!
//! # Guarantees
//!
//! | promise | holds under |
//! |---|---|
//! | `load` returns the last saved version, or a later one, completely or not at all. | lost, late, repeated and reordered requests; crashes |
//! | `create` never overwrites: a record whose id is in use receives a new id. | the same |
//! | `load` never returns a session after its expiry, and `save` never revives one. | the clock of the program that calls |
//! | Once `delete` has succeeded, the session does not come back, regardless of the requests in flight. | no request is late by more than `grace` of `sweep` |
//! | `sweep` deletes only sessions that have expired, and spares one that is extended meanwhile. | the clocks of two programs differ by at most `margin`, one day by default |
//! | Rows and error messages do not reveal the id in the cookie. | SHA-256; ids of 128 random bits |
//!
//! The last save wins: `SessionStore` passes no version from `load` to `save`, so a store cannot detect that a
//! session changed between the two. Each save replaces the version that it has read under its ETag. Two saves never
//! mix, and a late attempt of an old save is refused instead of replacing a newer one.
//!
//! A save of a session that does not exist fails, and the layer responds 500. The trait permits an upsert, which
//! stores for SQL databases often use: a page view that overlaps with a sign-out then creates the session again, and
//! its cookie becomes valid again.
//!
//! These promises also hold if a proxy delivers a request twice and the service refuses one delivery, also as busy:
//! the header row of the pattern `wide` shows whether a write was applied, and the ETag of the other delivery does
//! not match.
//!
//! If `create` fails with an unknown outcome, the row may exist. No browser has its id, and a sweep removes it after
//! its expiry. If `delete` fails, the session may still exist: the application must not report that the visitor is
//! signed out.
//!
//! A session is at most 3,000,000 bytes of JSON; a larger one is refused before anything is sent.
//!
//! # Rows
//!
//! The rows are those of the pattern `wide` with these columns. PartitionKey is the first digit of the hash, so that
//! 16 partitions share the load. RowKey begins with the hash: SHA-256 of the id's 16 bytes (those that the cookie
//! encodes as Base64), in lower-case hexadecimal.
//!
//! | column | type | content |
//! |---|---|---|
//! | `Expires` | DateTime | the time from which the session is not returned |
//! | `Data` | Binary | the JSON object of the session; longer than 64 KiB, it continues in `Data__2`, `Data__3`, … |
//!
//! A session, the same session after the next save, and after the sign-out until the next sweep; `3f8a…` is the
//! hash:
//!
//! ```text
//! RowKey                Generation  Parts  Expires              Data
//! 3f8a…!                5c1f…       1
//! 3f8a…!5c1f…!000001                       2026-11-23T10:30:00  {"user":"Joe"}
//! 3f8a…!                90ab…       1
//! 3f8a…!90ab…!000001                       2026-11-23T10:42:00  {"user":"Joe", …}
//! 3f8a…!                d27e…       0
//! ```
//!
//! # Requests
//!
//! | call | requests | under a conflict |
//! |---|---|---|
//! | `load` | 1; 2 or more above 1 MiB | 1 or 2 more |
//! | `create` | 2 | 2 more for an id in use |
//! | `save` | 3 | 2 or 3 more for each concurrent save, at most 20 times |
//! | `delete` | 3; 1 without a session | as for `save` |
//! | `sweep` | 32, and 3 for each expired session | |
//!
//! | page view | requests |
//! |---|---|
//! | without a cookie, or one that does not access its session | 0 |
//! | reads the session | 1 |
//! | changes the session | 4 |
//! | sign-in of a new visitor (`cycle_id`, then `create`) | 3 |
//! | sign-out (`flush`) | 3 |
//!
//! Reads do not extend a session, because tower-sessions counts inactivity from the last change.
//! `with_always_save(true)` extends it with each page view, for 4 requests. Cheaper: store the time of the last
//! extension in the session, and change it when half of the time has passed.
//!
//! # Safety argument
//!
//! Every version of a session has a generation of its own, and the header row names the current one. Each write is
//! one transaction that replaces the header row under the ETag that its program has read. So all versions form one
//! order, and a late or repeated transaction meets another ETag and is refused.
//!
//! A deletion is the last version: a header row with 0 parts. It stays until a sweep has seen it unchanged for
//! `grace`, so that a late attempt of `create` finds it and is refused too. `save` only replaces versions with
//! parts.
//!
//! A sweep finds a part row that expired `margin` ago by its own clock, and deletes the generation in the row's key.
//! If the session was extended meanwhile, another generation is current, and nothing happens.
//!
//! The tables per period of the pattern `retention` suit sessions with a fixed end, because a table is dropped with
//! one request. Here each save may extend a session, so that rows expire one by one. The sweep follows the rules of
//! that pattern, with the same margin.
//!
//! # Example
//!
//! ```ignore
//! let sessions = SessionManagerLayer::new(TableStore::new(&table)?).with_expiry(Expiry::OnInactivity(Duration::minutes(30)));
//! let app = Router::new().route("/basket", get(basket)).layer(sessions);
//! ```

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::{DynamicEntity, TableClient, TableEntity};
use azure_table_patterns::Error;
use azure_table_patterns::wide::WideTable;
use futures_util::{TryStreamExt as _, future};
use sha2::{Digest as _, Sha256};
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{self, ExpiredDeletion, SessionStore};
use uuid::Uuid;

/// The text of the error for a save of a session that was deleted or has expired.
pub(super) const MISSING: &str = "session does not exist: it was deleted or has expired";
/// The largest JSON text of a session: one transaction holds it.
pub(super) const MAX_BYTES: usize = 3_000_000;
/// The PartitionKey is the first digit of the RowKey, so that 16 partitions share the load.
const PARTITIONS: [&str; 16] =
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"];
/// The number of times that a call begins again because another request has changed the session.
const ROUNDS: usize = 20;
const MARGIN: Duration = Duration::from_secs(24 * 3600);
/// More than the time that a request can be in flight: the service refuses signed requests that are older than 15 minutes.
const GRACE: Duration = Duration::from_secs(3600);

/// Sessions in a table.
#[derive(Debug, Clone)]
pub(super) struct TableStore {
    sessions: WideTable,
    rows: TableClient<PartRow>,
    margin: Duration,
}

/// A row of a session's data.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
struct PartRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row_key: String,
    expires: Option<EdmDateTime>,
}

impl TableStore {
    /// Keeps sessions in this table, which must exist.
    pub(super) fn new(table: &TableClient<DynamicEntity>) -> Result<Self, Error> {
        Ok(Self { sessions: WideTable::new(table)?, rows: table.with_entity(), margin: MARGIN })
    }

    /// Sets the time by which the clocks of any two programs may differ; the default is one day. A sweep deletes sessions
    /// by this time later.
    pub(super) fn margin(self, margin: Duration) -> Self {
        Self { margin, ..self }
    }

    /// Deletes the sessions that have expired, and returns their number. Then waits for `grace` and removes the rows that
    /// deletions and crashed programs left. A session whose expiry is extended meanwhile stays.
    pub(super) async fn sweep(&self, grace: Duration) -> Result<u64, Error> {
        let swept = PARTITIONS.map(|partition| self.sweep_partition(partition, grace));
        Ok(future::try_join_all(swept).await?.into_iter().sum())
    }

    async fn sweep_partition(&self, partition: &str, grace: Duration) -> Result<u64, Error> {
        let bound = self.now().checked_sub(self.margin);
        let bound = bound.and_then(|bound| EdmDateTime::from_system_time(bound).ok());
        let Some(bound) = bound else { return Ok(0) };
        let expired = Filter::compare("Expires", CompareOp::Le, bound);
        let expired = expired.map_err(azure_table_client::Error::from)?;
        let rows = self.rows.query().partition(partition).matching(&expired);
        let (mut row_keys, mut count) = (rows.select(|row| row.row_key).stream(), 0);
        while let Some(row_key) = row_keys.try_next().await? {
            let Some((session, generation)) = version_of(&row_key) else { continue };
            // Deletes the version that has expired. A later version has another generation.
            match self.sessions.delete((partition, session), generation).await {
                Ok(()) => count += 1,
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
        self.sessions.clone().partitions([partition]).grace(grace).sweep().await?;
        Ok(count)
    }

    fn now(&self) -> SystemTime {
        self.rows.clock().now()
    }

    /// Reads a session that has not expired, and the generation of its version.
    async fn find(&self, id: &Id) -> session_store::Result<Option<(Record, Uuid)>> {
        let found =
            self.sessions.get(Key::of(id).parts()).await.map_err(|error| backend(&error))?;
        let Some((entity, generation)) = found else { return Ok(None) };
        let record = decode(*id, &entity)?;
        let is_current = record.expiry_date > self.now();
        Ok(is_current.then_some((record, generation)))
    }
}

#[async_trait]
impl SessionStore for TableStore {
    /// Never overwrites a session: a record whose id is in use receives a new id.
    async fn create(&self, record: &mut Record) -> session_store::Result<()> {
        for _ in 0..ROUNDS {
            match self.sessions.insert(&encode(record)?).await {
                Err(error) if error.is_conflict() => record.id = Id::default(),
                result => return result.map(drop).map_err(|error| backend(&error)),
            }
        }
        Err(changed())
    }

    /// Replaces the current version of a session: the last save wins. Never creates a session.
    async fn save(&self, record: &Record) -> session_store::Result<()> {
        let entity = encode(record)?;
        for _ in 0..ROUNDS {
            let Some((_, generation)) = self.find(&record.id).await? else {
                return Err(session_store::Error::Backend(MISSING.to_owned()));
            };
            match self.sessions.replace(&entity, generation).await {
                Err(error) if error.is_conflict() => {}
                result => return result.map(drop).map_err(|error| backend(&error)),
            }
        }
        Err(changed())
    }

    async fn load(&self, id: &Id) -> session_store::Result<Option<Record>> {
        Ok(self.find(id).await?.map(|(record, _)| record))
    }

    /// Deletes the current version of a session. After it has succeeded, no save that is in flight is applied.
    async fn delete(&self, id: &Id) -> session_store::Result<()> {
        let key = Key::of(id);
        for _ in 0..ROUNDS {
            let found = self.sessions.get(key.parts()).await.map_err(|error| backend(&error))?;
            let Some((_, generation)) = found else { return Ok(()) };
            match self.sessions.delete(key.parts(), generation).await {
                Err(error) if error.is_conflict() => {}
                result => return result.map_err(|error| backend(&error)),
            }
        }
        Err(changed())
    }
}

#[async_trait]
impl ExpiredDeletion for TableStore {
    /// Takes an hour if there are rows to remove.
    async fn delete_expired(&self) -> session_store::Result<()> {
        self.sweep(GRACE).await.map(drop).map_err(|error| backend(&error))
    }
}

/// The key of a session: a hash, so that rows and logs do not reveal the id in the cookie.
#[derive(Debug)]
struct Key(String);

impl Key {
    fn of(id: &Id) -> Self {
        let hash = Sha256::digest(id.0.to_le_bytes());
        Self(hash.iter().fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        }))
    }

    fn parts(&self) -> (&str, &str) {
        (self.0.get(..1).unwrap_or_default(), &self.0)
    }
}

/// The session and the generation that a row key of a wide entity names: `session!generation!number`.
fn version_of(row_key: &str) -> Option<(&str, Uuid)> {
    let mut fields = row_key.split('!');
    let (session, generation) = (fields.next()?, fields.next()?);
    Some((session, Uuid::try_parse(generation).ok()?))
}

fn encode(record: &Record) -> session_store::Result<DynamicEntity> {
    let invalid = |error: String| session_store::Error::Encode(error);
    let data = serde_json::to_vec(&record.data).map_err(|error| invalid(error.to_string()))?;
    if data.len() > MAX_BYTES {
        let length = data.len();
        return Err(invalid(format!("session is too large ({length} bytes, at most {MAX_BYTES})")));
    }
    let expires = EdmDateTime::from_system_time(record.expiry_date.into());
    let expires = expires.map_err(|error| invalid(format!("expiry of a session: {error}")))?;
    let key = Key::of(&record.id);
    let (partition_key, row_key) = key.parts();
    Ok(DynamicEntity::new(partition_key, row_key).with("Expires", expires).with("Data", data))
}

fn decode(id: Id, entity: &DynamicEntity) -> session_store::Result<Record> {
    let invalid = |error: String| session_store::Error::Decode(error);
    let missing = |name| move || invalid(format!("session has no column {name}"));
    let expires = entity.get::<EdmDateTime>("Expires").ok_or_else(missing("Expires"))?;
    let expires = expires.map_err(|error| invalid(error.to_string()))?;
    let data = entity.get::<Vec<u8>>("Data").ok_or_else(missing("Data"))?;
    let data = data.map_err(|error| invalid(error.to_string()))?;
    let data = serde_json::from_slice(&data).map_err(|error| invalid(error.to_string()))?;
    Ok(Record { id, data, expiry_date: SystemTime::from(expires.to_chrono()).into() })
}

/// The error of a request; its text states whether a write was applied, as far as it is proved.
fn backend(error: &Error) -> session_store::Error {
    session_store::Error::Backend(error.to_string())
}

fn changed() -> session_store::Error {
    let text = format!("other requests changed the session in each of {ROUNDS} rounds: try again");
    session_store::Error::Backend(text)
}
