//! The example of `docs/control.md` is run.

use std::fs;
use std::process::Stdio;

use serde_json::json;
use tokio::process::Command;

use crate::server::Server;

const PAGE: &str = include_str!("../../../docs/control.md");

#[tokio::test]
async fn the_example_works() {
    let has_curl = Command::new("curl").arg("--version").stdout(Stdio::null()).status().await;
    // On Windows, `bash` can be another system with a network of its own.
    if cfg!(not(unix)) || !has_curl.is_ok_and(|status| status.success()) {
        return;
    }
    let server = Server::start(&[]).await;
    let folder = std::env::temp_dir().join(format!("emulator-control-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let example = PAGE.split("```sh\n").nth(1).unwrap().split("\n```").next().unwrap();
    let source = example.replace("http://127.0.0.1:10002", &server.origin);
    assert!(source.contains(&server.origin), "{source}");
    let mut command = Command::new("bash");
    let output = command.args(["-euc", &source]).current_dir(&folder).output().await.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    fs::remove_dir_all(&folder).unwrap();

    let rows = server.text("/-/export").await;
    assert_eq!(rows.lines().count(), 2, "{rows}");
    assert!(rows.contains(r#""RowKey":"1","Timestamp":"#) && rows.contains(r#""Rating":3}"#));
    let plan = &server.json("/-/faults").await["accounts"][0]["faults"];
    let fault = json!([{ "fault": "busy", "on": ["Insert"], "times": 2, "struck": 0 }]);
    assert_eq!(*plan, fault);
}

#[tokio::test]
async fn every_fault_in_the_page_exists() {
    let server = Server::start(&[]).await;
    let table = PAGE.split("| `fault` | effect |\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut count = 0;
    for row in table.lines().skip(1) {
        let cells: Vec<_> = row.split('|').collect();
        for name in cells[1].split('`').skip(1).step_by(2) {
            let mut fault = json!({ "fault": name });
            for (member, value) in [
                ("milliseconds", json!(1)),
                ("status", json!(500)),
                ("code", json!("Odd")),
                ("rows", json!(1)),
                ("entities_per_second", json!(1)),
            ] {
                if cells[2].contains(&format!("`{member}`")) {
                    fault[member] = value;
                }
            }
            server.post("/-/faults", fault.to_string()).await;
            count += 1;
        }
    }
    assert_eq!(count, 21);
}
