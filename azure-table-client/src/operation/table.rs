//! Operations on tables.
//!
//! Sources: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table),
//! [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table),
//! [Query Tables](https://learn.microsoft.com/rest/api/storageservices/query-tables).

use http::{Method, header};

use super::cursor::PageToken;
use super::{Committed, Reply, Request, Success, TableNames, done_unless, query};
use crate::error::{Error, ErrorCode};
use crate::wire::{Operation, Protocol, encoding, headers};

const TABLES: &str = "/Tables";

pub(crate) fn create(protocol: Protocol, table: &str) -> Result<Request, Error> {
    protocol.dialect().check_own_table_name(table)?;
    let request = Request::new(Operation::CreateTable, table, Method::POST, TABLES.to_owned())
        .payload(protocol, protocol.format().write_table_name(table));
    let request = Request { success: Success::Created, ..request };
    if !protocol.has_preferences() {
        return Ok(request);
    }
    Ok(request.header(&headers::PREFER, headers::RETURN_NO_CONTENT.clone()))
}

pub(crate) fn delete(protocol: Protocol, table: &str) -> Result<Request, Error> {
    protocol.dialect().check_own_table_name(table)?;
    let path = encoding::table_resource(table);
    let request = Request::new(Operation::DeleteTable, table, Method::DELETE, path);
    Ok(Request { success: Success::Done, ..request })
}

pub(crate) fn get(protocol: Protocol, table: &str) -> Result<Request, Error> {
    protocol.dialect().check_table_name(table)?;
    let request =
        Request::new(Operation::GetTable, table, Method::GET, encoding::table_resource(table));
    Ok(Request { success: Success::Table, ..request })
}

pub(crate) fn list(
    filter: Option<&str>,
    top: Option<u32>,
    next: Option<&PageToken>,
) -> Result<Request, Error> {
    let mut request = Request::new(Operation::ListTables, "Tables", Method::GET, TABLES.to_owned());
    if let Some(filter) = filter {
        request.query.push("$filter", filter);
    }
    if let Some(top) = top {
        request.query.push("$top", &top.to_string());
    }
    if let Some(next) = next {
        request.query.push("NextTableName", &next.partition_key);
        query::check_token(&request, next)?;
    }
    Ok(request)
}

/// Whether the table exists in the state that the operation leaves; `None` of an operation on something else.
pub(crate) const fn is_left_by(operation: Operation) -> Option<bool> {
    match operation {
        Operation::CreateTable => Some(true),
        Operation::DeleteTable => Some(false),
        _ => None,
    }
}

/// Whether creating a table failed because it exists.
pub(crate) fn already_exists(code: &ErrorCode) -> bool {
    *code == ErrorCode::TableAlreadyExists
}

/// Whether reading or deleting a table failed because it does not exist. Azurite has its own code.
pub(crate) fn not_found(code: &ErrorCode) -> bool {
    code.is_missing_entity() || *code == ErrorCode::TableNotFound
}

/// Returns `true` if this call created the table, `false` if it existed. A table that is still
/// being deleted is an error.
pub(crate) fn created_if_not_exists(result: Result<Committed, Error>) -> Result<bool, Error> {
    done_unless(result, already_exists)
}

/// Returns `false` if there was no such table to delete.
pub(crate) fn deleted_if_exists(result: Result<Committed, Error>) -> Result<bool, Error> {
    done_unless(result, not_found)
}

/// Returns `false` if there is no such table.
pub(crate) fn exists(reply: Reply, request: &Request) -> Result<bool, Error> {
    let found = reply.ok(request).and_then(|reply| {
        let format = reply.format(request)?;
        // Azurite answers with an empty page, which names no table.
        let is_azurite = reply
            .headers
            .get(header::SERVER)
            .is_some_and(|it| it.as_bytes().starts_with(b"Azurite"));
        match reply.row::<Option<String>>(request, format, &TableNames)? {
            Some(name) if name.eq_ignore_ascii_case(&request.resource) => Ok(()),
            None if is_azurite => Ok(()),
            _ => Err(reply.foreign(request)),
        }
    });
    match found {
        Ok(()) => Ok(true),
        Err(error) if error.code().is_some_and(not_found) => Ok(false),
        Err(error) => Err(error),
    }
}
