//! Tests of the limits.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn utf16_units_are_counted_as_the_standard_library_counts_them(
        text in ".{0,20}|[ -~]{0,40}|[\u{7f}-\u{81}\u{7ff}\u{800}\u{ffff}\u{10000}\u{10ffff}]{0,9}"
    ) {
        prop_assert_eq!(utf16_units(&text), text.encode_utf16().count());
    }
}

#[test]
fn table_names_are_checked() {
    for good in ["abc", "Blogs2", &"a".repeat(63), "$MetricsCapacityBlob"] {
        assert_eq!(check_table_name(good), Ok(()), "{good}");
    }
    let text = |name: &str| check_table_name(name).unwrap_err().to_string();
    assert!(text("a").contains("1 character; 3 to 63"));
    assert!(text("ab").contains("2 characters; 3 to 63"));
    assert!(text(&"a".repeat(64)).contains("64 characters"));
    assert!(text("my-blogs").contains("'-' at position 2"));
    assert!(text("1blogs").contains("'1' at position 0"));
    assert!(text("Blögs").contains("'ö' at position 2"));
    assert_eq!(check_table_name("Tables"), Err(LimitError::TableNameReserved));
    assert!(matches!(check_table_name(""), Err(LimitError::TableNameLength { .. })));
}

#[test]
fn system_tables_cannot_be_created_or_deleted() {
    let metrics = "$MetricsCapacityBlob";
    let error = check_own_table_name(metrics).unwrap_err();
    assert_eq!(error, LimitError::TableOfService { name: metrics.into() });
    assert!(error.to_string().contains("\"$MetricsCapacityBlob\" belongs to the service"));
    assert_eq!(check_own_table_name("MetricsCapacityBlob"), Ok(()));
    assert_eq!(check_own_table_name("Tables"), Err(LimitError::TableNameReserved));
}

#[test]
fn keys_are_checked() {
    for good in ["", "it's 100% + a&b=c", "\u{1f600}", &"x".repeat(1024)] {
        assert_eq!(check_key("RowKey", good), Ok(()));
    }
    for (bad, position) in [("a/b", 1), ("\\", 0), ("é#", 1), ("ab?", 2), ("\u{9f}", 0), ("\t", 0)]
    {
        let error = check_key("RowKey", bad).unwrap_err();
        assert!(
            matches!(error, LimitError::KeyCharacter { property: "RowKey", position: p, .. } if p == position),
            "{error}"
        );
    }
    assert_eq!(
        check_key("PartitionKey", &"\u{1f600}".repeat(513)),
        Err(LimitError::KeyTooLong { property: "PartitionKey", units: 1026 })
    );
}

#[test]
fn property_names_are_checked() {
    // The last ones: a combining mark, a spacing mark, a digit of another script, a connector, a format character.
    let good = [
        "Text",
        "_x1",
        "Größe",
        "日本",
        &"x".repeat(255),
        "Cafe\u{301}",
        "हिन्दी",
        "a٣",
        "a‿b",
        "a\u{ad}b",
    ];
    for good in good {
        assert_eq!(check_property_name(good), Ok(()), "{good}");
    }
    let bad = ["", "1a", "a-b", "a b", "a.b", "a\"", "@x", "RowKey", "Timestamp", &"x".repeat(256)];
    for bad in bad.into_iter().chain(["\u{301}a", "٣a", "‿a", "\u{ad}a", "m²", "a①", "a€"])
    {
        assert!(check_property_name(bad).is_err(), "{bad}");
    }
    assert!(check_property_name("rowkey").is_ok(), "names are case-sensitive");
}

#[test]
fn values_beyond_the_limit_are_refused() {
    let text = |n| EdmCow::String(Cow::Owned("é".repeat(n)));
    assert_eq!(check_value("P", &text(32_768)), Ok(()));
    assert_eq!(
        check_value("P", &text(32_769)),
        Err(LimitError::StringTooLong { property: "P".into(), units: 32_769 })
    );
    let binary = |n| EdmCow::Binary(Cow::Owned(vec![0; n]));
    assert_eq!(check_value("P", &binary(65_536)), Ok(()));
    assert!(check_value("P", &binary(65_537)).is_err());
}
