//! Tests of the data file: crashes, compaction, formats and a full disk.

use std::fs;
use std::path::Path;

use http::{HeaderMap, Method, header};

use super::damage_tests::{TestFile, content, open, send};
use super::log::Log;
use super::open_error::OpenError;
use crate::Dialect;
use crate::TableService;
use crate::dialect::ServiceDialect;
use crate::store::JournalEntry;
use crate::transport::HttpRequest;

/// Upserts a row with a text of this length.
fn put(service: &TableService, keys: (&str, usize), text: usize) {
    let path = format!("/Blogs(PartitionKey='{}',RowKey='{:04}')", keys.0, keys.1);
    send(service, Method::PUT, &path, &format!("{{\"Text\":\"{}\"}}", "x".repeat(text)));
}

fn opened(path: &Path) -> TableService {
    open(path).unwrap()
}

/// Replaces a row until the file is compacted.
fn compact(service: &TableService, path: &Path) {
    let mut longest = 0;
    for _ in 0..100_000 {
        put(service, ("replaced", 0), 1000);
        let length = fs::metadata(path).unwrap().len();
        if length < longest {
            return;
        }
        longest = length;
    }
    panic!("the file has {longest} bytes");
}

/// The error of an open, with its reason.
fn refusal(path: &Path) -> String {
    let error = open(path).unwrap_err();
    let reason = std::error::Error::source(&error).unwrap();
    format!("{error}: {reason}")
}

#[tokio::test]
async fn a_disk_failure_is_reported_in_the_accepted_format() {
    let file = TestFile::new("failure");
    let service = opened(&file.0);
    let create = |name: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, "application/json".parse().unwrap());
        headers.insert("x-ms-version", "2019-02-02".parse().unwrap());
        service.receive(HttpRequest {
            headers,
            body: format!("{{\"TableName\":\"{name}\"}}").into(),
            ..HttpRequest::new(
                Method::POST,
                http::Uri::from_static("http://127.0.0.1:1/devstoreaccount1/Tables"),
            )
        })
    };
    assert_eq!(create("Blogs").await.unwrap().status, 201);
    // A writer that stops early reports a disk failure.
    let disk = service.core().store.journal.disk.as_ref().unwrap();
    disk.queue.lock().unwrap().to_writer = None;
    let refused = create("Posts").await.unwrap();
    assert_eq!(refused.status, 500);
    for (name, value) in [("content-type", "application/json;"), ("x-ms-version", "2019-02-02")] {
        assert!(refused.headers[name].to_str().unwrap().starts_with(value), "{name}");
    }
    let body = String::from_utf8(refused.body.to_vec()).unwrap();
    let id = refused.headers["x-ms-request-id"].to_str().unwrap();
    assert!(body.contains("\"InternalError\"") && body.contains(id), "{body}");
}

/// Other systems do not show that a file was removed or replaced.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_is_removed_moved_replaced_or_cut_in_use_accepts_no_change() {
    let copied = |path: &Path| {
        let copy = path.with_extension("copy");
        fs::copy(path, &copy).unwrap();
        fs::rename(copy, path).unwrap();
    };
    let cut =
        |path: &Path| fs::File::options().write(true).open(path).unwrap().set_len(4100).unwrap();
    let removed = |path: &Path| fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let moved = |path: &Path| fs::rename(path, path.with_extension("moved")).unwrap();
    let moved_folder = |path: &Path| {
        let folder = path.parent().unwrap();
        fs::rename(folder, folder.with_extension("moved")).unwrap();
    };
    for (name, damage) in [
        ("copied", &copied as &dyn Fn(&Path)),
        ("cut", &cut),
        ("removed", &removed),
        ("moved", &moved),
        ("moved folder", &moved_folder),
    ] {
        let file = TestFile::new(name);
        let service = opened(&file.0);
        service.seed_json(r#"{"Blogs":[]}"#).unwrap();
        service.written().await.unwrap();
        damage(&file.0);
        service.seed_json(r#"{"Posts":[]}"#).unwrap();
        service.written().await.unwrap_err();
        let failure = service.disk().unwrap().failure.unwrap();
        assert!(failure.contains("while it was in use"), "{name}: {failure}");
        let _ = fs::remove_dir_all(file.0.parent().unwrap().with_extension("moved"));
    }
}

#[cfg(unix)]
#[test]
fn a_compaction_does_not_replace_a_foreign_file() {
    let file = TestFile::new("foreign");
    let log = Log::open(&file.0, ServiceDialect::AzureStorage, |_| Some(())).unwrap();
    let mut new = Log::create(&file.0, ServiceDialect::AzureStorage).unwrap();
    new.add(b"one");
    new.commit().unwrap();
    fs::rename(&file.0, file.0.with_extension("moved")).unwrap();
    fs::write(&file.0, "another program's").unwrap();
    let error = new.replace(&log).unwrap_err();
    assert!(error.to_string().contains("moved"), "{error}");
    assert_eq!(fs::read_to_string(&file.0).unwrap(), "another program's");
    let names = fs::read_dir(file.0.parent().unwrap()).unwrap();
    assert_eq!(names.count(), 2, "the new file is removed");
}

#[test]
fn a_foreign_file_at_the_place_of_a_compaction_stays() {
    let file = TestFile::new("occupied");
    let mut place = file.0.clone().into_os_string();
    place.push(".new");
    fs::write(&place, "another program's").unwrap();
    assert!(refusal(&file.0).contains("one.tables.new is not a file of the emulator"));
    fs::remove_file(&place).unwrap();
    let service = opened(&file.0);
    fs::write(&place, "another program's").unwrap();
    service.seed_json(r#"{"Blogs":[]}"#).unwrap();
    drop(service);
    drop(opened(&file.0));
    assert_eq!(fs::read_to_string(&place).unwrap(), "another program's");
    let compacted = Log::create(&file.0, ServiceDialect::AzureStorage).unwrap_err();
    assert!(compacted.to_string().contains("move it"), "{compacted}");
    // The file of an interrupted compaction is removed, also if a crash lost some or all of its first bytes.
    let whole = fs::read(&file.0).unwrap();
    for left in [&whole[..], &whole[..7], &[], &[0; 5000]] {
        fs::write(&place, left).unwrap();
        drop(opened(&file.0));
        assert!(!Path::new(&place).exists());
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_a_data_file() {
    let file = TestFile::new("pipe");
    nix::unistd::mkfifo(&file.0, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(refusal(&file.0).contains("must be a regular file"), "{}", refusal(&file.0));
}

#[test]
fn a_commit_that_a_crash_interrupts_is_whole_or_missing() {
    let file = TestFile::new("crash");
    let service = opened(&file.0);
    service.seed_json(r#"{"Blogs":[]}"#).unwrap();
    put(&service, ("p", 0), 100);
    drop(service);
    let before = fs::read(&file.0).unwrap();
    let service = opened(&file.0);
    put(&service, ("p", 1), 100);
    drop(service);
    let after = fs::read(&file.0).unwrap();
    assert!(after.len() > before.len() + 100);
    for length in before.len()..=after.len() {
        // The mark is written after the records are on disk.
        let interrupted = [&before[..], &after[before.len()..length]].concat();
        fs::write(&file.0, interrupted).unwrap();
        let rows = opened(&file.0).row_count("Blogs");
        assert_eq!(rows, Some(if length == after.len() { 2 } else { 1 }), "{length}");
        // The next start finds no trace of the rest.
        let service = opened(&file.0);
        put(&service, ("p", 2), 1);
        drop(service);
        assert_eq!(opened(&file.0).row_count("Blogs"), rows.map(|rows| rows + 1));
    }
}

#[test]
fn a_file_is_compacted_while_writers_go_on() {
    let file = TestFile::new("compaction");
    let service = opened(&file.0);
    service.seed_json(r#"{"Blogs":[], "Empty":[]}"#).unwrap();
    std::thread::scope(|scope| {
        for partition in ["a", "b", "c"] {
            let service = &service;
            scope.spawn(move || {
                for round in 0..100 {
                    for row in 0..20 {
                        put(service, (partition, row), 100 + round);
                    }
                    if round % 10 == 0 {
                        service.seed_json(&format!("{{\"T{partition}{round}\":[]}}")).unwrap();
                        send(
                            service,
                            Method::DELETE,
                            &format!("/Tables('T{partition}{round}')"),
                            "",
                        );
                    }
                }
            });
        }
        // On Windows, the lock of the file prevents reading too.
        #[cfg(unix)]
        scope.spawn(|| {
            let copy = file.0.with_file_name("copy.tables");
            for _ in 0..10 {
                fs::copy(&file.0, &copy).unwrap();
                drop(opened(&copy));
            }
            fs::remove_file(copy).unwrap();
        });
    });
    compact(&service, &file.0);
    let before = content(&service);
    drop(service);
    assert_eq!(content(&opened(&file.0)), before);
    let names = fs::read_dir(file.0.parent().unwrap()).unwrap().count();
    assert_eq!(names, 1, "no other file is left");
}

#[test]
fn versions_do_not_repeat_after_a_compaction() {
    let file = TestFile::new("versions");
    let last = || {
        let opened = super::Disk::open(&file.0, ServiceDialect::default()).unwrap();
        let store = opened.store.read().unwrap();
        (store.last_deleted, store.table("Blogs").map(|table| table.last_deleted()))
    };
    let service = opened(&file.0);
    service.seed_json(r#"{"Blogs":[], "Gone":[{"PartitionKey":"p","RowKey":"r"}]}"#).unwrap();
    send(&service, Method::DELETE, "/Tables('Gone')", "");
    put(&service, ("p", 0), 1);
    send(&service, Method::DELETE, "/Blogs(PartitionKey='p',RowKey='0000')", "");
    drop(service);
    let before = last();
    assert!(before.1.unwrap() > crate::edm::EdmDateTime::MIN, "{before:?}");
    let service = opened(&file.0);
    compact(&service, &file.0);
    drop(service);
    let after = last();
    assert!(after.0.max(after.1.unwrap()) >= before.0.max(before.1.unwrap()));
    assert!(after.1 >= before.1, "{before:?} {after:?}");
}

#[test]
fn other_formats_are_refused_with_advice() {
    let file = TestFile::new("formats");
    for bytes in [&b""[..], b"redb\x1A\x0A\xA9\x0D\x0A", &[0; 10_000]] {
        fs::write(&file.0, bytes).unwrap();
        let refusal = refusal(&file.0);
        assert!(refusal.contains("one.tables cannot be opened: "), "{refusal}");
        assert!(refusal.contains("is not a data file of the emulator"), "{refusal}");
        assert!(refusal.ends_with("restore or move the file"), "{refusal}");
        assert_eq!(fs::read(&file.0).unwrap(), bytes, "the file is unchanged");
    }
    fs::remove_file(&file.0).unwrap();
    drop(opened(&file.0));
    let newer = super::log::header(3, 0, 7);
    let mut bytes = fs::read(&file.0).unwrap();
    bytes[..newer.len()].copy_from_slice(&newer);
    fs::write(&file.0, bytes).unwrap();
    let refusal = refusal(&file.0);
    assert!(refusal.contains("has format 3, and this version reads only format 2"), "{refusal}");
}

#[test]
fn a_file_of_the_other_dialect_is_refused_and_unchanged() {
    let build =
        |dialect, path: &Path| TableService::builder().dialect(dialect).loose(true).open(path);
    let [storage, cosmos] = [Dialect::AzureStorage, Dialect::CosmosDb];
    for (own, other, reason) in [
        (
            storage,
            cosmos,
            "the file has the dialect of Azure Storage, and the service that of Cosmos DB:",
        ),
        (
            cosmos,
            storage,
            "the file has the dialect of Cosmos DB, and the service that of Azure Storage:",
        ),
    ] {
        let file = TestFile::new("dialect");
        let service = build(own, &file.0).unwrap();
        service.seed_json(r#"{"Blogs":[{"PartitionKey":"p","RowKey":"r"}]}"#).unwrap();
        compact(&service, &file.0);
        drop(service);
        let before = fs::read(&file.0).unwrap();
        let error = build(other, &file.0).unwrap_err();
        let shown = std::error::Error::source(&error).unwrap().to_string();
        assert!(shown.contains(reason), "{shown}");
        assert_eq!(fs::read(&file.0).unwrap(), before, "{own:?}");
        assert_eq!(build(own, &file.0).unwrap().row_count("Blogs"), Some(2));
    }
}

#[test]
fn a_table_that_another_spelling_deleted_stays_deleted() {
    let file = TestFile::new("spelling");
    let service = opened(&file.0);
    service.seed_json(r#"{"Blogs":[], "Posts":[]}"#).unwrap();
    send(&service, Method::DELETE, "/Tables('blogs')", "");
    assert!(service.remove_table("POSTS"));
    drop(service);
    // The log has the stored names: it can be read without regard to the rules for names.
    let mut deleted = Vec::new();
    let read = |content: &[u8]| {
        if let JournalEntry::Deleted(name) = super::entry::read(content)? {
            deleted.push(name.to_string());
        }
        Some(())
    };
    Log::open(&file.0, ServiceDialect::AzureStorage, read).unwrap();
    assert_eq!(deleted, ["Blogs", "Posts"]);
    assert_eq!(opened(&file.0).table_names().len(), 0);
}

#[test]
fn an_invalid_record_ends_the_reading_ahead() {
    let file = TestFile::new("invalid");
    let mut log = Log::open(&file.0, ServiceDialect::AzureStorage, |_| Some(())).unwrap();
    (0..1000_u32).for_each(|number| log.add(&number.to_le_bytes()));
    let (start, record) = (log.length(), 4 + 16 + 4);
    log.commit().unwrap();
    assert_eq!(log.length(), start + 1000 * record);
    drop(log);
    let mut read = 0;
    let opened = Log::open(&file.0, ServiceDialect::AzureStorage, |_| {
        read += 1;
        (read <= 500).then_some(())
    });
    let expected = start + 500 * record;
    assert!(matches!(opened, Err(OpenError::Damaged { at }) if at == expected), "{opened:?}");
    assert_eq!(read, 501);
}

#[test]
fn a_file_has_one_process() {
    let file = TestFile::new("lock");
    let service = opened(&file.0);
    assert!(refusal(&file.0).ends_with("another process uses the file"));
    drop(service);
    drop(opened(&file.0));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let file = TestFile::new("mode");
    let mode = || fs::metadata(&file.0).unwrap().permissions().mode() & 0o777;
    drop(opened(&file.0));
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&file.0, fs::Permissions::from_mode(0o664)).unwrap();
    drop(opened(&file.0));
    assert_eq!(mode(), 0o600, "an older file too");
}

#[cfg(unix)]
#[test]
fn a_compaction_keeps_a_symbolic_link() {
    let file = TestFile::new("link");
    let link = file.0.with_file_name("link.tables");
    drop(opened(&file.0));
    std::os::unix::fs::symlink(&file.0, &link).unwrap();
    let service = opened(&link);
    service.seed_json(r#"{"Blogs":[]}"#).unwrap();
    compact(&service, &file.0);
    drop(service);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(opened(&file.0).row_count("Blogs"), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_commit_is_written_again() {
    let file = TestFile::new("full");
    let mut records = Vec::new();
    let mut open = || {
        records.clear();
        let log = Log::open(&file.0, ServiceDialect::AzureStorage, |record| {
            records.push(record.to_vec());
            Some(())
        });
        log.map(|log| (log, records.clone()))
    };
    let (mut log, _) = open().unwrap();
    log.add(b"one");
    log.commit().unwrap();
    let full = fs::OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
    let real = log.replace_file(full);
    log.add(b"two");
    let error = log.commit().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    log.add(b"three");
    assert!(log.commit().is_err());
    log.replace_file(real);
    log.commit().unwrap();
    drop(log);
    let (log, records) = open().unwrap();
    assert_eq!(records, [&b"one"[..], b"two", b"three"]);
    drop(log);
    assert!(matches!(
        Log::open(Path::new("/"), ServiceDialect::AzureStorage, |_| None),
        Err(OpenError::Io(_))
    ));
}
