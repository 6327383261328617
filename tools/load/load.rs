//! The measurements.

use std::cell::Cell;
use std::io::{Error, Result};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::LocalSet;

use super::Options;
use super::connection::{Connection, Head};
use super::requests::{ROWS_A_HIT, Requests, continued};
use super::server::Server;

/// One figure of a server.
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// The server's processor time per request, in seconds.
    pub(crate) cpu: Option<f64>,
}

/// The measured kinds of requests. Reads precede writes, so that scans have the same rows on every server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scans,
    Ranges,
    Gets,
    Inserts,
    Transactions,
}

const KINDS: [Kind; 5] = [Kind::Scans, Kind::Ranges, Kind::Gets, Kind::Inserts, Kind::Transactions];

/// What a server can be measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The server without logic: it stores nothing.
    Canned,
    Service,
    /// A service that keeps its data on disk. Only inserts are measured.
    Durable,
}

/// The requests of one round, sent one after the other, and their expected status.
struct Round {
    requests: Vec<Vec<u8>>,
    status: u16,
    /// Whether the requests repeat at the end.
    repeats: bool,
    /// Whether the pages after the first one are read too.
    continues: bool,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Scans => "full scans, 1 % hits",
            Self::Ranges => "ranges of 1,000 rows",
            Self::Gets => "gets",
            Self::Inserts => "inserts",
            Self::Transactions => "transactions of 100 inserts",
        }
    }

    fn is_measured(self, role: Role, only: &str) -> bool {
        let has_role = match role {
            Role::Canned => self != Self::Scans,
            Role::Service => true,
            Role::Durable => self == Self::Inserts,
        };
        has_role && self.name().contains(only)
    }
}

/// Measures a server that has no tables yet.
pub(crate) async fn run(server: &Server, role: Role, options: &Options) -> Result<Vec<Figure>> {
    let rows = options.rows;
    let requests = Requests::to(server.port);
    let mut figures = Vec::new();
    once(server, requests.create_table().await?, 204).await?;

    if role == Role::Service {
        figures.push(figure("start-up, ms", server.start.as_secs_f64() * 1e3));
        let before = server.memory()?;
        measure(server, 4, fill(&requests, rows).await?, Duration::from_secs(60 * 60)).await?;
        let bytes = server.memory()?.saturating_sub(before);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        figures.push(figure("memory, bytes an entity", bytes as f64 / rows as f64));
    }
    for kind in KINDS.into_iter().filter(|kind| kind.is_measured(role, &options.only)) {
        if kind == Kind::Scans {
            check_scan(server, requests.scan().await?, rows / ROWS_A_HIT).await?;
        }
        for connections in [1, 16] {
            let round = round(&requests, kind, connections, options).await?;
            let name = format!("{}, {connections} at once", kind.name());
            let before = if role == Role::Durable { server.commits().await? } else { None };
            let rate = rate(server, name, connections, round, options.time).await?;
            let inserted = rate.value * options.time.as_secs_f64();
            figures.push(rate);
            if let Some(before) = before
                && let Some(after) = server.commits().await?
            {
                let name = format!("inserts a commit, {connections} at once");
                figures.push(figure(&name, inserted / (after - before).max(1.0)));
            }
        }
    }
    Ok(figures)
}

/// The rows that are read.
async fn fill(requests: &Requests, rows: usize) -> Result<Round> {
    let mut batches = Vec::new();
    for row in (0..rows).step_by(100) {
        batches.push(requests.rows_to_read(row).await?);
    }
    Ok(Round { requests: batches, status: 202, repeats: false, continues: false })
}

/// The number of requests that the fastest server handles in the time.
async fn round(
    requests: &Requests,
    kind: Kind,
    connections: usize,
    options: &Options,
) -> Result<Round> {
    let rows = options.rows;
    let milliseconds = usize::try_from(options.time.as_millis()).map_err(Error::other)?;
    let mut all = Vec::new();
    let status = match kind {
        Kind::Scans => {
            all.push(requests.scan().await?);
            200
        }
        Kind::Ranges => {
            for step in 0..500 {
                all.push(requests.range(step * 7919 % (rows - 1000)).await?);
            }
            200
        }
        Kind::Gets => {
            for step in 0..rows.min(20_000) {
                all.push(requests.get(step * 7919 % rows).await?);
            }
            200
        }
        Kind::Inserts => {
            for row in 0..75 * milliseconds {
                let partition = format!("insert{connections}-{}", row % 50);
                all.push(requests.insert(&partition, row).await?);
            }
            204
        }
        Kind::Transactions => {
            for batch in 0..4 * milliseconds {
                let partition = format!("batch{connections}-{}", batch % 50);
                all.push(requests.batch(&partition, batch * 100).await?);
            }
            202
        }
    };
    let continues = kind == Kind::Scans;
    Ok(Round { requests: all, status, repeats: status == 200, continues })
}

fn figure(what: &str, value: f64) -> Figure {
    Figure { what: what.to_owned(), value, unit: "", cpu: None }
}

async fn rate(
    server: &Server,
    what: String,
    connections: usize,
    round: Round,
    time: Duration,
) -> Result<Figure> {
    let cpu = server.cpu()?;
    let (responses, elapsed) = measure(server, connections, round, time).await?;
    Ok(Figure {
        what,
        value: responses / elapsed.as_secs_f64(),
        unit: "/s",
        cpu: Some((server.cpu()? - cpu) / responses),
    })
}

async fn once(server: &Server, request: Vec<u8>, status: u16) -> Result<()> {
    let round = Round { requests: vec![request], status, repeats: false, continues: false };
    measure(server, 1, round, Duration::from_secs(10)).await.map(drop)
}

/// Checks that a scan finds the expected rows.
async fn check_scan(server: &Server, request: Vec<u8>, expected: usize) -> Result<()> {
    let mut connection = Connection::open(server.port).await?;
    let mut found = 0;
    let mut next = Some(request.clone());
    while let Some(page) = next {
        let head = connection.send(&page).await?;
        let body = connection.body();
        found += body.windows(8).filter(|window| window == b"\"RowKey\"").count();
        next = next_page(&request, &head);
    }
    if found == expected {
        return Ok(());
    }
    Err(Error::other(format!("a scan finds {found} rows instead of {expected}")))
}

/// The request for the next page, if there is one.
fn next_page(request: &[u8], head: &Head) -> Option<Vec<u8>> {
    let partition = head.header("x-ms-continuation-nextpartitionkey")?;
    let row = head.header("x-ms-continuation-nextrowkey").unwrap_or_default();
    Some(continued(request, &[("NextPartitionKey", partition), ("NextRowKey", row)]))
}

/// Sends on a number of connections until the time is over; returns the number of responses and the
/// elapsed time.
async fn measure(
    server: &Server,
    connections: usize,
    round: Round,
    time: Duration,
) -> Result<(f64, Duration)> {
    let round = Rc::new(round);
    let next = Rc::new(Cell::new(0));
    let local = LocalSet::new();
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(server.port).await?);
    }
    let begun = Instant::now();
    let tasks: Vec<_> = open
        .into_iter()
        .map(|connection| {
            let (round, next) = (Rc::clone(&round), Rc::clone(&next));
            local.spawn_local(send(connection, round, next, begun + time))
        })
        .collect();
    let responses = local
        .run_until(async {
            let mut responses = 0_u32;
            for task in tasks {
                responses += task.await.map_err(Error::other)??;
            }
            Ok::<_, Error>(responses)
        })
        .await?;
    Ok((responses.into(), begun.elapsed()))
}

async fn send(
    mut connection: Connection,
    round: Rc<Round>,
    next: Rc<Cell<usize>>,
    until: Instant,
) -> Result<u32> {
    let mut responses = 0;
    while Instant::now() < until {
        let at = next.replace(next.get() + 1);
        let at = if round.repeats { at % round.requests.len() } else { at };
        let Some(request) = round.requests.get(at) else { break };
        let mut head = connection.send(request).await?;
        while round.continues
            && let Some(page) = next_page(request, &head)
        {
            head = connection.send(&page).await?;
        }
        let status = head.status()?;
        if status != round.status {
            return Err(Error::other(format!("{status} instead of {}", round.status)));
        }
        responses += 1;
    }
    Ok(responses)
}
