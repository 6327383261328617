//! The derive and `--check` read the same rows.

mod structs;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::entity::Descending;
use azure_table_client::entity::schema::{Layout, Schema};
use azure_table_client::{DynamicEntity, TableEntity};
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use uuid::Uuid;

use super::{Reader, Snapshot};
use structs::{
    Address, Any, Attributes, Collected, Color, Item, Keys, Level, MoreKeys, Name, Open, Parts,
    Photo, Place, Post, Ratio, Several, Types,
};

fn values() -> Vec<EdmValue> {
    let texts = [
        "",
        "a",
        "Red",
        "red",
        "blue",
        "Blue",
        "blau",
        "Pic",
        "Photo",
        "post",
        "Post",
        "5",
        "+5",
        "-1",
        "300",
        "00000000000000000005",
        "99999999999999999999",
        "P1DT2H",
        "1.02:03:04",
        "PT90S",
        "-P1D",
        "{}",
        "[]",
        "[1]",
        "{",
        "2009-04-14T01:02:03Z",
        "0a1b2c3d-0000-0000-0000-00000000abcd",
        "{0a1b2c3d-0000-0000-0000-00000000abcd}",
        "AAAA",
    ];
    let mut values: Vec<_> = texts.map(EdmValue::from).into();
    values.extend([true.into()]);
    values.extend([0, -1, 4, 5, 200, 300, 70_000, i32::MAX].map(EdmValue::Int32));
    values.extend([0, -1, 5, 5_000_000_000, i64::MIN].map(EdmValue::Int64));
    values.extend([0.0, 0.5, 0.1, 3.0, 1e300, f64::NAN].map(EdmValue::Double));
    values.extend([EdmDateTime::MIN, EdmDateTime::MAX, at()].map(EdmValue::DateTime));
    values.push(EdmDateTime::from_chrono(midnight()).unwrap().into());
    values.push(EdmValue::Guid(Uuid::from_u128(7)));
    values.extend([0, 4, 5].map(|length| EdmValue::Binary(vec![1; length].into())));
    values
}

const KEY_TEXTS: [&str; 16] = [
    "",
    "a",
    "red",
    "Blue",
    "blau",
    "005",
    "0005",
    "0000000007",
    "7",
    "1",
    "only",
    "2009-04-14",
    "2009-04-14T01:02:03.0000000",
    "00000000-0000-0000-0000-000000000007",
    "2520967894769999999",
    "65000",
];

fn at() -> EdmDateTime {
    "2009-04-14T01:02:03.4567891Z".parse().unwrap()
}

fn midnight() -> DateTime<Utc> {
    "2009-04-14T00:00:00Z".parse().unwrap()
}

/// Changes each column and each key of a row to each value, and compares the derive with the reader of its snapshot.
fn compare<E: TableEntity>(entity: &E) {
    let snapshot: Snapshot = Snapshot::of::<E>().to_string().parse().unwrap();
    let schema: Schema = snapshot.into();
    let mut names: Vec<_> = vec!["Unknown".to_owned(), "Kind".to_owned()];
    let kinds = schema.kinds.iter().flat_map(|kinds| &kinds.list).map(|(_, kind)| kind);
    for property in std::iter::once(&schema).chain(kinds).flat_map(|schema| &schema.properties) {
        names.push(property.name.clone());
        if property.layout != Layout::One {
            let ends = ["0", "00", "01", "1", "02", "_1", "_Parts"];
            names.extend(ends.map(|end| format!("{}{end}", property.name)));
        }
        names.extend(property.aliases.clone());
    }
    let reader = Reader::new(schema).unwrap();
    let limits = reader.limits();
    let row = DynamicEntity::from_entity(entity).unwrap();
    let (mut readable, mut unreadable) = (0, 0);
    for row in changed(&row, &names) {
        let derived = row.to_entity::<E>();
        let problems = reader.problems(&row);
        let is_checked = |error: &azure_table_client::entity::DecodeError| {
            let column = error.property();
            let (quoted, key) = (format!("{column:?}"), format!("the {column} is"));
            !limits.iter().any(|limit| limit.contains(&quoted) || limit.contains(&key))
        };
        match &derived {
            Ok(_) => assert_eq!(problems, [], "{row:?}"),
            Err(error) if is_checked(error) => {
                assert!(
                    problems.iter().any(|problem| problem.column == error.property()),
                    "{error}: {problems:?}"
                );
            }
            Err(_) => {}
        }
        *(if derived.is_ok() { &mut readable } else { &mut unreadable }) += 1;
    }
    assert!(readable > 0 && unreadable > 0, "{readable} and {unreadable}");
}

fn changed(row: &DynamicEntity, names: &[String]) -> Vec<DynamicEntity> {
    let mut rows = vec![row.clone()];
    for name in names {
        let mut without = row.clone();
        without.remove(name);
        rows.push(without);
        rows.extend(values().into_iter().map(|value| row.clone().with(name, value)));
    }
    for text in KEY_TEXTS {
        for (p, r) in [(text, &*row.key().row_key), (&*row.key().partition_key, text)] {
            let other = row.properties().fold(DynamicEntity::new(p, r), |other, (name, value)| {
                other.with(name, value.clone())
            });
            rows.push(other);
        }
    }
    rows
}

fn types() -> Types {
    Types {
        p: "p".into(),
        r: "r".into(),
        changed: None,
        version: None,
        text: "a".into(),
        shared: "a".into(),
        is_ready: true,
        a: 1,
        b: 1,
        c: 1,
        d: 1,
        e: 1,
        f: 1,
        g: 1,
        h: 1.0,
        i: 1.0,
        j: at(),
        k: midnight(),
        l: midnight().naive_utc(),
        m: midnight().date_naive(),
        n: Uuid::nil(),
        o: vec![],
        q: [0; 4],
        s: std::time::Duration::ZERO,
        t: TimeDelta::zero(),
        color: Color::Red,
        level: Level::Low,
        open: Open::A,
        skipped: 0,
    }
}

#[test]
fn all_types() {
    compare(&types());
}

#[test]
fn attributes_of_properties() {
    compare(&Attributes {
        id: 7,
        text: "a".into(),
        with_default: 1,
        tolerant: Color::Red,
        maybe: Some(1),
        demanded: Some(true),
        wide: 1,
        loose: Some(Uuid::nil()),
        large: 1,
        size: Some(1),
        small: 1,
        list: vec![1],
        padded: 5,
    });
    compare(&Collected {
        p: Descending(5),
        r: midnight().date_naive(),
        n: 1,
        exact: Some(1),
        others: vec![],
        errors: vec![],
    });
}

#[test]
fn fields_of_several_properties() {
    let home = || Address { city: "Bern".into(), code: Some(3000), place: Place { x: Ratio(1.5) } };
    for work in [None, Some(home())] {
        compare(&Several {
            p: Name("p".into()),
            r: 7,
            home: home(),
            work,
            other: None,
            cpu: [0.5; 3],
            load: vec![1, 2],
            gaps: vec![Some(1), None, Some(3)],
            text: "a".into(),
            data: vec![1],
            day: 3,
        });
    }
}

#[test]
fn keys_of_several_parts() {
    compare(&Parts { channel: "a".into(), year: 2009, id: 7, text: "b".into() });
}

#[test]
fn keys_of_other_types() {
    compare(&Keys { p: Color::Sky, r: Descending(midnight()) });
    let time = NaiveDate::from_ymd_opt(2009, 4, 14).unwrap().and_hms_opt(1, 2, 3).unwrap();
    compare(&MoreKeys { p: time, r: true });
}

#[test]
fn kinds() {
    let post = || Post { p: 1, r: Uuid::nil(), text: "a".into() };
    let photo = || Photo { p: "p".into(), r: "r".into(), size: 1 };
    compare(&Item::Post(post()));
    compare(&Item::Photo(photo()));
    compare(&Any::Photo(photo()));
    // A row of another kind is read, unless it has the kind of a photo.
    compare(&Any::Other(DynamicEntity::new("p", "r").with("size", "large")));
}
