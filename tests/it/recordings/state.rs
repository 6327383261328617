//! The state that a recording starts from.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::time::SystemTime;

use azure_table_client::Dialect;
use azure_table_tests::recordings::{Exchange, Recording};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, Utc};
use serde_json::json;

use super::paths::{decoded, is_batch, parameters, parsed, table, targets};
use super::session::{self, Session};

/// Replays a recording after its state is restored in the way of the lists. Returns the differences.
pub(super) fn restored(
    dialect: Dialect,
    way: &str,
    exchanges: &[Exchange],
    set: &[Recording],
) -> Vec<String> {
    let (way, argument) = way.split_once(' ').unwrap_or((way, ""));
    let dialect = if way == "storage" { Dialect::AzureStorage } else { dialect };
    let mut session = Session::new(&session::mock(dialect));
    let mut exchanges = exchanges.to_vec();
    match way {
        "storage" => {}
        "settings" => set_settings(&session, &exchanges),
        "rows" => store_rows(&session, &exchanges),
        "tables" => create_tables(&mut session, &mut exchanges),
        "accept" => exchanges.iter_mut().for_each(accept_all),
        "clock" => {
            let time: DateTime<Utc> = argument.parse().unwrap();
            session.mock.faults().freeze_clock(SystemTime::from(time));
        }
        "after" => {
            let find = |name| set.iter().find(|it| it.name == name).unwrap().exchanges.clone();
            exchanges = argument.split(' ').flat_map(find).chain(exchanges).collect();
        }
        "fault" => assert_eq!(session.mock.faults().add_json(argument).unwrap().len(), 1),
        _ => panic!("unknown way {way}"),
    }
    session.replay(&exchanges);
    session.differences
}

/// Sets the service properties that the recording reads first.
fn set_settings(session: &Session, exchanges: &[Exchange]) {
    let is_read = |it: &&Exchange| it.method == "GET" && it.query.contains("comp=properties");
    let read = exchanges.iter().find(is_read).unwrap().clone();
    let body = Some(read.response.body.trim_start_matches('\u{feff}').to_owned());
    let put = Exchange { method: "PUT".to_owned(), body, ..read };
    assert_eq!(session.send(&put).status, 202);
}

/// Stores the rows that the recording reads.
fn store_rows(session: &Session, exchanges: &[Exchange]) {
    for get in exchanges.iter().filter(|it| it.method == "GET") {
        let mut rows = parsed(&get.response.body)["value"].take();
        for row in rows.as_array_mut().unwrap() {
            row.as_object_mut().unwrap().retain(|name, _| !name.starts_with("odata."));
        }
        let table = table(&get.path).unwrap();
        session.mock.seed_json(&json!({ table: rows }).to_string()).unwrap();
    }
}

/// Creates the tables that the recording lists, in the order of its longest list. The recording itself creates some of
/// them.
fn create_tables(session: &mut Session, exchanges: &mut Vec<Exchange>) {
    let mut lists: Vec<_> = exchanges.iter().filter_map(listed).collect();
    lists.sort_by_key(|list| Reverse(list.len()));
    for name in lists.concat() {
        let is_creation =
            |it: &Exchange| it.response.status == 201 && created(it).as_ref() == Some(&name);
        match exchanges.iter().position(is_creation) {
            Some(at) => session.replay(&[exchanges.remove(at)]),
            None => session.create_table(&name),
        }
    }
}

/// Adds the header `Accept: */*`, unless the request has one.
fn accept_all(exchange: &mut Exchange) {
    if !exchange.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept")) {
        exchange.headers.push(("Accept".to_owned(), "*/*".to_owned()));
    }
}

/// The tables that existed before the exchanges.
pub(super) fn tables_before(exchanges: &[Exchange]) -> Vec<String> {
    // The tables that the exchanges create, delete or do not find, or that are needed already.
    let mut known = HashSet::new();
    let mut needed = Vec::new();
    for exchange in exchanges {
        let status = exchange.response.status;
        let path = decoded(&exchange.path);
        let of_path =
            path.strip_prefix("/Tables('").map(|rest| rest.trim_end_matches("')").to_owned());
        let mut names = Vec::new();
        if let Some(name) = created(exchange).filter(|_| status < 300) {
            known.insert(name);
        } else if let Some(name) = of_path.clone().filter(|_| status == 404) {
            known.insert(name);
        } else if let Some(name) = created(exchange).filter(|_| status == 409).or(of_path) {
            names.push(name);
        } else if let Some(listed) = listed(exchange) {
            names = listed;
            names.extend(next_table(exchange, exchanges));
        } else if is_batch(exchange) {
            // Recordings with whole URLs in batches create their tables.
            names = targets(exchange).filter_map(table).map(str::to_owned).collect();
        } else if !exchange.response.body.contains("TableNotFound") {
            names.extend(table(&path).filter(|name| *name != "Tables").map(str::to_owned));
        }
        needed.extend(names.into_iter().filter(|name| known.insert(name.clone())));
    }
    needed
}

/// The name of the table that a request creates.
fn created(exchange: &Exchange) -> Option<String> {
    let is_creation = exchange.method == "POST" && exchange.path == "/Tables";
    let body = parsed(exchange.body.as_deref().filter(|_| is_creation)?);
    body["TableName"].as_str().map(str::to_owned)
}

/// The names of the tables in a list of tables.
fn listed(exchange: &Exchange) -> Option<Vec<String>> {
    let is_list = exchange.method == "GET" && exchange.path == "/Tables";
    let body = parsed(Some(&exchange.response.body).filter(|_| is_list)?);
    let rows = body["value"].as_array()?;
    Some(rows.iter().map(|row| row["TableName"].as_str().unwrap().to_owned()).collect())
}

/// The first table of the next page, if no request reads that page.
fn next_table(exchange: &Exchange, exchanges: &[Exchange]) -> Option<String> {
    let token = exchange.response.header("x-ms-continuation-nexttablename")?;
    let mut requested = exchanges.iter().flat_map(|it| parameters(&it.query));
    if requested.any(|(name, value)| name == "NextTableName" && value == token) {
        return None;
    }
    let text = token.splitn(3, '!').nth(2)?.replace('-', "=");
    let text = String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok()?;
    text.split('\u{1}').next().map(str::to_owned)
}
