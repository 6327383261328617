//! The columns that a query reads of each row.

use std::marker::PhantomData;

use crate::entity::{Columns, DecodeError, Field, ReadRow, Row};
use crate::limits::LimitError;

/// The columns that a query reads of each row of `E`: a column, a key, a whole group or series, the version, or a tuple
/// of projections.
///
/// See [`Query::select`](crate::client::Query::select).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a selection of the columns of `{E}`",
    label = "not a column, a key, or a tuple of such",
    note = "select columns, such as `|b| b.text` or `|b| (b.text, b.rating)`",
    note = "a part of a key is selected with the whole key: `b.row_key` or `b.partition_key`, whose value is the tuple of its parts"
)]
pub trait Projection<E>: Send + Sync + 'static {
    /// The value that is read of a row.
    type Output;

    /// Adds the columns to a selection.
    #[doc(hidden)]
    fn select(&self, selection: &mut Selection);

    /// Reads the columns from number `next`, and advances `next` past them.
    #[doc(hidden)]
    fn read(&self, row: &mut Row<'_>, next: &mut usize) -> Result<Self::Output, DecodeError>;
}

/// The properties that a projection reads.
#[derive(Debug)]
pub struct Selection {
    columns: Columns,
    /// The keys and the Timestamp, which have their own slots in a row.
    system: Vec<&'static str>,
    /// The first column that no row can have.
    fault: Option<LimitError>,
}

impl Selection {
    /// Checks that all columns can exist, and that none appears twice.
    pub(crate) fn check(&self) -> Result<(), LimitError> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => self.columns.check(),
        }
    }

    /// Returns the names of the properties to transfer.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.names().chain(self.system.iter().copied())
    }

    pub(super) fn property(&mut self, name: &str, aliases: &[String]) {
        let column = self.columns.add(name.to_owned());
        for alias in aliases {
            self.columns.alias(alias, column);
        }
    }

    /// Adds the properties of a field that is stored as several, `prefix` before the name of each.
    pub(super) fn properties(&mut self, prefix: &str, fields: &[Field]) {
        self.columns.fields(prefix, fields);
    }

    /// Records that a column cannot exist.
    pub(super) fn refuse(&mut self, fault: LimitError) {
        self.fault.get_or_insert(fault);
    }

    pub(crate) fn system(&mut self, name: &'static str) {
        if !self.system.contains(&name) {
            self.system.push(name);
        }
    }
}

macro_rules! tuples {
    ($([$part:ident $at:tt])*) => {
        #[diagnostic::do_not_recommend]
        impl<Entity: 'static, $($part: Projection<Entity>),*> Projection<Entity> for ($($part,)*) {
            type Output = ($($part::Output,)*);

            fn select(&self, selection: &mut Selection) {
                $(self.$at.select(selection);)*
            }

            fn read(
                &self,
                row: &mut Row<'_>,
                next: &mut usize,
            ) -> Result<Self::Output, DecodeError> {
                Ok(($(self.$at.read(row, next)?,)*))
            }
        }
    };
}

tuples!([A 0]);
tuples!([A 0] [B 1]);
tuples!([A 0] [B 1] [C 2]);
tuples!([A 0] [B 1] [C 2] [D 3]);
tuples!([A 0] [B 1] [C 2] [D 3] [E 4]);
tuples!([A 0] [B 1] [C 2] [D 3] [E 4] [F 5]);
tuples!([A 0] [B 1] [C 2] [D 3] [E 4] [F 5] [G 6]);
tuples!([A 0] [B 1] [C 2] [D 3] [E 4] [F 5] [G 6] [H 7]);
tuples!([A 0] [B 1] [C 2] [D 3] [E 4] [F 5] [G 6] [H 7] [I 8]);
tuples!([A 0] [B 1] [C 2] [D 3] [E 4] [F 5] [G 6] [H 7] [I 8] [J 9]);

impl<E: 'static> Projection<E> for () {
    type Output = ();

    fn select(&self, _: &mut Selection) {}

    fn read(&self, _: &mut Row<'_>, _: &mut usize) -> Result<(), DecodeError> {
        Ok(())
    }
}

/// A struct of some columns of `E`, for [`Query::select_as`](crate::client::Query::select_as).
///
/// Implemented by `#[derive(Projection)]` with `#[table(of = "…")]`. Each field is the column with its
/// name and type; `#[table(column = "…")]` names another column, for example `home.city` in a group, and
/// `#[table(etag)]` marks a field of type [`ETag`](crate::ETag) or `Option<ETag>` that receives the version of the
/// row. The entity determines the stored name, the codec and the policies of each column.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a struct of columns of `{E}`",
    label = "not a struct of columns",
    note = "write #[derive(Projection)] and #[table(of = \"…\")], with the name of the entity, on the struct"
)]
pub trait ProjectionOf<E>: Sized {
    /// The columns of `E`.
    #[doc(hidden)]
    type Columns;

    /// Returns the projection that builds the struct.
    #[doc(hidden)]
    fn projection(columns: Self::Columns) -> impl Projection<E, Output = Self>;
}

/// A projection whose values are mapped.
struct Mapped<P, F> {
    projection: P,
    map: F,
}

/// Maps the values of a projection, for generated code.
#[doc(hidden)]
pub fn project<E: 'static, P, T, F>(projection: P, map: F) -> impl Projection<E, Output = T>
where
    P: Projection<E>,
    F: Fn(P::Output) -> T + Send + Sync + 'static,
{
    Mapped { projection, map }
}

impl<E: 'static, P, T, F> Projection<E> for Mapped<P, F>
where
    P: Projection<E>,
    F: Fn(P::Output) -> T + Send + Sync + 'static,
{
    type Output = T;

    fn select(&self, selection: &mut Selection) {
        self.projection.select(selection);
    }

    fn read(&self, row: &mut Row<'_>, next: &mut usize) -> Result<T, DecodeError> {
        self.projection.read(row, next).map(&self.map)
    }
}

/// Reads rows by a projection.
pub(crate) struct Projected<E, P> {
    projection: P,
    of: PhantomData<fn() -> E>,
}

impl<E, P: Projection<E>> Projected<E, P> {
    pub(crate) const fn new(projection: P) -> Self {
        Self { projection, of: PhantomData }
    }

    pub(crate) fn selection(&self) -> Selection {
        let mut selection =
            Selection { columns: Columns::new(&[]), system: Vec::new(), fault: None };
        self.projection.select(&mut selection);
        selection
    }
}

impl<E, P: Projection<E>> ReadRow<P::Output> for Projected<E, P> {
    fn columns(&self) -> Columns {
        self.selection().columns
    }

    fn keeps_others(&self) -> bool {
        false
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<P::Output, DecodeError> {
        let value = self.projection.read(row, &mut 0)?;
        // A projection cannot collect the problems of its fields.
        match row.take_problems().into_iter().next() {
            None => Ok(value),
            Some(problem) => Err(problem),
        }
    }
}
