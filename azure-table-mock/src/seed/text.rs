//! The forms of the text of a seed.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::azurite;
use super::content::{Seed, SeedContent, SeedError};
use super::parser::{RawObject, SeedParser, parse, without_place};
use crate::service_properties::ServiceProperties;

impl Seed {
    /// Reads tables and rows. Rows without a table belong to `table`.
    ///
    /// # Errors
    /// The text is malformed, a name is unknown, or a row is invalid by the rules of the service.
    pub fn read(text: &str, table: Option<&str>) -> Result<Self, SeedError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut parser = SeedParser::new(text, table);
        for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
            let value =
                value.map_err(|error| SeedError::new(error.line(), without_place(&error)))?;
            parser.values(value)?;
        }
        Ok(Self { items: parser.items })
    }
}

impl<'t> SeedParser<'t> {
    /// Reads an object, or an array of objects. Arrays in arrays are refused.
    fn values(&mut self, value: &'t RawValue) -> Result<(), SeedError> {
        if !value.get().starts_with('[') {
            return self.value(value);
        }
        let values: Vec<&RawValue> = parse(value.get(), self.line_of(value))?;
        values.into_iter().try_for_each(|value| self.value(value))
    }

    fn value(&mut self, value: &'t RawValue) -> Result<(), SeedError> {
        let line = self.line_of(value);
        let text = value.get();
        if !text.starts_with('{') {
            return Err(SeedError::new(line, "the line is not a JSON object"));
        }
        let RawObject(members) = parse(text, line)?;
        let has = |name: &str| members.iter().any(|(known, _)| known == name);
        if has("collections") && has("databaseVersion") {
            return azurite::read(self, text, line);
        }
        if has("PartitionKey") || has("RowKey") {
            let table = self.default_table.clone().ok_or_else(|| {
                SeedError::new(line, "the row names no table: {\"table\":…,\"entity\":{…}}")
            })?;
            let table = self.table(&table, line)?;
            return self.row(None, &table, value, line, "");
        }
        if members.iter().all(|(_, value)| value.get().starts_with('[')) {
            return members.iter().try_for_each(|(table, rows)| self.document(table, rows));
        }
        self.fields(&members, line)
    }

    /// Reads the rows of a table.
    fn document(&mut self, table: &str, rows: &'t RawValue) -> Result<(), SeedError> {
        let line = self.line_of(rows);
        let table = self.table(table, line)?;
        self.add(line, None, &table, SeedContent::Table);
        let rows: Vec<&RawValue> = parse(rows.get(), line)?;
        for (index, row) in rows.into_iter().enumerate() {
            let line = self.line_of(row);
            self.row(None, &table, row, line, &format!("row {index} of {table}: "))?;
        }
        Ok(())
    }

    /// Reads the members of a line of an export.
    fn fields(&mut self, members: &[(String, &'t RawValue)], line: usize) -> Result<(), SeedError> {
        let (mut account, mut table, mut entity) = (None, None, None);
        let (mut policies, mut properties) = (None, None);
        for (name, value) in members {
            let text = || {
                let text = serde_json::from_str::<String>(value.get());
                text.map_err(|_| SeedError::new(line, format!("{name} must be a string")))
            };
            match &**name {
                "account" => account = Some(text()?),
                "table" => table = Some(text()?),
                "entity" => entity = Some(*value),
                "policies" => policies = Some(text()?),
                "service_properties" => properties = Some(text()?),
                _ => {
                    let message = format!(
                        "unknown member {name:?}: a line has account, table, entity, policies or \
                         service_properties"
                    );
                    return Err(SeedError::new(line, message));
                }
            }
        }
        let account = account.map(|account| self.name(&account));
        if let Some(text) = &properties {
            let mut read = ServiceProperties::default();
            read.update(text.as_bytes(), None).map_err(|failure| {
                SeedError::new(line, format!("service_properties: {}", failure.message))
            })?;
            let content = SeedContent::ServiceProperties(Arc::new(read));
            self.add(line, account.clone(), &Arc::from(""), content);
        }
        let Some(table) = table else {
            if properties.is_some() && entity.is_none() && policies.is_none() {
                return Ok(());
            }
            return Err(SeedError::new(line, "the line names no table"));
        };
        let table = self.table(&table, line)?;
        self.add(line, account.clone(), &table, SeedContent::Table);
        if let Some(text) = policies {
            self.policies(account.clone(), &table, text.as_bytes(), line)?;
        }
        match entity {
            Some(entity) => self.row(account, &table, entity, line, ""),
            None => Ok(()),
        }
    }
}
