//! `azure-table-conformance live` on the emulator.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[cfg(target_os = "linux")]
use std::io::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use azure_table_client::TableServiceClient;
use azure_table_client::client::{CorsRule, ServiceProperties};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

/// The arguments of the emulator, one in a line.
const ARGUMENTS: &str = "AZURE_TABLE_LIVE_TESTS_EMULATOR";
const ACCOUNT: &str = "planted";
const SETTINGS: &str = "azure-table-conformance-settings.xml";
/// The known differences of the emulator.
const STORAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/differences/emulator.tsv");
const COSMOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/differences/emulator-cosmos.tsv");

/// The key of the emulator, which no output may have.
fn key() -> String {
    BASE64_STANDARD.encode("a planted key, which no output may have")
}

/// The emulator in a process of its own: this test binary, started by [`Emulator::start`].
#[test]
#[ignore = "the emulator that the other tests start"]
fn emulator() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    azure_table_emulator::run(arguments.lines().map(Into::into), |_| None);
}

/// A running emulator on a free port, which is killed on drop.
struct Emulator {
    child: Child,
    endpoint: String,
}

impl Emulator {
    fn start(options: &[&str]) -> Self {
        let key = key();
        let account = ["--port", "0", "--account", ACCOUNT, "--account-key", &key];
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "emulator", "--nocapture"])
            .env(ARGUMENTS, [&account, options].concat().join("\n"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let endpoint = lines
            .filter_map(|line| line.split_once("listening on ").map(|it| it.1.to_owned()))
            .find(|endpoint| endpoint.ends_with(ACCOUNT))
            .expect("the emulator ended");
        Self { child, endpoint }
    }

    fn connection_string(&self) -> String {
        format!("AccountName={ACCOUNT};AccountKey={};TableEndpoint={}", key(), self.endpoint)
    }

    /// The program with a small run on this emulator, in a folder.
    fn live(&self, folder: &Folder, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_azure-table-conformance"));
        command
            .arg("live")
            .args(arguments)
            .current_dir(&folder.0)
            .env("AZURE_STORAGE_CONNECTION_STRING", self.connection_string())
            .env("AZURE_TABLE_LIVE_SMALL", "1")
            .env_remove("AZURE_TABLE_LIVE_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn service(&self) -> TableServiceClient {
        TableServiceClient::from_connection_string(&self.connection_string()).unwrap()
    }

    fn tables(&self) -> Vec<String> {
        block_on(async { self.service().list_tables().await }).unwrap()
    }

    fn settings(&self) -> ServiceProperties {
        block_on(async { self.service().properties().await }).unwrap()
    }

    fn set_settings(&self, settings: &ServiceProperties) {
        block_on(async { self.service().set_properties(settings).await }).unwrap();
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("azure-table-live-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The only report in a folder.
fn report(folder: &Path) -> String {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let reports: Vec<_> = files.filter(|it| it.extension().is_some_and(|it| it == "md")).collect();
    assert_eq!(reports.len(), 1, "{reports:?}");
    let name = reports[0].file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with("-emulator.md"), "{name}");
    std::fs::read_to_string(&reports[0]).unwrap()
}

/// Checks a run that passed: its output and its report have no secret, and no table is left. Returns the report.
fn passed(emulator: &Emulator, folder: &Folder, output: &Output, secrets: &[&str]) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let report = report(&folder.0);
    let key = key();
    for secret in [&*key, ACCOUNT, "sig=", "127.0.0.1", "SharedKey planted"].iter().chain(secrets) {
        for text in [&out, &err, &report] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
    assert_eq!(emulator.tables(), Vec::<String>::new());
    assert!(report.starts_with("# Live run: emulator\n"), "{report}");
    for section in ["cases", "behaviors", "throttling", "lost-responses"] {
        assert!(report.contains(&format!("| {section} | passed |")), "{report}");
    }
    report
}

#[test]
fn the_dialect_of_storage_over_http() {
    let (emulator, folder) = (Emulator::start(&[]), Folder::new("storage"));
    let output = emulator.live(&folder, &["--yes", "--known", STORAGE]).output().unwrap();
    let report = passed(&emulator, &folder, &output, &[]);
    assert!(report.contains("| entra | skipped: tokens need HTTPS |"), "{report}");
    assert!(report.contains("- Result: passed, 1 section skipped\n"), "{report}");
    assert!(report.contains("| secondary | passed | 3 |"), "{report}");
    assert!(report.contains("### Open points, and the responses of this server"), "{report}");
    assert!(report.contains("48 writes: "), "{report}");
}

#[test]
fn the_dialect_of_cosmos_db_over_http() {
    let emulator = Emulator::start(&["--dialect", "cosmos"]);
    let folder = Folder::new("cosmos");
    let arguments = ["--yes", "--dialect", "cosmos", "--known", COSMOS];
    let output = emulator.live(&folder, &arguments).output().unwrap();
    let report = passed(&emulator, &folder, &output, &[]);
    assert!(report.contains("- Dialect: Cosmos DB\n"), "{report}");
    assert!(report.contains("| secondary | skipped: "), "{report}");
}

/// A token that the emulator accepts.
fn token() -> String {
    let now = chrono::Utc::now().timestamp();
    let claims = serde_json::json!({
        "aud": "https://storage.azure.com", "iss": "https://sts.windows.net/tenant/",
        "iat": now - 60, "nbf": now - 60, "exp": now + 3600,
        "oid": "00000000-0000-0000-0000-000000000001", "tid": "00000000-0000-0000-0000-000000000002",
    });
    let part = |value: &serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.c2lnbmF0dXJl", part(&serde_json::json!({"alg": "RS256"})), part(&claims))
}

#[test]
fn https_with_a_token() {
    let folder = Folder::new("https");
    let certificates = folder.0.join("certificates");
    let option = format!("--self-signed={}", certificates.display());
    let emulator = Emulator::start(&[&option, "--oauth", "basic"]);
    let ca = certificates.join("ca.pem");
    let token = token();
    let arguments = ["--yes", "--ca", ca.to_str().unwrap()];
    let sections = ["--only", "entra", "--only", "secondary", "--only", "lost-responses"];
    let mut command = emulator.live(&folder, &[&arguments[..], &sections].concat());
    let output = command.env("AZURE_TABLE_LIVE_TOKEN", &token).output().unwrap();
    // The client of `passed` does not trust the certificate.
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let report = report(&folder.0);
    assert!(report.contains("| entra | passed | 5 |"), "{report}");
    for secret in [&*token, &*key(), "sig=", ACCOUNT] {
        assert!(!report.contains(secret) && !out.contains(secret), "{secret}");
    }
}

/// The settings from before a run.
fn own_settings() -> ServiceProperties {
    let rule = CorsRule {
        allowed_origins: vec!["https://own.example".to_owned()],
        allowed_methods: vec!["GET".to_owned()],
        ..CorsRule::default()
    };
    ServiceProperties { cors: Some(vec![rule]), ..ServiceProperties::default() }
}

/// Sends a signal to a run that has changed the settings of the service. Returns the settings from before.
#[cfg(unix)]
fn stop_with_changed_settings(
    emulator: &Emulator,
    folder: &Folder,
    signal: &str,
) -> (ServiceProperties, Output) {
    emulator.set_settings(&own_settings());
    let before = emulator.settings();
    let arguments = ["--yes", "--only", "cases"];
    let mut child = emulator.live(folder, &arguments).spawn().unwrap();
    let file = folder.0.join(SETTINGS);
    while std::fs::metadata(&file).map_or(0, |it| it.len()) == 0 {
        assert_eq!(child.try_wait().unwrap(), None, "the settings were not kept");
    }
    // As a case does, which may be too fast to be seen.
    emulator.set_settings(&ServiceProperties { cors: Some(Vec::new()), ..own_settings() });
    assert!(
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success()
    );
    (before, child.wait_with_output().unwrap())
}

#[cfg(unix)]
#[test]
fn a_signal_restores_the_settings() {
    let folder = Folder::new("settings");
    for signal in ["-INT", "-HUP"] {
        let emulator = Emulator::start(&[]);
        let (before, output) = stop_with_changed_settings(&emulator, &folder, signal);
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stdout));
        assert_eq!(emulator.settings(), before);
        assert!(!folder.0.join(SETTINGS).exists());
    }
}

#[cfg(unix)]
#[test]
fn a_file_restores_the_settings_after_a_kill() {
    use std::os::unix::fs::PermissionsExt as _;

    let (emulator, folder) = (Emulator::start(&[]), Folder::new("killed"));
    let (before, _) = stop_with_changed_settings(&emulator, &folder, "-KILL");
    let file = folder.0.join(SETTINGS);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    emulator.set_settings(&ServiceProperties { cors: Some(Vec::new()), ..own_settings() });

    let refused = emulator.live(&folder, &["--yes", "--only", "cases"]).output().unwrap();
    let err = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{err}");
    assert!(err.contains("live --restore-settings azure-table-conformance-settings.xml"), "{err}");

    let restored = emulator.live(&folder, &["--restore-settings", SETTINGS]).output().unwrap();
    assert_eq!(restored.status.code(), Some(0), "{}", text(&restored.stderr));
    assert_eq!(emulator.settings(), before);
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_no_table() {
    let folder = Folder::new("signal");
    for (signal, section) in [("-INT", "cases"), ("-TERM", "behaviors")] {
        let emulator = Emulator::start(&[]);
        let child = emulator.live(&folder, &["--yes", "--only", section]).spawn().unwrap();
        while emulator.tables().iter().all(|name| name == "livelock") {
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stdout));
        assert_eq!(emulator.tables(), Vec::<String>::new());
    }
}

#[test]
fn a_named_section_that_is_skipped_fails() {
    let (emulator, folder) = (Emulator::start(&[]), Folder::new("skipped"));
    let output = emulator.live(&folder, &["--yes", "--only", "entra"]).output().unwrap();
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.contains("failed, 1 section skipped"), "{out}");
}

#[test]
fn a_second_run_is_refused() {
    let (emulator, folder) = (Emulator::start(&[]), Folder::new("second"));
    block_on(async { emulator.service().create_table("livelock").await }).unwrap();
    let output = emulator.live(&folder, &["--yes"]).output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("the table livelock exists") && err.contains("delete the table"), "{err}");
    assert_eq!(emulator.tables(), ["livelock"]);
}

#[test]
fn a_wrong_key_ends_with_one_line() {
    let (emulator, folder) = (Emulator::start(&[]), Folder::new("key"));
    let wrong = BASE64_STANDARD.encode("a wrong key, which no output may have");
    let arguments = ["--yes", "--endpoint", &emulator.endpoint, "--key", &wrong];
    let output = emulator.live(&folder, &arguments).output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("the account cannot be used") && err.contains("Authentication"), "{err}");
    assert!(!err.contains(&wrong) && !err.contains(ACCOUNT), "{err}");
}

#[test]
fn without_a_terminal_the_run_needs_a_yes() {
    let (emulator, folder) = (Emulator::start(&[]), Folder::new("question"));
    let output = emulator.live(&folder, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("without a terminal, live needs --yes"));
}

/// On a terminal, the run names the account and asks; without consent nothing is sent.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_asked() {
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let (emulator, folder) = (Emulator::start(&[]), Folder::new("terminal"));
    for (answer, code) in [("n\n", 2), ("\n", 2), ("y\n", 0)] {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let input = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        std::fs::File::from(terminal.try_clone().unwrap()).write_all(answer.as_bytes()).unwrap();
        let mut command = emulator.live(&folder, &["--only", "secondary"]);
        let output = command.stdin(input).output().unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{answer:?}: {out}{err}");
        let question =
            format!("about 12 requests (about 1 min) to {}. Continue?", emulator.endpoint);
        assert!(out.contains(&question), "{out}");
        assert_eq!(err.contains("nothing was sent"), code == 2, "{err}");
    }
}
