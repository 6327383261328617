use std::borrow::Cow;

use super::*;
use crate::edm::{EdmDateTime, EdmValue};
use crate::entity::{DecodeError, DecodeReason, DynamicEntity, Entities, RawValue, TableEntity};

fn read_page<T: TableEntity>(body: &[u8], typed: bool) -> Result<Vec<T>, ReadError> {
    super::read_page(body, Form { typed, selected: false }, &Entities)
}

const MINIMAL: &str = r#"{"odata.metadata":"https://a.table.core.windows.net/$metadata#T",
    "value":[{"odata.etag":"W/\"datetime'2017-11-10T02%3A43%3A55.7662669Z'\"",
    "PartitionKey":"p","RowKey":"r","Timestamp":"2017-11-10T02:43:55.7662669Z",
    "Big@odata.type":"Edm.Int64","Big":"9223372036854775807",
    "NaN":"NaN","NaN@odata.type":"Edm.Double","Whole":5.0,"Small":-5,
    "Guid@odata.type":"Edm.Guid","Guid":"c9da6455-213d-42c9-9a79-3e9149a57833",
    "Bytes@odata.type":"Edm.Binary","Bytes":"AAEC/w==",
    "At@odata.type":"Edm.DateTime","At":"9999-12-31T23:59:59.9999999Z",
    "Text":"\u00e9 \ud83d\ude00","None":null,"Yes":true}]}"#;

#[test]
fn all_types_annotated_before_or_after() {
    let page: Vec<DynamicEntity> = read_page(MINIMAL.as_bytes(), true).unwrap();
    let [entity] = &page[..] else { panic!("one entity") };
    assert_eq!(entity.key().to_string(), r#"("p", "r")"#);
    assert!(entity.etag().unwrap().as_str().starts_with("W/\"datetime'2017"));
    assert_eq!(entity.timestamp().unwrap().to_string(), "2017-11-10T02:43:55.7662669Z");
    let values: Vec<(&str, EdmValue)> = entity.properties().map(|(n, v)| (n, v.clone())).collect();
    assert_eq!(
        values,
        [
            ("Big", EdmValue::Int64(i64::MAX)),
            ("NaN", EdmValue::Double(f64::NAN)),
            ("Whole", EdmValue::Double(5.0)),
            ("Small", EdmValue::Int32(-5)),
            ("Guid", EdmValue::Guid("c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap())),
            ("Bytes", EdmValue::Binary(vec![0, 1, 2, 255].into())),
            ("At", EdmValue::DateTime(EdmDateTime::MAX)),
            ("Text", EdmValue::String("é 😀".into())),
            ("Yes", EdmValue::Boolean(true)),
        ]
    );
}

#[test]
fn a_lone_surrogate_spoils_one_property() {
    let body = br#"{"value":[{"PartitionKey":"p","RowKey":"r","Bad":"\ud800","Good":1}]}"#;
    let Err(ReadError::Decode(error)) = read_page::<DynamicEntity>(body, true) else {
        panic!("an error of the property")
    };
    assert_eq!((error.property(), error.reason()), ("Bad", &DecodeReason::NoUnicode { offset: 8 }));
    // A bad property that the struct does not have is harmless.
    let rows = read_page::<KeysOnly>(body, true).unwrap();
    assert_eq!(rows.len(), 1);
}

#[test]
fn a_page_has_at_most_64_levels() {
    let page = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        let body = format!(r#"{{"x":{open}{close},"value":[]}}"#);
        read_page::<DynamicEntity>(body.as_bytes(), true)
    };
    assert!(page(63).unwrap().is_empty());
    let Err(ReadError::Json(error)) = page(64) else { panic!("an error of the page") };
    assert_eq!(error.to_string(), "nested deeper than 64 levels");
    assert!(page(1_000_000).is_err());
}

#[derive(Debug)]
struct KeysOnly;
impl TableEntity for KeysOnly {
    const COLUMNS: &'static [&'static str] = &["Bad"];
    fn partition_key(&self) -> Result<Cow<'_, str>, crate::key::KeyError> {
        Ok("".into())
    }
    fn row_key(&self) -> Result<Cow<'_, str>, crate::key::KeyError> {
        Ok("".into())
    }
    fn write_properties(
        &self,
        _: &mut crate::entity::PropertyWriter<'_>,
    ) -> Result<(), crate::entity::EncodeError> {
        Ok(())
    }
    fn from_row(_: &mut Row<'_>) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

#[test]
fn what_is_no_page_is_refused() {
    for body in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"value":{}}"#,
        r#"{"value":[1]}"#,
        r#"{"value":[{"PartitionKey":"p","RowKey":"r"}]"#,
        "<html></html>",
        r#"{"value":[]} x"#,
        "\u{feff}",
    ] {
        assert!(read_page::<DynamicEntity>(body.as_bytes(), true).is_err(), "{body}");
    }
}

#[test]
fn errors_name_entity_property_and_types() {
    let text = |member: &str| {
        let body = format!(r#"{{"value":[{{"PartitionKey":"p","RowKey":"r",{member}}}]}}"#);
        match read_page::<DynamicEntity>(body.as_bytes(), true) {
            Err(ReadError::Decode(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let prefix = r#"property "A" of entity ("p", "r"): "#;
    for (member, reason) in [
        (
            r#""A@odata.type":"Edm.Int64","A":"5x""#,
            r#"expected Edm.Int64, found "5x", which is wrong at offset 1"#,
        ),
        (
            r#""A":"1.5","A@odata.type":"Edm.Int32""#,
            r#"expected Edm.Int32, found "1.5", which is wrong at offset 1"#,
        ),
        (
            r#""A":"2009-04-14 01:02:03Z","A@odata.type":"Edm.DateTime""#,
            r#"expected Edm.DateTime, found "2009-04-14 01:02:03Z", which is wrong at offset 10"#,
        ),
        (
            r#""A":"c9da6455_213d","A@odata.type":"Edm.Guid""#,
            r#"expected Edm.Guid, found "c9da6455_213d", which is wrong at offset 8"#,
        ),
        (
            r#""A":"1e5x","A@odata.type":"Edm.Double""#,
            r#"expected Edm.Double, found "1e5x", which is wrong at offset 3"#,
        ),
        (
            r#""A":"?","A@odata.type":"Edm.Binary""#,
            r#"expected Edm.Binary, found "?", which is wrong at offset 0"#,
        ),
        (r#""A":"x","A@odata.type":"Edm.Byte""#, "annotated with an unknown Edm type"),
        (r#""A":{"x":[1]}"#, "an object or an array instead of a value"),
        (r#""A":3000000000,"A@odata.type":"Edm.Int32""#, "expected Edm.Int32, found 3000000000"),
    ] {
        assert_eq!(text(member), format!("{prefix}{reason}"));
    }
}

#[test]
fn types_are_read_anywhere_in_the_row() {
    let types =
        r#""A@odata.type":"Edm.Int64","B@odata.type":"Edm.Guid","D@odata.type":"Edm.Int64""#;
    let values = r#""C":1,"B":"c9da6455-213d-42c9-9a79-3e9149a57833","A":"5""#;
    let keys = r#""PartitionKey":"p","RowKey":"r""#;
    for (members, first) in [
        (format!("{keys},{types},{values}"), "A"),
        (format!("{values},{keys},{types}"), "C"),
        (format!("{types},{keys},{values}"), "A"),
    ] {
        for space in ["", " "] {
            let page = format!(r#"{{"value":[{{{members}}},{space}{{{members}}}]}}"#);
            for entity in read_page::<DynamicEntity>(page.as_bytes(), true).unwrap() {
                assert_eq!(entity.value("A"), Some(&EdmValue::Int64(5)));
                assert!(matches!(entity.value("B"), Some(EdmValue::Guid(_))));
                assert_eq!(entity.value("C"), Some(&EdmValue::Int32(1)));
                assert_eq!(entity.properties().len(), 3);
                assert_eq!(entity.properties().next().unwrap().0, first);
            }
        }
    }
}

#[test]
fn rows_of_different_shape_do_not_mix() {
    let body = br#"{"value":[
        {"PartitionKey":"p","RowKey":"1","A":1,"B":2},
        {"RowKey":"2","B":3,"PartitionKey":"p"},
        {"A@odata.type":"Edm.Int64","PartitionKey":"p","RowKey":"3","A":"4"}]}"#;
    let page: Vec<DynamicEntity> = read_page(body, true).unwrap();
    assert_eq!(page[1].value("A"), None);
    assert_eq!(page[1].value("B"), Some(&EdmValue::Int32(3)));
    assert_eq!(page[2].value("A"), Some(&EdmValue::Int64(4)));
    assert_eq!(page[2].properties().len(), 1);
}

#[test]
fn members_with_the_same_name_are_refused() {
    let keys = r#""PartitionKey":"p","RowKey":"r""#;
    for (members, is_refused) in [
        (r#""A":1,"B":1"#, false),
        (r#""A":1,"A":1"#, true),
        (r#""A":null,"A":1"#, true),
        (r#""A":1,"\u0041":2"#, true),
        (r#""A":1,"a":2"#, false),
        (r#""A@odata.type":"Edm.Int64","A":"1","A@odata.type":"Edm.Int64""#, true),
        (r#""PartitionKey":"q""#, true),
        (r#""odata.etag":"1","odata.etag":"1""#, true),
        (r#""odata.id":"1","odata.id":"1""#, true),
    ] {
        let entity = format!("{{{keys},{members}}}");
        let first = format!(r#"{{"value":[{entity}]}}"#);
        let second = format!(r#"{{"value":[{{{keys}}},{entity}]}}"#);
        for page in [first, second] {
            let result = read_page::<DynamicEntity>(page.as_bytes(), true);
            assert_eq!(matches!(result, Err(ReadError::Json(_))), is_refused, "{result:?}");
            // Also where no column reads the member.
            let result = read_page::<KeysOnly>(page.as_bytes(), true);
            assert_eq!(matches!(result, Err(ReadError::Json(_))), is_refused, "{result:?}");
        }
        assert_eq!(DynamicEntity::from_json(&entity).is_err(), is_refused);
    }
}

#[test]
fn an_entity_has_a_limited_number_of_members() {
    let keys_of = |members: usize| {
        let ignored: Vec<_> = (2..members).map(|n| format!(r#","N{n}":0"#)).collect();
        let ignored = ignored.concat();
        let row = format!(r#"{{"PartitionKey":"p","RowKey":"r"{ignored}}}"#);
        read_page::<KeysOnly>(format!(r#"{{"value":[{row}]}}"#).as_bytes(), true)
    };
    assert_eq!(keys_of(reader::MAX_MEMBERS).unwrap().len(), 1);
    let Err(ReadError::Json(error)) = keys_of(reader::MAX_MEMBERS + 1) else { panic!("an error") };
    assert!(error.to_string().starts_with("an entity has too many properties"), "{error}");
}

#[test]
fn a_page_has_a_limited_number_of_rows() {
    let read = |rows: usize, row: &str| {
        let body = format!(r#"{{"value":[{}]}}"#, vec![row; rows].join(","));
        read_page::<KeysOnly>(body.as_bytes(), true).map(|page| page.len())
    };
    for row in [r#"{"A":1}"#, "{}", r#"{"A":"\ud800"}"#] {
        assert_eq!(read(10_000, row).unwrap(), 10_000);
        let Err(ReadError::Json(error)) = read(10_001, row) else { panic!("an error") };
        assert_eq!(error.to_string(), "a page has more than 10000 entities");
    }
}

#[test]
fn repeated_members_of_a_page_are_refused() {
    for (page, is_read) in [
        (r#"{"value":[],"value":[]}"#, false),
        (r#"{"odata.metadata":"a","odata.metadata":"b","value":[]}"#, false),
        (r#"{"A":1,"value":[],"\u0041":1}"#, false),
        (r#"{"A":{},"value":[],"B":[],"a":1}"#, true),
    ] {
        assert_eq!(read_page::<DynamicEntity>(page.as_bytes(), true).is_ok(), is_read, "{page}");
    }
    let page = |count: usize| {
        let members: Vec<_> = (1..count).map(|n| format!(r#""{n}":0,"#)).collect();
        let members = members.concat();
        read_page::<DynamicEntity>(format!(r#"{{{members}"value":[]}}"#).as_bytes(), true)
    };
    assert!(page(64).is_ok());
    let Err(ReadError::Json(error)) = page(65) else { panic!("an error") };
    assert!(error.to_string().starts_with("a page has more than 64 members"), "{error}");
}

#[test]
fn any_json_of_the_form_is_read() {
    let row =
        r#"{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r","A":"\n\u00e9","B":1.5e-7}"#;
    let spaced = "{ \"A\" :\t\"\\u0041\" ,\r\n\"B\": -0 , \"C\" : [ {} , \"]\" ] }";
    for (page, rows) in [
        (format!(r#"{{"odata.metadata":"x","value":[{row},{row}]}}"#), Some(2)),
        (r#"{"value":[]}"#.to_owned(), Some(0)),
        (r#" { "value" : [ ] } "#.to_owned(), Some(0)),
        (format!(r#"{{"value":[{row}, {row}]}}"#), Some(2)),
        (format!("\r\n\t {{\"value\":\n[{spaced}]}}\n"), Some(1)),
        (format!("{{\"value\":[{row}]}}\u{c}"), None),
        (format!("{{\"value\":\u{b}[{row}]}}"), None),
        (format!(r#"{{"value":[{row}],"odata.metadata":"x"}}"#), Some(1)),
        (r#"{"a":{"b":[1,"}"]},"\u0076alue":[{}]}"#.to_owned(), Some(1)),
        (r#"{"odata.metadata":"x"}"#.to_owned(), None),
        (r#"{"value":[{"odata.etag":null,"A":"x"}]}"#.to_owned(), Some(1)),
        (r#"{"value":[{"odata.etag":"#.to_owned(), None),
        (r#"{"value":[{"A":"\ud800"}]}"#.to_owned(), Some(1)),
        (r#"{"value":[{"\ud800":1}]}"#.to_owned(), None),
        (r#"{"value":[{"A":1,}]}"#.to_owned(), None),
        (r#"{"value":[{"A":1},]}"#.to_owned(), None),
        (r#"{"value":[{"A":01}]}"#.to_owned(), None),
        (r#"{"value":[{"A":[1,]}]}"#.to_owned(), None),
        (r#"{"value":[{"A":tru}]}"#.to_owned(), None),
        (r#"{"value":[{"A" 1}]}"#.to_owned(), None),
        (r#"{"value":[{"A":"\x"}]}"#.to_owned(), None),
        ("{\"value\":[{\"A\":\"\t\"}]}".to_owned(), None),
        ("{\"value\":[{\"A\tB\":1}]}".to_owned(), None),
    ] {
        let read = read_page::<KeysOnly>(page.as_bytes(), true).map(|rows| rows.len());
        assert_eq!(read.as_ref().ok(), rows.as_ref(), "{page}: {read:?}");
    }
}

#[test]
fn numbers_are_those_of_rust() {
    for (json, value) in [
        ("5", RawValue::Integer(5)),
        ("-5", RawValue::Integer(-5)),
        ("0", RawValue::Integer(0)),
        ("-0", RawValue::Float(-0.0)),
        ("9223372036854775807", RawValue::Integer(i64::MAX)),
        ("-9223372036854775808", RawValue::Integer(i64::MIN)),
        ("9223372036854775808", RawValue::Float(9.223_372_036_854_776e18)),
        ("18446744073709551615", RawValue::Float(1.844_674_407_370_955_2e19)),
        ("100000000000000000000000", RawValue::Float(1e23)),
        ("5.0", RawValue::Float(5.0)),
        ("1e300", RawValue::Float(1e300)),
        ("2.2250738585072011e-308", RawValue::Float(2.225_073_858_507_201e-308)),
    ] {
        let read = tokens::Tokens::new(json).value(0).unwrap();
        assert_eq!(format!("{read:?}"), format!("{value:?}"), "{json}");
    }
    // A member that no column reads is not converted.
    for (member, is_read) in [(r#""Bad":1e999"#, false), (r#""Other":1e999"#, true)] {
        let page = format!(r#"{{"value":[{{{member}}}]}}"#);
        assert_eq!(read_page::<KeysOnly>(page.as_bytes(), true).is_ok(), is_read, "{member}");
    }
}

/// Recorded in May 2021.
#[test]
fn a_page_of_cosmos_db_is_read() {
    let page = r#"{"value":[{"odata.etag":"W/\"datetime'2021-05-26T17%3A08%3A28.2570760Z'\"","PartitionKey":"pk","RowKey":"10","value":0,"Timestamp":"2021-05-26T17:08:28.2570760Z"},{"odata.etag":"W/\"datetime'2021-05-26T17%3A08%3A28.2984456Z'\"","PartitionKey":"pk","RowKey":"101","value":1,"Timestamp":"2021-05-26T17:08:28.2984456Z"}],"odata.metadata":"https://fakeacct.table.core.windows.net/$metadata#uttable6921164a"}"#;
    let rows: Vec<DynamicEntity> = read_page(page.as_bytes(), true).unwrap();
    assert_eq!(rows[1].key().to_string(), r#"("pk", "101")"#);
    assert_eq!(rows[1].value("value"), Some(&EdmValue::Int32(1)));
    assert_eq!(rows[1].timestamp().unwrap().to_string(), "2021-05-26T17:08:28.2984456Z");
}

#[test]
fn rows_of_another_order_are_read() {
    let row = |names: &mut dyn Iterator<Item = u32>| {
        let members: Vec<_> = names.map(|n| format!("\"N{n}\":{n}")).collect();
        format!(r#"{{"PartitionKey":"p","RowKey":"r",{}}}"#, members.join(","))
    };
    for names in [10, 64, 65, 1000] {
        let rows = [row(&mut (0..names)), row(&mut (0..names).rev()), row(&mut (names / 2..names))];
        let page = format!(r#"{{"value":[{}]}}"#, rows.join(","));
        let read: Vec<DynamicEntity> = read_page(page.as_bytes(), true).unwrap();
        for (entity, first) in read.iter().zip([0, 0, names / 2]) {
            assert_eq!(entity.properties().len(), (names - first) as usize);
            for n in first..names {
                let expected = EdmValue::Int32(n.cast_signed());
                assert_eq!(entity.value(&format!("N{n}")), Some(&expected));
            }
        }
    }
}

/// More than the reader remembers.
#[test]
fn more_names_than_the_service_stores_are_read() {
    let rows: Vec<String> =
        (0..5000).map(|n| format!(r#"{{"PartitionKey":"p","RowKey":"{n}","N{n}":{n}}}"#)).collect();
    let page = format!(r#"{{"value":[{}]}}"#, rows.join(","));
    let page: Vec<DynamicEntity> = read_page(page.as_bytes(), true).unwrap();
    assert_eq!(page.len(), 5000);
    assert_eq!(page[4999].value("N4999"), Some(&EdmValue::Int32(4999)));
}

/// The connection is lost within a character: the body is cut, like one that ends within a text.
#[test]
fn a_body_that_ends_within_a_character_is_cut() {
    let body = r#"{"value":[{"PartitionKey":"p","RowKey":"r","Text":"é😀"}]}"#.as_bytes();
    for length in 0..body.len() {
        let Err(ReadError::Json(error)) = read_page::<DynamicEntity>(&body[..length], true) else {
            panic!("{length}: a body that is cut")
        };
        assert!(error.is_eof(), "{length}: {error}");
    }
    // Another encoding does not change when it is read again.
    let latin = b"{\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Text\":\"\xe9\"}]}";
    let Err(ReadError::Json(error)) = read_page::<DynamicEntity>(latin, true) else {
        panic!("not UTF-8")
    };
    assert!(error.is_data(), "{error}");
}
