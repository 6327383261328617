//! The format of a key: `"{channel}_{year:inv4}_{month:inv2(13)}"`.

/// A piece of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Field { name: String, form: KeyForm },
}

/// The form of a field in the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyForm {
    Plain,
    Escaped,
    Digits { width: usize, minuend: Option<u128> },
}

/// The maximum number of digits: 10^38 is the last power of ten that a `u128` holds.
const MAX_WIDTH: usize = 38;

pub(crate) fn parse(format: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        literal.push_str(&rest[..at]);
        let (brace, behind) = rest[at..].split_at(1);
        if let Some(behind) = behind.strip_prefix(brace) {
            literal.push_str(brace);
            rest = behind;
            continue;
        }
        if brace == "}" {
            return Err("a `}` without its `{`: write `}}` for the character itself".to_owned());
        }
        let Some((field, behind)) = behind.split_once('}') else {
            return Err("a `{` without its `}`: write `{{` for the character itself".to_owned());
        };
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
        }
        pieces.push(parse_field(field)?);
        rest = behind;
    }
    literal.push_str(rest);
    if let Some(c) = literals(&pieces, &literal).find(|c| is_forbidden(*c)) {
        return Err(format!("a key cannot hold {c:?}, nor any of / \\ # ? and control characters"));
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

fn literals<'p>(pieces: &'p [Piece], last: &'p str) -> impl Iterator<Item = char> + 'p {
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Literal(text) => Some(text.as_str()),
        Piece::Field { .. } => None,
    });
    texts.chain([last]).flat_map(str::chars)
}

fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\' | '#' | '?' | '\0'..='\x1f' | '\x7f'..='\u{9f}')
}

fn parse_field(text: &str) -> Result<Piece, String> {
    let (name, form) = match text.split_once(':') {
        Some((name, form)) => (name, parse_form(form)?),
        None => (text, KeyForm::Plain),
    };
    let name = name.trim().to_owned();
    if name.is_empty() {
        return Err("`{}` has no field: write the field's name in it".to_owned());
    }
    Ok(Piece::Field { name, form })
}

fn parse_form(form: &str) -> Result<KeyForm, String> {
    let unknown = || {
        format!(
            "unknown form `{form}`: write `04` for four digits, `inv4` for four digits of 9999 - value, \
             `inv2(13)` for two digits of 13 - value, or `escaped`"
        )
    };
    if form == "escaped" {
        return Ok(KeyForm::Escaped);
    }
    let (inverse, digits) = match form.strip_prefix("inv") {
        Some(digits) => (true, digits),
        None => (false, form),
    };
    let (digits, minuend) = match digits.split_once('(') {
        Some((digits, minuend)) if inverse => {
            let minuend = minuend.strip_suffix(')').ok_or_else(unknown)?;
            (digits, Some(minuend.parse().map_err(|_| unknown())?))
        }
        Some(_) => return Err(unknown()),
        None => (digits, None),
    };
    let width = digits.parse().map_err(|_| unknown())?;
    if !(1..=MAX_WIDTH).contains(&width) || digits.starts_with('+') {
        return Err(unknown());
    }
    let largest = 10_u128.pow(u32::try_from(width).unwrap_or(0)) - 1;
    match minuend {
        Some(minuend) if minuend > largest => {
            Err(format!("{minuend} has more than the {width} digits of `{form}`"))
        }
        Some(minuend) => Ok(KeyForm::Digits { width, minuend: Some(minuend) }),
        None => Ok(KeyForm::Digits { width, minuend: inverse.then_some(largest) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, form: KeyForm) -> Piece {
        Piece::Field { name: name.to_owned(), form }
    }

    #[test]
    fn formats() {
        let literal = |text: &str| Piece::Literal(text.to_owned());
        let digits = |width, minuend| KeyForm::Digits { width, minuend };
        assert_eq!(
            parse("{channel}_{year:inv4}_{month:inv2(13)}").unwrap(),
            [
                field("channel", KeyForm::Plain),
                literal("_"),
                field("year", digits(4, Some(9999))),
                literal("_"),
                field("month", digits(2, Some(13))),
            ]
        );
        assert_eq!(parse("{n:04}").unwrap(), [field("n", digits(4, None))]);
        assert_eq!(
            parse("{{{path:escaped}}}").unwrap(),
            [literal("{"), field("path", KeyForm::Escaped), literal("}")]
        );
        assert_eq!(parse("settings").unwrap(), [literal("settings")]);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn what_is_no_format() {
        for bad in [
            "{",
            "}",
            "{}",
            "{ }",
            "a{b",
            "{a}}",
            "{a:}",
            "{a:x}",
            "{a:0}",
            "{a:39}",
            "{a:inv}",
            "{a:inv2(}",
            "{a:inv2(100)}",
            "{a:2(13)}",
            "{a:+2}",
            "a/b",
            "{a}\n",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
