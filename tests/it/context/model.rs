//! Random sequences of calls and foreign writes, compared with a model that knows the tables only.

use std::collections::BTreeMap;

use azure_table_client::context::{EntityState, MergeOption, SaveOptions, TableContext};
use azure_table_client::{IfMatch, TableClient};
use azure_table_tests::sized;
use proptest::prelude::*;

use super::{Blog, service};

/// The properties of an entity: the text, and an optional rating.
type Values = (String, Option<i32>);

#[derive(Debug, Clone)]
enum Call {
    Add(u8, Values),
    Update(u8, Values),
    Delete(u8),
    Detach(u8),
    Reset(u8),
    Query(MergeOption),
    Write(u8, Values),
    Remove(u8),
    Save { replace: bool, by_partition: bool },
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let key = 0..3_u8;
    let values = ("[ab]", proptest::option::of(0..2_i32));
    let option = proptest::sample::select(vec![
        MergeOption::NoTracking,
        MergeOption::AppendOnly,
        MergeOption::OverwriteChanges,
        MergeOption::PreserveChanges,
    ]);
    let call = prop_oneof![
        2 => (key.clone(), values.clone()).prop_map(|(key, values)| Call::Add(key, values)),
        4 => (key.clone(), values.clone()).prop_map(|(key, values)| Call::Update(key, values)),
        2 => key.clone().prop_map(Call::Delete),
        1 => key.clone().prop_map(Call::Detach),
        1 => key.clone().prop_map(Call::Reset),
        4 => option.prop_map(Call::Query),
        2 => (key.clone(), values).prop_map(|(key, values)| Call::Write(key, values)),
        1 => key.prop_map(Call::Remove),
        3 => (any::<bool>(), any::<bool>())
            .prop_map(|(replace, by_partition)| Call::Save { replace, by_partition }),
    ];
    proptest::collection::vec(call, 1..40)
}

#[derive(Debug, Clone, PartialEq)]
struct Tracked {
    state: EntityState,
    current: Values,
    /// The values and the version that were read.
    read: Option<(Values, u64)>,
    /// Deleted and added again.
    again: bool,
    /// Whether `update` was called since the last save.
    updated: bool,
}

#[derive(Debug, Default)]
struct Model {
    rows: BTreeMap<u8, (Values, u64)>,
    tracked: BTreeMap<u8, Tracked>,
    version: u64,
}

use EntityState::{Added, Deleted, Modified, Unchanged};

impl Model {
    fn write(&mut self, key: u8, values: Values) -> u64 {
        self.version += 1;
        self.rows.insert(key, (values, self.version));
        self.version
    }

    /// Returns whether the context accepts the call.
    fn add(&mut self, key: u8, values: Values) -> bool {
        match self.tracked.get_mut(&key) {
            None => {
                let added = Tracked {
                    state: Added,
                    current: values,
                    read: None,
                    again: false,
                    updated: false,
                };
                self.tracked.insert(key, added);
                true
            }
            Some(tracked) if tracked.state == Deleted => {
                tracked.state = Modified;
                tracked.current = values;
                tracked.again = true;
                true
            }
            Some(_) => false,
        }
    }

    fn update(&mut self, key: u8, values: Values) -> bool {
        let Some(tracked) = self.tracked.get_mut(&key) else { return false };
        match tracked.state {
            Deleted => return false,
            Added => {}
            _ => {
                let is_read = tracked.read.as_ref().is_some_and(|(read, _)| *read == values);
                tracked.state = if is_read && !tracked.again { Unchanged } else { Modified };
            }
        }
        tracked.current = values;
        tracked.updated = true;
        true
    }

    fn delete(&mut self, key: u8) -> bool {
        let Some(tracked) = self.tracked.get_mut(&key) else { return false };
        if tracked.state == Added {
            self.tracked.remove(&key);
        } else {
            tracked.state = Deleted;
        }
        true
    }

    fn reset(&mut self, key: u8) -> bool {
        match self.tracked.get_mut(&key) {
            Some(tracked) if tracked.state != Added => {
                tracked.state = Unchanged;
                (tracked.again, tracked.updated) = (false, false);
                if let Some((read, _)) = &tracked.read {
                    tracked.current.clone_from(read);
                }
                true
            }
            _ => false,
        }
    }

    /// The values that a query returns.
    fn query(&mut self, option: MergeOption) -> Vec<Values> {
        let mut found = Vec::new();
        for (key, (server, version)) in self.rows.clone() {
            let read = Some((server.clone(), version));
            if option == MergeOption::NoTracking {
                found.push(server);
                continue;
            }
            let Some(tracked) = self.tracked.get_mut(&key) else {
                let current = server.clone();
                let new = Tracked { state: Unchanged, current, read, again: false, updated: false };
                self.tracked.insert(key, new);
                found.push(server);
                continue;
            };
            match (option, tracked.state) {
                (MergeOption::OverwriteChanges, _) => {
                    *tracked = Tracked {
                        state: Unchanged,
                        current: server.clone(),
                        read,
                        again: false,
                        updated: false,
                    };
                }
                (MergeOption::PreserveChanges, Unchanged | Deleted) => {
                    tracked.read = read;
                    tracked.current = server;
                }
                (MergeOption::PreserveChanges, state) => {
                    if !tracked.again {
                        let none = (String::new(), None);
                        let old = tracked.read.as_ref().map_or(&none, |(read, _)| read);
                        let is_new = state == Added;
                        if !is_new && tracked.current.0 == old.0 {
                            tracked.current.0 = server.0;
                        }
                        let keeps = if is_new {
                            tracked.current.1.is_some()
                        } else {
                            tracked.current.1 != old.1
                        };
                        if !keeps {
                            tracked.current.1 = server.1;
                        }
                    }
                    tracked.read = read;
                    tracked.state = Modified;
                }
                _ => {}
            }
            found.push(tracked.current.clone());
        }
        found
    }

    /// Saves all changes, one by one. `replace` also writes updates without a difference.
    fn save(&mut self, replace: bool) -> bool {
        let mut is_complete = true;
        for (key, mut tracked) in self.tracked.clone() {
            let stored = self.rows.get(&key).map(|(_, version)| *version);
            let read = tracked.read.as_ref().map(|(_, version)| *version);
            // A refresh has made the values equal, so nothing is left to save.
            let is_read = tracked.read.as_ref().is_some_and(|(read, _)| *read == tracked.current);
            if tracked.state == Modified && is_read && !tracked.again {
                tracked.state = Unchanged;
                self.tracked.insert(key, tracked.clone());
            }
            let applies = match tracked.state {
                Added => stored.is_none(),
                Modified | Deleted => stored.is_some() && stored == read,
                Unchanged if replace && tracked.updated => stored.is_some() && stored == read,
                _ => continue,
            };
            if !applies {
                is_complete = false;
            } else if tracked.state == Deleted {
                self.rows.remove(&key);
                self.tracked.remove(&key);
            } else {
                let version = self.write(key, tracked.current.clone());
                tracked.read = Some((tracked.current.clone(), version));
                (tracked.state, tracked.again, tracked.updated) = (Unchanged, false, false);
                self.tracked.insert(key, tracked);
            }
        }
        is_complete
    }
}

fn blog(key: u8, (text, rating): &Values) -> Blog {
    // Each entity has its own partition, so that one conflict does not roll back another change.
    Blog { channel: format!("c{key}"), id: "1".into(), text: text.clone(), rating: *rating }
}

async fn run(calls: Vec<Call>) {
    let (mock, blogs) = service().await;
    let mut ctx = super::context(&mock);
    let mut model = Model::default();
    let none: Values = (String::new(), None);
    for (at, call) in calls.iter().enumerate() {
        let what = || format!("call {at} of {calls:?}");
        match call {
            Call::Add(key, values) => {
                let taken = model.add(*key, values.clone());
                assert_eq!(ctx.add(&blog(*key, values)).is_ok(), taken, "{}", what());
            }
            Call::Update(key, values) => {
                let taken = model.update(*key, values.clone());
                assert_eq!(ctx.update(&blog(*key, values)).is_ok(), taken, "{}", what());
            }
            Call::Delete(key) => {
                let taken = model.delete(*key);
                assert_eq!(ctx.delete(&blog(*key, &none)).is_ok(), taken, "{}", what());
            }
            Call::Detach(key) => {
                let taken = model.tracked.remove(key).is_some();
                assert_eq!(ctx.detach(&blog(*key, &none)).unwrap(), taken, "{}", what());
            }
            Call::Reset(key) => {
                let taken = model.reset(*key);
                assert_eq!(ctx.reset(&blog(*key, &none)).is_ok(), taken, "{}", what());
            }
            Call::Query(option) => {
                let found = ctx
                    .load(ctx.service().table::<Blog>().query())
                    .merge_option(*option)
                    .await
                    .unwrap();
                let found: Vec<Values> = found.into_iter().map(|b| (b.text, b.rating)).collect();
                assert_eq!(found, model.query(*option), "{}", what());
            }
            Call::Write(key, values) => {
                blogs.insert_or_replace(&blog(*key, values)).await.unwrap();
                model.write(*key, values.clone());
            }
            Call::Remove(key) => {
                blogs.delete_if_exists((format!("c{key}"), "1"), IfMatch::Any).await.unwrap();
                model.rows.remove(key);
            }
            Call::Save { replace, by_partition } => {
                let options =
                    if *by_partition { SaveOptions::per_partition() } else { SaveOptions::each() };
                let options = options.continue_on_error();
                let options = if *replace { options.replace_on_update() } else { options };
                let saved = ctx.save_changes_with(options.clone()).await;
                assert_eq!(saved.is_ok(), model.save(*replace), "{}", what());
            }
        }
        check(&ctx, &blogs, &model, &what()).await;
    }
}

async fn check(ctx: &TableContext, blogs: &TableClient<Blog>, model: &Model, what: &str) {
    for key in 0..3 {
        let entry = ctx.entry(&blog(key, &(String::new(), None))).unwrap();
        let expected = model.tracked.get(&key).map(|tracked| tracked.state);
        assert_eq!(entry.map(|entry| entry.state()), expected, "{what}: key {key}");
    }
    let stored = blogs.query().select(|b| (b.text, b.rating)).await.unwrap();
    let expected: Vec<_> = model.rows.values().map(|(values, _)| values.clone()).collect();
    assert_eq!(stored, expected, "{what}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sized(60, 400)))]

    #[test]
    fn the_context_matches_the_model(calls in calls()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(calls));
    }
}
