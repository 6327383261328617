//! Requests about tables.

use http::StatusCode;

use super::MockTableService;
use super::body::Sent;
use super::evaluate;
use super::failure::Failure;
use super::payload::Item;
use super::reply::Reply;
use super::request::Preference;
use super::respond::Asked;
use super::store::Entry;
use crate::edm::EdmCow;
use crate::entity::Row;
use crate::limits::{PAGE_ENTITIES, check_own_table_name, check_table_name};
use crate::wire::headers;

/// The table of the tables.
const TABLES: &str = "Tables";

impl MockTableService {
    pub(super) fn create_table(&self, asked: &Asked<'_>) -> Result<Reply, Failure> {
        let name = name_in(asked.body()?)?;
        let name = name.ok_or_else(Failure::properties_need_value)?;
        check_own_table_name(&name)?;
        let mut store = self.store_mut();
        store.create(&name, self.now())?;
        self.note(|| Entry::Created((&*name).into()));
        drop(store);
        let address = asked.addresses.table(&name);
        let mut reply = match asked.preference {
            Preference::ReturnNoContent => Reply::no_content(),
            _ => {
                let body = asked.payload(TABLES, None).one(Item::Table(&name));
                Reply::with_body(StatusCode::CREATED, asked.format, body)
            }
        };
        reply.preference_applied(asked.preference);
        reply.location(&address, asked.preference);
        Ok(reply)
    }

    pub(super) fn get_table(&self, asked: &Asked<'_>, name: &str) -> Result<Reply, Failure> {
        check_table_name(name)?;
        let store = self.store_at(asked.grant.place);
        let table = store.table(name).ok_or_else(Failure::resource_not_found)?;
        let body = asked.payload(TABLES, None).one(Item::Table(table.name()));
        Ok(Reply::with_body(StatusCode::OK, asked.format, body))
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
        let payload = asked.payload(TABLES, None);
        payload.open_page(&mut body);
        let page: Vec<_> = tables.by_ref().take(top).collect();
        let cut = asked.fate.and_then(|fate| fate.page_end?.of(page.len()));
        for (index, table) in page.iter().take(cut.unwrap_or(top)).enumerate() {
            payload.push(&mut body, Item::Table(table.name()), index == 0);
        }
        payload.close_page(&mut body, cut.unwrap_or(page.len()) == 0);
        let mut reply = Reply::with_body(StatusCode::OK, asked.format, body);
        if let Some(next) = cut.map_or_else(|| tables.next(), |cut| page.get(cut).copied()) {
            Asked::give_token(&mut reply, &headers::NEXT_TABLE_NAME, next.name());
        }
        Ok(reply)
    }
}

/// The name of the table that is to be created, if the body has one.
pub(super) fn name_in(body: Sent<'_>) -> Result<Option<String>, Failure> {
    let mut row = body.row(Row::of_columns(&["TableName"]))?;
    row.optional(0).map_err(|_| Failure::invalid_input())
}
