//! Definitions of one entity, among which the versions of a program are drawn. Each can generate rows, and knows the
//! value of each field as text, by rules of its own.

use std::collections::{BTreeMap, HashMap};

use azure_table_client::edm::EdmValue;
use azure_table_client::entity::PropertyGroup;
use azure_table_client::{DynamicEntity, TableEntity, TableEnum};
use azure_table_patterns::schema::Snapshot;
use chrono::{DateTime, NaiveDate, Utc};
use fastrand::Rng;

/// The values of the fields as text, independent of their types. A value of an enum is the variant and the stored text, with a
/// bar between them.
pub(super) type Values = BTreeMap<String, String>;

/// Whether two texts are the same value: the same variant, or the same stored text if one is not of an enum.
fn is_same(before: &str, after: &str) -> bool {
    match (before.split_once('|'), after.split_once('|')) {
        (Some((before, _)), Some((after, _))) => before == after,
        (Some((_, stored)), None) => stored == after,
        (None, Some((_, stored))) => before == stored,
        (None, None) => before == after,
    }
}

/// Returns the first field that both versions have, with different values.
pub(super) fn difference(before: &Values, after: &Values) -> Option<String> {
    let differs = |name: &String, text: &str| after.get(name).is_some_and(|it| !is_same(text, it));
    let found = before.iter().find(|(name, text)| differs(name, text));
    found.map(|(name, text)| format!("{name} was {text} and is {}", after[name]))
}

/// A version of the program.
pub(super) struct Definition {
    pub(super) name: &'static str,
    pub(super) snapshot: Snapshot,
    /// Creates the row of an entity.
    pub(super) create: fn(&mut Rng) -> DynamicEntity,
    /// Reads a row.
    pub(super) read: fn(&DynamicEntity) -> Result<Values, String>,
}

/// A type of a field.
trait Sample: Sized {
    fn sample(chance: &mut Rng) -> Self;
    fn text(&self) -> String;

    fn add(&self, name: &str, values: &mut Values) {
        values.insert(name.to_owned(), self.text());
    }

    fn add_missing(name: &str, values: &mut Values) {
        values.insert(name.to_owned(), "None".to_owned());
    }
}

macro_rules! whole {
    ($($ty:ty),*) => {$(
        impl Sample for $ty {
            fn sample(chance: &mut Rng) -> Self {
                match chance.u8(..4) {
                    0 => <$ty>::MIN,
                    1 => <$ty>::MAX,
                    _ => <$ty>::try_from(chance.u8(..100)).unwrap(),
                }
            }
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
whole!(i8, i16, i32, i64, u8, u16, u32);

/// Stored by `as_i64` and `as_string`; the greatest value of `i64` is the greatest that the former stores.
impl Sample for u64 {
    fn sample(chance: &mut Rng) -> Self {
        u64::try_from(i64::sample(chance).max(0)).unwrap()
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

macro_rules! float {
    ($($ty:ty),*) => {$(
        impl Sample for $ty {
            fn sample(chance: &mut Rng) -> Self {
                if chance.bool() { <$ty>::MAX } else { <$ty>::from(chance.u8(..)) / 3.0 }
            }
            fn text(&self) -> String {
                f64::from(*self).to_string()
            }
        }
    )*};
}
float!(f32, f64);

impl Sample for String {
    fn sample(chance: &mut Rng) -> Self {
        (*chance.choice(&["", "a", "Red", "Green", "rouge", "7", "2009-04-14"]).unwrap()).to_owned()
    }
    fn text(&self) -> String {
        self.clone()
    }
}

impl Sample for bool {
    fn sample(chance: &mut Rng) -> Self {
        chance.bool()
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Sample for NaiveDate {
    fn sample(chance: &mut Rng) -> Self {
        NaiveDate::from_ymd_opt(2009, 4, chance.u32(1..30)).unwrap()
    }
    fn text(&self) -> String {
        self.and_hms_opt(0, 0, 0).unwrap().and_utc().to_rfc3339()
    }
}

impl Sample for DateTime<Utc> {
    fn sample(chance: &mut Rng) -> Self {
        DateTime::from_timestamp(chance.i64(0..100_000), 0).unwrap()
    }
    fn text(&self) -> String {
        self.to_rfc3339()
    }
}

impl Sample for Vec<u8> {
    fn sample(chance: &mut Rng) -> Self {
        vec![chance.u8(..); chance.usize(..4)]
    }
    fn text(&self) -> String {
        format!("{self:?}")
    }
}

impl Sample for [u8; 2] {
    fn sample(chance: &mut Rng) -> Self {
        [chance.u8(..); 2]
    }
    fn text(&self) -> String {
        format!("{self:?}")
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(chance: &mut Rng) -> Self {
        chance.bool().then(|| T::sample(chance))
    }
    fn text(&self) -> String {
        self.as_ref().map_or_else(|| "None".to_owned(), Sample::text)
    }
    fn add(&self, name: &str, values: &mut Values) {
        match self {
            Some(value) => value.add(name, values),
            None => T::add_missing(name, values),
        }
    }
}

macro_rules! list {
    ($($ty:ty: $element:ty, $count:expr;)*) => {$(
        impl Sample for $ty {
            fn sample(chance: &mut Rng) -> Self {
                let count = $count;
                let count = count(chance);
                let list: Vec<$element> = (0..count).map(|_| <$element>::sample(chance)).collect();
                list.try_into().unwrap()
            }
            fn text(&self) -> String {
                let mut list: Vec<String> = self.iter().map(Sample::text).collect();
                // A list loses the missing elements at its end.
                while list.last().is_some_and(|last| last == "None") {
                    list.pop();
                }
                list.join(";")
            }
        }
    )*};
}
list! {
    [f64; 2]: f64, |_: &mut Rng| 2;
    [f64; 3]: f64, |_: &mut Rng| 3;
    [Option<f64>; 2]: Option<f64>, |_: &mut Rng| 2;
    Vec<f64>: f64, |chance: &mut Rng| chance.usize(..4);
    Vec<Option<f64>>: Option<f64>, |chance: &mut Rng| chance.usize(..4);
}

macro_rules! choices {
    ($($(#[$of_enum:meta])* $name:ident { $($(#[$of_variant:meta])* $variant:ident = $text:literal),* } $(+ $other:ident)?)*) => {$(
        #[derive(Debug, Clone, PartialEq, TableEnum)]
        $(#[$of_enum])*
        enum $name { $($(#[$of_variant])* $variant),* $(, #[table(other)] $other(String))? }

        impl Sample for $name {
            fn sample(chance: &mut Rng) -> Self {
                let all = [$(Self::$variant),*];
                $(if chance.u8(..4) == 0 { return Self::$other(["a", "Pink"][chance.usize(..2)].to_owned()) })?
                all[chance.usize(..all.len())].clone()
            }
            fn text(&self) -> String {
                use azure_table_client::edm::{EdmCow, ToEdm};
                let stored = match self.to_edm() {
                    Ok(Some(EdmCow::String(text))) => text.into_owned(),
                    Ok(Some(EdmCow::Int32(number))) => number.to_string(),
                    other => panic!("{other:?}"),
                };
                match self {
                    $(Self::$variant => format!("{}|{stored}", $text),)*
                    $(Self::$other(_) => stored,)?
                }
            }
        }
    )*};
}
choices! {
    Two { Red = "Red", Green = "Green" }
    Three { Red = "Red", Green = "Green", Blue = "Blue" }
    Alias { #[table(alias = "rouge")] Red = "Red", Green = "Green" }
    Swapped { #[table(rename = "Green")] Red = "Red", #[table(rename = "Red")] Green = "Green" }
    Renamed { #[table(rename = "Red")] Scarlet = "Red", Green = "Green" }
    Open { Red = "Red", Green = "Green" } + Other
    #[table(as_i32)] NumberTwo { Red = "0", Green = "1" }
    #[table(as_i32)] NumberThree { Red = "0", Green = "1", Blue = "2" }
    #[table(as_i32)] NumberFirst { Blue = "2", Red = "0", Green = "1" }
}

macro_rules! groups {
    ($($name:ident { $($(#[$of_field:meta])* $field:ident: $ty:ty),* })*) => {$(
        #[derive(Debug, Default, PropertyGroup)]
        struct $name { $($(#[$of_field])* $field: $ty),* }

        impl Sample for $name {
            fn sample(chance: &mut Rng) -> Self {
                Self { $($field: Sample::sample(chance)),* }
            }
            fn text(&self) -> String {
                "there".to_owned()
            }
            fn add(&self, name: &str, values: &mut Values) {
                values.insert(name.to_owned(), self.text());
                $(self.$field.add(&format!("{name}.{}", stringify!($field)), values);)*
            }
            fn add_missing(name: &str, values: &mut Values) {
                values.insert(name.to_owned(), "None".to_owned());
                $(values.insert(format!("{name}.{}", stringify!($field)), "None".to_owned());)*
            }
        }
    )*};
}
groups! {
    A { a: i32 }
    AOptionalB { a: i32, b: Option<i32> }
    AAndB { a: i32, b: i32 }
    Optional { a: Option<i32>, b: Option<i32> }
}

fn seven() -> i32 {
    7
}

fn eight() -> i32 {
    8
}

macro_rules! definitions {
    ($($name:ident [$($of_struct:tt)*] $key:ty { $($(#[$of_field:meta])* $field:ident: $ty:ty),* })*) => {
        $(
            #[derive(TableEntity)]
            #[table($($of_struct)*)]
            struct $name {
                #[table(partition_key)]
                p: String,
                #[table(row_key)]
                r: $key,
                $($(#[$of_field])* $field: $ty,)*
            }

            impl $name {
                fn values(&self) -> Values {
                    let mut values = Values::new();
                    self.r.add("r", &mut values);
                    $(self.$field.add(stringify!($field), &mut values);)*
                    values
                }
            }
        )*

        /// All definitions.
        pub(super) fn all() -> Vec<Definition> {
            vec![$(Definition {
                name: stringify!($name),
                snapshot: Snapshot::of::<$name>(),
                create: |chance| {
                    let entity = $name {
                        p: "p".to_owned(),
                        r: Sample::sample(chance),
                        $($field: Sample::sample(chance),)*
                    };
                    DynamicEntity::from_entity(&entity).unwrap()
                },
                read: |row| match row.to_entity::<$name>() {
                    Ok(entity) => Ok(entity.values()),
                    Err(error) => Err(error.to_string()),
                },
            }),*]
        }
    };
}

impl Sample for BTreeMap<String, EdmValue> {
    fn sample(_: &mut Rng) -> Self {
        Self::new()
    }
    fn text(&self) -> String {
        "others".to_owned()
    }
}

impl Sample for HashMap<String, EdmValue> {
    fn sample(chance: &mut Rng) -> Self {
        chance.bool().then(|| ("Z".to_owned(), EdmValue::Int32(1))).into_iter().collect()
    }
    fn text(&self) -> String {
        "others".to_owned()
    }
}

definitions! {
    Empty [] u32 {}
    DenyUnknown [deny_unknown] u32 {}
    Extra [] u32 { #[table(extra)] others: BTreeMap<String, EdmValue> }
    OtherExtra [] u32 { #[table(extra)] others: HashMap<String, EdmValue> }
    KeyOfText [] String {}
    KeyOfTwo [] Two {}
    KeyOfThree [] Three {}
    KeyOfAlias [] Alias {}
    KeyOfU64 [] u32 { v: i64 }
    I32 [] u32 { v: i32 }
    I32Deny [deny_unknown] u32 { v: i32 }
    I32Option [] u32 { v: Option<i32> }
    I32Default [] u32 { #[table(default)] v: i32 }
    I32Seven [] u32 { #[table(default = "seven")] v: i32 }
    I32Eight [] u32 { #[table(default = "eight")] v: i32 }
    I32OnMissing [on_missing = "default"] u32 { v: i32 }
    I32Tolerant [on_mistyped = "default"] u32 { v: i32 }
    I32SkipIf [] u32 { #[table(default, skip_if = "is_zero")] v: i32 }
    U8 [] u32 { v: u8 }
    U8Option [] u32 { v: Option<u8> }
    U16 [] u32 { v: u16 }
    I8 [] u32 { v: i8 }
    I16 [] u32 { v: i16 }
    U32 [] u32 { v: u32 }
    I64 [] u32 { v: i64 }
    U32Widened [accept = "widened"] u32 { v: u32 }
    I64Widened [accept = "widened"] u32 { v: i64 }
    I64WidenedOption [accept = "widened"] u32 { v: Option<i64> }
    I64Lenient [accept = "lenient"] u32 { v: i64 }
    F64Widened [accept = "widened"] u32 { v: f64 }
    F32Widened [accept = "widened"] u32 { v: f32 }
    F64 [] u32 { v: f64 }
    F32 [] u32 { v: f32 }
    U64AsI64 [] u32 { #[table(as_i64)] v: u64 }
    U8AsI64 [] u32 { #[table(as_i64)] v: u8 }
    U8AsI32 [] u32 { #[table(as_i32)] v: u8 }
    U64AsString [] u32 { #[table(as_string)] v: u64 }
    U8AsString [] u32 { #[table(as_string)] v: u8 }
    U8AsStringOption [] u32 { #[table(as_string)] v: Option<u8> }
    Padded [] u32 { #[table(as_padded)] v: u8 }
    PaddedU16 [] u32 { #[table(as_padded)] v: u16 }
    Text [] u32 { v: String }
    TextDefault [] u32 { #[table(default)] v: String }
    TextOption [] u32 { v: Option<String> }
    TextSplit [] u32 { #[table(split)] v: String }
    TextAndOne [] u32 { v: String, #[table(rename = "v_1")] w: Option<String> }
    TextAndParts [] u32 { v: String, #[table(rename = "v_Parts")] w: Option<i32> }
    Boolean [] u32 { v: bool }
    Time [] u32 { v: DateTime<Utc> }
    Date [] u32 { v: NaiveDate }
    Bytes [] u32 { v: Vec<u8> }
    TwoBytes [] u32 { v: [u8; 2] }
    ChoiceTwo [] u32 { v: Two }
    ChoiceThree [] u32 { v: Three }
    ChoiceAlias [] u32 { v: Alias }
    ChoiceSwapped [] u32 { v: Swapped }
    ChoiceRenamed [] u32 { v: Renamed }
    ChoiceOpen [] u32 { v: Open }
    ChoiceOption [] u32 { v: Option<Three> }
    ChoiceNumberTwo [] u32 { v: NumberTwo }
    ChoiceNumberThree [] u32 { v: NumberThree }
    ChoiceNumberFirst [] u32 { v: NumberFirst }
    RequiredW [] u32 { w: i32 }
    WAliasV [] u32 { #[table(rename = "w", alias = "v")] v: i32 }
    WAliasVOption [] u32 { #[table(rename = "w", alias = "v")] v: Option<i32> }
    WAliasVWidened [] u32 { #[table(rename = "w", alias = "v", accept = "widened")] v: i64 }
    VAliasW [] u32 { #[table(alias = "w")] v: i32 }
    VAliasWOption [] u32 { #[table(alias = "w")] v: Option<i32> }
    UAliasWV [] u32 { #[table(rename = "u", alias = "w", alias = "v")] v: i32 }
    UAliasVW [] u32 { #[table(rename = "u", alias = "v", alias = "w")] v: i32 }
    VAndW [] u32 { v: i32, w: i32 }
    VAndWOption [] u32 { v: i32, w: Option<i32> }
    VAndWDefault [] u32 { v: i32, #[table(default = "seven")] w: i32 }
    VAliasUAndW [] u32 { #[table(alias = "u")] v: i32, w: Option<i32> }
    OnlyW [] u32 { w: Option<i32> }
    OnlyWText [] u32 { w: Option<String> }
    GroupA [] u32 { #[table(flatten = "g_")] g: A }
    GroupAOption [] u32 { #[table(flatten = "g_")] g: Option<A> }
    GroupAOptionalB [] u32 { #[table(flatten = "g_")] g: AOptionalB }
    GroupAOptionalBOption [] u32 { #[table(flatten = "g_")] g: Option<AOptionalB> }
    GroupAAndB [] u32 { #[table(flatten = "g_")] g: AAndB }
    GroupAAndBOption [] u32 { #[table(flatten = "g_")] g: Option<AAndB> }
    GroupOptional [] u32 { #[table(flatten = "g_")] g: Optional }
    GroupOptionalOption [] u32 { #[table(flatten = "g_")] g: Option<Optional> }
    GroupDefault [] u32 { #[table(flatten = "g_", default)] g: AAndB }
    GroupHome [] u32 { #[table(flatten = "h_")] g: Option<A> }
    GroupField [] u32 { #[table(rename = "g_a")] x: Option<i32> }
    SeriesTwo [] u32 { #[table(series = "s{}")] s: [f64; 2] }
    SeriesThree [] u32 { #[table(series = "s{}")] s: [f64; 3] }
    SeriesDigits [] u32 { #[table(series = "s{:02}")] s: [f64; 2] }
    SeriesOptions [] u32 { #[table(series = "s{}")] s: [Option<f64>; 2] }
    SeriesList [] u32 { #[table(series = "s{}")] s: Vec<f64> }
    SeriesListOptions [] u32 { #[table(series = "s{}")] s: Vec<Option<f64>> }
    SeriesDefault [] u32 { #[table(series = "s{}", default)] s: [f64; 2] }
    SeriesElement [] u32 { #[table(rename = "s1")] x: Option<f64> }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of `skip_if`")]
fn is_zero(value: &i32) -> bool {
    *value == 0
}
