//! Calls of the program that add, change and remove tracked entities.

use std::sync::Arc;

use super::change::{Add, Pending};
use super::{Known, LastUpdate, Tracked, Tracker, refusal};
use crate::Dialect;
use crate::IfMatch;
use crate::entity::{EncodeError, EntityKey, Ownership, TableEntity};
use crate::error::Error;
use crate::outcome::{MapEntity, Properties, properties_of};

/// The values of a struct.
pub(crate) struct Values {
    pub(crate) key: EntityKey,
    properties: Properties,
    ownership: Ownership,
    baseline: Result<Baseline, EncodeError>,
    /// A column of the struct that has no value.
    lacks: Option<String>,
}

/// The properties that a struct writes for tracked values, without any change.
#[derive(Default)]
struct Baseline {
    /// Empty if the struct cannot hold the values.
    all: Properties,
    /// For the columns that were read first, if others were read later.
    first: Option<Properties>,
}

impl Baseline {
    /// # Errors
    /// A `T` can hold the values, and cannot write them.
    fn of<T: TableEntity>(tracked: &Tracked, dialect: Dialect) -> Result<Self, EncodeError> {
        let written = |properties: &Properties| -> Result<Option<Properties>, EncodeError> {
            let unchanged = MapEntity::new(&tracked.key, properties).to_entity::<T>(None);
            let written = unchanged.ok().map(|unchanged| properties_of(&unchanged, dialect));
            Ok(written.transpose()?.map(|(_, properties)| properties))
        };
        let first = tracked.first_known.as_ref().map(|columns| {
            let current = tracked.current.iter().filter(|(name, _)| columns.contains(*name));
            written(&current.map(|(name, value)| (name.clone(), value.clone())).collect())
        });
        Ok(Self {
            all: written(&tracked.current)?.unwrap_or_default(),
            first: first.transpose()?.flatten(),
        })
    }
}

impl Values {
    pub(crate) fn of<T: TableEntity>(
        entity: &T,
        tracker: &Tracker,
        table: &str,
    ) -> Result<Self, EncodeError> {
        let (key, properties) = properties_of(entity, tracker.dialect)?;
        let ownership = entity.ownership();
        let lacks = ownership.first_without(|name| properties.contains_key(name));
        let tracked = tracker.find(table, &key);
        let baseline = tracked.map(|tracked| Baseline::of::<T>(tracked, tracker.dialect));
        let baseline = baseline.unwrap_or_else(|| Ok(Baseline::default()));
        Ok(Self { key, properties, ownership, baseline, lacks })
    }
}

impl Tracker {
    pub(crate) fn add(&mut self, table: &Arc<str>, values: Values, add: Add) -> Result<(), Error> {
        let (order, current) = (self.next_order(), Arc::new(values.properties));
        match self.entities.get_mut(&self.identity(table, &values.key)) {
            None => {
                self.track(table, &values.key, Pending::Add(add), current);
            }
            Some(tracked) if tracked.pending == Pending::Delete && !tracked.is_unknown() => {
                tracked.pending = Pending::Update;
                tracked.current = current;
                tracked.replaces = true;
                tracked.order = order;
            }
            Some(tracked) => return Err(already_tracked(tracked)),
        }
        Ok(())
    }

    pub(crate) fn attach(
        &mut self,
        table: &Arc<str>,
        values: Values,
        condition: IfMatch,
    ) -> Result<(), Error> {
        if let Some(tracked) = self.find(table, &values.key) {
            return Err(already_tracked(tracked));
        }
        let current = Arc::new(values.properties);
        let tracked = self.track(table, &values.key, Pending::Nothing, current);
        tracked.known = Known::Written;
        tracked.condition = Some(condition);
        tracked.lacks = values.lacks;
        Ok(())
    }

    pub(crate) fn update(&mut self, table: &Arc<str>, values: Values) -> Result<(), Error> {
        let order = self.next_order();
        let Values { key, properties, ownership, baseline, lacks } = values;
        let tracked = self.tracked(table, &key)?;
        if tracked.pending == Pending::Delete {
            return Err(refusal(&key, "it is deleted; add it instead"));
        }
        let Baseline { all: baseline, first } = baseline.map_err(|error| {
            refusal(
                &key,
                format_args!("its type cannot write the tracked values ({error}), so that a removed property would stay"),
            )
        })?;
        if let (Some(first), Some(columns)) = (&first, &tracked.first_known) {
            let mut names = baseline.keys().chain(properties.keys());
            let unread = names.find(|name| {
                let value = properties.get(*name);
                !columns.contains(*name)
                    && value != baseline.get(*name)
                    && value == first.get(*name)
            });
            if let Some(name) = unread {
                return Err(refusal(
                    &key,
                    format_args!(
                        "property {name:?} has the default of a struct whose query did not select it; to \
                         set this value, detach the entity and read it again"
                    ),
                ));
            }
        }
        let is_first_update = tracked.update.is_none();
        let written = properties.clone();
        // Only a difference from the baseline is a change. Values that the struct reads by a default, by another
        // name or as another type, or does not read at all, keep their stored form.
        let current = Arc::make_mut(&mut tracked.current);
        for name in baseline.keys().filter(|name| !properties.contains_key(*name)) {
            current.remove(name);
            for former in ownership.former_names(name) {
                current.remove(former);
            }
        }
        for (name, value) in properties {
            if baseline.get(&name) != Some(&value) {
                current.insert(name, value);
            }
        }
        let (written, ownership) = (Arc::new(written), Arc::new(ownership));
        tracked.update =
            Some(LastUpdate { written, ownership, is_partial: tracked.is_partly_known() });
        if tracked.known == Known::Written {
            tracked.lacks = lacks;
        }
        if matches!(tracked.pending, Pending::Add(_)) {
            return Ok(());
        }
        let was = tracked.pending;
        tracked.compare();
        if was == Pending::Nothing && (is_first_update || tracked.pending == Pending::Update) {
            tracked.order = order;
        }
        Ok(())
    }

    pub(crate) fn delete(&mut self, table: &str, key: &EntityKey) -> Result<(), Error> {
        let order = self.next_order();
        let tracked = self.tracked(table, key)?;
        match tracked.pending {
            // The insert was never sent.
            Pending::Add(_) if !tracked.is_unknown() => {
                self.detach(table, key);
            }
            Pending::Delete => {}
            _ => {
                tracked.pending = Pending::Delete;
                tracked.order = order;
            }
        }
        Ok(())
    }

    pub(crate) fn detach(&mut self, table: &str, key: &EntityKey) -> bool {
        self.entities.remove(&self.identity(table, key)).is_some()
    }

    pub(crate) fn reset(&mut self, table: &str, key: &EntityKey) -> Result<(), Error> {
        let tracked = self.tracked(table, key)?;
        if tracked.is_unknown() {
            return Err(refusal(key, "its last change was sent, and its outcome is not known yet"));
        }
        tracked.update = None;
        match tracked.pending {
            Pending::Add(_) => return Err(refusal(key, "it is new; detach it instead")),
            Pending::Nothing => {}
            Pending::Update | Pending::Delete => {
                tracked.pending = Pending::Nothing;
                tracked.replaces = false;
                tracked.error = None;
                if let Some(snapshot) = &tracked.snapshot {
                    tracked.current = Arc::clone(snapshot);
                }
            }
        }
        Ok(())
    }

    /// Makes these properties the local change of an entity, at the position `order` among the other changes.
    pub(super) fn replace_change(
        &mut self,
        table: &Arc<str>,
        key: EntityKey,
        properties: Properties,
        ownership: Ownership,
        order: Option<u64>,
    ) -> Result<(), Error> {
        let id = self.identity(table, &key);
        let baseline = self.get(&id).map(|tracked| (*tracked.current).clone());
        let has_row = baseline.is_some();
        let baseline = Ok(Baseline { all: baseline.unwrap_or_default(), first: None });
        let values = Values { key, properties, ownership, baseline, lacks: None };
        if has_row {
            self.update(table, values)?;
        } else {
            self.add(table, values, Add::Insert)?;
        }
        if let (Some(order), Some(tracked)) = (order, self.entities.get_mut(&id)) {
            tracked.order = order;
        }
        Ok(())
    }

    fn tracked(&mut self, table: &str, key: &EntityKey) -> Result<&mut Tracked, Error> {
        let id = self.identity(table, key);
        self.entities.get_mut(&id).ok_or_else(|| {
            refusal(
                key,
                format_args!("{table} has no tracked entity with this key: read, add or attach it first; an entity whose key was changed is another one"),
            )
        })
    }
}

fn already_tracked(tracked: &Tracked) -> Error {
    refusal(&tracked.key, format_args!("it is tracked already, as {}", tracked.state()))
}
