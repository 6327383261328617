//! The calls of a program besides its saves.

use std::time::Duration;

use azure_table_client::context::{EntityState, MergeOption, TableContext};
use azure_table_client::{DynamicEntity, IfMatch};
use tokio::time::sleep;

use super::edits::Edits;
use super::rows::{TABLE, columns_of};
use super::run::Runner;
use super::steps::{Add, Attached, Step, Values};

impl Runner {
    pub(super) async fn take(&mut self, step: &Step) {
        match step {
            Step::Add(row, add, values) => self.add(*row, *add, values),
            Step::Attach(row, attached, values) => self.attach(*row, *attached, values),
            Step::Update(row, edits) => self.update(*row, edits),
            Step::Delete(row) => {
                let entity = self.entity(*row);
                let is_new = self.state(*row) == Some(EntityState::Added);
                if self.ctx.table_named(TABLE).delete(&entity).is_ok() {
                    let index = self.index(*row);
                    if is_new {
                        self.release(*row);
                    } else {
                        self.edits[*row].delete(index);
                    }
                }
            }
            Step::Detach(row) => {
                let entity = self.entity(*row);
                self.ctx.table_named(TABLE).detach(&entity).unwrap();
                self.release(*row);
            }
            Step::Reset(row) => {
                let entity = self.entity(*row);
                if self.ctx.table_named(TABLE).reset(&entity).is_ok() {
                    self.edits[*row].forget();
                }
            }
            Step::Clear => {
                self.ctx.clear();
                (0..self.network.rows()).for_each(|row| self.release(row));
            }
            Step::Find(row, option) => {
                let before = self.states();
                let key = self.network.key(*row);
                self.set_merge_option(*option);
                let found = self.ctx.table_named::<DynamicEntity>(TABLE).find(key).await;
                self.set_merge_option(MergeOption::AppendOnly);
                let found = found.ok().flatten();
                if found.is_none()
                    && before[*row].is_some()
                    && self.state(*row) == Some(EntityState::Deleted)
                    && *option == MergeOption::PreserveChanges
                {
                    // The deletion is made to win over the row of now, which `find` does not return.
                    self.show_reads(*row);
                }
                self.read(&before, *option, found.into_iter().collect(), None);
            }
            Step::Refresh(row, option) => {
                let before = self.states();
                let entity = self.entity(*row);
                let mut table = self.ctx.table_named::<DynamicEntity>(TABLE);
                let found = table.refresh(&entity, *option).await.ok();
                if matches!(found, Some(None)) && *option != MergeOption::AppendOnly {
                    // The row is gone: the options detach the entity, or keep the local changes as an insert.
                    self.edits[*row].refresh_missing();
                }
                self.read(&before, *option, found.flatten().into_iter().collect(), None);
            }
            Step::Load(option, columns) => {
                let before = self.states();
                let query = self.ctx.service().table_named::<DynamicEntity>(TABLE).query();
                let query = match columns {
                    Some(columns) => query.select_names(columns.iter().copied()),
                    None => query,
                };
                let found = self.ctx.load(query).merge_option(*option).await.unwrap_or_default();
                self.read(&before, *option, found, columns.as_deref());
            }
            Step::Plan(mode) => drop(self.ctx.plan(mode.options())),
            Step::Fault(fault) => self.fault = Some(*fault),
            Step::Save(save) => self.save(save).await,
            Step::Foreign(foreign) => self.network.foreign(foreign).await,
            Step::Wait(seconds) => sleep(Duration::from_secs(*seconds)).await,
        }
    }

    /// The program has chosen to write over the version that the step has read.
    fn show_reads(&self, row: usize) {
        let mut log = self.network.log();
        for values in log.reads.clone() {
            log.rows.show(row, &values[row].clone().unwrap_or_default());
        }
    }

    fn set_merge_option(&mut self, option: MergeOption) {
        let other = TableContext::new(&self.ctx.service());
        self.ctx = std::mem::replace(&mut self.ctx, other).merge_option(option);
    }

    fn index(&self, row: usize) -> usize {
        self.network.log().rows.index(row)
    }

    fn release(&mut self, row: usize) {
        self.released.push(row);
        self.edits[row] = Edits::default();
        // Requests of the entity may still arrive, like those of another program.
        self.network.log().is_disturbed[row] = true;
    }

    fn add(&mut self, row: usize, add: Add, values: &Values) {
        let entity = self.with(row, values);
        let before = self.state(row);
        let mut table = self.ctx.table_named(TABLE);
        let added = match add {
            Add::Insert => table.add(&entity),
            Add::OrMerge => table.add_or_merge(&entity),
            Add::OrReplace => table.add_or_replace(&entity),
        };
        if added.is_err() {
            return;
        }
        self.held[row] = Some(entity);
        let index = self.index(row);
        // The pages name `add` only: whether `add_or_merge` removes the columns of the deleted row is open.
        let replaces = before == Some(EntityState::Deleted) && add != Add::OrMerge;
        self.edits[row].add(values, replaces, index);
        self.edits[row].is_partly_known |= add == Add::OrMerge;
        let mut log = self.network.log();
        if before.is_none() && log.rows.last(row).columns.is_some() {
            log.is_disturbed[row] = true;
        }
    }

    fn attach(&mut self, row: usize, attached: Attached, values: &Values) {
        let condition = {
            let log = self.network.log();
            match attached {
                Attached::Any => Some(IfMatch::Any),
                Attached::Current => {
                    log.rows.last(row).etag.as_deref().map(|tag| IfMatch::Tag(tag.into()))
                }
                Attached::First => log.rows.first_etag(row).map(|tag| IfMatch::Tag(tag.into())),
            }
        };
        let Some(condition) = condition else { return };
        let entity = self.with(row, values);
        if self.ctx.table_named(TABLE).attach(&entity, condition.clone()).is_err() {
            return;
        }
        self.held[row] = Some(entity);
        self.edits[row] = Edits::default();
        self.edits[row].is_partly_known = true;
        let mut log = self.network.log();
        log.is_disturbed[row] = true;
        // The program names the version, so that it knows the values.
        if let IfMatch::Tag(tag) = condition
            && let Some(version) = log.rows.version(row, tag.as_str()).cloned()
        {
            log.rows.show(row, &version.columns.unwrap_or_default());
        }
    }

    fn update(&mut self, row: usize, edits: &[(&'static str, Option<i32>)]) {
        let tracked = self.tracked(row);
        let known = tracked.as_ref().map(columns_of);
        let current = tracked.or_else(|| self.held[row].clone());
        let mut entity = current.unwrap_or_else(|| self.entity(row));
        // A column that the program does not have cannot be removed.
        let is_edit =
            |(name, value): &&(&str, Option<i32>)| value.is_some() || entity.value(name).is_some();
        let edits: Vec<_> = edits.iter().filter(is_edit).copied().collect();
        for (name, value) in &edits {
            entity.set(*name, *value);
            if let Some(value) = value {
                self.network.log().rows.pass(row, name, *value);
            }
        }
        let is_new = self.state(row) == Some(EntityState::Added);
        if self.ctx.table_named(TABLE).update(&entity).is_ok() {
            self.held[row] = Some(entity);
            let index = self.index(row);
            let etag = self.etag(row);
            let log = self.network.log();
            let base = etag.as_deref().and_then(|etag| log.rows.version(row, etag));
            let base = base.and_then(|version| version.columns.as_ref());
            self.edits[row].update(&edits, is_new, (base, known.as_ref()), index);
        }
    }

    /// The program receives entities of a query.
    fn read(
        &mut self,
        before: &[Option<EntityState>],
        option: MergeOption,
        found: Vec<DynamicEntity>,
        columns: Option<&[&'static str]>,
    ) {
        for entity in found {
            let Ok(row) = entity.key().row_key.parse::<usize>() else { continue };
            let after = self.state(row);
            let is_shown = match (before[row], option) {
                // Until a doubt is settled, every merge option acts as AppendOnly (context-machine.md, rule 6). The row may
                // settle it.
                (Some(EntityState::Unknown), _) if after == Some(EntityState::Unknown) => false,
                // The program receives the whole row, or has chosen an option that replaces the version.
                (None, _) | (_, MergeOption::OverwriteChanges | MergeOption::PreserveChanges) => {
                    true
                }
                // Values and ETag stay, and the program has what it receives (context-semantics.md, MergeOption).
                _ => false,
            };
            let mut log = self.network.log();
            log.rows.show(row, &columns_of(&entity));
            if columns.is_some() {
                log.is_disturbed[row] = true;
            }
            drop(log);
            if is_shown {
                // A condition is on the whole version, also if the query selected some columns.
                self.show_reads(row);
            }
            let edits = &mut self.edits[row];
            if is_shown && option == MergeOption::OverwriteChanges {
                edits.forget();
            } else if is_shown && option == MergeOption::PreserveChanges {
                edits.preserve();
            }
            if before[row].is_none() || (is_shown && option == MergeOption::OverwriteChanges) {
                (edits.is_partly_known, edits.is_doubtful) = (false, false);
            }
            edits.is_partly_known |= columns.is_some();
            if option != MergeOption::NoTracking {
                self.held[row] = Some(entity);
            }
        }
    }
}
