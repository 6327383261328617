//! Text of any kind as a key, in an escaped form that keeps its order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Deref, RangeInclusive};

use super::order::ordinal;
use super::{KeyError, KeyPart};
use crate::edm::ValueForm;
use crate::edm::{ConvertError, EdmCow, EdmType, FromEdm, ToEdm};

/// Between the parts of a composite key. It sorts before every character of an escaped part, so
/// a part that is a prefix of another one comes before it.
pub(super) const SEPARATOR: char = '!';

/// Ranges of characters that are written as two characters: an allowed lead in the range or directly before the next
/// character after the range, and the position in the range as a digit of base 36.
///
/// The ranges hold all characters that keys must not hold, [`SEPARATOR`], and all characters that sort before it.
const ESCAPED: [(RangeInclusive<char>, char); 5] = [
    ('\0'..='#', '"'),
    ('.'..='/', '.'),
    ('>'..='?', '>'),
    ('['..='\\', '['),
    ('~'..='\u{9f}', '~'),
];
const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Text as a key or a part of one. It can hold any characters.
///
/// Keys must not hold `/ \ # ?` nor control characters. They are written as two characters each:
/// a lead that sorts where they do, and a digit; so are the leads themselves. The escaped texts
/// are in the order of the texts, and a prefix stays a prefix.
///
/// | range | written as |
/// |---|---|
/// | U+0000 to `#` (so the space, `!` and `"` too) | `"0` to `"Z` |
/// | `.` `/` | `.0` `.1` |
/// | `>` `?` | `>0` `>1` |
/// | `[` `\` | `[0` `[1` |
/// | `~` to U+009F | `~0` to `~X` |
///
/// ```
/// use azure_table_client::entity::{Escaped, KeyPart};
///
/// let path = Escaped("photos/2009 #1".to_owned());
/// assert_eq!(path.to_key()?, "photos.12009\"W\"Z1");
/// assert_eq!(Escaped::from_key(path.to_key()?)?, path);
/// # Ok::<(), azure_table_client::entity::KeyError>(())
/// ```
/// Values compare in the order of the service, by UTF-16 code units, unlike `str`. `Display`, `Deref` and serde are those
/// of the text, without escapes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Escaped(pub String);

impl Deref for Escaped {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Escaped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Ord for Escaped {
    fn cmp(&self, other: &Self) -> Ordering {
        ordinal(&self.0, &other.0)
    }
}

impl PartialOrd for Escaped {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<String> for Escaped {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Escaped {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// A property has the text itself; only the text of a key is escaped.
impl ToEdm for Escaped {
    const EDM_TYPE: EdmType = EdmType::String;

    fn form() -> ValueForm {
        ValueForm::named("text")
    }

    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        Ok(Some(EdmCow::String(Cow::Borrowed(&self.0))))
    }
}

impl FromEdm for Escaped {
    const EDM_TYPE: EdmType = EdmType::String;

    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        String::from_edm(value).map(Self)
    }
}

impl KeyPart for Escaped {
    fn form() -> ValueForm {
        ValueForm::named("escaped text")
    }
    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(escape(&self.0))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        unescape(text).map(|text| Self(text.into_owned()))
    }
}

fn range_of(c: char) -> Option<&'static (RangeInclusive<char>, char)> {
    ESCAPED.iter().find(|(range, _)| range.contains(&c))
}

#[doc(hidden)]
pub fn escape(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(|c| range_of(c).is_some()) else {
        return Cow::Borrowed(text);
    };
    let mut escaped = String::with_capacity(text.len() + 8);
    escaped.push_str(&text[..first]);
    for c in text[first..].chars() {
        match range_of(c) {
            Some((range, lead)) => {
                escaped.push(*lead);
                let at = c as usize - *range.start() as usize;
                escaped.push(char::from(DIGITS[at]));
            }
            None => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

pub(super) fn unescape(text: Cow<'_, str>) -> Result<Cow<'_, str>, KeyError> {
    let Some(first) = text.find(|c| range_of(c).is_some()) else {
        return Ok(text);
    };
    let mut plain = String::with_capacity(text.len());
    plain.push_str(&text[..first]);
    let mut rest = text[first..].chars();
    while let Some(c) = rest.next() {
        plain.push(match range_of(c) {
            None => c,
            Some((range, lead)) => rest
                .next()
                .filter(|_| c == *lead)
                .and_then(|digit| DIGITS.iter().position(|known| char::from(*known) == digit))
                .and_then(|at| range.clone().nth(at))
                .ok_or_else(|| KeyError(format!("{text:?} is not an escaped key")))?,
        });
    }
    Ok(Cow::Owned(plain))
}
