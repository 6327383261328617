//! The parser of a seed: the rows, tables and names that all forms of its text share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::content::{SeedContent, SeedError, SeedItem};
use crate::dialect::ServiceDialect;
use crate::edm::EdmDateTime;
use crate::handlers::entity_with_keys;
use crate::limits::{KEY_UTF16_UNITS, check_own_table_name};
use crate::policies::Policies;
use crate::request::RequestBody;
use crate::store::{Precondition, RowChange, RowText, RowUpdate, Version};

/// The parser of one text.
pub(super) struct SeedParser<'t> {
    text: &'t str,
    pub(super) default_table: Option<Arc<str>>,
    /// An offset in the text and its line.
    lines: (usize, usize),
    /// The valid names of tables and the names of accounts, which most lines repeat.
    names: BTreeMap<Box<str>, Arc<str>>,
    pub(super) items: Vec<SeedItem>,
}

impl<'t> SeedParser<'t> {
    /// Rows without a table belong to `table`.
    pub(super) fn new(text: &'t str, table: Option<&str>) -> Self {
        Self {
            text,
            default_table: table.map(Arc::from),
            lines: (0, 1),
            names: BTreeMap::new(),
            items: Vec::new(),
        }
    }

    /// Adds the access policies of a table.
    pub(super) fn policies(
        &mut self,
        account: Option<Arc<str>>,
        table: &Arc<str>,
        text: &[u8],
        line: usize,
    ) -> Result<(), SeedError> {
        let policies = Policies::read(text)
            .map_err(|failure| SeedError::new(line, format!("policies: {}", failure.message)))?;
        self.add(line, account, table, SeedContent::Policies(Arc::new(policies)));
        Ok(())
    }

    /// Adds a row in the service's JSON form.
    pub(super) fn row(
        &mut self,
        account: Option<Arc<str>>,
        table: &Arc<str>,
        entity: &RawValue,
        line: usize,
        of: &str,
    ) -> Result<(), SeedError> {
        self.row_of(account, table, entity.get(), line)
            .map_err(|error| SeedError::new(line, format!("{of}{}", error.message())))
    }

    pub(super) fn row_of(
        &mut self,
        account: Option<Arc<str>>,
        table: &Arc<str>,
        entity: &str,
        line: usize,
    ) -> Result<(), SeedError> {
        let refused = |message: String| SeedError::new(line, message);
        let body = RequestBody::Json(entity.as_bytes());
        let (key, properties) =
            entity_with_keys(ServiceDialect::AzureStorage, KEY_UTF16_UNITS, body)
                .map_err(|failure| refused(failure.message.into_owned()))?;
        let change = match time_of(entity).map_err(refused)? {
            Some(time) => RowChange::Restore(RowText::new(&key.row, &properties), time),
            None => RowChange::Update(RowUpdate::replace(&key.row, properties), Precondition::None),
        };
        self.add(line, account, table, SeedContent::Row(key, change));
        Ok(())
    }

    pub(super) fn add(
        &mut self,
        line: usize,
        account: Option<Arc<str>>,
        table: &Arc<str>,
        content: SeedContent,
    ) {
        self.items.push(SeedItem { line, account, table: Arc::clone(table), content });
    }

    /// Returns the name of a table, which must be valid in one of the dialects. The service checks it by its own.
    pub(super) fn table(&mut self, name: &str, line: usize) -> Result<Arc<str>, SeedError> {
        check_own_table_name(name)
            .or_else(|error| ServiceDialect::CosmosDb.check_own_table_name(name).map_err(|_| error))
            .map_err(|error| SeedError::new(line, format!("the table {name:?}: {error}")))?;
        Ok(self.name(name))
    }

    pub(super) fn name(&mut self, name: &str) -> Arc<str> {
        Arc::clone(self.names.entry(name.into()).or_insert_with(|| name.into()))
    }

    /// Returns the line on which a value begins. Values are read in their order.
    pub(super) fn line_of(&mut self, value: &RawValue) -> usize {
        let start = value.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        let (counted, line) = self.lines;
        if let Some(between) = self.text.as_bytes().get(counted..start) {
            self.lines = (start, line + memchr::memchr_iter(b'\n', between).count());
        }
        self.lines.1
    }
}

/// The time of a row, from its ETag or its Timestamp. `None` if it has neither.
fn time_of(entity: &str) -> Result<Option<EdmDateTime>, String> {
    let RawObject(members) = serde_json::from_str(entity).map_err(|error| error.to_string())?;
    let text = |name: &str| {
        let found = members.iter().find(|(known, _)| known == name);
        let text = found.filter(|(_, value)| value.get() != "null").map(|(_, value)| {
            let text = serde_json::from_str::<String>(value.get());
            text.map_err(|_| format!("{name} must be a string"))
        });
        text.transpose()
    };
    let time = text("Timestamp")?.map(|text| {
        let time = text.parse::<EdmDateTime>();
        time.map_err(|_| format!("the Timestamp {text:?} is malformed"))
    });
    let etag = text("odata.etag")?.map(|text| {
        Version::of_etag(&text)
            .map(Version::time)
            .ok_or_else(|| format!("the odata.etag {text:?} is not of the form W/\"datetime'…'\""))
    });
    match (time.transpose()?, etag.transpose()?) {
        (Some(time), Some(etag)) if time != etag => {
            Err("the odata.etag differs from the Timestamp".into())
        }
        (time, etag) => Ok(etag.or(time)),
    }
}

pub(super) fn parse<'t, T: Deserialize<'t>>(text: &'t str, line: usize) -> Result<T, SeedError> {
    serde_json::from_str(text).map_err(|error| {
        SeedError::new(line + error.line().saturating_sub(1), without_place(&error))
    })
}

/// The text of an error without its line and column.
pub(super) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(text, _)| text.to_owned())
}

/// The members of an object in their order. A name may occur twice.
pub(super) struct RawObject<'d>(pub(super) Vec<(String, &'d RawValue)>);

impl<'de> Deserialize<'de> for RawObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawObject(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
