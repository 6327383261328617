//! The measurements.

use std::cell::Cell;
use std::io::{Error, Result};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::LocalSet;

use super::Options;
use super::connection::Connection;
use super::requests::Requests;
use super::server::Server;

/// One figure of a server.
pub(crate) struct Figures {
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// The server's processor time per request, in seconds.
    pub(crate) cpu: Option<f64>,
}

/// The requests of one round, sent one after the other, and their expected status.
struct Round {
    requests: Vec<Vec<u8>>,
    status: u16,
    /// Whether the requests repeat at the end.
    repeats: bool,
}

/// Measures a server that has no tables yet.
pub(crate) async fn run(server: &Server, options: &Options) -> Result<Vec<Figures>> {
    let rows = options.rows;
    let requests = Requests::to(server.port);
    let mut figures = vec![figure("start-up, ms", server.start.as_secs_f64() * 1e3)];
    once(server, requests.create_table().await?, 204).await?;

    let before = server.memory()?;
    measure(server, 4, fill(&requests, rows).await?, Duration::from_secs(60 * 60)).await?;
    let bytes = server.memory()?.saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    figures.push(figure("memory, bytes an entity", bytes as f64 / rows as f64));

    for connections in [1, 16] {
        for what in ["gets", "inserts", "batches of 100 inserts", "ranges of 1,000 rows"] {
            if what.contains(&options.only) {
                let round = round(&requests, what, connections, options).await?;
                figures.push(rate(server, what, connections, round, options.time).await?);
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
    Ok(Round { requests: batches, status: 202, repeats: false })
}

/// The number of requests that the fastest server handles in the time.
async fn round(
    requests: &Requests,
    what: &str,
    connections: usize,
    options: &Options,
) -> Result<Round> {
    let rows = options.rows;
    let milliseconds = usize::try_from(options.time.as_millis()).map_err(Error::other)?;
    let mut all = Vec::new();
    let status = match what {
        "gets" => {
            for step in 0..rows.min(20_000) {
                all.push(requests.get(step * 7919 % rows).await?);
            }
            200
        }
        "inserts" => {
            for row in 0..75 * milliseconds {
                let partition = format!("insert{connections}-{}", row % 50);
                all.push(requests.insert(&partition, row).await?);
            }
            204
        }
        "batches of 100 inserts" => {
            for batch in 0..4 * milliseconds {
                let partition = format!("batch{connections}-{}", batch % 50);
                all.push(requests.batch(&partition, batch * 100).await?);
            }
            202
        }
        _ => {
            for step in 0..500 {
                all.push(requests.range(step * 7919 % (rows - 1000)).await?);
            }
            200
        }
    };
    Ok(Round { requests: all, status, repeats: status == 200 })
}

fn figure(what: &str, value: f64) -> Figures {
    Figures { what: what.to_owned(), value, unit: "", cpu: None }
}

async fn rate(
    server: &Server,
    what: &str,
    connections: usize,
    round: Round,
    time: Duration,
) -> Result<Figures> {
    let cpu = server.cpu()?;
    let (answers, elapsed) = measure(server, connections, round, time).await?;
    Ok(Figures {
        what: format!("{what}, {connections} at once"),
        value: answers / elapsed.as_secs_f64(),
        unit: "/s",
        cpu: Some((server.cpu()? - cpu) / answers),
    })
}

async fn once(server: &Server, request: Vec<u8>, status: u16) -> Result<()> {
    let round = Round { requests: vec![request], status, repeats: false };
    measure(server, 1, round, Duration::from_secs(10)).await.map(drop)
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
    let answers = local
        .run_until(async {
            let mut answers = 0_u32;
            for task in tasks {
                answers += task.await.map_err(Error::other)??;
            }
            Ok::<_, Error>(answers)
        })
        .await?;
    Ok((answers.into(), begun.elapsed()))
}

async fn send(
    mut connection: Connection,
    round: Rc<Round>,
    next: Rc<Cell<usize>>,
    until: Instant,
) -> Result<u32> {
    let mut answers = 0;
    while Instant::now() < until {
        let at = next.replace(next.get() + 1);
        let at = if round.repeats { at % round.requests.len() } else { at };
        let Some(request) = round.requests.get(at) else { break };
        let status = connection.send(request).await?;
        if status != round.status {
            return Err(Error::other(format!("{status} instead of {}", round.status)));
        }
        answers += 1;
    }
    Ok(answers)
}
