//! The columns that a query reads.

use std::marker::PhantomData;
use std::sync::Arc;

use super::Query;
use crate::entity::{Lenient, ReadRow, Readable, TableEntity};
use crate::error::Error;
use crate::filter::{HasColumns, Projected, Projection, ProjectionOf};
use crate::limits::{SYSTEM_PROPERTIES, check_property_name};

impl<E: TableEntity> Query<E> {
    /// Only the properties of these names travel; PartitionKey, RowKey and Timestamp always do. Fields
    /// of `E` that are left out must be Options or have a default. It replaces an earlier choice.
    ///
    /// The names are checked when the query is sent; one that no property can have is an error of
    /// kind [`InvalidInput`](crate::ErrorKind::InvalidInput), and nothing is sent.
    ///
    /// Writing such an entity back by [`replace`](super::TableClient::replace) deletes what was
    /// left out. A property is selected by the name that the row has it under: an alias is one more
    /// name to select. Of an enum of entities, the property that tells the kinds apart travels too.
    pub fn select_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let system = SYSTEM_PROPERTIES.map(str::to_owned);
        let own = names.into_iter().map(Into::into);
        let own = own.filter(|name: &String| Some(name.as_str()) != E::DISCRIMINATOR);
        let own = own.chain(E::DISCRIMINATOR.map(str::to_owned));
        let own = own.filter(|name| !system.contains(name)).map(|name| {
            check_property_name(&name)?;
            Ok(name)
        });
        self.select = own.chain(system.clone().map(Ok)).collect();
        self
    }
}

impl<E, T> Query<E, T> {
    /// Only these columns travel, and each result is their values: `|b| b.text` reads texts, and
    /// `|b| (b.text, b.rating)` pairs. It replaces an earlier choice.
    ///
    /// A key is read as its part, or as the tuple of its parts. A property is read as the entity
    /// reads it, policies and defaults included; what it would collect is an error. A tuple has up
    /// to ten columns, and can have tuples in it. Errors about a row name it only if its keys are
    /// selected. Of an enum of entities, a column is read of all kinds that have such a property.
    ///
    /// # Errors
    /// Selecting a property twice is one of kind [`InvalidInput`](crate::ErrorKind::InvalidInput), when
    /// the query is sent.
    pub fn select<P: Projection<E>>(
        self,
        columns: impl FnOnce(E::Columns<E>) -> P,
    ) -> Query<E, P::Output>
    where
        E: HasColumns + 'static,
    {
        self.project(columns(E::typed_columns("")))
    }

    /// Only the columns of `S` travel, and each result is an `S`; `#[derive(Projection)]` makes one.
    ///
    /// ```
    /// use azure_table_client::filter::Projection;
    /// # use azure_table_client::{TableEntity, mock::MockTableService};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "Blogs")]
    /// # struct Blog {
    /// #     #[table(partition_key)]
    /// #     channel: String,
    /// #     #[table(row_key)]
    /// #     id: u32,
    /// #     text: String,
    /// #     rating: Option<i32>,
    /// # }
    ///
    /// #[derive(Projection)]
    /// #[table(of = "Blog")]
    /// struct Summary {
    ///     id: u32,
    ///     rating: Option<i32>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let blogs = MockTableService::new().client().table::<Blog>();
    /// # blogs.create().await?;
    /// # let blog = Blog { channel: "Channel9".into(), id: 1, text: "Hello".into(), rating: Some(3) };
    /// # blogs.insert(&blog).await?;
    /// let summaries = blogs.query().filter(|b| b.rating.ge(3)).select_as::<Summary>().await?;
    /// assert_eq!((summaries[0].id, summaries[0].rating), (1, Some(3)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn select_as<S: ProjectionOf<E, Columns = E::Columns<E>>>(self) -> Query<E, S>
    where
        E: HasColumns + 'static,
    {
        self.project(S::projection(E::typed_columns("")))
    }

    /// The same query, of which `projection` reads the rows.
    pub(crate) fn project<P: Projection<E>>(self, projection: P) -> Query<E, P::Output>
    where
        E: 'static,
    {
        let projected = Projected::new(projection);
        let selection = projected.selection();
        let select = selection.check().map(|()| selection.names().map(str::to_owned).collect());
        self.reading(Arc::new(projected), select.map_err(Error::from))
    }

    /// The same query, of which rows are read without a struct, as far as they can be.
    pub(crate) fn into_dynamic(mut self) -> Query<E, Readable> {
        let select = std::mem::replace(&mut self.select, Ok(Vec::new()));
        self.reading(Arc::new(Lenient), select)
    }

    fn reading<U>(
        self,
        reader: Arc<dyn ReadRow<U>>,
        select: Result<Vec<String>, Error>,
    ) -> Query<E, U> {
        Query {
            pipeline: self.pipeline,
            table: self.table,
            filter: self.filter,
            select,
            reader,
            scan_allowed: self.scan_allowed,
            fault: self.fault,
            page_size: self.page_size,
            take: self.take,
            start: self.start,
            options: self.options,
            entity: PhantomData,
        }
    }
}
