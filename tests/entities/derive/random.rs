//! Random values and random sets of properties survive a round trip.

use std::time::Duration;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::entity::PropertyGroup;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, IfMatch, TableClient, TableEntity, TableValue};
use bytes::Bytes;
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, TableValue)]
struct Serial(String);

#[derive(Debug, Clone, PartialEq, PropertyGroup)]
struct Group {
    wide: i64,
    #[table(as_string)]
    huge: u128,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Everything", partition_key(tenant, number), row_key = "{at}_{name:escaped}")]
struct Everything {
    tenant: String,
    number: i64,
    at: DateTime<Utc>,
    name: String,
    text: String,
    flag: bool,
    small: i32,
    big: i64,
    real: f64,
    time: EdmDateTime,
    id: Uuid,
    data: Vec<u8>,
    digest: [u8; 4],
    day: NaiveDate,
    local: Option<NaiveDateTime>,
    timeout: Duration,
    drift: TimeDelta,
    serial: Serial,
    #[table(as_json)]
    json: Vec<(String, i64)>,
    maybe: Option<i64>,
    #[table(as_i64)]
    counted: u32,
    #[table(flatten = "G_")]
    group: Option<Group>,
    #[table(series)]
    series: [Option<f64>; 3],
    #[table(split)]
    long: String,
    #[table(extra)]
    others: Vec<(String, EdmValue)>,
}

fn date_time() -> impl Strategy<Value = EdmDateTime> {
    (EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks())
        .prop_map(|ticks| EdmDateTime::from_ticks(ticks).unwrap())
}

/// NaN is left out, since it is not equal to itself; it has a separate test.
fn real() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("NaN", |v| !v.is_nan())
}

fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..8).prop_map(String::from_iter)
}

fn value() -> impl Strategy<Value = EdmValue> {
    prop_oneof![
        text().prop_map(EdmValue::String),
        any::<bool>().prop_map(EdmValue::Boolean),
        any::<i32>().prop_map(EdmValue::Int32),
        any::<i64>().prop_map(EdmValue::Int64),
        any::<f64>().prop_map(EdmValue::Double),
        date_time().prop_map(EdmValue::DateTime),
        any::<u128>().prop_map(|id| EdmValue::Guid(Uuid::from_u128(id))),
        vec(any::<u8>(), 0..20).prop_map(|bytes| EdmValue::Binary(Bytes::from(bytes))),
    ]
}

/// Names that no column of `Everything` has.
fn properties() -> impl Strategy<Value = Vec<(String, EdmValue)>> {
    btree_map("[A-Z_é日][A-Za-z0-9_é日]{0,8}", value(), 0..12).prop_map(|properties| {
        properties.into_iter().filter(|(name, _)| !name.starts_with("G_")).collect()
    })
}

prop_compose! {
    fn everything()(
        (tenant, number, at, name) in (text(), any::<i64>(), date_time(), text()),
        (text, flag, small, big, real) in (text(), any::<bool>(), any::<i32>(), any::<i64>(), real()),
        (time, id, data) in (date_time(), any::<u128>(), vec(any::<u8>(), 0..40)),
        (digest, moment, local) in (any::<[u8; 4]>(), date_time(), proptest::option::of(date_time())),
        (span, drift, serial) in (any::<(u64, u32)>(), any::<i64>(), text()),
        json in vec((text(), any::<i64>()), 0..3),
        (maybe, counted) in (any::<Option<i64>>(), any::<u32>()),
        group in proptest::option::of((any::<i64>(), any::<u128>())),
        series in proptest::array::uniform3(proptest::option::of(real())),
        (long, others) in ("\\PC{0,30}", properties()),
    ) -> Everything {
        Everything {
            tenant, number, at: at.to_chrono(), name, text, flag, small, big, real, time,
            id: Uuid::from_u128(id), data, digest, day: moment.to_chrono().date_naive(),
            local: local.map(|time| time.to_chrono().naive_utc()),
            timeout: Duration::new(span.0, span.1 % 1_000_000_000),
            drift: TimeDelta::nanoseconds(drift), serial: Serial(serial), json, maybe, counted,
            group: group.map(|(wide, huge)| Group { wide, huge }),
            series, long, others,
        }
    }
}

fn run<T: TableEntity>(
    test: impl AsyncFnOnce(TableClient<T>) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let table = MockTableService::new().client().table_named("Random");
        table.create().await.unwrap();
        test(table).await
    })
}

proptest! {
    #[test]
    fn a_derived_struct_survives_a_round_trip(entity in everything()) {
        run(async |table: TableClient<Everything>| {
            table.insert(&entity).await.unwrap();
            let key = Everything::key(&entity.tenant, entity.number, entity.at, &entity.name).unwrap();
            prop_assert_eq!(&key, &entity.entity_key().unwrap());
            prop_assert_eq!(&table.get(&key).await.unwrap().entity, &entity);
            prop_assert_eq!(&table.query().await.unwrap()[0], &entity);
            Ok(())
        })?;
    }

    #[test]
    fn a_set_of_properties_survives_a_round_trip(properties in properties()) {
        run(async |table: TableClient<DynamicEntity>| {
            let mut entity = DynamicEntity::new("p", "r");
            for (name, value) in &properties {
                entity.set(name.as_str(), value.clone());
            }
            for replace in [false, true] {
                if replace {
                    table.replace(&entity, IfMatch::Any).await.unwrap();
                } else {
                    table.insert(&entity).await.unwrap();
                }
                let stored = table.get(("p", "r")).await.unwrap();
                let mut read: Vec<_> =
                    stored.properties().map(|(name, value)| (name.to_owned(), value.clone())).collect();
                read.sort_by(|(a, _), (b, _)| a.cmp(b));
                prop_assert_eq!(&read, &properties);
            }
            Ok(())
        })?;
    }
}
