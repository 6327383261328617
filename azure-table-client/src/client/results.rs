//! Queries that are asked for something other than all their entities.

use std::borrow::Cow;

use super::Query;
use crate::entity::{DecodeError, EncodeError, KeyError, PropertyWriter, Row, TableEntity};
use crate::error::Error;

impl<T: TableEntity + Send + 'static> Query<T> {
    /// The first entity in key order, `None` if there is none. One row travels.
    ///
    /// # Errors
    /// As the query itself. Pages that are empty although more follow are seen through, so that it
    /// may take several requests.
    pub async fn first(self) -> Result<Option<T>, Error> {
        Ok(self.at_most(1).await?.pop())
    }

    /// The only entity, `None` if there is none.
    ///
    /// # Errors
    /// [`ErrorKind::NotSingle`](crate::ErrorKind::NotSingle) if there are several.
    pub async fn one_or_none(self) -> Result<Option<T>, Error> {
        let table = self.table.clone();
        let mut entities = self.at_most(2).await?;
        if entities.len() > 1 {
            return Err(Error::not_single(format!(
                "the query of {table} has more than one result"
            )));
        }
        Ok(entities.pop())
    }

    /// The only entity.
    ///
    /// # Errors
    /// [`ErrorKind::NotSingle`](crate::ErrorKind::NotSingle) if there is none, or if there are
    /// several.
    pub async fn single(self) -> Result<T, Error> {
        let table = self.table.clone();
        self.one_or_none()
            .await?
            .ok_or_else(|| Error::not_single(format!("the query of {table} has no result")))
    }

    /// Whether there is an entity. One key travels.
    ///
    /// # Errors
    /// As the query itself.
    pub async fn any(self) -> Result<bool, Error> {
        Ok(!self.keys_only().at_most(1).await?.is_empty())
    }

    /// The number of entities. The service does not count: one key of each travels, page by page,
    /// and none is kept.
    ///
    /// # Errors
    /// As the query itself.
    pub async fn count(self) -> Result<u64, Error> {
        let mut count = 0;
        let mut pages = self.keys_only().pages();
        while let Some(page) = pages.next().await {
            count += page?.entities.len() as u64;
        }
        Ok(count)
    }

    /// The first entities, within the limit that is set already.
    async fn at_most(self, entities: u64) -> Result<Vec<T>, Error> {
        let limit = self.take.map_or(entities, |take| take.min(entities));
        self.take(limit).await
    }

    fn keys_only(mut self) -> Query<KeyOnly> {
        self.select = self.select.map(|_| vec!["PartitionKey".to_owned()]);
        self.with_entity()
    }
}

/// A row of which nothing is read.
struct KeyOnly;

impl TableEntity for KeyOnly {
    const COLUMNS: &'static [&'static str] = &[];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Err(KeyError::new("not read"))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Err(KeyError::new("not read"))
    }

    fn write_properties(&self, _: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        Ok(())
    }

    fn from_row(_: &mut Row<'_>) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}
