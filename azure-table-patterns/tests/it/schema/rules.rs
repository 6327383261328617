//! Single rules, and the text of snapshots.

use azure_table_client::edm::{ConvertError, EdmCow, EdmType, FromEdm, ToEdm};
use azure_table_client::entity::schema::Schema;
use azure_table_client::entity::{
    Bucketed, DecodeError, Descending, EncodeError, KeyError, PropertyGroup, PropertyWriter, Row,
};
use azure_table_client::{DynamicEntity, TableEntity, TableEnum, TableValue};
use azure_table_patterns::schema::Snapshot;
use chrono::{DateTime, NaiveDate, Utc};

/// The problems of a change from `A` to `B`.
fn problems<A: TableEntity, B: TableEntity>() -> String {
    let list = Snapshot::of::<A>().problems(&Snapshot::of::<B>());
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn rolling<A: TableEntity, B: TableEntity>() -> String {
    let list = Snapshot::of::<A>().rolling_problems(&Snapshot::of::<B>());
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[derive(TableValue)]
struct Id(String);

#[derive(Debug, TableEnum)]
enum Color {
    Red,
    #[table(alias = "vert", alias = "a \"quoted\" \\ text\n")]
    Green,
    #[table(other)]
    Other(String),
}

#[derive(PropertyGroup)]
struct Address {
    city: String,
    #[table(alias = "zip")]
    code: Option<String>,
}

/// A type that does not describe its values.
struct Celsius(f64);

impl ToEdm for Celsius {
    const EDM_TYPE: EdmType = EdmType::Double;
    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        self.0.to_edm()
    }
}

impl FromEdm for Celsius {
    const EDM_TYPE: EdmType = EdmType::Double;
    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        f64::from_edm(value).map(Self)
    }
}

mod minutes {
    use azure_table_client::edm::ConvertError;

    #[expect(clippy::unnecessary_wraps, clippy::trivially_copy_pass_by_ref, reason = "a codec")]
    pub(super) fn encode(minutes: &u16) -> Result<String, ConvertError> {
        Ok(minutes.to_string())
    }

    pub(super) fn decode(text: String) -> Result<u16, ConvertError> {
        text.parse().map_err(|_| ConvertError::Other(text))
    }
}

#[derive(TableEntity)]
#[table(name = "Everything", rename_all = "PascalCase")]
#[table(partition_key = "{day}_{year:inv4}_{code:escaped}", row_key(at, id))]
struct Everything {
    day: Bucketed<NaiveDate, 16>,
    year: u32,
    code: String,
    #[table(also_property)]
    id: Id,
    at: Descending<DateTime<Utc>>,
    #[table(alias = "Body", alias = "Text0")]
    text: Option<String>,
    color: Color,
    temperature: Celsius,
    #[table(default)]
    created: DateTime<Utc>,
    #[table(with = "minutes", default)]
    alarm: u16,
    #[table(as_json)]
    tags: Vec<String>,
    #[table(flatten = "Home_")]
    home: Option<Address>,
    #[table(series = "Cpu{:02}", accept = "widened")]
    cpu: [f64; 24],
    #[table(split)]
    notes: String,
    #[table(on_mistyped = "default", accept = "lenient", on_missing = "default")]
    count: i64,
}

#[test]
fn a_snapshot_has_a_line_for_each_property() {
    let text = Snapshot::of::<Everything>().to_string();
    assert_eq!(
        text,
        r#"# The stored form of the rows. A change of this file is a change of stored data.
table "Everything"
partition-key field "day" form "16 buckets of date" literal "_" field "year" form "u32" format "inv4(9999)" literal "_" field "code" form "text" format "escaped"
row-key field "at" form "descending date-time" literal "!" field "id" form "text" format "escaped"
property "Id" Edm.String form "text" optional copy-of-key
property "Text" Edm.String form "text" optional alias "Body" alias "Text0"
property "Color" Edm.String choice "Red" "Red" choice "Green" "Green" or "vert" or "a \"quoted\" \\ text\u{a}" other-choices required
property "Temperature" Edm.Double rust "Celsius" required
property "Created" Edm.DateTime form "date-time" default varies
property "Alarm" Edm.String codec "with minutes" rust "u16" default "0"
property "Tags" Edm.String codec "as_json" rust "Vec<String>" required
property "Count" Edm.Int64 form "i64" default "0" accepts lenient tolerant
property "Home_city" Edm.String form "text" required group "Home_"
property "Home_code" Edm.String form "text" optional alias "Home_zip" group "Home_"
property "Cpu" Edm.Double form "f64" series 2 24 required accepts widened
property "Notes" Edm.String form "text" split required
end
"#
    );
    assert_eq!(text.parse::<Snapshot>().unwrap().to_string(), text);
    assert_eq!(problems::<Everything, Everything>(), "");
}

#[test]
fn a_damaged_snapshot_is_refused() {
    let text = Snapshot::of::<Everything>().to_string();
    for end in 0..text.len() - 1 {
        let Some(part) = text.get(..end) else { continue };
        assert!(part.parse::<Snapshot>().is_err(), "{part}");
    }
    for (bad, reason) in [
        ("property \"a\nend", "line 1: a text has no closing quote"),
        ("property \"\\x\"\nend", "line 1: unknown escape"),
        ("property a required\nend", "line 1: expected a text in quotes"),
        ("property \"a\" Edm.Int16\nend", "line 1: unknown word `Edm.Int16`"),
        ("others lost\nend", "line 1: unknown word `lost`"),
        ("<<<<<<< HEAD\nend", "line 1: unknown word `<<<<<<<`"),
        ("table \"A\" \"B\"\nend", "line 1: unexpected"),
        ("property \"a\" series x 2\nend", "line 1: `x` is not a number"),
        ("  table \"A\"\nend", "line 1: unexpected indentation"),
    ] {
        let error = bad.parse::<Snapshot>().unwrap_err().to_string();
        assert!(error.starts_with(reason), "{error}");
    }
}

macro_rules! entity {
    ($name:ident [$($of_struct:tt)*] { $($(#[$of_field:meta])* $field:ident: $ty:ty),* $(,)? }) => {
        #[derive(TableEntity)]
        #[table($($of_struct)*)]
        struct $name { $($(#[$of_field])* $field: $ty),* }
    };
}

#[test]
fn keys_must_keep_their_form() {
    entity!(Before [name = "Blogs", partition_key = "{p}_{n:04}"] { p: String, n: u32, #[table(row_key)] r: String });
    entity!(Width [partition_key = "{p}_{n:05}"] { p: String, n: u32, #[table(row_key)] r: String });
    entity!(Separator [partition_key = "{p}-{n:04}"] { p: String, n: u32, #[table(row_key)] r: String });
    entity!(Type [partition_key = "{p}_{n:04}"] { p: String, n: u64, #[table(row_key)] r: String });
    entity!(Order [partition_key = "{p}_{n:04}"] { p: String, n: u32, #[table(row_key)] r: Descending<u32> });
    entity!(Named [partition_key = "{channel}_{n:04}"] { channel: Id, n: u32, #[table(row_key)] r: std::sync::Arc<str> });
    entity!(Table [name = "Posts", partition_key = "{p}_{n:04}"] { p: String, n: u32, #[table(row_key)] r: String });
    let changed = |key: &str, was: &str, is: &str| {
        format!("the {key}: the form changed, but rows keep their keys: from `{was}` to `{is}`")
    };
    let key = |separator: &str, number: &str| {
        let text = "field \"p\" form \"text\"";
        format!("{text} literal \"{separator}\" field \"n\" form {number}")
    };
    let before = key("_", r#""u32" format "04""#);
    let partition = |now: &str| changed("PartitionKey", &before, now);
    assert_eq!(problems::<Before, Width>(), partition(&key("_", r#""u32" format "05""#)));
    assert_eq!(problems::<Before, Separator>(), partition(&key("-", r#""u32" format "04""#)));
    assert_eq!(problems::<Before, Type>(), partition(&key("_", r#""u64" format "04""#)));
    let (was, is) = ("field \"r\" form \"text\"", "field \"r\" form \"descending u32\"");
    assert_eq!(problems::<Before, Order>(), changed("RowKey", was, is));
    // A field's name is not stored, and a newtype is stored as its field.
    assert_eq!(problems::<Before, Named>(), "");
    let table = "the table: the rows are in \"Blogs\", and \"Posts\" is read";
    assert_eq!(problems::<Before, Table>(), table);
}

#[test]
fn fields_of_keys_must_keep_their_places() {
    entity!(Before [partition_key = "{tenant}_{user}"] { tenant: String, user: String, #[table(row_key)] r: String });
    entity!(Within [partition_key = "{user}_{tenant}"] { tenant: String, user: String, #[table(row_key)] r: String });
    entity!(Named [partition_key = "{owner}_{user}"] { owner: String, user: String, #[table(row_key)] r: String });
    entity!(Keys [] { #[table(partition_key)] p: String, #[table(row_key)] r: String });
    entity!(KeysTurned [] { #[table(partition_key)] r: String, #[table(row_key)] p: String });
    entity!(Shared [partition_key = "{x}", row_key = "{x}"] { x: String });
    let moved = |is: &str, was: &str| {
        format!("the field {is:?}: it is read from the place of {was:?} in the keys of the rows")
    };
    let both = |a: &str, b: &str| format!("{}\n{}", moved(a, b), moved(b, a));
    assert_eq!(problems::<Before, Within>(), both("user", "tenant"));
    assert_eq!(problems::<Keys, KeysTurned>(), both("r", "p"));
    assert_eq!(problems::<Before, Named>(), "");
    // One value cannot be read from two.
    assert_eq!(problems::<Keys, Shared>(), format!("{}\n{}", moved("x", "p"), moved("x", "r")));
    assert_eq!(problems::<Shared, Keys>(), "");
}

#[test]
fn a_default_may_become_a_wider_number() {
    entity!(Whole [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, #[table(default)] x: i32 });
    entity!(Wider [accept = "widened"] { #[table(partition_key)] p: String, #[table(row_key)] r: String, #[table(default)] x: f64 });
    assert_eq!(problems::<Whole, Wider>(), "");
}

#[test]
fn an_undescribed_table_or_key_is_remembered() {
    entity!(Blogs [name = "Blogs"] { #[table(partition_key)] p: String, #[table(row_key)] r: String });
    entity!(Posts [name = "Posts"] { #[table(partition_key)] p: String, #[table(row_key)] r: String });
    entity!(Unnamed [] { #[table(partition_key)] p: String, #[table(row_key)] r: String });
    entity!(Constant [partition_key = ""] { #[table(row_key)] r: String });
    let unnamed = Snapshot::of::<Blogs>().updated(&Snapshot::of::<Unnamed>());
    assert_eq!(unnamed.problems(&Snapshot::of::<Posts>()).len(), 1);
    assert!(problems::<Constant, Unnamed>().starts_with("the PartitionKey: the form"));
    let by_hand = Snapshot::of::<Unnamed>().updated(&Snapshot::of::<ByHand>());
    let text = by_hand.to_string();
    assert!(text.contains("\npartition-key field \"p\" form \"text\"\nrow-key field"), "{text}");
}

#[test]
fn a_property_that_takes_the_place_of_another_may_be_its_new_name() {
    entity!(Before [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, subtitle: Option<String> });
    entity!(Renamed [rename_all = "PascalCase"] { #[table(partition_key)] p: String, #[table(row_key)] r: String, subtitle: Option<String> });
    entity!(Alias [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, #[table(alias = "subtitle")] line: Option<String> });
    assert_eq!(
        problems::<Before, Renamed>(),
        "\"Subtitle\": it is added as \"subtitle\" is removed: if this is its new name, write `alias`; otherwise remove one \
         property first, update the snapshot, and add the other"
    );
    assert_eq!(problems::<Before, Alias>(), "");
    let former = "\"line\": the last version reads it under its former name only";
    assert_eq!(rolling::<Before, Alias>(), former);
}

#[test]
fn a_type_that_does_not_describe_its_values_is_compared_by_its_name() {
    mod other {
        pub(super) type Kelvin = super::Celsius;
    }
    entity!(Before [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, t: Celsius });
    entity!(After [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, t: other::Kelvin });
    assert_eq!(
        problems::<Before, After>(),
        "\"t\": `Celsius` and `other::Kelvin` do not describe their values"
    );
}

/// An implementation by hand describes its names.
struct ByHand;

impl TableEntity for ByHand {
    const COLUMNS: &'static [&'static str] = &["Text", "Rating"];
    fn partition_key(&self) -> Result<std::borrow::Cow<'_, str>, KeyError> {
        Ok("p".into())
    }
    fn row_key(&self) -> Result<std::borrow::Cow<'_, str>, KeyError> {
        Ok("r".into())
    }
    fn write_properties(&self, _: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        Ok(())
    }
    fn from_row(_: &mut Row<'_>) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

#[test]
fn the_names_of_an_implementation_by_hand_are_compared() {
    entity!(Derived [] { #[table(partition_key)] p: u32, #[table(row_key)] r: u32, #[table(rename = "Text")] text: i64 });
    let text = Snapshot::of::<ByHand>().to_string();
    assert!(
        text.contains("\nproperty \"Text\" required\nproperty \"Rating\" required\nend"),
        "{text}"
    );
    assert_eq!(problems::<ByHand, Derived>(), "");
    assert_eq!(
        problems::<Derived, ByHand>(),
        "\"Rating\": rows do not have it, and it is required"
    );
}

entity!(Post [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, text: String });
entity!(Photo [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, uri: String });
entity!(PhotoOfSize [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, uri: String, size: i32 });

macro_rules! kinds {
    ($($name:ident [$($of_enum:tt)*] { $($(#[$of_variant:meta])* $variant:ident($ty:ty)),* })*) => {$(
        #[derive(TableEntity)]
        #[table($($of_enum)*)]
        enum $name { $($(#[$of_variant])* $variant($ty)),* }
    )*};
}

kinds! {
    OnlyPosts [discriminator = "Kind"] { Post(Post) }
    Both [discriminator = "Kind"] { Post(Post), Photo(Photo) }
    BothTurned [discriminator = "Kind"] { Photo(Photo), Post(Post) }
    Larger [discriminator = "Kind"] { Post(Post), Photo(PhotoOfSize) }
    OtherProperty [discriminator = "Type"] { Post(Post), Photo(Photo) }
    Open [discriminator = "Kind"] { Post(Post), #[table(other)] Other(DynamicEntity) }
    Keyed [discriminator_in_row_key] { Post(Post), Photo(Photo) }
    KeyedTurned [discriminator_in_row_key] { Photo(Photo), Post(Post) }
}

#[test]
fn kinds_are_compared_one_by_one() {
    assert_eq!(problems::<OnlyPosts, Both>(), "");
    assert_eq!(problems::<Both, BothTurned>(), "");
    assert_eq!(problems::<OnlyPosts, Open>(), "");
    let gone = "the kind \"Photo\": its rows are of an unknown kind now";
    assert_eq!(problems::<Both, OnlyPosts>(), gone);
    assert_eq!(rolling::<OnlyPosts, Both>(), gone);
    let larger = "kind \"Photo\", \"size\": rows do not have it, and it is required";
    assert_eq!(problems::<Both, Larger>(), larger);
    let elsewhere = "the discriminator: rows have their kind elsewhere";
    assert_eq!(problems::<Both, OtherProperty>(), elsewhere);
    assert_eq!(problems::<Both, Keyed>(), elsewhere);
    assert!(problems::<Keyed, KeyedTurned>().contains("add kinds at the end"));
    assert!(problems::<Open, OnlyPosts>().contains("rows of other kinds were read"));
    assert!(problems::<Post, OnlyPosts>().contains("only by the discriminator"));
    for snapshot in [Snapshot::of::<Open>(), Snapshot::of::<Keyed>(), Snapshot::of::<Larger>()] {
        let text = snapshot.to_string();
        assert_eq!(text.parse::<Snapshot>().unwrap().to_string(), text);
    }
    assert_eq!(Schema::from(Snapshot::of::<Open>()), Open::schema());
    assert_eq!(Schema::from(Snapshot::of::<Post>()), Post::schema());
    // A property that a kind had is remembered within the kind.
    let updated = Snapshot::of::<Larger>().updated(&Snapshot::of::<Both>()).to_string();
    assert!(
        updated.contains("\n  removed \"size\" Edm.Int32 form \"i32\" required\n"),
        "{updated}"
    );
}

#[test]
fn a_removed_property_is_remembered() {
    entity!(One [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, a: i32 });
    entity!(Two [] { #[table(partition_key)] p: String, #[table(row_key)] r: String });
    entity!(Three [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, a: Option<String> });
    let two = Snapshot::of::<One>().updated(&Snapshot::of::<Two>());
    assert!(Snapshot::of::<Two>().problems(&Snapshot::of::<Three>()).is_empty());
    let problems = two.problems(&Snapshot::of::<Three>());
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].to_string(), "\"a\": rows have Edm.Int32, and Edm.String is read");
}

#[test]
fn a_forced_removal_is_reported_once() {
    entity!(One [deny_unknown] { #[table(partition_key)] p: String, #[table(row_key)] r: String, a: i32 });
    entity!(Two [deny_unknown] { #[table(partition_key)] p: String, #[table(row_key)] r: String });
    entity!(Three [] { #[table(partition_key)] p: String, #[table(row_key)] r: String });
    let refused = "\"a\": rows have it, and `deny_unknown` refuses it";
    assert_eq!(problems::<One, Two>(), refused);
    let (one, two, three) = (Snapshot::of::<One>(), Snapshot::of::<Two>(), Snapshot::of::<Three>());
    assert_eq!(one.updated(&two).to_string(), two.to_string());
    // A property that an earlier version removed.
    let removed = one.updated(&three);
    assert!(removed.to_string().contains("\nremoved \"a\" "), "{removed}");
    assert!(removed.problems(&two).iter().any(|problem| problem.to_string() == refused));
    let forced = removed.updated(&two);
    assert_eq!((forced.to_string(), forced.problems(&two)), (two.to_string(), Vec::new()));
}

#[test]
fn properties_that_are_split_and_joined_are_named() {
    entity!(Joined [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, #[table(alias = "b")] a: Option<i32> });
    entity!(Apart [] { #[table(partition_key)] p: String, #[table(row_key)] r: String, a: Option<i32>, b: Option<i32> });
    let several = "\"a\": its names belong to several properties now: \"a\", \"b\"";
    assert_eq!(problems::<Joined, Apart>(), several);
    let two = "\"a\": it reads two properties of the rows: \"a\", \"b\"";
    assert!(problems::<Apart, Joined>().lines().any(|line| line == two));
}

/// Two optional groups without prefixes exchange a property.
mod groups_without_prefixes {
    use super::{PropertyGroup, TableEntity};

    #[derive(PropertyGroup)]
    pub(super) struct Y {
        y: i32,
    }

    #[derive(PropertyGroup)]
    pub(super) struct Xy {
        x: i32,
        y: i32,
    }

    #[derive(PropertyGroup)]
    pub(super) struct Z {
        z: i32,
    }

    #[derive(PropertyGroup)]
    pub(super) struct Xz {
        x: i32,
        z: i32,
    }

    #[derive(TableEntity)]
    pub(super) struct Before {
        #[table(partition_key)]
        partition: String,
        #[table(row_key)]
        row: String,
        #[table(flatten)]
        first: Option<Xy>,
        #[table(flatten)]
        second: Option<Z>,
    }

    #[derive(TableEntity)]
    pub(super) struct After {
        #[table(partition_key)]
        partition: String,
        #[table(row_key)]
        row: String,
        #[table(flatten)]
        first: Option<Y>,
        #[table(flatten)]
        second: Option<Xz>,
    }
}

#[test]
fn groups_without_prefixes_are_distinguished() {
    use groups_without_prefixes::{After, Before};
    let found = problems::<Before, After>();
    assert!(found.contains("belongs to another `Option` of a group"), "{found}");
    assert_eq!(problems::<Before, Before>(), "");
}
