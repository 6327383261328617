//! One table for each period, dropped as a whole.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::time::Duration;

use azure_table_client::client::Query;
use azure_table_client::limits::check_own_table_name;
use azure_table_client::{ErrorCode, TableClient, TableEntity, TableServiceClient};
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, future, stream};

use super::period::midnight;
use super::{MARGIN, Period};
use crate::Error;

const LONGEST_SUFFIX: &str = "20261123";

/// Tables that each hold the rows of one period, such as `Logs20261123` for a day.
pub struct PeriodTables<T> {
    service: TableServiceClient,
    prefix: String,
    period: Period,
    keep: Duration,
    margin: Duration,
    entity: PhantomData<fn() -> T>,
}

/// The changes of a [`maintain`](PeriodTables::maintain).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Maintained {
    /// The tables that were created, ordered by time.
    pub created: Vec<String>,
    /// The tables that were dropped, ordered by time.
    pub dropped: Vec<String>,
}

impl<T: TableEntity> PeriodTables<T> {
    /// Creates the access to tables whose names are `prefix` and the suffix of a [`Period`], and whose rows are kept for
    /// at least `keep` after their time. All programs must use the same settings.
    ///
    /// # Errors
    /// The prefix is not a valid beginning of a table name, or ends with a digit: names could then be those of
    /// another prefix.
    pub fn new(
        service: &TableServiceClient,
        prefix: impl Into<String>,
        period: Period,
        keep: Duration,
    ) -> Result<Self, Error> {
        let prefix = prefix.into();
        if !prefix.ends_with(|last: char| last.is_ascii_alphabetic()) {
            return Err(Error::invalid_input(format!(
                "prefix {prefix:?} of tables does not end with a letter"
            )));
        }
        check_own_table_name(&format!("{prefix}{LONGEST_SUFFIX}"))
            .map_err(azure_table_client::Error::from)?;
        let service = service.clone();
        Ok(Self { service, prefix, period, keep, margin: MARGIN, entity: PhantomData })
    }

    /// Sets the time by which the clocks of any two programs may differ; the default is one day. Tables are dropped by
    /// this time later.
    ///
    /// # Errors
    /// [`InvalidInput`](Error::InvalidInput) if a time that differs by the margin from now is outside the years 1601 to
    /// 9998.
    pub fn margin(self, margin: Duration) -> Result<Self, Error> {
        let tables = Self { margin, ..self };
        tables.clocks(tables.now())?;
        Ok(tables)
    }

    /// Returns the table of the rows with this time. Sends nothing.
    ///
    /// # Errors
    /// The time is outside the years 1601 to 9998.
    pub fn table(&self, time: DateTime<Utc>) -> Result<TableClient<T>, Error> {
        Ok(self.client(self.first_day(time)?))
    }

    /// Returns the existing tables of the rows with these times, ordered by time.
    ///
    /// # Errors
    /// A request failed.
    pub async fn tables(&self, times: Range<DateTime<Utc>>) -> Result<Vec<TableClient<T>>, Error> {
        let mut found = self.list().await?;
        found.retain(|(day, _)| midnight(*day) < times.end && self.end(*day) > times.start);
        Ok(found.into_iter().map(|(_, name)| self.service.table_named(name)).collect())
    }

    /// Queries the existing tables of the rows with these times, one after another. `refine` adds filters, also those of
    /// the time: the first and the last table may hold other rows. A table that is dropped meanwhile has no rows.
    ///
    /// # Errors
    /// A request failed, or a row is not a valid `T`.
    pub fn query(
        &self,
        times: Range<DateTime<Utc>>,
        refine: impl Fn(Query<T>) -> Query<T> + Clone + Send,
    ) -> impl Stream<Item = Result<T, Error>> + Send
    where
        T: Send + 'static,
    {
        let tables = self.clone();
        let tables = async move { tables.tables(times).await };
        let rows = move |table: TableClient<T>| {
            let rows = refine(table.query()).stream();
            rows.take_while(|row| future::ready(!row.as_ref().is_err_and(is_dropped)))
                .map_err(Error::from)
        };
        stream::once(tables)
            .map_ok(move |tables| stream::iter(tables).flat_map(rows.clone()))
            .try_flatten()
    }

    /// Creates the tables of this period and the next one, and drops the tables whose rows are all older than `keep`.
    /// At most one period (28 days for months) may pass between two calls. Any number of programs may call it.
    ///
    /// # Errors
    /// A request failed. Call it again.
    pub async fn maintain(&self) -> Result<Maintained, Error> {
        let now = self.now();
        let needed = self.needed(now)?;
        let existing = self.list().await?;
        let mut changes = Maintained::default();
        for day in needed {
            let name = self.name(day);
            let exists = existing.iter().any(|(known, _)| *known == day);
            if !exists && self.service.create_table_if_not_exists(&name).await? {
                changes.created.push(name);
            }
        }
        for (day, name) in existing {
            if self.is_expired(day, now) && self.drop_table(&name).await? {
                changes.dropped.push(name);
            }
        }
        Ok(changes)
    }

    async fn drop_table(&self, name: &str) -> Result<bool, Error> {
        match self.service.delete_table_if_exists(name).await {
            Err(error) if is_dropped(&error) => Ok(false),
            result => Ok(result?),
        }
    }

    /// The periods that a program may write to until the period after this one begins.
    fn needed(&self, now: DateTime<Utc>) -> Result<Vec<NaiveDate>, Error> {
        let Range { start, end: last } = self.clocks(now)?;
        let mut days = vec![self.first_day(start)?];
        while let Some(next) = days.last().and_then(|day| self.period.next(*day)) {
            let is_enough = days.last().is_some_and(|day| midnight(*day) > last);
            if is_enough {
                break;
            }
            days.push(next);
        }
        Ok(days)
    }

    /// The earliest and the latest time that a clock may show.
    fn clocks(&self, now: DateTime<Utc>) -> Result<Range<DateTime<Utc>>, Error> {
        let margin = TimeDelta::from_std(self.margin).unwrap_or(TimeDelta::MAX);
        let times = now.checked_sub_signed(margin).zip(now.checked_add_signed(margin));
        let (start, end) = times.ok_or_else(|| {
            Error::invalid_input(format!("the margin is too long ({:?})", self.margin))
        })?;
        self.first_day(start)?;
        self.first_day(end)?;
        Ok(start..end)
    }

    fn now(&self) -> DateTime<Utc> {
        self.service.clock().now().into()
    }

    /// Whether the rows of the period are older than `keep`, by the clock of any program.
    fn is_expired(&self, day: NaiveDate, now: DateTime<Utc>) -> bool {
        let age = now.signed_duration_since(self.end(day)).to_std();
        age.is_ok_and(|age| age >= self.keep.saturating_add(self.margin))
    }

    /// The tables that exist, ordered by time. Names that are not exactly those of a period belong to others.
    async fn list(&self) -> Result<Vec<(NaiveDate, String)>, Error> {
        // The suffix begins with a digit, and ':' comes after the digits.
        let filter = format!("TableName ge '{0}0' and TableName lt '{0}:'", self.prefix);
        let names = self.service.list_tables().filter_text(&filter).await?;
        let mut found: Vec<_> = names
            .into_iter()
            .filter_map(|name| {
                let (prefix, suffix) = name.split_at_checked(self.prefix.len())?;
                let is_own = prefix.eq_ignore_ascii_case(&self.prefix);
                let day = self.period.parse(suffix).filter(|_| is_own)?;
                Some((day, name))
            })
            .collect();
        found.sort();
        Ok(found)
    }

    fn first_day(&self, time: DateTime<Utc>) -> Result<NaiveDate, Error> {
        let first_day = self.period.first_day(time.date_naive());
        first_day.ok_or_else(|| {
            Error::invalid_input(format!("time {time} is outside the years 1601 to 9998"))
        })
    }

    /// The end of a period.
    fn end(&self, day: NaiveDate) -> DateTime<Utc> {
        self.period.next(day).map_or(DateTime::<Utc>::MAX_UTC, midnight)
    }

    fn name(&self, day: NaiveDate) -> String {
        format!("{}{}", self.prefix, self.period.suffix(day))
    }

    fn client(&self, day: NaiveDate) -> TableClient<T> {
        self.service.table_named(self.name(day))
    }
}

fn is_dropped(error: &azure_table_client::Error) -> bool {
    matches!(error.code(), Some(ErrorCode::TableNotFound | ErrorCode::TableBeingDeleted))
}

impl<T> Clone for PeriodTables<T> {
    fn clone(&self) -> Self {
        let Self { service, prefix, period, keep, margin, .. } = self;
        let (service, prefix, entity) = (service.clone(), prefix.clone(), PhantomData);
        Self { service, prefix, period: *period, keep: *keep, margin: *margin, entity }
    }
}

impl<T> fmt::Debug for PeriodTables<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeriodTables")
            .field("prefix", &self.prefix)
            .field("period", &self.period)
            .field("keep", &self.keep)
            .field("margin", &self.margin)
            .finish_non_exhaustive()
    }
}
