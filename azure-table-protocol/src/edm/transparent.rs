//! Newtypes that are stored as their field.

use std::borrow::Cow;

use super::ValueForm;
use super::{ConvertError, EdmCow, EdmType, FromEdm, ToEdm};

/// A newtype that is stored as the only field that it has, as a property and in keys.
///
/// Implemented by `#[derive(TableValue)]`. The newtype then implements each of [`ToEdm`], [`FromEdm`],
/// [`KeyPart`](crate::key::KeyPart) and the traits of filters that its field implements: text has a prefix, numbers
/// have an order. It is another type to the compiler, so that one id cannot be given for another.
///
/// ```
/// use azure_table_client::mock::MockTableService;
/// use azure_table_client::{TableEntity, TableValue};
///
/// #[derive(Debug, Clone, PartialEq, TableValue)]
/// struct UserId(String);
///
/// #[derive(Debug, Clone, Copy, PartialEq, TableValue)]
/// struct Points(i64);
///
/// #[derive(TableEntity)]
/// #[table(name = "Scores")]
/// struct Score {
///     #[table(partition_key)]
///     game: String,
///     #[table(row_key)]
///     user: UserId,
///     points: Points,
///     invited_by: Option<UserId>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let scores = MockTableService::new().client().table::<Score>();
/// # scores.create().await?;
/// let joe = UserId("joe".into());
/// let score = Score { game: "chess".into(), user: joe.clone(), points: Points(7), invited_by: None };
/// scores.insert(&score).await?;
/// assert_eq!(scores.get(Score::key("chess", &joe)).await?.points, Points(7));
/// let good = scores.query().filter(|s| s.user.eq(&joe) & s.points.ge(Points(5))).await?;
/// assert_eq!(good.len(), 1);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a newtype that can be stored",
    label = "no #[derive(TableValue)]",
    note = "write #[derive(TableValue)] on the struct"
)]
pub trait TableValue: Sized {
    /// The type of the field.
    type Inner;

    /// Returns the field.
    fn inner(&self) -> &Self::Inner;

    /// Returns the newtype of this value.
    fn from_inner(inner: Self::Inner) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: TableValue<Inner: ToEdm>> ToEdm for T {
    const EDM_TYPE: EdmType = <T::Inner as ToEdm>::EDM_TYPE;

    fn form() -> ValueForm {
        T::Inner::form()
    }

    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        self.inner().to_edm()
    }

    fn aliases(&self) -> Vec<Cow<'static, str>> {
        self.inner().aliases()
    }
}

#[diagnostic::do_not_recommend]
impl<T: TableValue<Inner: FromEdm>> FromEdm for T {
    const EDM_TYPE: EdmType = <T::Inner as FromEdm>::EDM_TYPE;

    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        T::Inner::from_edm(value).map(Self::from_inner)
    }

    fn from_missing() -> Option<Self> {
        T::Inner::from_missing().map(Self::from_inner)
    }
}
