//! The runner on a server that responds with fixed texts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::case::parse;

mod clean_up;
mod independence;

const ROW: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: W/\"1\"\r\n\
    Content-Length: 19\r\n\r\n{\"A\":1,\"B\":[\"x\",2]}";
const NOTHING: &str = "HTTP/1.1 204 No Content\r\n\r\n";

/// A server, and the request lines that it received.
struct Fake {
    server: Server,
    received: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    /// A server that responds with a text: to `GET` with this one, to other methods with success. An empty text closes the
    /// connection; with `None`, the server never responds.
    async fn start(response: Option<&'static str>) -> Self {
        Self::serving(move |line| if line.starts_with("GET") { response } else { Some(NOTHING) })
            .await
    }

    /// A server that responds to a request line with a text; without one, it never responds.
    async fn serving(
        respond: impl Fn(&str) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        let respond: Arc<Respond> = Arc::new(respond);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/one", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&respond), Arc::clone(&lines)));
            }
        });
        let server = Server::new(&endpoint, "one", "a2V5").unwrap();
        Self { server: server.timeout(Duration::from_millis(300)), received }
    }

    fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

const MISSING: &str = "HTTP/1.1 501 No\r\nContent-Length: 0\r\n\r\n";

type Respond = dyn Fn(&str) -> Option<&'static str> + Send + Sync;

async fn serve(mut stream: TcpStream, respond: Arc<Respond>, lines: Arc<Mutex<Vec<String>>>) {
    let mut buffer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&buffer).into_owned();
        let length = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        let end = text.find("\r\n\r\n").map(|head| head + 4 + length);
        let Some(end) = end.filter(|end| *end <= buffer.len()) else {
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
            continue;
        };
        let line = text.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
        buffer.drain(..end);
        let response = respond(&line);
        lines.lock().unwrap().push(line);
        match response {
            None => std::future::pending().await,
            Some("") => return,
            Some(text) => stream.write_all(text.as_bytes()).await.unwrap(),
        }
    }
}

/// The outcome of a case with one request, whose response is expected to be this text.
async fn outcome(response: Option<&'static str>, expected: &str) -> Outcome {
    let fake = Fake::start(response).await;
    let text = format!("### one: x\nsource: s\n\nGET /x\n{expected}\n");
    run(&fake, &text).await
}

async fn run(fake: &Fake, text: &str) -> Outcome {
    let cases = parse("area", text).unwrap();
    let mut run = Run::new(&fake.server);
    let report = run.cases(&cases, &Selection::default(), |_| ()).await;
    report.results[0].outcome.clone()
}

fn difference(outcome: Outcome) -> (String, String) {
    match outcome {
        Outcome::Differs(it) => (it.expected, it.got),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_response_as_expected_passes() {
    let expected =
        "=> 200\nETag: W/\"*\"\n-Location\n\nexactly\n{\"A\":1,\"B\":[\"*\",2],\"C\":\"(absent)\"}";
    assert_eq!(outcome(Some(ROW), expected).await, Outcome::Passed);
    assert_eq!(outcome(Some(ROW), "=> 200\n\n\"B\":*2]").await, Outcome::Passed);
}

#[tokio::test]
async fn each_fault_of_a_response_is_a_difference() {
    for (expected, wanted, got) in [
        ("=> 201", "201", "200 {\"A\":1"),
        ("=> 200 NoCode", "200 NoCode", "200 {\"A\":1"),
        ("=> 200\nETag: W/\"2\"", "etag: W/\"2\"", "etag: W/\"1\""),
        ("=> 200\nLocation: *", "location: *", "location: (absent)"),
        ("=> 200\n-ETag", "etag: (absent)", "etag: W/\"1\""),
        ("=> 200\n\n(empty)", "no body", "200 {\"A\":1"),
        ("=> 200\n\n{\"A\":2}", "$.A is 2", "$.A is 1"),
        ("=> 200\n\n{\"A\":1.0}", "$.A is 1.0", "$.A is 1"),
        ("=> 200\n\n{\"A\":\"(absent)\"}", "$.A is absent", "$.A is 1"),
        ("=> 200\n\n{\"C\":1}", "$.C is 1", "$.C is absent"),
        ("=> 200\n\n{\"B\":[\"x\"]}", "$.B is [\"x\"]", "$.B is [\"x\",2]"),
        ("=> 200\n\n{\"B\":[\"y\",2]}", "$.B[0] is \"y\"", "$.B[0] is \"x\""),
        ("=> 200\n\nexactly\n{\"A\":1}", "$.B is absent", "$.B is [\"x\",2]"),
        ("=> 200\n\nabc", "abc", "200 {\"A\":1"),
        ("=> 200\n-> 204", "a multipart body", "200 {\"A\":1"),
    ] {
        let (found, received) = difference(outcome(Some(ROW), expected).await);
        assert_eq!(found, wanted, "{expected}");
        assert!(received.starts_with(got), "{expected}: {received}");
    }
}

#[tokio::test]
async fn the_answer_of_a_difference_names_the_place() {
    for (expected, answer) in [
        ("=> 201", "200"),
        ("=> 200\nETag: W/\"2\"", "200 etag"),
        ("=> 200\n\n{\"A\":2}", "200 $.A"),
        ("=> 200\n\nabc", "200 body"),
    ] {
        let outcome = outcome(Some(ROW), expected).await;
        let Outcome::Differs(it) = outcome else { panic!("{outcome:?}") };
        assert_eq!(it.answer.as_deref(), Some(answer), "{expected}");
    }
}

#[tokio::test]
async fn a_server_without_a_response_differs() {
    let (_, got) = difference(outcome(Some(""), "=> 200").await);
    assert!(got.starts_with("no response: connection closed"), "{got}");
    let (_, got) = difference(outcome(None, "=> 200").await);
    assert_eq!(got, "no response within 300ms");
    let (_, got) = difference(outcome(Some("HTP/1.1 200\r\n\r\n"), "=> 200").await);
    assert!(got.starts_with("no response: invalid HTTP"), "{got}");
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    let (_, got) = difference(outcome(Some(half), "=> 200").await);
    assert_eq!(got, "no response within 300ms");
}

#[tokio::test]
async fn a_server_that_is_not_there_differs() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/one", listener.local_addr().unwrap());
    drop(listener);
    let server = Server::new(&endpoint, "one", "a2V5").unwrap();
    let fake = Fake { server, received: Arc::default() };
    let (expected, got) =
        difference(run(&fake, "### one: x\nsource: s\n\nGET /{table}\n=> 200\n").await);
    assert_eq!(expected, "success of the set-up");
    assert!(got.contains("refused"), "{got}");
}

#[tokio::test]
async fn the_parts_of_a_batch_are_compared() {
    const BATCH: &str = "HTTP/1.1 202 Accepted\r\nContent-Type: multipart/mixed; boundary=b\r\n\
        Content-Length: 149\r\n\r\n--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\
        Content-Type: application/http\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-ID: 1\r\n\r\n\
        {\"odata.error\":{\"code\":\"X\"}}\r\n--c--\r\n--b--\r\n";
    let length = BATCH.split_once("\r\n\r\n").unwrap().1.len();
    let whole = BATCH.replace("149", &length.to_string()).leak();
    // The part of a changeset is in one.
    let (wanted, got) = difference(outcome(Some(whole), "=> 202\n-> 404 X").await);
    assert_eq!(
        (wanted.as_str(), got.as_str()),
        ("part 0: in no changeset", "part 0: in a changeset")
    );
    let body = "\n--b\nContent-Type: multipart/mixed; boundary=c\n";
    let expected = format!("{body}=> 202\n-> 404 X\nContent-ID: 1");
    assert_eq!(outcome(Some(whole), &expected).await, Outcome::Passed);
    for (parts, wanted) in [
        ("-> 204", "part 0: 204"),
        ("-> 404 Y", "part 0: 404 Y"),
        ("-> 404\nContent-ID: 2", "part 0: content-id: 2"),
        ("-> 404\n-> 204", "2 parts"),
    ] {
        let (expected, _) =
            difference(outcome(Some(whole), &format!("{body}=> 202\n{parts}")).await);
        assert_eq!(expected, wanted, "{parts}");
    }
}

#[tokio::test]
async fn open_rules_report_the_response_and_501_is_not_supported() {
    let open = "### one: x\nsource: s\nstatus: not settled\n\nGET /x\n=> 404\nor => 200\n";
    let fake = Fake::start(Some(ROW)).await;
    assert_eq!(run(&fake, open).await, Outcome::NotSettled { response: "200".to_owned() });
    let fake = Fake::start(Some("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n")).await;
    let response = "another one: 500".to_owned();
    assert_eq!(run(&fake, open).await, Outcome::NotSettled { response });
    let got = "501".to_owned();
    assert_eq!(outcome(Some(MISSING), "=> 200").await, Outcome::NotSupported { got });
    assert_eq!(outcome(Some(MISSING), "=> 501").await, Outcome::Passed);
    let (expected, got) = difference(outcome(Some(MISSING), "=> 501 Code").await);
    assert_eq!((expected.as_str(), got.as_str()), ("501 Code", "501"));
    let fake = Fake::start(Some(MISSING)).await;
    let got = "501".to_owned();
    assert_eq!(run(&fake, open).await, Outcome::NotSupported { got });
}

#[tokio::test]
async fn headers_are_there_once_and_204_has_no_length() {
    const HEADERS: &str =
        "HTTP/1.1 200 OK\r\nX-Empty:\r\nX-Two: a\r\nX-Two: a\r\nContent-Length: 2\r\n\r\n[]";
    for (expected, wanted, got) in [
        ("=> 200\nX-Empty: *", "x-empty: *", "x-empty: "),
        ("=> 200\nX-Two: a", "x-two: a", "x-two: a and a"),
    ] {
        let found = difference(outcome(Some(HEADERS), expected).await);
        assert_eq!(found, (wanted.to_owned(), got.to_owned()), "{expected}");
    }
    assert_eq!(outcome(Some(HEADERS), "=> 200\n\n[]").await, Outcome::Passed);
    assert_eq!(outcome(Some(ROW), "=> 200\nContent-Type: application/*").await, Outcome::Passed);
    let long = "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody";
    let (_, got) = difference(outcome(Some(long), "=> 204\n\n(empty)").await);
    assert_eq!(got, "content-length: 4");
    let none = "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(outcome(Some(none), "=> 204\n\n(empty)").await, Outcome::Passed);
}

#[tokio::test]
async fn names_of_a_response_that_does_not_match_have_no_value() {
    let fake = Fake::start(Some(ROW)).await;
    let open = "### one: x\nsource: s\nstatus: not settled\n\nGET /x\n=> 200\nETag: {a}\n\n{\"A\":2}\n\
        or => 200\n\n{\"A\":1,\"B\":[\"{a}\",2]}\n";
    let matched = Outcome::NotSettled { response: "200 {\"A\":1,\"B\":[\"{a}\",2]}".to_owned() };
    assert_eq!(run(&fake, open).await, matched);
}

#[tokio::test]
async fn xml_is_compared_without_the_spelling_of_its_tags() {
    const XML: &str =
        "HTTP/1.1 200 OK\r\nContent-Length: 33\r\n\r\n<a xmlns='x'>\n <b></b>\n <c/> </a>";
    assert_eq!(outcome(Some(XML), "=> 200\n\n<a><b /><c></c>").await, Outcome::Passed);
    let (wanted, _) = difference(outcome(Some(XML), "=> 200\n\n<b>x</b>").await);
    assert_eq!(wanted, "<b>x</b>");
}

#[tokio::test]
async fn a_signature_is_not_reported() {
    let sas = "### one: x\nsource: s\n\nGET /x?sig=c2VjcmV0cw%3D%3D\n=> 200\n";
    let own = "### one: x\nsource: s\n\nGET /x\nAuthorization: SharedKey a:c2VjcmV0cw==\n=> 200\n";
    for text in [sas, own] {
        let refused = "HTTP/1.1 403 No\r\nContent-Length: 21\r\n\r\nMAC 'c2VjcmV0cw==' no";
        let fake = Fake::start(Some(refused)).await;
        let (_, got) = difference(run(&fake, text).await);
        assert_eq!(got, "403 MAC '(signature)' no");
    }
}

#[tokio::test]
async fn reads_of_a_delayed_change_are_repeated() {
    let mut fake = Fake::start(Some(ROW)).await;
    let text = "### one: x\nsource: s\ndelay: 30 s\n\nGET /x\n=> 200\n\n{\"A\":2}\n";
    let (expected, _) = difference(run(&fake, text).await);
    assert_eq!((expected.as_str(), fake.received().len()), ("$.A is 2", 1));
    fake.server = fake.server.settle(Duration::from_millis(1));
    let (expected, _) = difference(run(&fake, text).await);
    assert_eq!((expected.as_str(), fake.received().len()), ("$.A is 2", 3));
}

#[tokio::test]
async fn a_selection_has_the_named_cases_of_a_dialect() {
    let fake = Fake::start(Some(ROW)).await;
    let text = "### one: x\nsource: s\n\nGET /x\n=> 200\n\n\
        ### two: x\nsource: s\ndialect: cosmos\n\nGET /x\n=> 200\n\n\
        ### three: x\nsource: s\ndialect: both\n\nGET /x\n=> 200\n";
    let cases = parse("area", text).unwrap();
    for (dialect, only, expected) in [
        (crate::Dialect::Storage, None, &["area/one", "area/three"][..]),
        (crate::Dialect::Cosmos, None, &["area/two", "area/three"]),
        (crate::Dialect::Storage, Some("one"), &["area/one"]),
        (crate::Dialect::Storage, Some("area/t"), &["area/three"]),
        (crate::Dialect::Storage, Some("rea"), &[]),
    ] {
        let server = fake.server.clone().dialect(dialect);
        let selection = Selection::new(only.map(str::to_owned));
        let mut seen = Vec::new();
        Run::new(&server).cases(&cases, &selection, |it| seen.push(it.name.clone())).await;
        assert_eq!(seen, expected);
    }
}
