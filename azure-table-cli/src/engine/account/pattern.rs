//! Patterns for the names of tables.

use std::fmt;
use std::str::FromStr;

/// A pattern in which `*` is any text and `?` any character. Upper and lower case are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern(String);

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("a pattern must not be empty".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pattern {
    pub(crate) fn matches(&self, name: &str) -> bool {
        let pattern: Vec<char> = self.0.to_lowercase().chars().collect();
        let name: Vec<char> = name.to_lowercase().chars().collect();
        let (mut at, mut read) = (0, 0);
        // The last `*`, and the end of the text that it stands for.
        let mut star: Option<(usize, usize)> = None;
        while read < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, read));
                    at += 1;
                }
                Some(c) if *c == '?' || *c == name[read] => {
                    at += 1;
                    read += 1;
                }
                _ => match star {
                    Some((position, end)) => {
                        star = Some((position, end + 1));
                        (at, read) = (position + 1, end + 1);
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|c| *c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, is_match) in [
            ("Blogs", "blogs", true),
            ("Blogs", "Blogs2", false),
            ("Log*", "LOG", true),
            ("*log", "Blog", true),
            ("*a*b", "aXbXb", true),
            ("*a*b", "aXbXc", false),
            ("L?g", "Lég", true),
            ("L?g", "Lg", false),
            ("**", "x", true),
            ("a", "", false),
        ] {
            assert_eq!(pattern.parse::<Pattern>().unwrap().matches(name), is_match, "{pattern}");
        }
        assert!("".parse::<Pattern>().is_err());
    }

    #[test]
    fn many_stars_take_little_time() {
        let pattern: Pattern = format!("{}b", "*a".repeat(100)).parse().unwrap();
        assert!(!pattern.matches(&"a".repeat(5000)));
    }
}
