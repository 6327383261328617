//! Nested and flattened structs, maps and enums.

use super::*;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Post {
    #[serde(rename = "PartitionKey")]
    partition: String,
    #[serde(rename = "RowKey")]
    row: String,
    author: Author,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Author {
    name: String,
    born: i32,
}

entity!(Post { "author": String });

#[test]
fn a_nested_struct_is_refused_by_its_name() {
    let author = Author { name: "Joe".into(), born: 1970 };
    let error = unsent(Post { partition: "p".into(), row: "r".into(), author }).to_string();
    assert!(error.starts_with("property \"author\": declared as Edm.String"), "{error}");
    assert!(error.contains("#[serde(flatten)]"), "{error}");
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FlatPost {
    #[serde(rename = "PartitionKey")]
    partition: String,
    #[serde(rename = "RowKey")]
    row: String,
    #[serde(flatten)]
    author: Author,
    picture: Vec<u8>,
    #[serde(flatten)]
    counts: BTreeMap<String, i64>,
}

entity!(FlatPost {
    "name": String, "born": Int32, "picture": Binary, "views": Int64, "likes": Int64
});

#[tokio::test]
async fn flattened_structs_and_maps_are_separate_properties() {
    let post = FlatPost {
        partition: "p".into(),
        row: "r".into(),
        author: Author { name: "Joe".into(), born: 1970 },
        picture: vec![1, 2],
        counts: [("views".to_owned(), i64::MAX), ("likes".to_owned(), 0)].into(),
    };
    let (read, stored) = round_trip(post.clone()).await;
    assert_eq!(read, post);
    assert_eq!(stored.value("born"), Some(&EdmValue::Int32(1970)));
    assert_eq!(stored.value("likes"), Some(&EdmValue::Int64(0)));

    let mut undeclared = post;
    undeclared.counts.insert("shares".into(), 1);
    let error = unsent(undeclared);
    assert!(matches!(error, EncodeError::Convert { property, .. } if property == "shares"));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    partition: String,
    row: String,
    rating: Option<i32>,
}

entity!(Strict { "partition": String, "row": String, "rating": Int32 });

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Stamped {
    #[serde(rename = "PartitionKey")]
    partition: String,
    #[serde(rename = "RowKey")]
    row: String,
    #[serde(default)]
    timestamp: Option<EdmDateTime>,
}

entity!(Stamped { "Surplus": Int32 });

#[tokio::test]
async fn a_struct_that_denies_unknown_fields_is_given_only_its_own() {
    let strict = Strict { partition: "p".into(), row: "r".into(), rating: Some(1) };
    assert_eq!(round_trip(strict.clone()).await.0, strict);

    let stamped = Stamped { partition: "p".into(), row: "r".into(), timestamp: None };
    let (read, mut stored) = round_trip(stamped.clone()).await;
    assert!(read.timestamp.is_some());
    assert_eq!(read.timestamp, stored.timestamp());
    // It is not written, so that the entity that was read can be written again.
    assert_eq!(round_trip(read).await.1.properties().len(), 0);

    stored.set("Undeclared", 1);
    assert!(self::read::<Stamped>(&stored).await.is_ok());
    stored.set("Surplus", 1);
    assert_eq!(unread::<Stamped>(&stored).await.property(), "Surplus");
}

/// All members are properties of one type, so the keys cannot be among them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Counts(BTreeMap<String, i64>);

impl SerdeEntity for Counts {
    const PROPERTIES: &'static [(&'static str, EdmType)] =
        &[("year", EdmType::Int64), ("views", EdmType::Int64)];
    const KEYS_ARE_MEMBERS: bool = false;

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("counts".into())
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        self.0.get("year").map(|year| year.to_string().into()).ok_or(KeyError::new("no year"))
    }
}

#[tokio::test]
async fn a_map_of_numbers_may_lack_the_keys() {
    let mut counts = Counts([("year".to_owned(), 2009), ("views".to_owned(), i64::MIN)].into());
    assert_eq!(round_trip(counts.clone()).await.0, counts);
    counts.0.remove("year");
    assert_eq!(unsent(counts).to_string(), "no year");
}

/// Rows of two kinds in one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "Kind")]
enum Item {
    Text { text: String },
    Picture { bytes: Vec<u8> },
}

impl SerdeEntity for Item {
    const PROPERTIES: &'static [(&'static str, EdmType)] =
        &[("Kind", EdmType::String), ("text", EdmType::String), ("bytes", EdmType::Binary)];

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok("items".into())
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(match self {
            Self::Text { text } => Cow::Borrowed(text),
            Self::Picture { bytes } => bytes.len().to_string().into(),
        })
    }
}

#[tokio::test]
async fn enums_with_a_tag_are_entities() {
    for (item, kind) in [
        (Item::Text { text: "Hello".into() }, "Text"),
        (Item::Picture { bytes: vec![0, 1] }, "Picture"),
    ] {
        let (read, stored) = round_trip(item.clone()).await;
        assert_eq!(read, item);
        assert_eq!(stored.value("Kind"), Some(&kind.into()));
    }
    let mut stored = DynamicEntity::new("items", "r");
    stored.set("Kind", "Sound");
    let error = unread::<Item>(&stored).await;
    assert!(error.to_string().contains("unknown variant `Sound`"), "{error}");
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum External {
    One { a: i32 },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct List(Vec<i32>);

macro_rules! no_entity {
    ($type:ty) => {
        impl SerdeEntity for $type {
            const PROPERTIES: &'static [(&'static str, EdmType)] = &[("a", EdmType::Int32)];

            fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok("p".into())
            }

            fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok("r".into())
            }
        }
    };
}

no_entity!(External);
no_entity!(List);

#[tokio::test]
async fn other_types_are_not_entities() {
    let error = unsent(List(vec![1]));
    assert_eq!(error.to_string(), "an entity must be a struct or a map, not a list");
    let error = unsent(External::One { a: 1 });
    assert!(error.to_string().ends_with("(use #[serde(tag = \"…\")])"), "{error}");

    let error = unread::<List>(&DynamicEntity::new("p", "r")).await;
    assert_eq!(error.property(), "");
    assert!(error.to_string().starts_with("entity (\"p\", \"r\"): invalid type: map"), "{error}");
}

/// As many properties as there are names in `counts`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Wide {
    #[serde(rename = "PartitionKey")]
    partition: String,
    #[serde(rename = "RowKey")]
    row: String,
    #[serde(flatten)]
    counts: BTreeMap<String, i32>,
}

/// `P000` to `P251`.
const NAMES: [[u8; 4]; 252] = {
    let mut names = [*b"P000"; 252];
    let mut at = 0_u8;
    while at < 252 {
        names[at as usize] = [b'P', b'0' + at / 100, b'0' + at / 10 % 10, b'0' + at % 10];
        at += 1;
    }
    names
};

impl SerdeEntity for Wide {
    const PROPERTIES: &'static [(&'static str, EdmType)] = &{
        let mut properties = [("", EdmType::Int32); 252];
        let mut at = 0;
        while at < 252 {
            if let Ok(name) = std::str::from_utf8(&NAMES[at]) {
                properties[at].0 = name;
            }
            at += 1;
        }
        properties
    };

    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.partition))
    }

    fn row_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(&self.row))
    }
}

#[tokio::test]
async fn there_is_room_for_252_properties() {
    let mut wide = Wide { partition: "p".into(), row: "r".into(), counts: BTreeMap::new() };
    wide.counts.extend((0..252).map(|at| (format!("P{at:03}"), at)));
    let (read, stored) = round_trip(wide.clone()).await;
    assert_eq!(read, wide);
    assert_eq!(stored.properties().len(), 252);

    wide.counts.insert("P252".into(), 252);
    let error = unsent(wide).to_string();
    assert!(error.starts_with("property \"P252\": PROPERTIES does not list it"), "{error}");
}
