use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::ValueForm;
use super::{DateTimeError, EdmCow, EdmDateTime, EdmType, EdmValue};

/// A Rust type that can be stored as a property.
///
/// | Rust | Edm |
/// |---|---|
/// | `String`, `&str`, `Cow<str>`, `Box<str>`, `Arc<str>` | String |
/// | `bool` | Boolean |
/// | `i8`, `i16`, `i32`, `u8`, `u16` | Int32 |
/// | `u32`, `i64` | Int64 |
/// | `f32`, `f64` | Double |
/// | [`EdmDateTime`], `chrono::DateTime<Utc>` | DateTime, in ticks of 100 ns |
/// | `chrono::NaiveDateTime` | DateTime, as a time in UTC |
/// | `chrono::NaiveDate` | DateTime, the midnight of the date in UTC |
/// | `uuid::Uuid` | Guid |
/// | `Vec<u8>`, `Box<[u8]>`, `[u8; N]`, `bytes::Bytes` | Binary |
/// | `std::time::Duration`, `chrono::TimeDelta` | String, `P1DT2H3M4.5S` |
/// | a newtype with `#[derive(TableValue)]` | the type of its field |
/// | an enum with `#[derive(TableEnum)]` | String, or Int32 with `as_i32` |
/// | `Option<T>` | the type of `T`; `None` is not stored |
///
/// # Times
///
/// A DateTime has ticks of 100 ns. `DateTime<Utc>` and `NaiveDateTime` have nanoseconds: the digits below 100 ns are
/// dropped, so `Utc::now()` usually differs from the value that is read back. `#[table(on_inexact = "error")]` on the
/// field refuses such a value, and a leap second, instead.
///
/// # Durations
///
/// The service has no type for durations. They are stored as `Azure.Data.Tables` for .NET stores a `TimeSpan`: as
/// an XML duration in a String property, with up to nine digits of fraction, so nothing is lost. The text that the older
/// `Microsoft.Azure.Cosmos.Table` wrote, `1.02:03:04.5000000`, is read as well. .NET reads up to 10,675,199 days.
/// Filters find both forms by `eq`, `ne` and `is_in`. A duration in another form, such as `PT90S` in place of `PT1M30S`,
/// is an error when it is read, because filters could not find all forms. Durations have no order in filters; `as_padded`
/// stores a text that has one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a table property",
    label = "not an Edm property type",
    note = "use String, bool, i32, i64, f64, DateTime<Utc>, EdmDateTime, Uuid, Vec<u8>, bytes::Bytes, an integer that fits Int64, or an Option of one; u64 and usize do not fit: choose i64 or String",
    note = "write #[table(skip)] to leave a field out"
)]
pub trait ToEdm {
    /// The type that the property has in the service.
    const EDM_TYPE: EdmType;

    /// The value to store; `None` stores nothing.
    ///
    /// # Errors
    /// The value is outside what the service holds.
    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError>;

    /// The values that the type writes and reads. Types that implement the trait themselves may leave it out: tools that
    /// compare schemas then compare the name of the type.
    fn form() -> ValueForm {
        ValueForm::Unknown
    }

    /// Returns the other texts that [`FromEdm`] reads as this value. A filter finds them, too.
    fn aliases(&self) -> Vec<Cow<'static, str>> {
        Vec::new()
    }
}

/// A Rust type that can be read from a property; the reverse of [`ToEdm`].
///
/// The stored type must be the one that [`ToEdm`] writes: an Int32 is not read into an `i64`
/// unasked, since writing it back would change its type for every other program.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a table property",
    label = "not an Edm property type",
    note = "use String, bool, i32, i64, f64, DateTime<Utc>, EdmDateTime, Uuid, Vec<u8>, bytes::Bytes, an integer that fits Int64, or an Option of one; u64 and usize do not fit: choose i64 or String",
    note = "write #[table(skip)] to leave a field out"
)]
pub trait FromEdm: Sized {
    /// The type that the property must have in the service.
    const EDM_TYPE: EdmType;

    /// Takes over a stored value.
    ///
    /// # Errors
    /// The value has another type, or does not fit.
    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError>;

    /// The value of a missing or null property; `None` makes the property required.
    fn from_missing() -> Option<Self> {
        None
    }
}

/// The error of a conversion from or to an Edm value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConvertError {
    /// The property has another type than the field reads.
    WrongType {
        /// The type that the field reads.
        expected: EdmType,
        /// The type of the stored value.
        found: EdmType,
    },
    /// The number does not fit the Rust type without loss.
    OutOfRange {
        /// The stored number.
        value: String,
        /// The Rust type.
        target: &'static str,
    },
    /// The instant is outside the service's range.
    DateTime(DateTimeError),
    /// The type does not read the text that it writes; with `as_string` and `as_json`.
    NotReadBack {
        /// The text that would be stored.
        text: String,
        /// The error of reading it, or the difference.
        problem: String,
    },
    /// The message of a hand-written conversion.
    Other(String),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::OutOfRange { value, target } => {
                write!(f, "{value} does not fit {target} without loss")
            }
            Self::DateTime(error) => error.fmt(f),
            Self::NotReadBack { text, problem } => {
                write!(f, "the type writes {text:?} and does not read it back: {problem}")
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ConvertError {}

impl From<DateTimeError> for ConvertError {
    fn from(error: DateTimeError) -> Self {
        Self::DateTime(error)
    }
}

fn wrong_type(expected: EdmType, found: &EdmCow<'_>) -> ConvertError {
    ConvertError::WrongType { expected, found: found.edm_type() }
}

/// Both directions for a type: to the matching variant, and from it.
macro_rules! convert {
    ($type:ty, $variant:ident, $form:expr, |$this:ident| $to:expr, |$value:ident| $from:expr) => {
        impl ToEdm for $type {
            const EDM_TYPE: EdmType = EdmType::$variant;
            fn form() -> ValueForm {
                ValueForm::named($form)
            }
            #[inline]
            fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
                let $this = self;
                Ok(Some(EdmCow::$variant($to)))
            }
        }
        impl FromEdm for $type {
            const EDM_TYPE: EdmType = EdmType::$variant;
            #[inline]
            fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
                match value {
                    EdmCow::$variant($value) => $from,
                    other => Err(wrong_type(EdmType::$variant, &other)),
                }
            }
        }
    };
}

convert!(String, String, "text", |v| Cow::Borrowed(v), |v| Ok(v.into_owned()));
convert!(Cow<'static, str>, String, "text", |v| Cow::Borrowed(v), |v| Ok(Cow::Owned(
    v.into_owned()
)));
convert!(Box<str>, String, "text", |v| Cow::Borrowed(v), |v| Ok(v.into_owned().into_boxed_str()));
convert!(Arc<str>, String, "text", |v| Cow::Borrowed(v), |v| Ok(Arc::from(&*v)));
convert!(bool, Boolean, "bool", |v| *v, |v| Ok(v));
convert!(i32, Int32, "i32", |v| *v, |v| Ok(v));
convert!(i64, Int64, "i64", |v| *v, |v| Ok(v));
convert!(f64, Double, "f64", |v| *v, |v| Ok(v));
convert!(EdmDateTime, DateTime, "date-time", |v| *v, |v| Ok(v));
convert!(Uuid, Guid, "guid", |v| *v, |v| Ok(v));
convert!(Vec<u8>, Binary, "bytes", |v| Cow::Borrowed(v), |v| Ok(v.into_owned()));
convert!(Box<[u8]>, Binary, "bytes", |v| Cow::Borrowed(v), |v| Ok(v
    .into_owned()
    .into_boxed_slice()));
convert!(Bytes, Binary, "bytes", |v| Cow::Borrowed(v), |v| Ok(Self::from(v.into_owned())));
convert!(f32, Double, "f32", |v| f64::from(*v), |v| narrow(v));

impl<const N: usize> ToEdm for [u8; N] {
    const EDM_TYPE: EdmType = EdmType::Binary;
    fn form() -> ValueForm {
        ValueForm::Named(Cow::Owned(format!("{N} bytes")))
    }
    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        Ok(Some(EdmCow::Binary(Cow::Borrowed(self))))
    }
}

impl<const N: usize> FromEdm for [u8; N] {
    const EDM_TYPE: EdmType = EdmType::Binary;
    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        let EdmCow::Binary(bytes) = value else { return Err(wrong_type(EdmType::Binary, &value)) };
        (*bytes)
            .try_into()
            .map_err(|_| ConvertError::Other(format!("expected {N} bytes, found {}", bytes.len())))
    }
}

/// An `f32` is widened exactly when it is written. A double that is not exact as an `f32` is refused.
fn narrow(value: f64) -> Result<f32, ConvertError> {
    #[expect(clippy::cast_possible_truncation, reason = "checked by widening again")]
    let narrowed = value as f32;
    if value.is_nan() || f64::from(narrowed).to_bits() == value.to_bits() {
        return Ok(narrowed);
    }
    Err(ConvertError::OutOfRange { value: value.to_string(), target: "f32" })
}

macro_rules! convert_integer {
    ($($type:ident as $variant:ident($carrier:ty)),*) => {$(
        convert!($type, $variant, stringify!($type), |v| <$carrier>::from(*v), |v| Self::try_from(v).map_err(|_| {
            ConvertError::OutOfRange { value: v.to_string(), target: stringify!($type) }
        }));
    )*};
}

convert_integer!(
    i8 as Int32(i32),
    i16 as Int32(i32),
    u8 as Int32(i32),
    u16 as Int32(i32),
    u32 as Int64(i64)
);

impl ToEdm for &str {
    const EDM_TYPE: EdmType = EdmType::String;
    fn form() -> ValueForm {
        String::form()
    }
    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        Ok(Some(EdmCow::String(Cow::Borrowed(self))))
    }
}

#[diagnostic::do_not_recommend]
impl<T: ToEdm> ToEdm for Option<T> {
    const EDM_TYPE: EdmType = T::EDM_TYPE;
    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        self.as_ref().map_or(Ok(None), ToEdm::to_edm)
    }
    fn form() -> ValueForm {
        T::form()
    }
    fn aliases(&self) -> Vec<Cow<'static, str>> {
        self.as_ref().map_or_else(Vec::new, ToEdm::aliases)
    }
}

#[diagnostic::do_not_recommend]
impl<T: FromEdm> FromEdm for Option<T> {
    const EDM_TYPE: EdmType = T::EDM_TYPE;
    #[inline]
    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        T::from_edm(value).map(Some)
    }
    fn from_missing() -> Option<Self> {
        Some(None)
    }
}

impl EdmValue {
    /// Reads the value as a Rust type.
    ///
    /// # Errors
    /// The value has another type, or does not fit.
    pub fn get<T: FromEdm>(&self) -> Result<T, ConvertError> {
        T::from_edm(self.as_cow())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use chrono::{DateTime, Utc};

    use super::*;

    fn round_trip<T: ToEdm + FromEdm + PartialEq + Debug>(value: &T, ty: EdmType) {
        let edm = value.to_edm().unwrap().expect("not null");
        assert_eq!(edm.edm_type(), ty);
        assert_eq!(<T as ToEdm>::EDM_TYPE, ty);
        assert_eq!(T::from_edm(edm.clone()).unwrap(), *value);
    }

    #[test]
    fn every_carrier_at_its_extremes() {
        round_trip(&String::from("\u{1f600}'"), EdmType::String);
        round_trip(&Cow::<'static, str>::Borrowed("x"), EdmType::String);
        round_trip::<Box<str>>(&"x".into(), EdmType::String);
        round_trip::<Arc<str>>(&"x".into(), EdmType::String);
        round_trip(&true, EdmType::Boolean);
        round_trip(&i8::MIN, EdmType::Int32);
        round_trip(&i16::MIN, EdmType::Int32);
        round_trip(&u16::MAX, EdmType::Int32);
        round_trip(&u8::MAX, EdmType::Int32);
        round_trip(&i32::MIN, EdmType::Int32);
        round_trip(&u32::MAX, EdmType::Int64);
        round_trip(&i64::MIN, EdmType::Int64);
        round_trip(&f32::MIN_POSITIVE, EdmType::Double);
        round_trip(&f32::INFINITY, EdmType::Double);
        round_trip(&-0.0_f64, EdmType::Double);
        round_trip(&Uuid::max(), EdmType::Guid);
        round_trip(&vec![0_u8, 255], EdmType::Binary);
        round_trip::<Box<[u8]>>(&[0_u8, 255].into(), EdmType::Binary);
        round_trip(&[0_u8, 255, 7], EdmType::Binary);
        round_trip(&[0_u8; 0], EdmType::Binary);
        round_trip(&Bytes::new(), EdmType::Binary);
        round_trip(&EdmDateTime::MAX, EdmType::DateTime);
        round_trip(&EdmDateTime::MIN.to_chrono(), EdmType::DateTime);
        round_trip(&Some(5_i64), EdmType::Int64);
        assert!(None::<i64>.to_edm().unwrap().is_none());
    }

    #[test]
    fn nothing_is_cut_or_guessed() {
        let wrong = |r: Result<i64, ConvertError>| r.unwrap_err().to_string();
        assert_eq!(wrong(i64::from_edm(EdmCow::Int32(5))), "expected Edm.Int64, found Edm.Int32");
        assert_eq!(
            wrong(i64::from_edm(EdmCow::String("5".into()))),
            "expected Edm.Int64, found Edm.String"
        );
        assert_eq!(
            i8::from_edm(EdmCow::Int32(128)).unwrap_err().to_string(),
            "128 does not fit i8 without loss"
        );
        assert!(f32::from_edm(EdmCow::Double(0.1)).is_err());
        assert!(f32::from_edm(EdmCow::Double(f64::NAN)).unwrap().is_nan());
        assert!(DateTime::<Utc>::MAX_UTC.to_edm().is_err());
        let three = EdmCow::Binary(Cow::Borrowed(&[1, 2, 3]));
        let error = <[u8; 4]>::from_edm(three).unwrap_err().to_string();
        assert_eq!(error, "expected 4 bytes, found 3");
        assert!(<[u8; 1]>::from_edm(EdmCow::Int32(1)).is_err());
    }
}
