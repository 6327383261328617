//! Tests of `--seed` and `--faults`.

use std::fs;
use std::path::PathBuf;

use azure_table_client::DynamicEntity;

use crate::server::{Server, command};

const AZURITE: &str = include_str!("../../../../azure-table-mock/src/seed/azurite.json");
const EXPORTED: &str = include_str!("../../../../azure-table-mock/src/seed/azurite.jsonl");

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, files: &[(&str, &str)]) -> Self {
        let path =
            std::env::temp_dir().join(format!("emulator-seed-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_folder_fills_the_tables_at_the_start() {
    let folder = Folder::with(
        "folder",
        &[
            (
                "Blogs.jsonl",
                "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n{\"PartitionKey\":\"p\",\"RowKey\":\"2\"}\n",
            ),
            ("Posts.json", "[{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}]"),
            ("more.ndjson", "{\"table\":\"Empty\"}"),
            ("notes.txt", "not JSON"),
            ("__azurite_db_blob__.json", "{}{"),
        ],
    );
    let plan = Folder::with("plan", &[("plan.json", "{\"fault\":\"busy\",\"on\":\"Get\"}")]);
    let server =
        Server::start(&["--seed", &folder.file(""), "--faults", &plan.file("plan.json")]).await;
    let lines = server.text("/-/export").await;
    assert_eq!(lines.lines().count(), 3 + 3, "{lines}");
    assert_eq!(server.json("/-/faults").await["accounts"][0]["faults"][0]["fault"], "busy");
    assert_eq!(server.json("/-/requests").await["total"], 0);
}

#[tokio::test]
async fn the_folder_of_azurite_is_imported_and_kept() {
    let folder = Folder::with(
        "azurite",
        &[("__azurite_db_table__.json", AZURITE), ("__azurite_db_queue__.json", "{")],
    );
    let data = Folder::with("data", &[]);
    let accounts = "devstoreaccount1:Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;two:dHdv";
    let with = |more: &[&str]| {
        let data = data.file("");
        let mut command = command(&[&["--port", "0", "--data", &data][..], more].concat());
        command.env("AZURE_TABLE_EMULATOR_ACCOUNTS", accounts);
        command
    };
    let server = Server::run(with(&["--seed", &folder.file("")]), 2).await;
    let stored = server.text("/-/export?account=devstoreaccount1").await;
    assert_eq!(stored, EXPORTED);
    assert_eq!(server.text("/-/export?account=two").await.lines().count(), 4);
    let table = server.client().table_named::<DynamicEntity>("Blogs");
    let row = table.get(("p", "2")).await.unwrap();
    assert_eq!(row.get::<i64>("V"), Some(Ok(1)));
    server.stop().await;

    let server = Server::run(with(&[]), 2).await;
    assert_eq!(server.text("/-/export?account=devstoreaccount1").await, EXPORTED);
    server.post("/-/reset", "").await;
    server.post("/-/seed", EXPORTED).await;
    server.stop().await;
    let server = Server::run(with(&[]), 2).await;
    assert_eq!(server.text("/-/export").await, EXPORTED);
}

#[tokio::test]
async fn an_invalid_file_stops_the_start_with_its_name_and_line() {
    let folder = Folder::with(
        "invalid",
        &[
            (
                "Blogs.jsonl",
                "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n{\"PartitionKey\":\"p\"}\n",
            ),
            ("other.jsonl", "{\"account\":\"other\",\"table\":\"Blogs\"}"),
            ("faults.json", "[{\"fault\":\"busi\"}]"),
        ],
    );
    for (option, file, expected) in [
        ("--seed", "Blogs.jsonl", "Blogs.jsonl: line 2: The values are not specified"),
        ("--seed", "other.jsonl", "other.jsonl: the account other does not exist"),
        ("--seed", "missing.json", "missing.json: "),
        ("--faults", "faults.json", "faults.json: fault 0: unknown fault \"busi\""),
        ("--faults", "missing.json", "missing.json: "),
    ] {
        let file = folder.file(file);
        let output = command(&["--port", "0", option, &file]).output().await.unwrap();
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
    }
}
