//! Tests of accounts: key rotation without a restart, and accounts in the host.

use std::time::Duration;

use azure_table_client::DynamicEntity;
use tokio::time::{Instant, sleep};

use crate::disk::folder;
use crate::server::{Server, command};

/// Waits until the result of reading the tables is as expected.
async fn until(server: &Server, account: &str, key: &str, expected: bool) {
    let client = server.client_of(account, key);
    let begun = Instant::now();
    while client.list_tables().await.is_ok() != expected {
        assert!(begun.elapsed() < Duration::from_secs(20), "{account} {key} {expected}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn keys_rotate_without_a_restart() {
    let folder = folder("rotation");
    std::fs::create_dir_all(&folder).unwrap();
    let file = format!("{folder}/accounts");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    write("one:b2xk");
    let server = Server::start(&["--accounts-file", &file]).await;
    let table = server.client_of("one", "b2xk").table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();

    // With a byte order mark, like by some editors on Windows.
    write("\u{feff}one:bmV3:b2xk\ntwo:dHdv\n");
    until(&server, "one", "bmV3", true).await;
    until(&server, "one", "b2xk", true).await;
    until(&server, "two", "dHdv", true).await;
    write("not a list");
    sleep(Duration::from_millis(1500)).await;
    until(&server, "two", "dHdv", true).await;
    write("one:bmV3");
    until(&server, "one", "b2xk", false).await;
    until(&server, "two", "dHdv", false).await;
    let tables: Vec<_> = server.client_of("one", "bmV3").list_tables().await.unwrap();
    assert_eq!(tables.len(), 1, "the tables remain");

    let error = server.stop().await;
    assert!(error.contains("the accounts remain as they were: "), "{error}");
    assert_eq!(error.lines().count(), 1, "reported once: {error}");
}

#[tokio::test]
async fn an_unreadable_accounts_file_is_reported_with_its_reason() {
    let folder = folder("no-accounts");
    std::fs::create_dir_all(&folder).unwrap();
    let file = format!("{folder}/accounts");
    std::fs::write(&file, "one:b2xk").unwrap();
    let server = Server::start(&["--accounts-file", &file]).await;
    std::fs::remove_file(&file).unwrap();
    let missing = std::fs::read(&file).unwrap_err();
    sleep(Duration::from_millis(2500)).await;
    until(&server, "one", "b2xk", true).await;
    std::fs::write(&file, "one:bmV3").unwrap();
    until(&server, "one", "bmV3", true).await;
    let expected = format!(
        "azure-table-emulator: the accounts remain as they were: {file} cannot be read: {missing}\n"
    );
    assert_eq!(server.stop().await, expected);
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_that_does_not_end_does_not_delay_the_stop() {
    let folder = folder("blocked-accounts");
    std::fs::create_dir_all(&folder).unwrap();
    let (file, pipe) = (format!("{folder}/accounts"), format!("{folder}/pipe"));
    std::fs::write(&file, "one:b2xk").unwrap();
    let data = format!("{folder}/data");
    let arguments = ["--accounts-file", &file, "--data", &data];
    let server = Server::start(&arguments).await;
    let table = server.client_of("one", "b2xk").table_named::<DynamicEntity>("Rows");
    // No program writes to the pipe, so opening it waits.
    let made = tokio::process::Command::new("mkfifo").arg(&pipe).status().await.unwrap();
    assert!(made.success());
    std::fs::rename(&pipe, &file).unwrap();
    sleep(Duration::from_millis(1500)).await;
    table.create().await.unwrap();
    let stopped = tokio::time::timeout(Duration::from_secs(20), server.stop()).await;
    assert_eq!(stopped.as_deref(), Ok(""));

    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "one:b2xk").unwrap();
    let server = Server::start(&arguments).await;
    let tables = server.client_of("one", "b2xk").list_tables().await.unwrap();
    assert_eq!(tables.len(), 1);
}

#[tokio::test]
async fn accounts_come_from_the_variable_of_azurite() {
    let mut program = command(&["--port", "0"]);
    program.env("AZURITE_ACCOUNTS", "one:Zmlyc3Q=:c2Vjb25k;two:dHdv");
    let server = Server::run(program, 2).await;
    for (account, key, expected) in [
        ("one", "Zmlyc3Q=", true),
        ("one", "c2Vjb25k", true),
        ("two", "dHdv", true),
        ("two", "c2Vjb25k", false),
    ] {
        let tables = server.client_of(account, key).list_tables().await;
        assert_eq!(tables.is_ok(), expected, "{account} {key}");
    }
}

#[tokio::test]
async fn the_host_may_name_the_account() {
    let signed = ["--loose", "--account", "one", "--account-key", "b25l"];
    for (more, host, path, expected) in [
        (&[][..], "one.localhost", "/Tables", "200 OK"),
        (&[], "one.localhost", "/one/Tables", "404 Not Found"),
        (&[], "other.localhost", "/one/Tables", "200 OK"),
        (&["--disableProductStyleUrl"], "one.localhost", "/one/Tables", "200 OK"),
    ] {
        let server = Server::start(&[&signed[..], more].concat()).await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let response = server.exchange(request.as_bytes()).await;
        let status = response.lines().next().unwrap_or_default();
        assert_eq!(status, format!("HTTP/1.1 {expected}"), "{host}{path}");
    }
}

#[tokio::test]
async fn int32_literals_match_int64_values_unless_the_option_forbids_it() {
    for (option, expected) in [(&[][..], 1), (&["--exact-types"], 0)] {
        let server = Server::start(option).await;
        let rows = server.client().table_named::<DynamicEntity>("Rows");
        rows.create().await.unwrap();
        rows.insert(&DynamicEntity::new("p", "r").with("A", 10_i64)).await.unwrap();
        let found = rows.query().filter_text("A ge 10").await.unwrap();
        assert_eq!(found.len(), expected, "{option:?}");
    }
}
