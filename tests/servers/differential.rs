//! Compares the mock with Azurite: random requests by a seed go to both, and the responses are
//! compared.
//!
//! Every kind of difference is in [`known`], with a judgement and its source; an unknown one fails
//! the test. The seed is printed, and `AZURE_TABLE_TESTS_SEED` repeats it;
//! `AZURE_TABLE_TESTS_OPERATIONS` is the number of requests.

mod answer;
mod generate;
mod known;
mod sent;

use std::collections::{BTreeMap, VecDeque};

use azure_table_client::auth::SharedKey;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpTransport, Transport as _};

use answer::Answer;
use generate::Generator;
use known::{Fault, known};
use sent::{ACCOUNT, Condition, Odd, Payload, Resource, Row, Sent, Service};

/// The number of requests shown before a difference.
const SHOWN: usize = 8;

struct Pair {
    mock: MockTableService,
    of_mock: Service,
    http: HttpTransport,
    of_azurite: Service,
    counts: BTreeMap<&'static str, usize>,
    last: VecDeque<String>,
}

impl Pair {
    fn new(azurite: &str) -> Self {
        Self {
            mock: MockTableService::new(),
            of_mock: Service::new(format!("http://mock/{ACCOUNT}"), true),
            http: HttpTransport::new(64 << 20).unwrap(),
            of_azurite: Service::new(azurite, false),
            counts: BTreeMap::new(),
            last: VecDeque::new(),
        }
    }

    async fn ask(&mut self, sent: &Sent) -> (Answer, Answer) {
        let request = self.of_azurite.write(sent);
        let response = self.http.send(request).await.unwrap();
        let azurite = Answer::read(&mut self.of_azurite, sent, &response);
        let response = self.mock.respond(&self.of_mock.write(sent));
        let mock = Answer::read(&mut self.of_mock, sent, &response);
        (mock, azurite)
    }

    /// Compares the responses to a request, and the row that it stored if a value was unusual.
    async fn compare(&mut self, number: u64, sent: &Sent) {
        let (mock, azurite) = self.check(number, sent).await;
        let same = outcome(&mock) == outcome(&azurite);
        if let Some(row) = sent.row.clone().filter(|_| sent.is(Odd::Value))
            && same
            && mock.status < 300
        {
            let read = Sent::new("GET", Resource::Row(row));
            self.check(number, &Sent { odd: sent.odd.clone(), ..read }).await;
        }
        let is_tunnelled = sent.header("x-http-method").is_some();
        let is_other_page = mock.is_continued() != azurite.is_continued();
        if sent.is_odd() || is_tunnelled || is_other_page || !same {
            self.heal(sent).await;
        }
    }

    /// Sends a request to both services. Fails if an unknown difference remains.
    async fn check(&mut self, number: u64, sent: &Sent) -> (Answer, Answer) {
        let (mock, azurite) = self.ask(sent).await;
        if self.last.len() == SHOWN {
            self.last.pop_front();
        }
        self.last
            .push_back(format!("{number}: {sent:?}\n  mock: {mock:?}\n  azurite: {azurite:?}\n"));
        let (mut left, mut right) = (mock.clone(), azurite.clone());
        for known in known() {
            if (known.recognise)(sent, &mut left, &mut right) {
                *self.counts.entry(known.name).or_default() += 1;
            }
        }
        if left != right {
            let shown: Vec<_> = self.last.iter().map(String::as_str).collect();
            panic!("{}\nleft over:\n  mock: {left:?}\n  azurite: {right:?}", shown.join(""));
        }
        (mock, azurite)
    }

    /// Removes rows that only one service stored, adds a table that only one created, and ends pages that only one
    /// continues.
    async fn heal(&mut self, sent: &Sent) {
        if let (Resource::Tables, "POST", Payload::Json(_)) =
            (&sent.resource, sent.verb, &sent.payload)
        {
            let payload = sent.payload.clone();
            self.ask(&Sent { payload, ..Sent::new("POST", Resource::Tables) }).await;
        }
        if let Some(paged) = sent.paged() {
            self.of_mock.tokens.remove(paged);
            self.of_azurite.tokens.remove(paged);
        }
        let rows: Vec<Row> = sent.written().into_iter().cloned().collect();
        for row in rows {
            let mut delete = Sent::new("DELETE", Resource::Row(row.clone()));
            delete.condition = Condition::Any;
            self.ask(&delete).await;
            self.of_mock.etags.remove(&row);
            self.of_azurite.etags.remove(&row);
        }
    }

    fn report(&self) {
        for known in known() {
            let Some(count) = self.counts.get(known.name) else { continue };
            let fault = match known.fault {
                Fault::Azurite => "Azurite's fault",
                Fault::Open => "not settled",
            };
            println!("{count:>6} {} ({fault}: {})", known.name, known.source);
        }
    }
}

/// The status of a request and of each operation of a batch.
fn outcome(answer: &Answer) -> Vec<(u16, Option<&str>)> {
    let all = std::iter::once(answer).chain(&answer.parts);
    all.map(|answer| (answer.status, answer.code.as_deref())).collect()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test]
async fn the_mock_matches_azurite_except_known_differences() {
    let server = std::env::var("AZURE_TABLE_TESTS_SERVER");
    assert_eq!(server.as_deref(), Ok("azurite"), "it is Azurite that the table is about");
    let connection_string = std::env::var("AZURE_STORAGE_CONNECTION_STRING").unwrap();
    let endpoint =
        connection_string.split("TableEndpoint=").nth(1).and_then(|rest| rest.split(';').next());
    let seed = number("AZURE_TABLE_TESTS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let operations = number("AZURE_TABLE_TESTS_OPERATIONS").unwrap_or(4000);
    println!("seed {seed}, {operations} requests");

    assert_eq!(SharedKey::development().account(), ACCOUNT);
    let mut pair = Pair::new(endpoint.expect("TableEndpoint").trim_end_matches('/'));
    let mut generator = Generator::new(seed);
    for table in generator.tables().to_vec() {
        // A run with the same seed may have failed before.
        pair.ask(&Sent::new("DELETE", Resource::Table(table.clone()))).await;
        let mut create = Sent::new("POST", Resource::Tables);
        create.payload = Payload::Json(format!("{{\"TableName\":\"{table}\"}}"));
        pair.ask(&create).await;
    }
    for number in 0..operations {
        let sent = generator.next();
        pair.compare(number, &sent).await;
    }
    for table in generator.tables().to_vec() {
        pair.ask(&Sent::new("DELETE", Resource::Table(table))).await;
    }
    pair.report();
}
