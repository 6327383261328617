//! Sessions of an axum application in a table: a basket that a visitor signs in to. The session layer is that of
//! tower-sessions; `sessions/store.rs` is its store, for your application to copy.
//!
//! | request | response |
//! |---|---|
//! | `POST /sign-in/{name}` | begins a session, or continues one under a new id |
//! | `POST /basket/{article}` | adds an article; 401 without a session |
//! | `GET /basket` | the articles; 401 without a session |
//! | `POST /sign-out` | deletes the session: its cookie is worth nothing from then on |
//!
//! `cargo run -p azure-table-integrations --example sessions` serves it on a loopback port, signs two visitors in, fills
//! their baskets and signs one out. The sessions are in the mock or in the account of `AZURE_STORAGE_CONNECTION_STRING`.
//! With `--serve 127.0.0.1:8080` it serves until Ctrl-C, and sweeps expired sessions every hour.
//! `cargo test -p azure-table-integrations` runs its tests.

#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "sessions/store.rs"]
mod store;
#[cfg(test)]
#[path = "sessions/tests.rs"]
mod tests;
#[path = "sessions/visit.rs"]
mod visit;

use std::error::Error as StdError;
use std::time::Duration;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use azure_table_client::{DynamicEntity, TableServiceClientBuilder};
use store::TableStore;
use tokio::net::TcpListener;
use tower_sessions::cookie::time;
use tower_sessions::{Expiry, Session, SessionManagerLayer, session};

type AnyError = Box<dyn StdError + Send + Sync>;

const USER: &str = "user";
const BASKET: &str = "basket";
/// From the last change of the session.
const TTL: time::Duration = time::Duration::minutes(30);
const HOUR: Duration = Duration::from_secs(3600);

fn app(store: TableStore) -> Router {
    // Secure cookies need HTTPS, which a proxy in front of this program provides: remove `with_secure(false)` then.
    let sessions =
        SessionManagerLayer::new(store).with_expiry(Expiry::OnInactivity(TTL)).with_secure(false);
    Router::new()
        .route("/sign-in/{name}", post(sign_in))
        .route("/basket", get(basket))
        .route("/basket/{article}", post(add))
        .route("/sign-out", post(sign_out))
        .layer(sessions)
}

async fn sign_in(session: Session, Path(name): Path<String>) -> Result<StatusCode, Failure> {
    // Ends the id from before the sign-in, which an attacker may have planted in the browser.
    session.cycle_id().await?;
    session.insert(USER, name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn basket(session: Session) -> Result<Json<Vec<String>>, Failure> {
    articles(&session).await.map(Json)
}

async fn add(session: Session, Path(article): Path<String>) -> Result<Json<Vec<String>>, Failure> {
    let mut articles = articles(&session).await?;
    articles.push(article);
    session.insert(BASKET, &articles).await?;
    Ok(Json(articles))
}

async fn sign_out(session: Session) -> Result<StatusCode, Failure> {
    session.flush().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn articles(session: &Session) -> Result<Vec<String>, Failure> {
    session.get::<String>(USER).await?.ok_or(Failure::SignedOut)?;
    Ok(session.get(BASKET).await?.unwrap_or_default())
}

/// The reason for a failed request.
#[derive(Debug)]
enum Failure {
    SignedOut,
    Store(session::Error),
}

impl From<session::Error> for Failure {
    fn from(error: session::Error) -> Self {
        Self::Store(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::SignedOut => StatusCode::UNAUTHORIZED.into_response(),
            // The text of the error is for the log only. The layer does not save after a 5xx.
            Self::Store(error) => {
                println!("session store: {error}");
                StatusCode::SERVICE_UNAVAILABLE.into_response()
            }
        }
    }
}

/// Removes expired sessions every hour. Any number of programs may do so.
async fn sweep(store: TableStore) {
    loop {
        match store.sweep(HOUR).await {
            Ok(count) => println!("The sweep deleted {count} expired sessions."),
            Err(error) => println!("The sweep failed, and is repeated in an hour: {error}"),
        }
        tokio::time::sleep(HOUR).await;
    }
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let (builder, _) = azure_table_examples::builder().map_err(|error| error.to_string())?;
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, None) => visit(builder).await,
        (Some("--serve"), Some(address)) => serve(builder, &address).await,
        _ => Err("usage: sessions [--serve ADDRESS:PORT]".into()),
    }
}

async fn visit(builder: TableServiceClientBuilder) -> Result<(), AnyError> {
    let name = azure_table_examples::unique("ExampleSessions");
    let table = builder.build()?.table_named::<DynamicEntity>(name);
    table.create().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::select! {
        served = axum::serve(listener, app(TableStore::new(&table)?)) => served?,
        visited = visit::visit(&url, &table) => visited?,
    }
    table.delete_table().await?;
    Ok(())
}

async fn serve(builder: TableServiceClientBuilder, address: &str) -> Result<(), AnyError> {
    let table = builder.build()?.table_named::<DynamicEntity>("ExampleSessions");
    table.create_if_not_exists().await?;
    // The clocks of the web servers are synchronized: they do not differ by an hour.
    let store = TableStore::new(&table)?.margin(HOUR);
    let listener = TcpListener::bind(address).await?;
    println!("Serving http://{} until Ctrl-C.", listener.local_addr()?);
    let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    tokio::select! {
        served = axum::serve(listener, app(store.clone())).with_graceful_shutdown(stop) => served?,
        () = sweep(store) => {}
    }
    Ok(())
}
