//! The columns that the derives generate, in projections and conditions.

use azure_table_client::entity::PropertyGroup;
use azure_table_client::filter::{FilterErrorKind, HasColumns, Projection};
use azure_table_client::mock::MockTableService;
use azure_table_client::{
    DynamicEntity, ETag, ErrorKind, IfMatch, Metadata, TableClient, TableEntity, filter,
};

#[derive(Debug, Clone, PartialEq, Default, PropertyGroup)]
struct Geo {
    lat: f64,
    #[table(alias = "long")]
    lon: f64,
}

#[derive(Debug, Clone, PartialEq, Default, PropertyGroup)]
struct Address {
    city: String,
    zip: Option<i32>,
    #[table(flatten = "geo_")]
    geo: Geo,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Customers", row_key(year, id))]
struct Customer {
    #[table(partition_key)]
    country: String,
    year: u32,
    id: String,
    name: String,
    #[table(flatten = "home_")]
    home: Address,
    #[table(flatten = "work_")]
    work: Option<Address>,
    #[table(flatten = "old_", default)]
    old: Geo,
    #[table(series)]
    cpu: [f64; 24],
    #[table(series, default)]
    tags: Vec<String>,
    #[table(split)]
    notes: String,
}

fn customer(id: &str) -> Customer {
    let geo = Geo { lat: 48.4, lon: 10.0 };
    Customer {
        country: "DE".into(),
        year: 2009,
        id: id.into(),
        name: "Joe".into(),
        home: Address { city: "Ulm".into(), zip: None, geo },
        work: None,
        old: Geo::default(),
        cpu: std::array::from_fn(|hour| f64::from(u8::try_from(hour).unwrap())),
        tags: vec!["new".into(), "good".into()],
        notes: "x".repeat(100_000),
    }
}

async fn customers() -> TableClient<Customer> {
    let customers = MockTableService::new().client().table::<Customer>();
    customers.create().await.unwrap();
    customers.insert(&customer("a")).await.unwrap();
    customers
}

#[tokio::test]
async fn fields_of_several_properties_are_selected_whole() {
    let customers = customers().await;
    let of = customer("a");
    let query = || customers.query();
    assert_eq!(query().select(|c| c.home).await.unwrap(), std::slice::from_ref(&of.home));
    assert_eq!(query().select(|c| c.home.geo).await.unwrap(), std::slice::from_ref(&of.home.geo));
    assert_eq!(query().select(|c| (c.name, c.work)).await.unwrap(), [("Joe".to_owned(), None)]);
    assert_eq!(query().select(|c| c.cpu).await.unwrap(), [of.cpu]);
    assert_eq!(query().select(|c| c.notes).await.unwrap(), std::slice::from_ref(&of.notes));
    let found = query().select(|c| (c.tags, c.row_key, c.home, c.cpu, c.name)).await.unwrap();
    let key = (2009, "a".to_owned());
    assert_eq!(found, [(of.tags.clone(), key, of.home.clone(), of.cpu, of.name.clone())]);

    let mut other = of.clone();
    other.work = Some(Address { city: "Bonn".into(), ..of.home.clone() });
    customers.replace(&other, IfMatch::Any).await.unwrap();
    assert_eq!(query().select(|c| c.work).await.unwrap(), [other.work]);
}

#[tokio::test]
async fn only_the_properties_of_the_selected_fields_are_requested() {
    let customers = customers().await;
    let select = format!("{:?}", customers.query().select(|c| (c.home.geo, c.notes)));
    for name in ["home_geo_lat", "home_geo_lon", "home_geo_long", "notes_15", "notes_Parts"] {
        assert!(select.contains(name), "{name} in {select}");
    }
    assert!(!select.contains("home_city") && !select.contains("cpu"), "{select}");
}

#[tokio::test]
async fn a_group_is_read_as_in_the_entity() {
    let customers = customers().await;
    let rows = customers.with_entity::<DynamicEntity>();
    let mut row = rows.get(Customer::key("DE", 2009, "a").unwrap()).await.unwrap().into_inner();
    let long = row.remove("home_geo_lon").unwrap();
    row.set("home_geo_long", long);
    for name in ["old_lat", "old_lon", "tags00", "tags0", "tags1", "tags01"] {
        row.remove(name);
    }
    rows.replace(&row, IfMatch::Any).await.unwrap();
    // By the alias of the group's property, and by the defaults of the fields.
    let found = customers.query().select(|c| (c.home, c.old, c.tags)).await.unwrap();
    assert_eq!(found, [(customer("a").home, Geo::default(), Vec::new())]);
}

#[tokio::test]
async fn the_version_is_selected() {
    let customers = customers().await;
    let stored = customers.get(Customer::key("DE", 2009, "a").unwrap()).await.unwrap();
    let found = customers.query().select(|c| (c.name, c.etag)).await.unwrap();
    assert_eq!(found, [("Joe".to_owned(), stored.etag.clone())]);
    // A read by both keys is another request.
    let point = customers
        .query()
        .filter(|c| c.country.eq("DE") & c.row_key.eq((2009, "a")))
        .select(|c| c.etag);
    assert_eq!(point.await.unwrap(), std::slice::from_ref(&stored.etag));

    let found = customers.query().select_as::<Version>().await.unwrap();
    assert_eq!(
        found[0],
        Version { name: "Joe".into(), home: stored.home.clone(), etag: stored.etag }
    );
}

#[derive(Debug, PartialEq, Projection)]
#[table(of = "Customer")]
struct Version {
    name: String,
    home: Address,
    #[table(etag)]
    etag: ETag,
}

#[derive(Debug, PartialEq, Projection)]
#[table(of = "Customer")]
struct PossibleVersion {
    #[table(etag)]
    version: Option<ETag>,
}

#[tokio::test]
async fn the_version_alone_transfers_no_other_property() {
    let mock = MockTableService::new();
    let customers = mock.client().table::<Customer>();
    customers.create().await.unwrap();
    let etag = customers.insert(&customer("a")).await.unwrap().etag;
    assert_eq!(customers.query().select(|c| c.etag).await.unwrap(), std::slice::from_ref(&etag));
    let possible = customers.query().select_as::<PossibleVersion>();
    assert_eq!(possible.await.unwrap(), [PossibleVersion { version: Some(etag) }]);
    let sent = mock.requests().last().unwrap();
    assert!(sent.url.ends_with("$select=PartitionKey"), "{}", sent.url);
    // A response without metadata has no version.
    let plain = || customers.query().format(Metadata::None);
    assert!(plain().select(|c| c.etag).await.is_err());
    let found = plain().select_as::<PossibleVersion>().await.unwrap();
    assert_eq!(found, [PossibleVersion { version: None }]);
}

#[tokio::test]
async fn an_index_beyond_the_series_is_refused() {
    let columns = || Customer::typed_columns::<Customer>("");
    let error = columns().cpu.at(99).eq(1.0).into_filter().unwrap_err();
    assert_eq!(error.kind(), FilterErrorKind::OutOfBounds);
    assert_eq!(
        error.to_string(),
        "expected an index within the series: the index 99 of the series \"cpu\" is out of bounds; it has 24 elements"
    );
    for condition in [
        columns().cpu.at(24).between(1.0, 2.0),
        columns().cpu.at(24).is_in([1.0]),
        columns().cpu.at(23).ge(1.0) & columns().cpu.at(24).ge(1.0),
        columns().tags.at(252).starts_with("a"),
        !columns().tags.at(252).eq("a"),
    ] {
        assert_eq!(condition.into_filter().unwrap_err().kind(), FilterErrorKind::OutOfBounds);
    }
    let customers = customers().await;
    let error = customers.query().filter(|c| c.cpu.at(24).eq(1.0)).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    let error = customers.query().select(|c| (c.name, c.cpu.at(24))).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    assert!(error.to_string().contains("the index 24 of the series \"cpu\""), "{error}");
    let last = customers.query().filter(|c| c.cpu.at(23).eq(23.0) & c.tags.at(1).eq("good"));
    assert_eq!(last.select(|c| c.cpu.at(23)).await.unwrap(), [Some(23.0)]);
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Names")]
struct Names {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(rename = "Cafe\u{301}")]
    cafe: i32,
    #[table(rename = "हिन्दी")]
    hindi: String,
    #[table(rename = "a\u{203f}b٣")]
    connector: bool,
}

#[tokio::test]
async fn names_have_the_characters_of_identifiers_in_dotnet() {
    let names = MockTableService::new().client().table::<Names>();
    names.create().await.unwrap();
    let row =
        Names {
            p: "p".into(), r: "r".into(), cafe: 3, hindi: "नमस्ते".into(), connector: true
        };
    names.insert(&row).await.unwrap();
    let found = names.query().filter(filter!(Names, n => n.cafe == 3 && n.hindi == "नमस्ते"));
    assert_eq!(found.await.unwrap(), std::slice::from_ref(&row));
    let text = names.query().filter_text("Cafe\u{301} eq 3 and a\u{203f}b٣ eq true");
    assert_eq!(text.select(|n| (n.cafe, n.connector)).await.unwrap(), [(3, true)]);
}

/// Two kinds with the same struct, which knows all its properties.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Documents", discriminator = "Kind")]
enum Document {
    Draft(Page),
    Final(Page),
    // The column of this variant has the name of the method.
    Kind(Counter),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(deny_unknown)]
struct Page {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: u32,
    text: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Counter {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: u32,
    count: i32,
}

#[tokio::test]
async fn kinds_with_one_struct_are_read_together() {
    let notes = MockTableService::new().client().table::<Document>();
    notes.create().await.unwrap();
    let text = |id| Page { user: "joe".into(), id, text: "Hello".into() };
    let counter = Counter { user: "joe".into(), id: 3, count: 5 };
    for note in
        [Document::Draft(text(1)), Document::Final(text(2)), Document::Kind(counter.clone())]
    {
        notes.insert(&note).await.unwrap();
    }
    assert_eq!(notes.query().of_kind::<Page>().await.unwrap(), [text(1), text(2)]);
    let counters = notes.query().filter(|n| n.kind.count.eq(5) & n.kind().eq(DocumentKind::Kind));
    assert_eq!(counters.of_kind::<Counter>().await.unwrap(), [counter]);
}
