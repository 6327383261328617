//! Tests with a killed process and with a full disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use azure_table_client::{DynamicEntity, TableClient, TableEntity as _};
use tokio::time::sleep;

use crate::process::ends;
use crate::server::Server;
#[cfg(target_os = "linux")]
use crate::server::command;

/// A folder that does not exist yet.
pub(crate) fn folder(name: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder.to_str().unwrap().to_owned()
}

fn data_file(folder: &str) -> PathBuf {
    Path::new(folder).join("devstoreaccount1.tables")
}

/// The number of times that the process is killed.
fn kills() -> u64 {
    if std::env::var_os("AZURE_TABLE_TESTS_FULL").is_some() { 200 } else { 5 }
}

/// The writers of a test. Each replaces its rows in transactions that count up.
const WRITERS: usize = 8;
const ROWS: usize = 10;

/// The latest acknowledged and the latest sent count of a writer.
#[derive(Default)]
struct Counts {
    acknowledged: AtomicU64,
    sent: AtomicU64,
}

async fn write(table: TableClient<DynamicEntity>, writer: usize, counts: Arc<Counts>) {
    let text = "x".repeat(8000);
    loop {
        let count = counts.sent.fetch_add(1, Ordering::SeqCst) + 1;
        let mut transaction = table.transaction();
        for row in 0..ROWS {
            let mut entity = DynamicEntity::new(format!("p{writer}"), format!("{row}"));
            entity.set("Count", i64::try_from(count).unwrap()).set("Text", text.clone());
            transaction = transaction.insert_or_replace(&entity);
        }
        if transaction.await.is_err() {
            return;
        }
        counts.acknowledged.store(count, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_loses_no_acknowledged_change_and_no_part_of_a_transaction() {
    let folder = folder("killed");
    let counts: Vec<Arc<Counts>> = (0..WRITERS).map(|_| Arc::default()).collect();
    let mut compactions = 0;
    for kill in 0..kills() {
        let mut server = Server::start(&["--data", &folder]).await;
        let table = server.client().table_named::<DynamicEntity>("Rows");
        if kill == 0 {
            table.create().await.unwrap();
        }
        let before = std::fs::metadata(data_file(&folder)).unwrap().len();
        let writers: Vec<_> = counts
            .iter()
            .enumerate()
            .map(|(at, counts)| tokio::spawn(write(table.clone(), at, Arc::clone(counts))))
            .collect();
        sleep(Duration::from_millis(50 + kill * 37 % 300)).await;
        server.kill();
        server.end().await;
        writers.iter().for_each(tokio::task::JoinHandle::abort);
        for writer in writers {
            let _ = writer.await;
        }
        compactions += u64::from(std::fs::metadata(data_file(&folder)).unwrap().len() < before);

        let server = Server::start(&["--data", &folder]).await;
        let table = server.client().table_named::<DynamicEntity>("Rows");
        let rows: Vec<_> = table.query().await.unwrap().into_iter().collect();
        for (writer, counts) in counts.iter().enumerate() {
            let mut found = rows
                .iter()
                .filter(|row| row.entity_key().unwrap().partition_key == format!("p{writer}"))
                .map(|row| row.get::<i64>("Count").unwrap().unwrap());
            let count = found.next().map_or(0, |count| u64::try_from(count).unwrap());
            let acknowledged = counts.acknowledged.load(Ordering::SeqCst);
            let sent = counts.sent.load(Ordering::SeqCst);
            assert!((acknowledged..=sent).contains(&count), "{acknowledged} {count} {sent}");
            assert!(found.all(|other| other == i64::try_from(count).unwrap()), "a whole one");
            counts.sent.store(count, Ordering::SeqCst);
            counts.acknowledged.store(count, Ordering::SeqCst);
        }
        server.stop().await;
    }
    let total: u64 = counts.iter().map(|counts| counts.acknowledged.load(Ordering::SeqCst)).sum();
    println!("{} kills, {total} transactions, {compactions} compactions seen", kills());
    assert!(total > kills());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_data() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for more in [&[][..], &["--self-signed"]] {
        let folder = format!("{}/inner", folder("private"));
        Server::start(&[&["--data", &folder], more].concat()).await.stop().await;
        assert_eq!(
            (mode(Path::new(&folder)), mode(&data_file(&folder))),
            (0o700, 0o600),
            "{more:?}"
        );
    }
}

#[tokio::test]
async fn a_data_file_that_cannot_be_read_is_reported_in_one_line() {
    let folder = folder("unreadable");
    Server::start(&["--data", &folder]).await.stop().await;
    let file = data_file(&folder);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[520] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let (code, _, error) = ends(&["--port", "0", "--data", &folder]).await;
    assert_eq!((code, error.lines().count()), (Some(1), 1), "{error}");
    assert!(
        error.contains("devstoreaccount1.tables cannot be opened: the file is damaged"),
        "{error}"
    );
}

/// Changes the largest size of files that the process can write.
#[cfg(target_os = "linux")]
async fn limit_files(server: &Server, limit: &str) {
    let pid = server.pid().to_string();
    let limit = format!("--fsize={limit}");
    let prlimit = tokio::process::Command::new("prlimit").args(["--pid", &pid, &limit]).status();
    assert!(prlimit.await.unwrap().success());
}

#[cfg(target_os = "linux")]
async fn send(server: &Server, method: &str, row: &str, body: &str) -> u16 {
    let url = format!("{}/devstoreaccount1/Rows(PartitionKey='p',RowKey='{row}')", server.origin);
    let request = reqwest::Client::new()
        .request(method.parse().unwrap(), url)
        .header("content-type", "application/json")
        .body(body.to_owned());
    request.send().await.unwrap().status().as_u16()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_refuses_changes_until_it_has_room() {
    let folder = folder("full");
    let arguments = ["--port", "0", "--loose", "--data", &folder];
    // The limit of a file's size then causes an error of the write, as a full disk does.
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    let program = command(&arguments);
    shell.arg(program.as_std().get_program()).args(arguments);
    shell.stdin(std::process::Stdio::null());
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    shell.kill_on_drop(true);
    let mut server = Server::run(shell, 1).await;
    server.table("Rows").await;
    assert_eq!(send(&server, "PUT", "1", "{\"A\":1}").await, 204);
    let length = std::fs::metadata(data_file(&folder)).unwrap().len();
    let health = server.text("/-/health").await;
    assert!(health.contains(r#""disk":{"commits":2,"failures":[]}"#), "{health}");

    limit_files(&server, &format!("{}:unlimited", length + 100)).await;
    let large = format!("{{\"A\":\"{}\"}}", "x".repeat(5000));
    assert_eq!(send(&server, "PUT", "2", &large).await, 500);
    assert_eq!(send(&server, "PUT", "3", "{}").await, 500, "refused without a change");
    assert_eq!(send(&server, "GET", "1", "").await, 500, "it could show the change");
    let reply = server.get("/-/health").await;
    assert_eq!(reply.status(), 503);
    let health = reply.text().await.unwrap();
    let expected = "the changes of devstoreaccount1 cannot be written: File too large";
    assert!(health.contains(expected), "{health}");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.get("/-/health").await.status(), 503);

    limit_files(&server, "unlimited:unlimited").await;
    while server.get("/-/health").await.status() != 200 {
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(send(&server, "GET", "2", "").await, 200, "the change is kept and written");
    assert_eq!(send(&server, "GET", "3", "").await, 404);
    assert_eq!(send(&server, "PUT", "4", &large).await, 204);
    sleep(Duration::from_millis(500)).await;
    server.kill();
    let output = server.end().await;
    let error = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = error.lines().collect();
    assert_eq!(lines.len(), 3, "{error}");
    assert!(lines[0].contains(expected) && lines[1].contains("writes fail until"), "{error}");
    assert_eq!(lines[2], "azure-table-emulator: all changes are written again");

    let server = Server::start(&["--loose", "--data", &folder]).await;
    for (row, status) in [("1", 200), ("2", 200), ("3", 404), ("4", 200)] {
        assert_eq!(send(&server, "GET", row, "").await, status, "{row}");
    }
}
