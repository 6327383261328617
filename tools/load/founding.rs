//! The figures of the documents that this project was created from, measured: `load founding PROGRAM [SECONDS]`.
//!
//! The emulator of the program accepts as many entities per second as a partition or an account of the documents.

use std::io::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use azure_table_client::client::ServiceVersion;
use azure_table_client::transport::{HttpRequest, HyperTransport, ResponseFuture, Transport};
use azure_table_client::{Metadata, PayloadFormat, measure};
use bytes::Bytes;

use super::scale::{Entry, Rows, builder};
use super::server::Server;

/// The rows of a page.
const PAGE: u32 = 1000;
/// The decodings of a page.
const ROUNDS: u32 = 200;
/// The last version that has both formats.
const VERSION: ServiceVersion = ServiceVersion::V2015_07_08;
/// The targets of a partition and of an account, in entities per second.
const PARTITION_TARGET: u32 = 2000;
const ACCOUNT_TARGET: u32 = 20_000;
/// The partitions of the runs at the account's target: at the target of each of them, and at a fifth of it.
const FEW: u32 = ACCOUNT_TARGET / PARTITION_TARGET;
const MANY: u32 = 5 * FEW;

pub(crate) async fn run(arguments: &[String]) -> Result<()> {
    let usage = || Error::other("load founding PROGRAM [SECONDS]");
    let program = arguments.first().ok_or_else(usage)?;
    let seconds = arguments.get(1).map_or(Ok(15), |text| text.parse()).map_err(|_| usage())?;
    let page = Page::measure(program).await?;
    let partition = limited(program, PARTITION_TARGET, 1, seconds).await?;
    let few = limited(program, ACCOUNT_TARGET, FEW, seconds).await?;
    let many = limited(program, ACCOUNT_TARGET, MANY, seconds).await?;
    println!("| figure | then | ours |\n| --- | --- | --- |");
    println!(
        "| decoding an entity (paper, 9.7.1: class and table names differ) | 8 to 15 ms | {:.2} us |",
        page.decode
    );
    println!("| JSON instead of Atom (checklist) | 75 % fewer bytes | {} |", page.bytes);
    println!("| a partition (checklist), entities/s | {PARTITION_TARGET} | {partition} |");
    println!("| an account, {FEW} partitions | {ACCOUNT_TARGET} | {few} |");
    println!("| an account, {MANY} partitions | {ACCOUNT_TARGET} | {many} |");
    Ok(())
}

/// The cost of a page of entities with ten properties.
struct Page {
    /// The time to decode an entity, in microseconds.
    decode: f64,
    /// The bytes of an entity in each format.
    bytes: String,
}

/// Keeps the body of the last response.
#[derive(Debug)]
struct KeepsBody {
    transport: HyperTransport,
    body: Mutex<Bytes>,
}

impl Transport for KeepsBody {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(async {
            let response = self.transport.send(request).await?;
            *self.body.lock().unwrap_or_else(PoisonError::into_inner) = response.body.clone();
            Ok(response)
        })
    }
}

impl Page {
    async fn measure(program: &str) -> Result<Self> {
        let server = Server::start(&format!("{program} --port {{port}}")).await?;
        let table = builder(&server)?.build().map_err(Error::other)?.table::<Entry>();
        table.create().await.map_err(Error::other)?;
        let rows = Rows { count: PAGE, partitions: 1 };
        table.bulk().run(rows.inserts()).await.map_err(Error::other)?;
        let atom = page(&server, PayloadFormat::Atom).await?;
        let minimal = page(&server, Metadata::Minimal.into()).await?;
        let none = page(&server, Metadata::None.into()).await?;
        let saved = |json: &Bytes| 100 - 100 * json.len() / atom.len();
        let bytes = format!("{} % fewer with types, {} % without", saved(&minimal), saved(&none));
        let begun = Instant::now();
        for _ in 0..ROUNDS {
            let entities: Option<Vec<Entry>> = measure::decode_page(&minimal);
            if entities.is_none_or(|entities| entities.len() != PAGE as usize) {
                return Err(Error::other("the page has other entities"));
            }
        }
        let decode = begun.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS * PAGE);
        Ok(Self { decode, bytes })
    }
}

/// The body of a page in this format.
async fn page(server: &Server, format: PayloadFormat) -> Result<Bytes> {
    let transport =
        Arc::new(KeepsBody { transport: HyperTransport::new(), body: Mutex::default() });
    let builder = builder(server)?.transport(Arc::<KeepsBody>::clone(&transport));
    let builder = builder.service_version(VERSION).format(format);
    builder.build().map_err(Error::other)?.table::<Entry>().query().await.map_err(Error::other)?;
    let body = transport.body.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(body.clone())
}

/// A bulk run through an emulator with the targets of partitions and of the account. Its rate does not count the burst
/// of one second that the emulator accepts at once.
async fn limited(program: &str, target: u32, partitions: u32, seconds: u32) -> Result<String> {
    let limits = [("throttle", PARTITION_TARGET), ("throttle_account", ACCOUNT_TARGET)];
    let faults = limits.map(|(fault, rate)| {
        format!(r#"{{"fault":"{fault}","entities_per_second":{rate},"on":"writes"}}"#)
    });
    let name = format!("limits-{}.json", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, format!("[{}]", faults.join(",")))?;
    let command = format!("{program} --port {{port}} --faults {}", file.display());
    let server = Server::start(&command).await;
    std::fs::remove_file(&file)?;
    let server = server?;
    let table = builder(&server)?.build().map_err(Error::other)?.table::<Entry>();
    table.create().await.map_err(Error::other)?;
    let rows = Rows { count: target * (seconds + 1), partitions };
    let begun = Instant::now();
    let report = table.bulk().run(rows.inserts()).await.map_err(Error::other)?;
    let rate = f64::from(target * seconds) / begun.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let share = report.progress.throttled as f64 / report.progress.requests as f64;
    Ok(format!("{rate:.0}; 503 for {:.1} % of requests", share * 100.0))
}
