//! The code that the examples share: the connection to a service, the printed steps, and tables and colours for the
//! terminal.

#![expect(clippy::print_stdout, reason = "examples print")]

use std::error::Error;
use std::fmt;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpTransport, ResponseFuture, Transport};
use azure_table_client::{TableServiceClient, TableServiceClientBuilder};

const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Connects to the account of `AZURE_STORAGE_CONNECTION_STRING`, or to the mock if it is not set.
///
/// # Errors
/// The connection string cannot be used.
pub fn connect() -> Result<(TableServiceClient, Steps), Box<dyn Error>> {
    connect_through(|transport| transport)
}

/// Like [`connect`], through a transport that `wrap` returns for the transport to the service.
///
/// # Errors
/// The connection string cannot be used.
pub fn connect_through(
    wrap: impl FnOnce(Arc<dyn Transport>) -> Arc<dyn Transport>,
) -> Result<(TableServiceClient, Steps), Box<dyn Error>> {
    let (builder, mock) = builder()?;
    build(builder, mock, wrap)
}

/// Like [`connect`], with the mock if it is used, for its faults.
///
/// # Errors
/// The connection string cannot be used.
pub fn connect_with_mock()
-> Result<(TableServiceClient, Option<MockTableService>, Steps), Box<dyn Error>> {
    let (builder, mock) = builder()?;
    let (service, steps) = build(builder, mock.clone(), |transport| transport)?;
    Ok((service, mock, steps))
}

fn build(
    builder: TableServiceClientBuilder,
    mock: Option<MockTableService>,
    wrap: impl FnOnce(Arc<dyn Transport>) -> Arc<dyn Transport>,
) -> Result<(TableServiceClient, Steps), Box<dyn Error>> {
    let transport: Arc<dyn Transport> = match mock {
        Some(mock) => mock.transport(),
        None => Arc::new(HttpTransport::new(MAX_RESPONSE_BYTES)?),
    };
    let steps = Steps::counting(wrap(transport));
    let service = builder.transport(steps.transport()).build()?;
    Ok((service, steps))
}

/// Returns a table name that is unique to this run, since the name of a deleted table stays in use for a while.
pub fn unique(name: &str) -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{name}{:x}{:x}", time.as_micros(), std::process::id())
}

/// Returns the builder of a client, for examples that configure their own, and the mock if it is used.
///
/// # Errors
/// The connection string cannot be used.
pub fn builder() -> Result<(TableServiceClientBuilder, Option<MockTableService>), Box<dyn Error>> {
    if let Ok(text) = std::env::var(CONNECTION_STRING) {
        let name = Style::Cyan.of(CONNECTION_STRING);
        println!("Running on the endpoint of {name}.\n");
        return Ok((TableServiceClient::builder_from_connection_string(&text)?, None));
    }
    let name = Style::Cyan.of(CONNECTION_STRING);
    println!("Running on the mock; set {name} for a real service.\n");
    let mock = MockTableService::new();
    Ok((mock.client_builder(), Some(mock)))
}

/// Returns `true` if the service is Azurite, which ignores the range of keys of a signature.
pub async fn is_azurite(service: &TableServiceClient, transport: Arc<dyn Transport>) -> bool {
    let (Ok(method), Ok(uri)) = ("GET".parse(), service.endpoint().parse()) else { return false };
    let response = transport.send(HttpRequest::new(method, uri)).await;
    let server = response.ok().and_then(|response| response.headers.get("server").cloned());
    server.is_some_and(|server| server.as_bytes().starts_with(b"Azurite"))
}

/// Counts the requests that are sent: any transport can be wrapped like this.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Transport>,
    requests: Arc<AtomicUsize>,
}

impl Transport for Counting {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.inner.send(request)
    }
}

/// Prints each step with the number of its requests.
#[derive(Debug)]
pub struct Steps {
    transport: Arc<dyn Transport>,
    requests: Arc<AtomicUsize>,
    counted: usize,
    printed: usize,
}

impl Steps {
    /// Counts the requests of the clients that use [`transport`](Self::transport).
    pub fn counting(transport: Arc<dyn Transport>) -> Self {
        let requests = Arc::new(AtomicUsize::new(0));
        let counting = Counting { inner: transport, requests: Arc::clone(&requests) };
        Self { transport: Arc::new(counting), requests, counted: 0, printed: 0 }
    }

    /// The transport to the service, for a client with another credential.
    pub fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.transport)
    }

    /// Prints a completed step. The lines of its result are wrapped and indented.
    pub fn done(&mut self, what: &str, result: impl AsRef<str>) {
        let sent = self.requests.load(Ordering::Relaxed);
        self.printed += 1;
        let what = format!("{what:STEP_COLUMNS$}");
        let count = plural(sent - self.counted, "request");
        // The digits are aligned, not the ends of the words.
        let count = format!("{:width$}{count}", "", width = 5_usize.saturating_sub(digits(&count)));
        println!("{:2}. {} {}", self.printed, Style::Bold.of(what), Style::Dim.of(count));
        for line in result.as_ref().lines().flat_map(wrapped) {
            println!("    {}", line.trim_end());
        }
        self.counted = sent;
    }

    /// Prints the totals.
    pub fn total(&self) {
        let steps = plural(self.printed, "step");
        let requests = plural(self.requests.load(Ordering::Relaxed), "request");
        println!("\n{} {steps}, {requests}.", Style::Green.of("Done:"));
    }
}

const STEP_COLUMNS: usize = 72;
const TEXT_COLUMNS: usize = 96;

/// Returns a number with its noun: `1 row`, `2 rows`.
pub fn plural(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn digits(text: &str) -> usize {
    text.chars().take_while(char::is_ascii_digit).count()
}

/// Breaks a line between words.
fn wrapped(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    // Aligned cells and JSON stay as they are.
    let is_fixed = line.contains("  ") || line.starts_with('{');
    for word in line.split_inclusive(' ') {
        match lines.last_mut() {
            Some(last) if is_fixed || last.is_empty() || fits(last, word) => last.push_str(word),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn fits(line: &str, word: &str) -> bool {
    line.chars().count() + word.trim_end().chars().count() <= TEXT_COLUMNS
}

/// A style of a text on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Headings.
    Bold = 1,
    /// Details.
    Dim = 2,
    /// Failures.
    Red = 31,
    /// Success.
    Green = 32,
    /// Warnings.
    Yellow = 33,
    /// Names.
    Cyan = 36,
}

impl Style {
    /// Returns the text in this style; plain if the output is not a terminal, or if `NO_COLOR` is set.
    pub fn of(self, text: impl fmt::Display) -> String {
        static HAS_COLOURS: LazyLock<bool> = LazyLock::new(|| {
            let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
            // Older consoles of Windows print the codes.
            let is_capable = match variable("TERM") {
                Some(term) => term != "dumb",
                None => !cfg!(windows) || variable("WT_SESSION").is_some(),
            };
            is_capable && variable("NO_COLOR").is_none() && std::io::stdout().is_terminal()
        });
        if *HAS_COLOURS { self.paint(text) } else { text.to_string() }
    }

    /// Returns the status of an HTTP response in its colour.
    pub fn of_status(status: u16) -> String {
        match status {
            ..400 => Self::Green,
            400..500 => Self::Yellow,
            _ => Self::Red,
        }
        .of(status)
    }

    fn paint(self, text: impl fmt::Display) -> String {
        format!("\x1b[{}m{text}\x1b[0m", self as u8)
    }
}

/// Returns the text without styles.
fn plain(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default();
    parts.fold(first.to_owned(), |plain, part| {
        plain + part.split_once('m').map_or(part, |(_, text)| text)
    })
}

/// Rows of text in aligned columns, below a heading.
#[derive(Debug)]
pub struct Columns(Vec<Vec<String>>);

impl Columns {
    /// Creates a table with this heading.
    pub fn new<const N: usize>(heading: [&str; N]) -> Self {
        Self(vec![heading.map(str::to_owned).to_vec()])
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.0.push(Vec::from(cells));
    }
}

/// Columns of numbers are aligned at the right.
impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = |column: usize| self.0.iter().filter_map(move |row| row.get(column));
        let count = self.0.iter().map(Vec::len).max().unwrap_or_default();
        let layout: Vec<(usize, bool)> = (0..count)
            .map(|column| {
                let width = cells(column).map(|cell| plain(cell).chars().count()).max();
                let is_number =
                    |cell: &String| plain(cell).starts_with(|c: char| c.is_ascii_digit());
                (width.unwrap_or_default(), cells(column).skip(1).all(is_number))
            })
            .collect();
        for (number, row) in self.0.iter().enumerate() {
            let padded = row.iter().zip(&layout).map(|(cell, &(width, is_number))| {
                let space = " ".repeat(width - plain(cell).chars().count());
                if is_number { space + cell } else { cell.clone() + &space }
            });
            let line = padded.collect::<Vec<_>>().join("  ");
            let line = line.trim_end();
            match number {
                0 => f.write_str(&Style::Dim.of(line))?,
                _ => write!(f, "\n{line}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Columns, Style, plain, wrapped};

    #[test]
    fn numbers_are_aligned_at_the_right() {
        let mut columns = Columns::new(["tenant", "rows"]);
        columns.row(["acme".to_owned(), "9".to_owned()]);
        columns.row([Style::Cyan.paint("globex inc"), Style::Red.paint("1200")]);
        assert_eq!(
            plain(&columns.to_string()),
            "tenant      rows\nacme           9\nglobex inc  1200"
        );
    }

    #[test]
    fn lines_break_between_words() {
        let lines = wrapped("word ".repeat(40).trim_end());
        assert_eq!(lines.iter().map(|line| line.trim_end().len()).collect::<Vec<_>>(), [94, 94, 9]);
        assert_eq!(wrapped(&"x".repeat(200)).len(), 1);
    }

    #[test]
    fn a_style_ends_with_its_text() {
        assert_eq!(Style::Red.paint("no"), "\u{1b}[31mno\u{1b}[0m");
    }
}
