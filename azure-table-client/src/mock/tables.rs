//! Requests about tables.

use http::StatusCode;

use super::MockTableService;
use super::evaluate;
use super::failure::Failure;
use super::json::push_text;
use super::reply::Reply;
use super::request::Preference;
use super::respond::Asked;
use super::store::Entry;
use crate::edm::EdmCow;
use crate::entity::Row;
use crate::limits::{PAGE_ENTITIES, check_own_table_name, check_table_name};
use crate::wire::{Metadata, headers, json_read};

impl MockTableService {
    pub(super) fn create_table(&self, asked: &Asked<'_>) -> Result<Reply, Failure> {
        let name = name_in(asked.request.json_body()?)?;
        let name = name.ok_or_else(Failure::properties_need_value)?;
        check_own_table_name(&name)?;
        let mut store = self.store_mut();
        store.create(&name, self.now())?;
        self.note(|| Entry::Created((&*name).into()));
        drop(store);
        let address = asked.addresses.table(&name);
        let mut reply = match asked.preference {
            Preference::ReturnNoContent => Reply::no_content(),
            _ => Reply::json(StatusCode::CREATED, asked.level, one_table(asked, &name)),
        };
        reply.preference_applied(asked.preference);
        reply.location(&address, asked.preference);
        Ok(reply)
    }

    pub(super) fn get_table(&self, asked: &Asked<'_>, name: &str) -> Result<Reply, Failure> {
        check_table_name(name)?;
        let store = self.store_at(asked.grant.place);
        let table = store.table(name).ok_or_else(Failure::resource_not_found)?;
        Ok(Reply::json(StatusCode::OK, asked.level, one_table(asked, table.name())))
    }

    pub(super) fn delete_table(&self, asked: &Asked<'_>, name: &str) -> Result<Reply, Failure> {
        check_own_table_name(name)?;
        let now = self.now();
        let time = asked.fate.and_then(|fate| fate.deletion).unwrap_or_default();
        let mut store = self.store_mut();
        store.delete(name, now.checked_add(time).unwrap_or(now))?;
        self.note(|| Entry::Deleted(name.into()));
        Ok(Reply::no_content())
    }

    pub(super) fn list_tables(&self, asked: &Asked<'_>) -> Result<Reply, Failure> {
        let filter = self.filter(asked)?;
        let top = asked.top()?.unwrap_or(PAGE_ENTITIES as usize);
        let from = asked.token("NextTableName")?.unwrap_or_default();
        let store = self.store_at(asked.grant.place);
        let mut tables = store.tables_from(&from).filter(|table| {
            let name = |property: &str| {
                (property == "TableName").then(|| EdmCow::String((&**table.name()).into()))
            };
            filter.as_ref().is_none_or(|filter| evaluate::holds(filter, &name))
        });
        let mut body = Vec::new();
        asked.addresses.open(&mut body, asked.level, "Tables");
        body.extend_from_slice(b"\"value\":[");
        let page: Vec<_> = tables.by_ref().take(top).collect();
        let cut = asked.fate.and_then(|fate| fate.page_end?.of(page.len()));
        for (index, table) in page.iter().take(cut.unwrap_or(top)).enumerate() {
            if index > 0 {
                body.push(b',');
            }
            body.push(b'{');
            table_members(&mut body, asked, table.name());
            body.push(b'}');
        }
        body.extend_from_slice(b"]}");
        let mut reply = Reply::json(StatusCode::OK, asked.level, body);
        if let Some(next) = cut.map_or_else(|| tables.next(), |cut| page.get(cut).copied()) {
            Asked::give_token(&mut reply, &headers::NEXT_TABLE_NAME, next.name());
        }
        Ok(reply)
    }
}

/// The name of the table that is to be created, if the body has one.
pub(super) fn name_in(body: &[u8]) -> Result<Option<String>, Failure> {
    json_read::read_row(body, Row::of_columns(&["TableName"]))
        .ok()
        .and_then(|mut row| row.optional(0).ok())
        .ok_or_else(Failure::invalid_input)
}

fn one_table(asked: &Asked<'_>, name: &str) -> Vec<u8> {
    let mut body = Vec::new();
    asked.addresses.open(&mut body, asked.level, "Tables/@Element");
    table_members(&mut body, asked, name);
    body.push(b'}');
    body
}

fn table_members(out: &mut Vec<u8>, asked: &Asked<'_>, name: &str) {
    if asked.level == Metadata::Full {
        for (member, text) in [
            ("odata.type", format!("{}.Tables", asked.addresses.account)),
            ("odata.id", asked.addresses.table(name)),
            ("odata.editLink", format!("Tables('{name}')")),
        ] {
            push_text(out, member);
            out.push(b':');
            push_text(out, &text);
            out.push(b',');
        }
    }
    out.extend_from_slice(b"\"TableName\":");
    push_text(out, name);
}
