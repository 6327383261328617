//! Structs whose fields are properties of the entity that they are part of.

use super::{EncodeError, Field, PropertyWriter};
use crate::entity::{DecodeError, Row};

/// Reads a field of type `F` from a row in which its first column has this number.
#[doc(hidden)]
pub type ReadGroup<F> = fn(&mut Row<'_>, usize) -> Result<F, DecodeError>;

/// A struct that is stored as several properties of an entity, by `#[table(flatten)]`.
///
/// Implemented by `#[derive(PropertyGroup)]`, which accepts the attributes of properties that
/// `#[derive(TableEntity)]` accepts.
///
/// ```
/// use azure_table_client::entity::PropertyGroup;
/// use azure_table_client::{DynamicEntity, TableEntity};
///
/// #[derive(PropertyGroup)]
/// #[table(rename_all = "PascalCase")]
/// struct Address {
///     street: String,
///     city: String,
/// }
///
/// #[derive(TableEntity)]
/// #[table(rename_all = "PascalCase")]
/// struct Customer {
///     #[table(partition_key)]
///     country: String,
///     #[table(row_key)]
///     id: String,
///     #[table(flatten = "Home_")]
///     home: Address,
///     #[table(flatten = "Work_")]
///     work: Option<Address>,
/// }
///
/// let home = Address { street: "Main Street 1".into(), city: "Ulm".into() };
/// let customer = Customer { country: "DE".into(), id: "7".into(), home, work: None };
/// let stored = DynamicEntity::from_entity(&customer)?;
/// let names: Vec<_> = stored.properties().map(|(name, _)| name).collect();
/// assert_eq!(names, ["Home_Street", "Home_City"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be flattened into an entity",
    label = "not a group of properties",
    note = "write #[derive(PropertyGroup)] on the struct; an Option of such a struct can be flattened too"
)]
pub trait PropertyGroup: Sized {
    /// The fields. Those that are one property come first.
    #[doc(hidden)]
    const FIELDS: &'static [Field];

    /// The number of columns.
    const SIZE: usize = Field::count(Self::FIELDS);

    /// A struct of the columns, for conditions on entities of type `E`. A projection reads the group as an `F`.
    type Columns<E, F>;

    /// The columns for conditions, `prefix` before the name of each; `read` reads the group from a row in which its
    /// first column has this number.
    fn typed_columns<E, F>(prefix: &str, read: ReadGroup<F>) -> Self::Columns<E, F>;

    /// Hands the properties to `writer`.
    ///
    /// # Errors
    /// A value is outside what the service holds; the error names the property.
    fn write_properties(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError>;

    /// Reads the group, whose first column is `first`.
    ///
    /// # Errors
    /// A property is missing, null, of another type or out of range.
    fn read_properties(row: &mut Row<'_>, first: usize) -> Result<Self, DecodeError>;
}

/// `None` stores nothing; a row without any of the group's properties is read as `None`.
#[diagnostic::do_not_recommend]
impl<G: PropertyGroup> PropertyGroup for Option<G> {
    const FIELDS: &'static [Field] = &[Field::optional(G::FIELDS)];

    type Columns<E, F> = G::Columns<E, F>;

    fn typed_columns<E, F>(prefix: &str, read: ReadGroup<F>) -> Self::Columns<E, F> {
        G::typed_columns(prefix, read)
    }

    fn write_properties(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        self.as_ref().map_or(Ok(()), |group| group.write_properties(writer))
    }

    fn read_properties(row: &mut Row<'_>, first: usize) -> Result<Self, DecodeError> {
        if (first..first + Self::SIZE).any(|column| row.has(column)) {
            G::read_properties(row, first).map(Some)
        } else {
            Ok(None)
        }
    }
}
