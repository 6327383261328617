//! A small web service of notes on axum: the versions of the table are the ETags of HTTP, a page links
//! to the next one by its continuation token, and the errors of the client become statuses.
//!
//! | request | response |
//! |---|---|
//! | `PUT /notes/{book}/{name}`, `If-None-Match: *` | writes a new note; 412 if it exists |
//! | `PUT /notes/{book}/{name}`, `If-Match: <etag>` (or `*`) | replaces that version; 412 if the note has another version |
//! | `GET /notes/{book}/{name}` | the note and its ETag; 304 to an `If-None-Match` with that ETag |
//! | `DELETE /notes/{book}/{name}`, `If-Match` | deletes that version |
//! | `GET /notes/{book}` | a page of notes, and the link to the next one |
//!
//! Each write leaves an id in its row. If the response of the table is lost, the id shows that the write was applied,
//! and the service reports success instead of the 412 that the second attempt receives.
//!
//! `cargo run -p azure-table-integrations --example web_service` serves it on a loopback port, sends a few requests
//! and ends. The notes are in the mock or in the account of `AZURE_STORAGE_CONNECTION_STRING`. With
//! `--serve 127.0.0.1:8080` it serves until Ctrl-C, and keeps the notes. `cargo test -p azure-table-integrations` runs its tests, on the mock
//! and without a port.

#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "web_service/failure.rs"]
mod failure;
#[cfg(test)]
#[path = "web_service/tests.rs"]
mod tests;
#[path = "web_service/visit.rs"]
mod visit;

use std::error::Error as StdError;

use axum::extract::{Path, Query, State};
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use azure_table_client::client::Continuation;
use azure_table_client::limits::{LimitError, check_key};
use azure_table_client::{Error, IfMatch, TableClient, TableEntity, TableServiceClientBuilder};
use failure::Failure;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

type AnyError = Box<dyn StdError + Send + Sync>;
type Notes = State<TableClient<Note>>;

#[derive(Debug, TableEntity, Serialize)]
#[table(name = "ExampleNotes", rename_all = "PascalCase")]
struct Note {
    #[table(partition_key)]
    book: String,
    #[table(row_key)]
    name: String,
    text: String,
}

/// The body of a request that writes a note.
#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Start {
    after: Option<Continuation>,
}

#[derive(Serialize)]
struct PageOfNotes {
    notes: Vec<Note>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

const PAGE: u32 = 10;

/// Opens the table for a client that finds its own writes again after a lost response.
fn notes(builder: TableServiceClientBuilder) -> Result<TableClient<Note>, Error> {
    Ok(builder.write_id_column("WriteId").build()?.table())
}

fn app(notes: TableClient<Note>) -> Router {
    Router::new()
        .route("/notes/{book}", get(list))
        .route("/notes/{book}/{name}", get(read).put(write).delete(delete))
        .with_state(notes)
}

/// A text that is not a key names nothing.
fn check_path(book: &str, name: &str) -> Result<(), LimitError> {
    check_key("book", book)?;
    check_key("name", name)
}

async fn read(
    State(notes): Notes,
    Path((book, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    check_path(&book, &name)?;
    let note = notes.get((book, name)).await?;
    let is_known = value(&headers, &IF_NONE_MATCH)? == Some(note.etag.as_str());
    let etag = [(ETAG, note.etag.to_string())];
    Ok(if is_known {
        (StatusCode::NOT_MODIFIED, etag).into_response()
    } else {
        (etag, Json(note.into_inner())).into_response()
    })
}

async fn write(
    State(notes): Notes,
    Path((book, name)): Path<(String, String)>,
    headers: HeaderMap,
    Json(Text { text }): Json<Text>,
) -> Result<Response, Failure> {
    check_path(&book, &name)?;
    let note = Note { book, name, text };
    let (status, written) = match (value(&headers, &IF_NONE_MATCH)?, if_match(&headers)?) {
        (Some("*"), None) => (StatusCode::CREATED, notes.insert(&note).await?),
        (None, Some(version)) => (StatusCode::NO_CONTENT, notes.replace(&note, version).await?),
        _ => return Err(Failure::NoCondition),
    };
    Ok((status, [(ETAG, written.etag.to_string())]).into_response())
}

async fn delete(
    State(notes): Notes,
    Path((book, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, Failure> {
    let version = if_match(&headers)?.ok_or(Failure::NoCondition)?;
    check_path(&book, &name)?;
    notes.delete((book, name), version).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list(
    State(notes): Notes,
    Path(book): Path<String>,
    Query(start): Query<Start>,
) -> Result<Json<PageOfNotes>, Failure> {
    let mut query = notes.query().filter(|n| n.book.eq(&book)).page_size(PAGE);
    if let Some(after) = start.after {
        query = query.start_at(after);
    }
    let page = query.page().await?;
    // The token needs no escaping in a URL.
    let next = page.continuation.map(|after| format!("?after={after}"));
    Ok(Json(PageOfNotes { notes: page.entities, next }))
}

fn value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Failure> {
    headers.get(name).map(|value| value.to_str().map_err(|_| Failure::NoCondition)).transpose()
}

/// Returns the ETag of the request. ETags are those of the table, and only the table service compares them.
fn if_match(headers: &HeaderMap) -> Result<Option<IfMatch>, Failure> {
    Ok(value(headers, &IF_MATCH)?.map(|value| {
        let Ok(condition) = value.parse();
        condition
    }))
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let (builder, _) = azure_table_examples::builder().map_err(|error| error.to_string())?;
    let notes = notes(builder)?;
    let is_new = notes.create_if_not_exists().await?;

    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, None) => {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let url = format!("http://{}", listener.local_addr()?);
            tokio::select! {
                served = axum::serve(listener, app(notes.clone())) => served?,
                visited = visit::visit(&url) => visited?,
            }
            if is_new {
                notes.delete_table().await?;
            }
        }
        (Some("--serve"), Some(address)) => {
            let listener = TcpListener::bind(address).await?;
            println!("Serving http://{}/notes/ until Ctrl-C.", listener.local_addr()?);
            let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
            axum::serve(listener, app(notes)).with_graceful_shutdown(stop).await?;
        }
        _ => return Err("usage: web_service [--serve ADDRESS:PORT]".into()),
    }
    Ok(())
}
