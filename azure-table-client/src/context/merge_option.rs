//! What becomes of a row that a query finds, and of what is tracked of it. No I/O.

use std::sync::Arc;

use super::state::{Known, Pending, Properties, Tracker};
use crate::entity::EntityKey;
use crate::etag::{ETag, IfMatch};

/// What a query does about entities that are tracked already. For an entity whose last change has an unknown
/// outcome it is [`AppendOnly`](Self::AppendOnly), until a save or the write id in the row decides it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MergeOption {
    /// The service's values are returned, and nothing is tracked.
    NoTracking,
    /// What is tracked stays as it is and is returned; new entities are tracked.
    #[default]
    AppendOnly,
    /// The service's values replace what is tracked; local changes are lost.
    OverwriteChanges,
    /// The service's values replace what is tracked, but for what was changed locally.
    ///
    /// The next save then passes the condition that would have found the conflict: the client wins.
    PreserveChanges,
}

/// A row of the service.
pub(super) struct ServerRow {
    pub(super) key: EntityKey,
    pub(super) etag: ETag,
    pub(super) properties: Properties,
    pub(super) known: Known,
}

impl Tracker {
    /// Takes a row, and returns the values for the caller.
    pub(super) fn meet(
        &mut self,
        table: &Arc<str>,
        row: ServerRow,
        option: MergeOption,
    ) -> Properties {
        let ServerRow { key, etag, properties: server, known } = row;
        if option == MergeOption::NoTracking {
            return server;
        }
        let id = self.identity(table, &key);
        let Some(tracked) = self.entities.get_mut(&id) else {
            let tracked = self.track(table, &key, Pending::Nothing, server.clone());
            tracked.take_server(server.clone(), known, &etag);
            return server;
        };
        // Until the next save has found out what became of a change, nothing is known to be newer.
        let option = if tracked.is_unknown { MergeOption::AppendOnly } else { option };
        match option {
            MergeOption::NoTracking => server,
            MergeOption::AppendOnly => {
                let is_read = tracked.known != Known::All && tracked.condition.is_some();
                if let (true, Some(snapshot)) = (is_read, &mut tracked.snapshot) {
                    // Columns that a projection left out.
                    for (name, value) in server {
                        let is_known = match &tracked.known {
                            Known::Some(names) => names.contains(&name),
                            _ => snapshot.contains_key(&name),
                        };
                        if !is_known {
                            tracked.current.entry(name.clone()).or_insert_with(|| value.clone());
                            snapshot.insert(name, value);
                        }
                    }
                    if let Known::Some(names) = &tracked.known {
                        tracked.first_known.get_or_insert_with(|| names.clone());
                    }
                    tracked.known = match (&tracked.known, known) {
                        (_, Known::All) => Known::All,
                        (Known::Some(a), Known::Some(b)) => {
                            Known::Some(a.union(&b).cloned().collect())
                        }
                        (known, _) => known.clone(),
                    };
                }
                tracked.current.clone()
            }
            MergeOption::OverwriteChanges => {
                tracked.current.clone_from(&server);
                tracked.take_server(server.clone(), known, &etag);
                tracked.first_known = None;
                tracked.pending = Pending::Nothing;
                tracked.replaces = false;
                tracked.error = None;
                server
            }
            MergeOption::PreserveChanges => match tracked.pending {
                Pending::Nothing | Pending::Delete => {
                    tracked.current.clone_from(&server);
                    tracked.take_server(server.clone(), known, &etag);
                    server
                }
                Pending::Update if tracked.replaces => {
                    tracked.condition = Some(IfMatch::Tag(etag));
                    tracked.snapshot = Some(server);
                    tracked.current.clone()
                }
                Pending::Update | Pending::Add(_) => {
                    let changed: Vec<String> =
                        tracked.changed().into_iter().map(str::to_owned).collect();
                    let (mut server, mut known) = (server, known);
                    if let Known::Some(columns) = &mut known {
                        // What was changed in other columns stays a change against what was known.
                        for name in changed.iter().filter(|name| !columns.contains(*name)) {
                            let old = tracked.snapshot.as_ref().and_then(|old| old.get(name));
                            server.extend(old.map(|old| (name.clone(), old.clone())));
                        }
                        columns.extend(changed.iter().cloned());
                    }
                    let mut next = server.clone();
                    for name in changed {
                        match tracked.current.get(&name) {
                            Some(value) => next.insert(name, value.clone()),
                            None => next.remove(&name),
                        };
                    }
                    tracked.current = next;
                    tracked.take_server(server, known, &etag);
                    tracked.pending = Pending::Update;
                    tracked.current.clone()
                }
            },
        }
    }
}
