//! The sessions in the documentation: each command prints what its page shows.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Emulator, Folder};

const MARK: &str = "--- next command ---";
/// The section of `docs/query.md` with sessions on a table of its own.
const COUNT: &str = "\n## Count\n";

/// Reads a page of the crate.
fn read(page: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()
}

/// A shell in an empty folder, with `azure-table` in its PATH and an emulator as its account.
struct Shell {
    emulator: Emulator,
    /// The account of the variable `NEW`; that of `OLD` is the first one.
    other: Emulator,
    folder: Folder,
}

impl Shell {
    fn new() -> Self {
        Self { emulator: Emulator::start(), other: Emulator::start(), folder: Folder::new() }
    }

    /// Runs a script and returns its output, with the errors between.
    fn run(&self, script: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_azure-table")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("bash");
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AZURE_"))
        {
            shell.env_remove(name);
        }
        let output = shell
            .args(["-c", &format!("exec 2>&1 </dev/null\n{script}")])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", program.display()))
            .env("AZURE_STORAGE_CONNECTION_STRING", self.emulator.connection_string())
            .env("OLD", self.emulator.connection_string())
            .env("NEW", self.other.connection_string())
            .output()
            .unwrap();
        let endpoint = format!("{}/devstoreaccount1", self.emulator.origin);
        String::from_utf8(output.stdout)
            .unwrap()
            .replace(&endpoint, "https://account.table.core.windows.net")
            .replace("devstoreaccount1", "account")
            // The emulator has no certificate, so the signature permits HTTP too.
            .replace("https,http", "https")
    }

    /// Runs the sessions of a page, or of a part of it, and compares their output with the page.
    fn play(&self, page: &str, text: &str) {
        let sessions: Vec<_> = text.split("```console\n").skip(1).collect();
        assert!(!sessions.is_empty(), "{page} shows no session");
        for session in sessions {
            let session = session.split("```").next().unwrap();
            self.compare(page, session);
        }
    }

    fn compare(&self, page: &str, session: &str) {
        let shown: Vec<_> = session.split("$ ").filter(|text| !text.is_empty()).collect();
        let commands = shown.iter().map(|text| text.lines().next().unwrap());
        // The mark must not change `$?`.
        let next = format!("\nstatus=$?; echo '{MARK}'; (exit $status)\n");
        let script: Vec<_> = commands.filter(|command| !command.starts_with("export ")).collect();
        let output = self.run(&script.join(&next));
        let outputs: Vec<_> = output.split(&format!("{MARK}\n")).collect();
        let shown = shown.into_iter().filter(|text| !text.starts_with("export "));
        for (shown, output) in shown.zip(outputs) {
            let expected: Vec<_> = shown.lines().skip(1).collect();
            let lines: Vec<_> = output.lines().collect();
            let is_same = expected.len() == lines.len()
                && expected.iter().zip(&lines).all(|(shown, line)| is_as_shown(shown, line));
            assert!(is_same, "{page} shows\n$ {shown}\nbut the command prints\n{output}");
        }
    }
}

/// Compares a line with the page. `…` stands for any text; times, rates and the size of transactions differ in each run.
fn is_as_shown(shown: &str, line: &str) -> bool {
    let words = ["rows/s", "billable requests", "datetime'", "valid until"];
    let is_variable = words.iter().any(|word| shown.contains(word));
    if is_variable {
        return without_digits(shown) == without_digits(line);
    }
    match shown.split_once('…') {
        Some((start, end)) => line.starts_with(start) && line.ends_with(end),
        None => shown == line,
    }
}

fn without_digits(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, ',' | '.')).collect()
}

#[test]
fn the_session_of_the_readme_and_the_queries_of_its_rows() {
    let shell = Shell::new();
    shell.play("README.md", &read("README.md"));
    let page = read("docs/query.md");
    shell.play("docs/query.md", page.split(COUNT).next().unwrap());
}

#[test]
fn the_backup_of_an_account() {
    let shell = Shell::new();
    let prepared = shell.run(
        r"azure-table create Blogs -q; azure-table create Logs -q
        azure-table put Blogs Channel9 2009-04-14 Rating:Edm.Int32=3 -q
        azure-table put Blogs Channel9 2009-04-15 Rating:Edm.Int32=4 -q",
    );
    assert_eq!(prepared, "");
    shell.play("docs/export_import.md", &read("docs/export_import.md"));
}

#[test]
fn differences_between_a_table_and_a_file() {
    let shell = Shell::new();
    let prepared = shell.run(
        r#"set -e
        azure-table create Blogs -q
        for day in 2009-04-15 2009-05-02 2009-05-03; do
            azure-table put Blogs Channel9 $day Rating:Edm.Int32=3 -q
        done
        azure-table export Blogs blogs.jsonl -q
        sed -i 's/"RowKey":"2009-05-02".*/"RowKey":"2009-05-02","Rating":"3","Rating@odata.type":"Edm.Int64","Text":"Hi"}/' blogs.jsonl
        echo '{"PartitionKey":"PDC","RowKey":"1"}' >> blogs.jsonl
        azure-table put Blogs Channel9 2009-04-14 -q
        echo ready"#,
    );
    assert!(prepared.ends_with("ready\n"), "{prepared}");
    shell.play("docs/copy.md", &read("docs/copy.md"));
}

#[test]
fn counts_of_a_table_and_of_its_partitions() {
    let shell = Shell::new();
    let prepared = shell.run(
        r#"set -e
        for partition in 'Channel9 2204' 'Channel10 310' 'PDC 120'; do
            set -- $partition
            for row in $(seq $2); do
                echo "{\"PartitionKey\":\"$1\",\"RowKey\":\"$row\",\"Rating\":$((row % 5))}"
            done
        done > rows.jsonl
        azure-table import rows.jsonl Blogs --create -q
        echo ready"#,
    );
    assert!(prepared.ends_with("ready\n"), "{prepared}");
    shell.play("docs/query.md", read("docs/query.md").split(COUNT).nth(1).unwrap());
}

#[test]
fn an_import_with_a_rate() {
    let shell = Shell::new();
    let prepared = shell.run(
        r#"set -e
        azure-table create Blogs -q
        for row in $(seq 1000); do
            echo "{\"PartitionKey\":\"Channel9\",\"RowKey\":\"$row\",\"Rating\":$((row % 5))}"
        done > blogs.jsonl
        echo ready"#,
    );
    assert!(prepared.ends_with("ready\n"), "{prepared}");
    shell.play("docs/cookbook.md", &read("docs/cookbook.md"));
}

#[test]
fn the_help_of_sas_shows_how_a_signature_is_used() {
    let shell = Shell::new();
    let help = shell
        .run("azure-table create Blogs -q; azure-table put Blogs p r -q; azure-table sas --help");
    let example = help.split("name the source:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    // The emulator has no certificate.
    let example = example.replace("--url", "--url --http");
    let rows = shell.run(&format!("{example} --output raw"));
    assert_eq!(rows, "p\tr\n", "{example}");
}

#[test]
fn the_permissions_of_a_signature() {
    let shell = Shell::new();
    let prepared = shell.run("azure-table create Blogs -q; azure-table sas --table Blogs -p r --expires 1h --http > token");
    assert_eq!(prepared, "");
    let text = read("docs/connection.md");
    let session = text.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let endpoint = format!("{}/devstoreaccount1", shell.emulator.origin);
    let session = session.replacen(
        "$ ",
        &format!(
            "$ unset AZURE_STORAGE_CONNECTION_STRING; AZURE_STORAGE_SAS_TOKEN=$(cat token) \
             AZURE_STORAGE_SERVICE_ENDPOINT={endpoint} "
        ),
        1,
    );
    shell.compare("docs/connection.md", &session);
}
