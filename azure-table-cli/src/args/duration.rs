//! Durations: a number with its unit.

use std::time::Duration;

/// Reads a duration of at least one millisecond: `500ms`, `2s`, `90m`, `12h` or `7d`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    read(text).ok_or_else(|| {
        "it must be a number with its unit, such as 500ms, 2s, 90m, 12h or 7d".to_owned()
    })
}

fn read(text: &str) -> Option<Duration> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        "d" => 24 * 60 * 60 * 1_000,
        _ => return None,
    };
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    number.checked_mul(milliseconds).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        for (text, milliseconds) in
            [("1ms", 1), ("2s", 2_000), ("90m", 5_400_000), ("7d", 604_800_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)));
        }
        let most = u64::MAX.to_string();
        for bad in ["", "5", "0s", "-1s", "1.5h", "1 s", "1S", "ms", "1w", "é", &format!("{most}s")]
        {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
