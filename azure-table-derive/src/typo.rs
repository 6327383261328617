//! Corrections of misspelled words.

/// "unknown … `written`", and what to write instead.
pub(crate) fn unknown<'k>(
    what: &str,
    written: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> String {
    if let Some(meant) = correct(written, known.clone()) {
        return format!("unknown {what} `{written}`; did you mean `{meant}`?");
    }
    let known: Vec<_> = known.map(|name| format!("`{name}`")).collect();
    format!("unknown {what} `{written}`: write one of {}", known.join(", "))
}

/// Returns the word of `known` that `written` probably misspells.
pub(crate) fn correct<'k>(written: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let written = written.to_lowercase();
    known
        .map(|name| (distance(&written, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The number of characters to insert, remove or replace (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("skip", "skip", 0),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
        ] {
            assert_eq!(distance(from, to), expected, "{from} to {to}");
            assert_eq!(distance(to, from), expected, "{to} to {from}");
        }
    }

    #[test]
    fn corrects_what_is_near_and_nothing_else() {
        let correct = |written| correct(written, ["partition_key", "rename", "skip"].into_iter());
        assert_eq!(correct("PartitionKey"), Some("partition_key"));
        assert_eq!(correct("renamed"), Some("rename"));
        assert_eq!(correct("skipp"), Some("skip"));
        assert_eq!(correct("index"), None);
        assert_eq!(correct("pk"), None);
    }
}
