use std::cmp::Ordering;

use chrono::{DateTime, NaiveDate, Utc};
use proptest::prelude::*;

use super::layout::{KeyLayout, KeyPiece, PartTexts};
use super::*;
use crate::edm::EdmDateTime;
use crate::limits::check_key;

/// The order of the service.
fn utf16(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

pub(super) fn key<T: KeyPart>(value: &T) -> String {
    value.to_key().unwrap().into_owned()
}

/// Checks that both keys round-trip and are in the order of their values.
pub(super) fn keeps_order<T: KeyPart + PartialEq + fmt::Debug>(a: &T, b: &T, order: Ordering) {
    let (ka, kb) = (key(a), key(b));
    assert_eq!(utf16(&ka, &kb), order, "{a:?} as {ka}, {b:?} as {kb}");
    for (value, key) in [(a, &ka), (b, &kb)] {
        assert_eq!(T::from_key(key.as_str().into()).as_ref(), Ok(value));
        check_key("RowKey", key).unwrap();
        if let Some(width) = T::WIDTH {
            assert_eq!(key.chars().count(), width, "{key}");
        }
    }
}

#[test]
fn descending_is_what_dotnet_writes() {
    let posted: EdmDateTime = "2008-10-01T10:00:00Z".parse().unwrap();
    assert_eq!(key(&Descending(posted)), "2521794455999999999");
    let late: EdmDateTime = "9000-01-01T00:00:00Z".parse().unwrap();
    assert!(key(&Descending(late)).starts_with("0315"), "padded to 19 digits");
    for bad in ["", "1", "-521794455999999999", "9999999999999999999", "25217944559999999990"] {
        assert!(Descending::<EdmDateTime>::from_key(bad.into()).is_err(), "{bad}");
    }
    // DateTime.MinValue, which .NET programs leave in rows that were never given a date.
    let first = Descending::<DateTime<Utc>>::from_key("3155378975999999999".into()).unwrap();
    assert_eq!(first.0.to_rfc3339(), "0001-01-01T00:00:00+00:00");
    assert_eq!(key(&first), "3155378975999999999");
    assert!(Descending::<DateTime<Utc>>::from_key("3155378976000000000".into()).is_err());
    let date = NaiveDate::from_ymd_opt(2008, 10, 1).unwrap();
    assert_eq!(key(&Descending(date)), "2521794815999999999");
    assert!(Descending::<NaiveDate>::from_key("2521794455999999999".into()).is_err());
}

#[test]
fn texts_of_the_built_in_types() {
    assert_eq!(key(&7_u8), "007");
    assert_eq!(key(&u64::MAX), "18446744073709551615");
    assert_eq!(key(&5_i32), "00000000005");
    assert_eq!(key(&-1_i32), "-2147483647");
    assert_eq!(key(&i32::MIN), "-0000000000");
    assert_eq!(key(&i64::MAX), "09223372036854775807");
    assert_eq!(key(&Descending(1_u8)), "254");
    assert_eq!(key(&true), "1");
    assert_eq!(key(&NaiveDate::from_ymd_opt(2009, 4, 14).unwrap()), "2009-04-14");
    let time: DateTime<Utc> = "2009-04-14T01:02:03.5Z".parse().unwrap();
    assert_eq!(key(&time), "2009-04-14T01:02:03.5000000Z");
}

/// Written again it would be another key, and so another entity.
#[test]
fn a_text_that_is_not_written_is_not_read() {
    fn refused<T: KeyPart>(texts: &[&str]) {
        for text in texts {
            assert!(T::from_key((*text).into()).is_err(), "{text}");
        }
    }
    refused::<u8>(&["", "7", "07", "0007", "256", "+07", "-07", "  7", "٠٠٧"]);
    refused::<i8>(&["", "007", "+007", "0128", "-128", "-129", "0-12", "é007"]);
    refused::<i32>(&["-2147483648", "02147483648", "00000005"]);
    refused::<bool>(&["", "true", "2"]);
    refused::<Uuid>(&["C9DA6455-213D-42C9-9A79-3E9149A57833", "c9da6455213d42c99a793e9149a57833"]);
    refused::<DateTime<Utc>>(&[
        "2009-04-14T01:02:03Z",
        "2009-04-14T01:02:03.5000000+00:00",
        "2009-04-14",
    ]);
    refused::<NaiveDate>(&["2009-4-14", "20090414", "+12009-04-14", "2009-02-30"]);
    refused::<Escaped>(&["a/b", "a.2b", "\"", "\"a", "a b", ".", "~Y"]);
}

#[test]
fn values_without_a_key_are_refused() {
    assert!(DateTime::<Utc>::MAX_UTC.to_key().is_err());
    assert!(NaiveDate::from_ymd_opt(10_000, 1, 1).unwrap().to_key().is_err());
    assert!(NaiveDate::from_ymd_opt(-1, 1, 1).unwrap().to_key().is_err());
}

const TEXT: PartTexts = PartTexts::of::<String>();

const COMPOSITE: KeyLayout = KeyLayout::new(&[
    TEXT.escaped("a", ""),
    KeyPiece::Literal("!"),
    PartTexts::of::<u16>().escaped("n", ""),
    KeyPiece::Literal("!"),
    TEXT.escaped("b", ""),
]);
const MONTH: KeyLayout = KeyLayout::new(&[
    TEXT.plain("channel", ""),
    KeyPiece::Literal("_"),
    PartTexts::of::<i32>().digits("year", "", 4, Some(9999)),
    KeyPiece::Literal("_"),
    PartTexts::of::<u32>().digits("month", "", 2, Some(13)),
]);

fn month(channel: &str, year: i32, month: u32) -> Result<String, KeyError> {
    MONTH.write(&[channel.into(), year.to_key()?, month.to_key()?])
}

/// Section 8.3.1.3 of the paper.
#[test]
fn the_partition_keys_of_the_paper() {
    assert_eq!(month("Football", 2008, 10).unwrap(), "Football_7991_03");
    assert_eq!(
        MONTH.read("Football_7991_03"),
        Ok(["Football".into(), key(&2008).into(), key(&10_u32).into()])
    );
    // The part of variable width is what the others leave.
    assert_eq!(MONTH.read::<3>("a_b_7991_03").unwrap()[0], "a_b");
    for (year, of_year) in [(10_000, 1), (-1, 1), (2008, 14)] {
        assert!(month("Football", year, of_year).is_err());
    }
    for text in
        ["Football", "Football_7991", "Football_79a1_03", "7991_03", "Football_7991_14", "_3"]
    {
        assert!(MONTH.read::<3>(text).is_err(), "{text}");
    }
    let range = |texts: &[Cow<'_, str>], prefix| MONTH.range(texts, prefix).unwrap();
    let of_year = range(&["Football".into(), key(&2008).into()], None);
    assert_eq!((of_year.lower(), of_year.upper()), ("Football_7991_", Some("Football_7991`")));
    assert_eq!(range(&[], Some("Foot")).lower(), "Foot");
}

#[test]
fn plain_parts_that_could_not_be_told_apart_are_refused() {
    const TWO: KeyLayout =
        KeyLayout::new(&[TEXT.plain("a", ""), KeyPiece::Literal("_"), TEXT.plain("b", "")]);
    assert_eq!(TWO.write(&["x".into(), "y_z".into()]).unwrap(), "x_y_z");
    let error = TWO.write(&["x_y".into(), "z".into()]).unwrap_err();
    assert!(error.to_string().contains("told apart"), "{error}");
    // A range would also hold the keys of another first part.
    assert!(TWO.range(&["x_y".into()], None).is_err());
    assert!(TWO.range(&["x".into()], None).unwrap().contains("x_y_z"));
}

/// Formats of all sorts, with two parts of text each.
const FORMATS: [KeyLayout; 7] = [
    KeyLayout::new(&[
        TEXT.escaped("a", ""),
        KeyPiece::Literal("_"),
        PartTexts::of::<u16>().digits("n", "", 5, None),
        KeyPiece::Literal("_"),
        TEXT.escaped("b", ""),
    ]),
    KeyLayout::new(&[
        TEXT.plain("a", ""),
        KeyPiece::Literal("ab"),
        PartTexts::of::<u16>().plain("n", ""),
        KeyPiece::Literal("."),
        TEXT.escaped("b", ""),
    ]),
    KeyLayout::new(&[
        TEXT.escaped("a", ""),
        KeyPiece::Literal("!"),
        PartTexts::of::<u16>().plain("n", ""),
        TEXT.plain("b", ""),
        KeyPiece::Literal("_doc"),
    ]),
    KeyLayout::new(&[
        KeyPiece::Literal("x"),
        TEXT.plain("a", ""),
        KeyPiece::Literal("!!"),
        PartTexts::of::<u16>().plain("n", ""),
        KeyPiece::Literal("!"),
        TEXT.plain("b", ""),
    ]),
    KeyLayout::new(&[
        TEXT.escaped("a", ""),
        KeyPiece::Literal("aa"),
        PartTexts::of::<u16>().plain("n", ""),
        KeyPiece::Literal("a"),
        TEXT.plain("b", ""),
        KeyPiece::Literal("é"),
    ]),
    KeyLayout::new(&[
        TEXT.plain("a", ""),
        KeyPiece::Literal("_"),
        PartTexts::of::<u16>().plain("n", ""),
        TEXT.escaped("b", ""),
    ]),
    KeyLayout::new(&[
        TEXT.escaped("a", ""),
        KeyPiece::Literal("\"Z"),
        PartTexts::of::<u16>().plain("n", ""),
        KeyPiece::Literal("~"),
        TEXT.escaped("b", ""),
        KeyPiece::Literal("!"),
    ]),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_a_format_writes_it_reads(
        at in 0..FORMATS.len(),
        a in "[ab_!.é\"~]{0,4}", n: u16, b in "[ab_!.é\"~]{0,4}",
        c in "[ab_!.é\"~]{0,4}",
    ) {
        let texts = [Cow::from(&a), Cow::from(key(&n)), Cow::from(&b)];
        if let Ok(key) = FORMATS[at].write(&texts) {
            let read = FORMATS[at].read::<3>(&key);
            prop_assert_eq!(read.as_ref(), Ok(&texts), "{}", key);
            // The range of another first part holds it only where a fixed rest allows for both.
            if let Ok(range) = FORMATS[at].range(&[Cow::from(&c)], None) {
                prop_assert!(a != c || range.contains(&key));
                let is_open = FORMATS[at].0.len() == 6 || at == 5;
                prop_assert!(is_open || a == c || !range.contains(&key), "{c:?} holds {key:?}");
            }
        }
    }
}

#[test]
fn a_constant_key_is_a_layout_without_parts() {
    const SETTINGS: KeyLayout = KeyLayout::new(&[KeyPiece::Literal("settings")]);
    assert_eq!(SETTINGS.write(&[]).unwrap(), "settings");
    assert_eq!(SETTINGS.read::<0>("settings"), Ok([]));
    assert!(SETTINGS.read::<0>("setting").is_err());
}

/// Characters of every kind that matters here: forbidden, escaped, beyond the surrogates.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        Just('!'),
        Just('"'),
        Just('/'),
        Just('~'),
        Just('\u{9f}'),
        Just('\u{ffff}'),
        Just('\u{d7ff}'),
        Just('\u{10ffff}'),
        Just('\u{e000}'),
        Just('\0'),
        Just('a'),
        any::<char>(),
        proptest::char::range('\0', '\u{a1}'),
    ];
    prop::collection::vec(character, 0..6).prop_map(String::from_iter)
}

/// Text that a key can hold.
fn key_text() -> impl Strategy<Value = String> {
    text().prop_map(|t| t.chars().filter(|c| !crate::limits::is_forbidden_in_keys(*c)).collect())
}

fn date_time() -> impl Strategy<Value = EdmDateTime> {
    (EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks())
        .prop_map(|ticks| EdmDateTime::from_ticks(ticks).unwrap())
}

fn date() -> impl Strategy<Value = NaiveDate> {
    date_time().prop_map(|time| time.to_chrono().date_naive())
}

macro_rules! order_of_numbers {
    ($($name:ident: $type:ty),*) => {
        proptest! {$(
            #[test]
            fn $name(a: $type, b: $type) {
                keeps_order(&a, &b, a.cmp(&b));
                keeps_order(&Descending(a), &Descending(b), b.cmp(&a));
            }
        )*}
    };
}

order_of_numbers! {
    order_of_u8: u8, order_of_u16: u16, order_of_u32: u32, order_of_u64: u64, order_of_u128: u128,
    order_of_i8: i8, order_of_i16: i16, order_of_i32: i32, order_of_i64: i64, order_of_i128: i128
}

proptest! {
    #[test]
    fn order_of_times(a in date_time(), b in date_time()) {
        keeps_order(&a, &b, a.cmp(&b));
        keeps_order(&a.to_chrono(), &b.to_chrono(), a.cmp(&b));
        keeps_order(&Descending(a), &Descending(b), b.cmp(&a));
        keeps_order(&Descending(a.to_chrono()), &Descending(b.to_chrono()), b.cmp(&a));
    }

    #[test]
    fn order_of_dates(a in date(), b in date()) {
        keeps_order(&a, &b, a.cmp(&b));
        keeps_order(&Descending(a), &Descending(b), b.cmp(&a));
    }

    #[test]
    fn order_of_booleans_and_ids(a: bool, b: bool, x: u128, y: u128) {
        keeps_order(&a, &b, a.cmp(&b));
        keeps_order(&Uuid::from_u128(x), &Uuid::from_u128(y), x.cmp(&y));
    }

    #[test]
    fn order_of_plain_text(a in key_text(), b in key_text()) {
        keeps_order(&a, &b, utf16(&a, &b));
    }

    #[test]
    fn order_of_escaped_text(a in text(), b in text()) {
        keeps_order(&Escaped(a.clone()), &Escaped(b.clone()), utf16(&a, &b));
        prop_assert_eq!(Escaped(a.clone()).cmp(&Escaped(b.clone())), utf16(&a, &b));
    }

    #[test]
    fn no_text_panics_as_a_key(text in text()) {
        let _ = Escaped::from_key(text.as_str().into());
        let _ = i32::from_key(text.as_str().into());
        let _ = DateTime::<Utc>::from_key(text.as_str().into());
        let _ = NaiveDate::from_key(text.as_str().into());
        let _ = COMPOSITE.read::<3>(&text);
        let _ = MONTH.read::<3>(&text);
    }

    #[test]
    fn order_of_composite_keys(
        a in (text(), any::<u16>(), text()),
        b in (text(), any::<u16>(), text()),
    ) {
        let write = |(x, n, y): &(String, u16, String)| {
            COMPOSITE.write(&[x.into(), key(n).into(), y.into()]).unwrap()
        };
        let (ka, kb) = (write(&a), write(&b));
        let order = utf16(&a.0, &b.0).then(a.1.cmp(&b.1)).then(utf16(&a.2, &b.2));
        prop_assert_eq!(utf16(&ka, &kb), order, "{:?} {:?}", ka, kb);
        prop_assert_eq!(
            COMPOSITE.read::<3>(&ka),
            Ok([Cow::from(&a.0), Cow::from(key(&a.1)), Cow::from(&a.2)])
        );
        check_key("RowKey", &ka).unwrap();
    }

    #[test]
    fn a_range_of_leading_parts_holds_exactly_their_keys(
        a in (text(), any::<u16>(), text()),
        b in (text(), any::<u16>(), text()),
    ) {
        let texts = |(x, n, y): &(String, u16, String)| {
            [Cow::from(x.clone()), Cow::from(key(n)), Cow::from(y.clone())]
        };
        let of_b = COMPOSITE.write(&texts(&b)).unwrap();
        for (count, inside) in
            [(1, b.0 == a.0), (2, b.0 == a.0 && b.1 == a.1), (3, a == b)]
        {
            let range = COMPOSITE.range(&texts(&a)[..count], None).unwrap();
            prop_assert!(range.contains(&COMPOSITE.write(&texts(&a)).unwrap()));
            prop_assert_eq!(range.contains(&of_b), inside, "{:?} {:?}", range, of_b);
        }
        let range = COMPOSITE.range(&[], Some(&a.0)).unwrap();
        prop_assert_eq!(range.contains(&of_b), b.0.starts_with(&a.0));
    }

    #[test]
    fn a_prefix_range_holds_exactly_what_begins_so(prefix in key_text(), other in key_text()) {
        let range = KeyRange::of_prefix(prefix.as_str());
        for key in [other.clone(), format!("{prefix}{other}"), prefix.clone()] {
            prop_assert_eq!(range.contains(&key), key.starts_with(&prefix), "{:?} {:?}", range, key);
        }
        if let Some(upper) = range.upper() {
            check_key("RowKey", upper).unwrap();
        }
    }

    #[test]
    fn the_range_of_a_key_holds_nothing_else(key in key_text(), other in key_text()) {
        let range = KeyRange::of_key(key.as_str());
        for candidate in [key.clone(), other.clone(), format!("{key}{other}")] {
            prop_assert_eq!(range.contains(&candidate), candidate == key);
        }
    }
}

#[test]
fn ends_of_prefixes() {
    let upper = |prefix: &str| KeyRange::of_prefix(prefix).upper().map(str::to_owned);
    assert_eq!(upper("PDC").as_deref(), Some("PDD"));
    assert_eq!(upper(""), None);
    assert_eq!(upper("\u{ffff}"), None);
    assert_eq!(upper("a\u{ffff}\u{ffff}").as_deref(), Some("b"));
    assert_eq!(upper("\u{d7ff}").as_deref(), Some("\u{10000}"));
    assert_eq!(upper("\u{10ffff}").as_deref(), Some("\u{e000}"));
    assert_eq!(upper("x.").as_deref(), Some("x0"), "a bound is a key itself: no /");
    assert_eq!(upper("\"").as_deref(), Some("$"));
    assert_eq!(upper("~").as_deref(), Some("\u{a0}"));
}
