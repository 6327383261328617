//! The columns that a query reads.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Query, QuerySettings};
use crate::ETag;
use crate::client_core::ClientCore;
use crate::entity::{
    DecodeError, EachResult, HasKind, Lenient, OfKind, ReadRow, Readable, TableEntity, WithETag,
};
use crate::error::Error;
use crate::filter::{
    CompareOp, Filter, HasColumns, Projected, Projection, ProjectionOf, QueryFilter,
};
use crate::limits::{PARTITION_KEY, SYSTEM_PROPERTIES, check_property_name};
use crate::query::select_keys;

impl<E: TableEntity> Query<E> {
    /// Transfers only the properties with these names, and PartitionKey, RowKey and Timestamp. Fields of `E`
    /// that are not selected must be Options or have a default. Replaces an earlier selection.
    ///
    /// The names are checked when the query is sent; an invalid property name is an error of
    /// kind [`InvalidInput`](crate::ErrorKind::InvalidInput), and nothing is sent.
    ///
    /// Writing such an entity back by [`replace`](crate::client::TableClient::replace) deletes the other
    /// properties. A property is selected by its name in the row, so an alias must be selected as well. The
    /// discriminator of an enum of entities is always selected.
    pub fn select_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let system = SYSTEM_PROPERTIES.map(str::to_owned);
        let own = names.into_iter().map(Into::into);
        let own = own.filter(|name: &String| Some(name.as_str()) != E::DISCRIMINATOR);
        let own = own.chain(E::DISCRIMINATOR.map(str::to_owned));
        let own = own.filter(|name| !system.contains(name)).map(|name| {
            check_property_name(&name)?;
            Ok(name)
        });
        self.settings.select = own.chain(system.clone().map(Ok)).collect();
        self.settings.is_whole = false;
        self
    }

    /// Returns only the rows of one kind of an enum of entities, as the struct `K` of that kind. Further conditions
    /// and selections are on the columns of `K`. Replaces an earlier selection.
    ///
    /// The condition compares the text of the discriminator property. Rows that lack it, or in which it is not text, are of
    /// no kind: the enum reads them as its variant with `other`, and no condition on the kind finds them, not even
    /// `kind().ne(…)`.
    ///
    /// ```
    /// use azure_table_client::{TableEntity, mock::MockTableService};
    ///
    /// #[derive(TableEntity)]
    /// struct Post {
    ///     #[table(partition_key)]
    ///     user: String,
    ///     #[table(row_key)]
    ///     id: u32,
    ///     text: String,
    /// }
    ///
    /// #[derive(TableEntity)]
    /// struct Photo {
    ///     #[table(partition_key)]
    ///     user: String,
    ///     #[table(row_key)]
    ///     id: u32,
    ///     width: i32,
    /// }
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "Timeline", discriminator = "EntityType")]
    /// enum Item {
    ///     Post(Post),
    ///     Photo(Photo),
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let items = MockTableService::new().client().table::<Item>();
    /// # items.create().await?;
    /// items.insert(&Item::Post(Post { user: "joe".into(), id: 1, text: "Hello".into() })).await?;
    /// items.insert(&Item::Photo(Photo { user: "joe".into(), id: 2, width: 640 })).await?;
    ///
    /// let photos = items.query().of_kind::<Photo>().filter(|p| p.user.eq("joe")).await?;
    /// assert_eq!((photos.len(), photos[0].width), (1, 640));
    ///
    /// // All kinds but one, as the enum:
    /// let others = items.query().filter(|i| i.kind().ne(ItemKind::Photo)).await?;
    /// assert!(matches!(&others[0], Item::Post(post) if post.text == "Hello"));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias("OfType", "discriminator", "ResolveType"))]
    pub fn of_kind<K: TableEntity + 'static>(self) -> Query<K>
    where
        E: HasKind<K> + 'static,
    {
        let property = E::DISCRIMINATOR.unwrap_or_default();
        let kinds = E::KINDS.iter().map(|kind| Filter::compare(property, CompareOp::Eq, *kind));
        let mut query = match kinds.reduce(|one, other| Ok(one? | other?)) {
            Some(kinds) => self.add_filter(kinds.and_then(QueryFilter::checked)),
            None => self,
        };
        query.settings.select = Ok(Vec::new());
        query.reading(Arc::new(OfKind::<E>::new()))
    }
}

impl<E, T> Query<E, T> {
    /// Transfers only these columns, and returns their values: `|b| b.text` reads texts, and
    /// `|b| (b.text, b.rating)` reads pairs. Replaces an earlier selection.
    ///
    /// A group, a series and a split value are read whole. The column `etag` is the version of the row; alone, it
    /// transfers the PartitionKey as well.
    ///
    /// A key is read as its part, or as the tuple of its parts. A property is read like in the entity,
    /// including policies and defaults; a problem that the entity would collect is an error. A tuple has up
    /// to ten columns, and may contain tuples. Errors about a row contain its keys only if they are
    /// selected. A column of an enum of entities is read for all kinds that have such a property.
    ///
    /// # Errors
    /// Selecting a property twice is an error of kind [`InvalidInput`](crate::ErrorKind::InvalidInput) when
    /// the query is sent.
    #[doc(alias("$select", "Select", "projection", "map"))]
    pub fn select<P: Projection<E>>(
        self,
        columns: impl FnOnce(E::Columns<E>) -> P,
    ) -> Query<E, P::Output>
    where
        E: HasColumns + 'static,
    {
        self.project(columns(E::typed_columns("")))
    }

    /// Transfers only the columns of `S`, and returns values of `S`, a struct with `#[derive(Projection)]`.
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

    /// Returns a `Result` for each row, so that a row that cannot be decoded does not end the query. Call it after
    /// `select`.
    ///
    /// The error has the [key](DecodeError::key) of the row. A response that cannot be read as rows is still an error
    /// of the whole query.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, TableEntity, mock::MockTableService};
    /// #[derive(TableEntity)]
    /// #[table(name = "Blogs", rename_all = "PascalCase")]
    /// struct Blog {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     id: String,
    ///     rating: i32,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let blogs = MockTableService::new().client().table::<Blog>();
    /// # blogs.create().await?;
    /// let rows = blogs.with_entity::<DynamicEntity>();
    /// rows.insert(DynamicEntity::new("Channel9", "1").set("Rating", 3)).await?;
    /// rows.insert(DynamicEntity::new("Channel9", "2").set("Rating", "three")).await?;
    ///
    /// assert!(blogs.query().await.is_err());
    /// let mut ratings = Vec::new();
    /// for blog in blogs.query().results().await? {
    ///     match blog {
    ///         Ok(blog) => ratings.push(blog.rating),
    ///         Err(error) => println!("{:?}: {error}", error.key()),
    ///     }
    /// }
    /// assert_eq!(ratings, [3]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn results(mut self) -> Query<E, Result<T, DecodeError>>
    where
        T: 'static,
    {
        if let Ok(names) = &mut self.settings.select
            && !names.is_empty()
        {
            select_keys(names);
        }
        let reader = Arc::new(EachResult(Arc::clone(&self.reader)));
        self.reading(reader)
    }

    /// Returns each result with the version of its row, for entities without a field for it: enums of entities and
    /// structs without `#[table(etag)]`. Call it after `select`.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    /// # blogs.create().await?;
    /// # blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
    /// for (mut blog, etag) in blogs.query().partition("Channel9").with_etags().await? {
    ///     blogs.merge(blog.set("Rating", 5), etag).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A response without versions, which [`Metadata::None`](crate::Metadata::None) requests, is an error of kind
    /// [`Decode`](crate::ErrorKind::Decode).
    #[doc(alias("version", "Stored"))]
    pub fn with_etags(self) -> Query<E, (T, ETag)>
    where
        T: 'static,
    {
        let reader = Arc::new(WithETag(Arc::clone(&self.reader)));
        self.reading(reader)
    }

    /// Reads the rows with `projection`.
    pub(crate) fn project<P: Projection<E>>(mut self, projection: P) -> Query<E, P::Output>
    where
        E: 'static,
    {
        let projected = Projected::new(projection);
        let selection = projected.selection();
        let select = selection.check().map(|()| {
            let mut names: Vec<_> = selection.names().map(str::to_owned).collect();
            if names.is_empty() {
                // The version is not a property, and a query without `$select` transfers all properties.
                names.push(PARTITION_KEY.to_owned());
            }
            names
        });
        self.settings.select = select.map_err(Error::from);
        self.reading(Arc::new(projected))
    }

    /// Checks that a context of the client `core` can track the entities, and returns the names of the properties that
    /// are transferred; `None` for all.
    ///
    /// # Errors
    /// The query was created by another client, or reads rows of one kind.
    pub(crate) fn tracked_columns(
        &self,
        core: &Arc<ClientCore>,
    ) -> Result<Option<BTreeSet<String>>, Error> {
        self.settings.check_client(core)?;
        if self.settings.is_whole {
            return Ok(None);
        }
        let names = self.settings.select.as_ref().map_err(Error::clone)?;
        if names.is_empty() {
            return Err(Error::invalid_input(
                "a context tracks entities of the enum, not of one kind: filter by `kind()`",
            ));
        }
        let own = names.iter().filter(|name| !SYSTEM_PROPERTIES.contains(&name.as_str()));
        Ok(Some(own.cloned().collect()))
    }

    /// Reads the rows without a struct, as far as they can be read.
    pub(crate) fn into_dynamic(self) -> Query<E, Readable> {
        self.reading(Arc::new(Lenient))
    }

    fn reading<V, U>(self, reader: Arc<dyn ReadRow<U>>) -> Query<V, U> {
        let settings = QuerySettings { is_whole: false, ..self.settings };
        Query { settings, reader, entity: PhantomData }
    }
}
