//! Tests with damaged files: each opens with exactly the written content, or is refused with one error.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fastrand::Rng;
use http::Method;

use crate::service::TableService;
use crate::tests::sized;
use crate::transport::HttpRequest;

const BLOCK: usize = 4096;

/// A file in a folder of its own, which is removed on drop.
pub(super) struct TestFile(pub(super) PathBuf);

impl TestFile {
    pub(super) fn new(name: &str) -> Self {
        let id = uuid::Uuid::from_u128(fastrand::u128(..));
        let folder = std::env::temp_dir().join(format!("mock-data-{name}-{id}"));
        fs::create_dir(&folder).unwrap();
        Self(folder.join("one.tables"))
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().unwrap());
    }
}

pub(super) fn open(path: &Path) -> Result<TableService, crate::error::Error> {
    TableService::builder().loose(true).open(path)
}

/// Sends a request to the account and returns the body of the response.
pub(super) fn send(service: &TableService, method: Method, path: &str, body: &str) -> String {
    let uri = format!("http://127.0.0.1/devstoreaccount1{path}").parse().unwrap();
    let is_delete = method == Method::DELETE;
    let mut request = HttpRequest { body: body.to_owned().into(), ..HttpRequest::new(method, uri) };
    request.headers.insert("x-ms-version", "2019-02-02".parse().unwrap());
    let media_type = if body.starts_with('<') { "application/xml" } else { "application/json" };
    request.headers.insert("content-type", media_type.parse().unwrap());
    if is_delete {
        request.headers.insert("if-match", "*".parse().unwrap());
    }
    let response = service.respond(&request);
    assert!(response.status.is_success(), "{path}: {response:?}");
    String::from_utf8(response.body.to_vec()).unwrap()
}

/// Everything that the service stores: tables, rows, access policies and settings.
pub(super) fn content(service: &TableService) -> Vec<String> {
    let get = |path: &str| send(service, Method::GET, path, "");
    let mut all = vec![get("/Tables"), get("/?restype=service&comp=properties")];
    for table in service.table_names() {
        all.push(get(&format!("/{table}?comp=acl")));
        all.push(get(&format!("/{table}()")));
    }
    all
}

/// Writes tables, rows, policies and settings in several commits.
fn fill(path: &Path) {
    let policies = "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>r\
        </Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
    let settings = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins>\
        <AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>5</MaxAgeInSeconds>\
        <ExposedHeaders>x-ms-*</ExposedHeaders><AllowedHeaders>x-ms-*</AllowedHeaders>\
        </CorsRule></Cors></StorageServiceProperties>";
    for start in 0..3 {
        let service = open(path).unwrap();
        let send = |method, path: &str, body: &str| send(&service, method, path, body);
        for table in ["Blogs", "Posts"] {
            if start == 0 {
                service.seed_json(&format!("{{\"{table}\":[]}}")).unwrap();
                send(Method::PUT, &format!("/{table}?comp=acl"), policies);
            }
            for row in 0..100 {
                let text = "x".repeat((row * 7) % 300);
                let body = format!("{{\"Views\":{row},\"Text\":\"{text}\"}}");
                let keys = format!("/{table}(PartitionKey='p{}',RowKey='{row}')", row % 3);
                send(Method::PUT, &keys, &body);
                if row % 10 == start {
                    send(Method::DELETE, &keys, "");
                }
            }
        }
        send(Method::PUT, "/?restype=service&comp=properties", settings);
    }
}

/// Changes bytes like a faulty disk. Returns a description.
fn damage(bytes: &mut Vec<u8>, random: &mut Rng) -> String {
    let length = bytes.len();
    let at = random.usize(..length);
    let block = at / BLOCK * BLOCK;
    let end = (block + BLOCK).min(length);
    match random.u8(..9) {
        0 => {
            bytes[at] ^= 1 << random.u8(..8);
            format!("one bit at {at}")
        }
        1 => {
            // The first pages have the structure of the file.
            let at = random.usize(..length.min(2 * BLOCK));
            bytes[at] = random.u8(..);
            format!("one byte at {at} in the first blocks")
        }
        2 => {
            for _ in 0..random.usize(2..40) {
                let at = random.usize(..length);
                bytes[at] = random.u8(..);
            }
            "several bytes".into()
        }
        3 => {
            bytes[block..end].fill(0);
            format!("a zeroed block at {block}")
        }
        4 => {
            bytes.truncate(at);
            format!("truncated at {at}")
        }
        5 => {
            bytes.truncate(length - random.usize(1..100));
            "the last bytes are missing".into()
        }
        6 => {
            let from = random.usize(..length) / BLOCK * BLOCK;
            let count = (end - block).min(length - from);
            bytes.copy_within(from..from + count, block);
            format!("the block at {from} again at {block}")
        }
        7 => {
            let count = random.usize(1..2 * BLOCK);
            bytes.extend((0..count).map(|_| random.u8(..)));
            format!("{count} more bytes")
        }
        _ => {
            let sector = at / 512 * 512;
            let end = (sector + 512).min(length);
            random.fill(&mut bytes[sector..end]);
            format!("a random sector at {sector}")
        }
    }
}

#[test]
fn damaged_files_open_unchanged_or_are_refused() {
    let file = TestFile::new("damaged");
    fill(&file.0);
    let expected = content(&open(&file.0).unwrap());
    assert!(expected[5].matches("PartitionKey").count() > 60, "{expected:?}");
    let original = fs::read(&file.0).unwrap();
    let mut random = Rng::with_seed(21);
    let (mut opened, mut refused, mut faults) = (0, 0, Vec::new());
    for _ in 0..sized(50, 3000) {
        let mut bytes = original.clone();
        let what = damage(&mut bytes, &mut random);
        fs::write(&file.0, &bytes).unwrap();
        let read = || open(&file.0).map(|service| content(&service));
        match catch_unwind(AssertUnwindSafe(read)) {
            Ok(Ok(read)) if read == expected => opened += 1,
            Ok(Ok(_)) => faults.push(format!("{what}: wrong content")),
            Ok(Err(_)) => refused += 1,
            Err(_) => faults.push(format!("{what}: panic")),
        }
    }
    let panics = faults.iter().filter(|fault| fault.ends_with("panic")).count();
    let counts = format!(
        "{opened} unchanged, {refused} refused, {} wrong, {panics} panics",
        faults.len() - panics
    );
    assert!(faults.is_empty(), "{counts}\n{}", faults.join("\n"));
    println!("{counts}");
    assert!(opened > 0 && refused > 0, "{counts}");
}

/// Bytes between two records end the valid ones, although those after them continue the chain of checksums.
#[test]
fn bytes_between_records_are_refused() {
    const RECORDS_AT: usize = 4096;
    const HEAD: usize = 20;
    let file = TestFile::new("inserted");
    fill(&file.0);
    let original = fs::read(&file.0).unwrap();
    let mut starts = vec![RECORDS_AT];
    while let Some(length) = original.get(starts[starts.len() - 1]..).and_then(<[u8]>::first_chunk)
    {
        let length = u32::from_le_bytes(*length) as usize;
        starts.push(starts[starts.len() - 1] + HEAD + length);
    }
    // A busy machine writes several changes in one record.
    assert!(starts.len() > 8 && starts.last() == Some(&original.len()), "{starts:?}");
    for ends in starts.windows(2).step_by(starts.len() / 4) {
        let record = &original[ends[0]..ends[1]];
        for inserted in [&[0; HEAD], record] {
            let bytes = [&original[..ends[1]], inserted, &original[ends[1]..]].concat();
            fs::write(&file.0, &bytes).unwrap();
            let is_last = ends[1] == original.len();
            assert_eq!(open(&file.0).is_ok(), is_last, "{ends:?}");
            assert!(is_last || fs::read(&file.0).unwrap() == bytes, "the file is unchanged");
        }
    }
}
