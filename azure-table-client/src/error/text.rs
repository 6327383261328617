//! Text of an error that is safe and short enough to print.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::entity::EntityKey;

/// The most characters of a server's message that an error holds.
pub(super) const MESSAGE_CHARS: usize = 1024;
/// The most characters of a code, an id or a key that an error prints.
const NAME_CHARS: usize = 128;

/// Returns at most `most` characters of `text`, with an ellipsis where it is cut.
pub(super) fn bounded(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}

/// Returns a code or an id as an error prints it.
pub(super) fn name(text: &str) -> Cow<'_, str> {
    bounded(text, NAME_CHARS)
}

/// Returns a key as an error prints it: like its `Display`, but bounded.
pub(super) fn key(key: &EntityKey) -> String {
    EntityKey::new(name(&key.partition_key), name(&key.row_key)).to_string()
}

/// A duration as people write it: `250 ms`, `1.5 s`, `30 s`, `5 min`.
pub(crate) struct Rounded(pub(crate) Duration);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        let millis = micros.saturating_add(500) / 1000;
        let tenths = micros.saturating_add(50_000) / 100_000;
        let seconds = micros.saturating_add(500_000) / 1_000_000;
        if micros == 0 {
            f.write_str("0 s")
        } else if millis == 0 {
            f.write_str("less than 1 ms")
        } else if millis < 1000 {
            write!(f, "{millis} ms")
        } else if tenths < 600 && !tenths.is_multiple_of(10) {
            write!(f, "{}.{} s", tenths / 10, tenths % 10)
        } else if seconds < 120 {
            write!(f, "{seconds} s")
        } else if seconds.is_multiple_of(60) {
            write!(f, "{} min", seconds / 60)
        } else {
            write!(f, "{} min {} s", seconds / 60, seconds % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded() {
        for (micros, text) in [
            (0, "0 s"),
            (10, "less than 1 ms"),
            (976_494, "976 ms"),
            (999_600, "1 s"),
            (1_499_000, "1.5 s"),
            (5_000_000, "5 s"),
            (30_000_100, "30 s"),
            (59_990_000, "60 s"),
            (90_000_000, "90 s"),
            (150_400_000, "2 min 30 s"),
            (300_000_000, "5 min"),
        ] {
            assert_eq!(Rounded(Duration::from_micros(micros)).to_string(), text);
        }
        assert!(!Rounded(Duration::MAX).to_string().is_empty());
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(bounded("éé", 2), "éé");
        assert_eq!(bounded("ééé", 2), "éé…");
    }
}
