//! The official clients of Python and JavaScript and this client read each other's rows exactly:
//! every Edm type at its extremes, names and keys of all sorts.
//!
//! It runs on the endpoint of `AZURE_STORAGE_CONNECTION_STRING`, or on its own mock.
//! `tools/clients/run` installs the clients. If a client cannot express or hold a value, its case
//! in `tools/clients/interop/cases.json` states the behavior instead.

mod cases;
mod structs;

use std::path::Path;
use std::process::{Command, Output};

use azure_table_client::edm::EdmValue;
use azure_table_client::mock::MockTableServer;
use azure_table_client::{DynamicEntity, TableClient};
use azure_table_conformance::client::{Protocol, Server, Target};

use cases::Case;

/// Each client, with its program and arguments below `tools/clients`.
const CLIENTS: [(&str, &str, &str); 2] = [
    ("python", "../../target/venv-clients/bin/python3", "python/interop.py"),
    ("javascript", "node", "javascript/interop.js"),
];

#[tokio::test]
async fn with_the_official_clients() {
    let server = MockTableServer::start().await;
    let connection_string = std::env::var("AZURE_STORAGE_CONNECTION_STRING")
        .unwrap_or_else(|_| server.connection_string());
    let kind = match std::env::var("AZURE_TABLE_TESTS_SERVER").as_deref() {
        Ok("azurite") => Server::Azurite,
        _ => Server::Other,
    };
    let target = Target::new(&connection_string).server(kind);
    let mut cases = cases::all();
    if kind == Server::Azurite {
        cases.retain(|case| case.azurite.is_none());
    }
    let (dynamic, structs) = (target.table().await, target.table().await);
    for case in &cases {
        dynamic.insert(&case.entity()).await.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        structs::insert(&structs, case).await;
    }
    let mut faults = Vec::new();
    for client in CLIENTS {
        let name = client.0;
        let theirs = target.table::<DynamicEntity>().await;
        let runs = [("read", dynamic.name()), ("read", structs.name()), ("write", theirs.name())];
        for (action, table) in runs {
            let output = run(client, action, table, &connection_string).await;
            let said = String::from_utf8_lossy(&output.stdout);
            let complaints = String::from_utf8_lossy(&output.stderr);
            println!("{}", said.trim_end());
            let all = format!("{name} client: {action} {0} of {0} cases", cases.len());
            if !output.status.success() || said.trim_end() != all {
                faults.push(format!("{name}, {action}: {said}{complaints}"));
            }
        }
        let read = read(&target, theirs.name(), name, &cases, &mut faults).await;
        println!("rust client: {read} values of the {name} client");
        theirs.delete_table().await.unwrap();
    }
    dynamic.delete_table().await.unwrap();
    structs.delete_table().await.unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

async fn run(
    (_, program, script): (&str, &str, &str),
    action: &str,
    table: &str,
    connection_string: &str,
) -> Output {
    let clients = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/clients"));
    let path = clients.join(program);
    let mut command = Command::new(if path.exists() { path } else { program.into() });
    command
        .args([script, action, table])
        .current_dir(clients)
        .env("AZURE_STORAGE_CONNECTION_STRING", connection_string)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// Reads the rows of a client at each level of JSON metadata, and returns the number of values.
async fn read(
    target: &Target,
    table: &str,
    client: &str,
    cases: &[Case],
    faults: &mut Vec<String>,
) -> usize {
    let mut values = 0;
    let mut check =
        |case: &Case, how: &str, found: Option<&EdmValue>, expected: Option<&EdmValue>| {
            values += 1;
            if found != expected {
                let name = &case.name;
                faults.push(format!("{client}, {name}, {how}: {found:?} instead of {expected:?}"));
            }
        };
    for protocol in [Protocol::DEFAULT, Protocol::FULL_METADATA, Protocol::NO_METADATA] {
        let has_types = protocol != Protocol::NO_METADATA;
        let service = target.clone().protocol(protocol).service();
        let table: TableClient<DynamicEntity> = service.table_named(table);
        let queried = if has_types { table.query().await.unwrap().to_vec() } else { Vec::new() };
        assert_eq!(queried.len(), if has_types { cases.len() } else { 0 });
        for case in cases {
            let written = case.written_by(client);
            let plain = case.plainly_written_by(client);
            if has_types {
                let got = table.get(&case.key).await.unwrap().into_inner();
                let of_query = queried.iter().find(|entity| *entity.key() == case.key).unwrap();
                for (how, entity) in [("by get", &got), ("by query", of_query)] {
                    check(case, how, entity.value(&case.property), Some(&written));
                    check(case, how, entity.value("Plain"), plain.as_ref());
                    let count = 1 + usize::from(entity.value("Plain").is_some());
                    assert_eq!(entity.properties().len(), count, "{client}, {}", case.name);
                }
            }
            if let Some(found) = structs::get(&table, case).await {
                check(case, "as a struct", Some(&found), Some(&written));
            }
        }
    }
    values
}
