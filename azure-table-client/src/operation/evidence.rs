//! What a row says about a write whose answer was lost. No I/O.

use std::collections::BTreeMap;

use http::{HeaderMap, Method, header};

use super::Request;
use crate::edm::{EdmDateTime, EdmValue};
use crate::entity::{DynamicEntity, Entities, EntityKey, Form};
use crate::etag::ETag;
use crate::wire::multipart::{Message, MultipartError, Part, Parts};
use crate::wire::{Operation, PayloadFormat, encoding, headers};

/// Properties by name.
pub(crate) type Properties = BTreeMap<String, EdmValue>;

/// A row as the service holds it now.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) etag: ETag,
    pub(crate) timestamp: Option<EdmDateTime>,
    pub(crate) properties: Properties,
}

/// What a write leaves behind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect<'w> {
    /// No row.
    Gone,
    /// These properties and no others.
    Whole(&'w Properties),
    /// These properties, beside others.
    Some(&'w Properties),
}

/// What a row says about a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// It has the id of the write.
    Made,
    /// It is as the write leaves it: made, unless another program wrote the very same.
    Alike,
    /// It has the version that the write was to change, or was last written before the write was sent.
    NotMade,
    /// Another program wrote since, or before.
    None,
}

/// What is known beside the rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known<'k> {
    /// The column with the ids of writes.
    pub(crate) write_id: Option<&'k str>,
    /// By the service's clock, no attempt was made before.
    pub(crate) since: Option<EdmDateTime>,
}

impl Effect<'_> {
    /// Compares what a write leaves behind with the row that is there; `fence` is the version that the
    /// write named.
    pub(crate) fn evidence(
        self,
        fence: Option<&ETag>,
        known: Known<'_>,
        row: Option<&Found>,
    ) -> Evidence {
        let Some(row) = row else {
            return if matches!(self, Self::Gone) { Evidence::Alike } else { Evidence::None };
        };
        let is_older = row.timestamp.zip(known.since).is_some_and(|(at, since)| at < since);
        if fence == Some(&row.etag) || is_older {
            return Evidence::NotMade;
        }
        let (is_alike, properties) = match self {
            Self::Gone => return Evidence::None,
            Self::Whole(properties) => (*properties == row.properties, properties),
            Self::Some(set) => {
                let has = |(name, value): (&String, _)| row.properties.get(name) == Some(value);
                (set.iter().all(has), set)
            }
        };
        match known.write_id.and_then(|column| Some((column, properties.get(column)?))) {
            Some((column, id)) if row.properties.get(column) == Some(id) => Evidence::Made,
            None if is_alike => Evidence::Alike,
            _ => Evidence::None,
        }
    }
}

impl Evidence {
    /// Of writes of which all were made or none. What has the id of one of them shows it for the others,
    /// which another program may have written since; else all must be as the writes leave them.
    pub(crate) fn of_all(rows: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::Alike;
        for row in rows {
            all = match (all, row) {
                (_, Self::NotMade) | (Self::NotMade, _) => Self::NotMade,
                (_, Self::Made) | (Self::Made, _) => Self::Made,
                (_, Self::None) | (Self::None, _) => Self::None,
                (Self::Alike, Self::Alike) => Self::Alike,
            };
        }
        all
    }

    /// Whether the write is taken for made.
    pub(crate) fn is_made(self) -> bool {
        matches!(self, Self::Made | Self::Alike)
    }
}

/// A write as it was sent.
#[derive(Debug)]
pub(crate) struct Wrote {
    pub(crate) key: EntityKey,
    /// The version that it named.
    fence: Option<ETag>,
    effect: Kind,
    properties: Properties,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Gone,
    Whole,
    Some,
}

impl Wrote {
    pub(crate) fn evidence(&self, known: Known<'_>, row: Option<&Found>) -> Evidence {
        let effect = match self.effect {
            Kind::Gone => Effect::Gone,
            Kind::Whole => Effect::Whole(&self.properties),
            Kind::Some => Effect::Some(&self.properties),
        };
        effect.evidence(self.fence.as_ref(), known, row)
    }

    /// The writes of a request to entities, in their order; `None` if it has none.
    pub(crate) fn all_of(request: &Request) -> Option<Vec<Self>> {
        if request.operation == Operation::Transaction {
            let kind = request.content_type.to_str().ok()?;
            return Self::of_batch(kind, &request.body).ok();
        }
        if !request.operation.is_entity_write() {
            return None;
        }
        let mut headers = HeaderMap::new();
        headers.extend(request.header.iter().map(|(name, value)| ((*name).clone(), value.clone())));
        headers.insert(header::CONTENT_TYPE, request.content_type.clone());
        let wrote = Self::new(&request.method, &request.path, &headers, &request.body)?;
        Some(vec![wrote])
    }

    fn of_batch(kind: &str, body: &[u8]) -> Result<Vec<Self>, MultipartError> {
        let of = |message: &Message<'_>| {
            let (method, target) = message.request()?;
            let path = target.rfind('/').map_or(target, |at| &target[at..]);
            let own = message.headers()?;
            let tunnelled = own.get(&headers::X_HTTP_METHOD);
            let tunnelled = tunnelled.and_then(|verb| Method::from_bytes(verb.as_bytes()).ok());
            let method = tunnelled.unwrap_or(method);
            let wrote = Self::new(&method, path, &own, message.body);
            wrote.ok_or(MultipartError::Head)
        };
        let mut all = Vec::new();
        for part in Parts::read(kind, body)? {
            let Part::Parts(changeset) = part? else { return Err(MultipartError::MediaType) };
            for part in changeset {
                let Part::Message(message) = part? else { return Err(MultipartError::Depth) };
                all.push(of(&message)?);
            }
        }
        Ok(all)
    }

    fn new(method: &Method, path: &str, headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let fence = headers.get(header::IF_MATCH).and_then(|tag| tag.to_str().ok());
        let fence = fence.filter(|tag| *tag != "*").map(ETag::from);
        if *method == Method::DELETE {
            let (partition_key, row_key) = encoding::keys_of_path(path)?;
            let key = EntityKey::new(partition_key, row_key);
            return Some(Self { key, fence, effect: Kind::Gone, properties: Properties::new() });
        }
        let form = Form { typed: true, selected: false };
        let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let format = PayloadFormat::of_media_type(kind)?;
        let entity: DynamicEntity = format.read_one(body, form, &Entities).ok()?;
        let effect = if method.as_str() == "MERGE" { Kind::Some } else { Kind::Whole };
        Some(Self { key: entity.key().clone(), fence, effect, properties: properties(&entity) })
    }
}

pub(crate) fn properties(entity: &DynamicEntity) -> Properties {
    entity.properties().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::etag::IfMatch;
    use crate::operation::entity::{self, Update, Write, Writing};
    use crate::operation::transaction::Batch;
    use crate::wire::Protocol;

    fn row(text: &str, etag: &str) -> Found {
        let properties = [("Text".to_owned(), EdmValue::from(text))].into_iter().collect();
        Found { etag: ETag::from(etag), timestamp: None, properties }
    }

    fn blog(text: &str) -> DynamicEntity {
        let mut blog = DynamicEntity::new("it's 100%", "r,'RowKey='\u{e9}");
        blog.set("Text", text).set("Nan", f64::NAN);
        blog
    }

    #[test]
    fn what_a_row_says() {
        use Evidence::{Alike, None, NotMade};
        let mine = row("mine", "2").properties;
        let mut more = row("mine", "2");
        more.properties.insert("More".to_owned(), EdmValue::from(1));
        let tag = ETag::from("1");
        for (effect, fence, row, expected) in [
            (Effect::Gone, Some(&tag), Option::None, Alike),
            (Effect::Gone, Option::None, Option::None, Alike),
            (Effect::Gone, Some(&tag), Some(row("old", "1")), NotMade),
            (Effect::Gone, Some(&tag), Some(row("theirs", "3")), None),
            (Effect::Gone, Option::None, Some(row("theirs", "3")), None),
            (Effect::Whole(&mine), Option::None, Some(row("mine", "2")), Alike),
            (Effect::Whole(&mine), Option::None, Some(row("theirs", "2")), None),
            (Effect::Whole(&mine), Option::None, Some(more), None),
            (Effect::Whole(&mine), Option::None, Option::None, None),
            (Effect::Whole(&mine), Some(&tag), Some(row("mine", "1")), NotMade),
            (Effect::Whole(&mine), Some(&tag), Some(row("mine", "2")), Alike),
            (Effect::Some(&mine), Some(&tag), Some(row("old", "1")), NotMade),
            (Effect::Some(&mine), Some(&tag), Some(row("theirs", "3")), None),
            (Effect::Some(&mine), Some(&tag), Option::None, None),
        ] {
            let evidence = effect.evidence(fence, Known::default(), row.as_ref());
            assert_eq!(evidence, expected, "{effect:?} {row:?}");
        }
        let mut more = row("mine", "2");
        more.properties.insert("More".to_owned(), EdmValue::from(1));
        let some = Effect::Some(&mine);
        assert_eq!(some.evidence(Some(&tag), Known::default(), Some(&more)), Alike);
        // What is older than the write is not its work, whatever it looks like.
        let since = |text: &str| Known { since: Some(text.parse().unwrap()), ..Known::default() };
        more.timestamp = Some("2009-04-14T10:00:00Z".parse().unwrap());
        let at = |time| some.evidence(Option::None, since(time), Some(&more));
        assert_eq!(at("2009-04-14T10:00:00Z"), Alike);
        assert_eq!(at("2009-04-14T10:00:01Z"), NotMade);
    }

    #[test]
    fn an_id_tells_a_write_from_one_of_the_same_values() {
        let with = |id: u128, text| {
            let mut row = row(text, "2");
            row.properties.insert("Id".to_owned(), EdmValue::from(uuid::Uuid::from_u128(id)));
            row
        };
        let mine = with(1, "mine").properties;
        let known = Known { write_id: Some("Id"), since: None };
        for effect in [Effect::Whole(&mine), Effect::Some(&mine)] {
            let evidence = |row| effect.evidence(None, known, Some(&row));
            assert_eq!(evidence(with(1, "merged into")), Evidence::Made);
            assert_eq!(evidence(with(2, "mine")), Evidence::None);
            assert_eq!(evidence(row("mine", "2")), Evidence::None);
        }
    }

    #[test]
    fn a_transaction_is_made_as_a_whole() {
        use Evidence::{Alike, Made, None, NotMade};
        assert_eq!(Evidence::of_all([None, Made, None]), Made, "another program wrote behind it");
        assert_eq!(Evidence::of_all([Made, NotMade]), NotMade);
        assert_eq!(Evidence::of_all([None, None]), None);
        assert_eq!(Evidence::of_all([Alike, Alike]), Alike);
        assert_eq!(Evidence::of_all([Alike, None]), None, "it may have been so before");
        assert_eq!(Evidence::of_all([Alike, NotMade]), NotMade);
    }

    #[test]
    fn requests_say_what_they_write() {
        says_what_it_writes(Protocol::default());
        says_what_it_writes(Protocol::default().to(Dialect::CosmosDb).unwrap());
    }

    fn says_what_it_writes(protocol: Protocol) {
        let (blog, tag) = (blog("mine"), IfMatch::Tag(ETag::from("W/\"1\"")));
        let stored =
            Found { etag: ETag::from("W/\"2\""), timestamp: None, properties: properties(&blog) };
        let mut batch = Batch::new(protocol, "Blogs", "http://127.0.0.1:10002/devstoreaccount1");
        let mut expected = Vec::new();
        for (n, write) in [
            Write::Insert,
            Write::Update(Update::Merge, &tag),
            Write::Update(Update::Replace, &IfMatch::Any),
            Write::Upsert(Update::Merge),
        ]
        .into_iter()
        .enumerate()
        {
            let keys = entity::checked_keys(protocol, "Blogs", &blog).unwrap();
            let writing = Writing { table: "Blogs", write_id: None, protocol };
            let request = entity::write(writing, &blog, &keys, write).unwrap();
            let wrote = Wrote::all_of(&request).unwrap().remove(0);
            assert_eq!(wrote.key, *blog.key());
            assert!(wrote.evidence(Known::default(), Some(&stored)).is_made(), "{write:?}");
            assert_eq!(wrote.fence.is_some(), n == 1);
            let row_key = format!("{}{n}", blog.key().row_key);
            let mut other = DynamicEntity::new(&*blog.key().partition_key, row_key);
            other.set("Text", n.to_string());
            batch.write(&other, write).unwrap();
            expected.push((other.key().clone(), format!("{:?}", wrote.effect)));
        }
        let delete = entity::delete(protocol, "Blogs", blog.key(), &tag).unwrap();
        let wrote = Wrote::all_of(&delete).unwrap().remove(0);
        assert_eq!(
            (&wrote.key, wrote.evidence(Known::default(), None)),
            (blog.key(), Evidence::Alike)
        );
        batch.delete(blog.key(), &tag).unwrap();
        expected.push((blog.key().clone(), "Gone".to_owned()));
        let (request, _) = batch.finish().unwrap();
        let wrote = Wrote::all_of(&request).unwrap();
        let wrote: Vec<_> =
            wrote.iter().map(|w| (w.key.clone(), format!("{:?}", w.effect))).collect();
        assert_eq!(wrote, expected);
        let read = entity::get(protocol, "Blogs", blog.key()).unwrap();
        assert!(Wrote::all_of(&read).is_none());
    }
}
