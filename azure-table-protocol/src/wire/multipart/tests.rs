//! Both directions, and what real requests and replies look like.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use proptest::prelude::*;

use super::*;

const KIND: &str = "multipart/mixed; boundary=b";

fn parts(body: &[u8]) -> Result<Vec<Part<'_>>, MultipartError> {
    Parts::read(KIND, body)?.collect()
}

fn message<'a>(part: &Part<'a>) -> (Method, &'a str, HeaderMap, &'a [u8]) {
    let Part::Message(message) = part else { panic!("parts: {part:?}") };
    let (method, target) = message.request().unwrap();
    (method, target, message.headers().unwrap(), message.body)
}

/// A batch of one GET, its message as given.
fn one(message: &str) -> String {
    format!("--b\r\nContent-Type: application/http\r\n\r\n{message}\r\n--b--")
}

#[test]
fn media_types() {
    for (kind, expected) in [
        ("multipart/mixed; boundary=batch_1", Some("batch_1")),
        ("Multipart/Mixed;BOUNDARY=\"a b\" ; charset=utf-8", Some("a b")),
        ("multipart/mixed;charset=\"utf-8;\";boundary=x ", Some("x")),
        (media_type("batch_1").leak(), Some("batch_1")),
        ("multipart/mixed; boundary=", None),
        ("multipart/mixed; boundary=\"open", None),
        ("multipart/mixed; boundary=\"\n\"", None),
        ("multipart/mixed", None),
        ("multipart/mixed;;;", None),
        ("application/json; boundary=x", None),
        (&format!("multipart/mixed; boundary={}", "x".repeat(71)), None),
    ] {
        assert_eq!(boundary_of(kind), expected, "{kind}");
    }
}

#[test]
fn a_request_with_either_line_end() {
    let text = "before\n--b\ncontent-type: multipart/mixed; boundary=\"c\"\n\n\n--c \n\
                Content-Type: application/http\nContent-Transfer-Encoding: binary\n\n\
                POST /T HTTP/1.1\nContent-ID: 1\nX-Odd:a:b\n\n{\"A\":1}\n\n--cd\n\n--c\n\
                CONTENT-TYPE: application/http;msgtype=request\n\n\n\
                DELETE http://host/T(PartitionKey='a b',RowKey='') HTTP/1.1\nIf-Match: *\n\n--c--\n\
                after\n--b--\nafter";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let parts = parts(text.as_bytes()).unwrap();
        let [Part::Parts(changeset)] = &parts[..] else { panic!("{parts:?}") };
        let operations: Vec<_> = changeset.clone().collect::<Result<_, _>>().unwrap();
        let (method, target, headers, body) = message(&operations[0]);
        assert_eq!((method, target), (Method::POST, "/T"));
        assert!(headers["content-id"] == "1" && headers["x-odd"] == "a:b");
        let body = std::str::from_utf8(body).unwrap().replace('\r', "");
        assert_eq!(body, "{\"A\":1}\n\n--cd\n", "a longer boundary does not count");
        let (method, target, headers, body) = message(&operations[1]);
        assert_eq!(method, Method::DELETE);
        assert_eq!(target, "http://host/T(PartitionKey='a b',RowKey='')");
        assert!(headers["if-match"] == "*" && body.is_empty());
        assert_eq!(operations.len(), 2);
    }
}

#[test]
fn a_length_comes_before_the_boundary() {
    let get = "GET /T HTTP/1.1\r\nContent-Length: ";
    let body_of = |text: &str| {
        let parts = parts(text.as_bytes())?;
        assert_eq!(parts.len(), 1);
        Ok(String::from_utf8(message(&parts[0]).3.to_vec()).unwrap())
    };
    let text = one(&format!("{get}9\r\n\r\nx\r\n--b\r\ny"));
    assert_eq!(body_of(&text).unwrap(), "x\r\n--b\r\ny");
    assert_eq!(body_of(&one(&format!("{get}2\r\n\r\n{{}}\r\n"))).unwrap(), "{}");
    assert_eq!(body_of(&one(&format!("{get}4\r\n\r\n{{}}"))).unwrap(), "{}\r\n", "with line end");
    for (length, error) in [
        ("1", MultipartError::Length),
        ("-1", MultipartError::Length),
        ("x", MultipartError::Length),
        ("5", MultipartError::Truncated),
        ("18446744073709551615", MultipartError::Truncated),
    ] {
        assert_eq!(body_of(&one(&format!("{get}{length}\r\n\r\n{{}}"))), Err(error), "{length}");
    }
}

#[test]
fn what_cannot_be_read() {
    let http = "Content-Type: application/http";
    let deep = "--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\
                Content-Type: multipart/mixed; boundary=d\n\n--d--\n--c--\n--b--";
    for (text, error) in [
        ("", MultipartError::Truncated),
        ("--c--", MultipartError::Truncated),
        ("--b", MultipartError::NotClosed),
        ("--b\r\n \r\n", MultipartError::NotClosed),
        (&format!("--b\n{http}\n\nGET / HTTP/1.1\n\n"), MultipartError::Truncated),
        (&format!("--b\n{http}\n\nGET / HTTP/1.1\n\n--b\n"), MultipartError::NotClosed),
        ("--b\n\nGET / HTTP/1.1\n\n--b--", MultipartError::MediaType),
        ("--b\nContent-Type: text/plain\n\nx\n--b--", MultipartError::MediaType),
        ("--b\nContent-Type: multipart/mixed\n\nx\n--b--", MultipartError::MediaType),
        (
            &format!("--b\n{http}\nContent-Transfer-Encoding: base64\n\nx\n--b--"),
            MultipartError::MediaType,
        ),
        ("--b\nno header\n\nx\n--b--", MultipartError::Head),
        ("--b\n--b--", MultipartError::MediaType),
        ("--b\nContent-Type: multipart/mixed; boundary=c\n\n--b--", MultipartError::Truncated),
    ] {
        assert_eq!(parts(text.as_bytes()).map(|_| ()), Err(error), "{text}");
    }
    let parts_of_deep = parts(deep.as_bytes()).unwrap();
    let [Part::Parts(inner)] = &parts_of_deep[..] else { panic!() };
    assert_eq!(inner.clone().next().unwrap().unwrap_err(), MultipartError::Depth);
    for start in ["", "GET", "GET /", "GET  HTTP/1.1", "GET / FTP/1.1", "G\u{e9}T / HTTP/1.1"] {
        let text = one(&format!("{start}\r\nA: b\r\n"));
        let parts = parts(text.as_bytes()).unwrap();
        let Part::Message(message) = &parts[0] else { panic!() };
        assert_eq!(message.request(), Err(MultipartError::Head), "{start}");
        assert_eq!(message.status(), Err(MultipartError::Head), "{start}");
    }
    let many = (0..40_000).map(|n| format!("h{n}: x")).collect::<Vec<_>>().join("\n");
    for headers in ["no colon", "a b: c", ": x", "a: \u{1}", &many] {
        let text = one(&format!("GET / HTTP/1.1\r\n{headers}\r\n"));
        let parts = parts(text.as_bytes()).unwrap_or_default();
        let map = parts.first().map(|part| match part {
            Part::Message(message) => message.headers(),
            Part::Parts(_) => panic!(),
        });
        assert!(map.is_none_or(|map| map.is_err()), "{}", &headers[..headers.len().min(9)]);
    }
}

#[test]
fn a_header_of_a_part_has_one_value() {
    let read = |headers: &str| {
        let text = one(&format!("HTTP/1.1 204 No Content\r\n{headers}\r\n"));
        let mut parts = parts(text.as_bytes())?;
        let Some(Part::Message(message)) = parts.pop() else { panic!() };
        Ok((message.content_id().map(str::to_owned), message.etag().map(str::to_owned)))
    };
    let tag = |tag: &str| Some(tag.to_owned());
    assert_eq!(read("Content-ID: 7\r\nETag: x"), Ok((tag("7"), tag("x"))));
    assert_eq!(read("content-id:7\r\nETAG : x\r\nETag:x "), Ok((tag("7"), tag("x"))));
    assert_eq!(read("Content-ID: seven\r\nETag: "), Ok((tag("seven"), tag(""))));
    assert_eq!(read("Content-IDs: 7\r\nE-Tag: x\r\nEtaG2: x"), Ok((None, None)));
    for repeated in
        ["ETag: x\r\netag: y", "Content-ID: 1\r\nContent-ID: 2", "ETag: x\r\nA: b\r\nETag: x y"]
    {
        assert_eq!(read(repeated), Err(MultipartError::Repeated), "{repeated}");
    }
    assert_eq!(read("ETag: \u{e9}\tx"), Ok((None, tag("\u{e9}\tx"))));
    for control in ["ETag: a\u{1}", "ETag: \u{e9}\u{7f}", "Content-ID: \u{1b}[2J"] {
        assert_eq!(read(control), Err(MultipartError::Head), "{control:?}");
    }
    let latin = one("HTTP/1.1 204 No Content\r\nETag: x\r\n").into_bytes();
    let latin: Vec<u8> =
        latin.iter().map(|byte| if *byte == b'x' { 0xe9 } else { *byte }).collect();
    assert_eq!(parts(&latin).map(|_| ()), Err(MultipartError::Head));
}

#[test]
fn the_first_status_is_that_of_the_first_part() {
    let http = "Content-Type: application/http\n\n";
    let first = |text: &str| first_status(KIND, text.as_bytes()).map(|status| status.as_u16());
    let nested = format!(
        "before\n--b\nContent-Type: multipart/mixed; boundary=c\n\n--cc\n--c\n{http}HTTP/1.1 409 Conflict\n\n\
         --c\n{http}HTTP/1.1 204 No Content\n\n--c--\n--b--"
    );
    assert_eq!(first(&nested), Some(409));
    assert_eq!(first(&nested.replace("--b--", "")), Some(409), "the end is not read");
    assert_eq!(first(&one("HTTP/1.1 204 No Content")), Some(204));
    for text in ["", "--b", "--b\n\nHTTP/1.1 200 OK", &nested.replace('c', "b"), &one("HTTP/2 200")]
    {
        assert_eq!(first(text), None, "{text}");
    }
}

#[test]
fn requests_have_the_length_of_their_body() {
    for length in [1, 9, 10, 99, 100, 999, 1000, 12_345] {
        let body = "x".repeat(length);
        let mut out = b"before\r\n".to_vec();
        let mut batch = Writer::new(&mut out, "b");
        let if_match = (&http::header::IF_MATCH, &HeaderValue::from_static("*"));
        batch.request(&Method::PUT, ["http://h", "/T"], Some(12), [if_match], body.as_bytes());
        batch.request(&Method::DELETE, ["http://h", "/T"], Some(13), [if_match], b"");
        batch.close();
        let head = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n";
        let expected = format!(
            "before\r\n--b\r\n{head}PUT http://h/T HTTP/1.1\r\nContent-ID: 12\r\nIf-Match: *\r\n\
             Content-Length: {length}\r\n\r\n{body}\r\n\
             --b\r\n{head}DELETE http://h/T HTTP/1.1\r\nContent-ID: 13\r\nIf-Match: *\r\n\r\n\r\n--b--\r\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

#[test]
fn header_lines_are_those_that_a_map_accepts() {
    let texts: Vec<_> = (0..=u8::MAX)
        .flat_map(|byte| [(b"n".as_slice(), byte), (b"", byte)])
        .flat_map(|(name, byte)| {
            [[name, &[byte], b"a: b"].concat(), [b"Name: a", name, &[byte, b'c']].concat()]
        })
        .flat_map(|header| {
            // The lines of one message are compared with those of the message before.
            let ends = [
                &b"\r\n\r\n"[..],
                b"\r\nA: 1\r\nB: 2\r\n\r\n",
                b"\r\nA: 1\r\nB: 3",
                b"\r\nA: 1",
                b"\nA: 12\r\n\r\n",
            ];
            ends.map(|end| [b"GET / HTTP/1.1\r\n", &header[..], end].concat())
        })
        .collect();
    let mut lines = HeaderReader::default();
    for text in &texts {
        let Ok(message) = Message::read(text) else { continue };
        let map = message.headers().map(|map| {
            let pair = |(name, value): (&HeaderName, &HeaderValue)| {
                (name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec())
            };
            map.iter().map(pair).collect::<Vec<_>>()
        });
        let pair = |line: &HeaderLine<'_>| (line.name.to_ascii_lowercase(), line.value.to_vec());
        let read = lines.read(&message, 10).map(|lines| lines.iter().map(pair).collect());
        assert_eq!(read, map, "{:?}", text.escape_ascii().to_string());
    }
    let message = Message::read(b"GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\n\r\n").unwrap();
    assert_eq!(lines.read(&message, 2).map(<[_]>::len), Ok(2));
    assert!(lines.read(&message, 1).is_err());
}

#[test]
fn a_reply_is_written_as_the_service_writes_it() {
    let mut out = Vec::new();
    let mut batch = Writer::new(&mut out, "batchresponse_1");
    let mut changeset = batch.parts("changesetresponse_2");
    let headers: [(&str, &[u8]); 3] =
        [("content-id", b"1"), ("dataserviceversion", b"1.0;"), ("etag", b"W/\"x\"")];
    let mut message = changeset.begin_message(&["HTTP/1.1 204", " No Content"]);
    for (name, value) in headers {
        message.header(name, value);
    }
    message.body(b"");
    changeset.close();
    batch.close();
    let expected = "--batchresponse_1\r\n\
        Content-Type: multipart/mixed; boundary=changesetresponse_2\r\n\r\n\
        --changesetresponse_2\r\n\
        Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
        HTTP/1.1 204 No Content\r\nContent-ID: 1\r\nDataServiceVersion: 1.0;\r\nETag: W/\"x\"\r\n\
        \r\n\r\n\
        --changesetresponse_2--\r\n--batchresponse_1--\r\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn a_changeset_may_be_empty() {
    let mut out = Vec::new();
    let mut batch = Writer::new(&mut out, "b");
    batch.parts("c").close();
    batch.close();
    let parts = parts(&out).unwrap();
    let [Part::Parts(changeset)] = &parts[..] else { panic!("{parts:?}") };
    assert!(changeset.clone().next().is_none());
}

/// Whether a line of these bytes, or their beginning, looks like a boundary.
fn holds_boundary(body: &[u8]) -> bool {
    let text = [b"\n", body].concat();
    text.windows(4).any(|window| window == b"\n--b" || window == b"\n--c")
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..20),
        prop_oneof![Just("\r\n"), Just("\n"), Just("\r"), Just("--"), Just("--b"), Just(":")]
            .prop_map(|text| text.as_bytes().to_vec()),
    ];
    proptest::collection::vec(fragment, 0..6).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn responses_round_trip(
        bodies in proptest::collection::vec(
            body().prop_filter("the boundary", |body| !holds_boundary(body)),
            0..6,
        ),
        value in "[!-~]([ -~]{0,20}[!-~])?",
        nested in any::<bool>(),
    ) {
        let headers: HeaderMap =
            [(HeaderName::from_static("etag"), HeaderValue::from_str(&value).unwrap())]
                .into_iter()
                .collect();
        let mut out = Vec::new();
        let mut batch = Writer::new(&mut out, "b");
        let write = |parts: &mut Writer<'_>| {
            for body in &bodies {
                let mut message = parts.begin_message(&["HTTP/1.1 200 OK"]);
                message.header("etag", value.as_bytes());
                message.body(body);
            }
        };
        if nested {
            let mut changeset = batch.parts("c");
            write(&mut changeset);
            changeset.close();
        } else {
            write(&mut batch);
        }
        batch.close();
        let mut read = parts(&out).unwrap();
        if nested {
            let Some(Part::Parts(changeset)) = read.pop() else { panic!() };
            read = changeset.collect::<Result<_, _>>().unwrap();
        }
        prop_assert_eq!(read.len(), bodies.len());
        for (part, body) in read.iter().zip(&bodies) {
            let Part::Message(message) = part else { panic!() };
            prop_assert_eq!(message.status(), Ok(StatusCode::OK));
            prop_assert_eq!(&message.headers().unwrap(), &headers);
            prop_assert_eq!(message.body, &body[..]);
        }
    }

    /// Requests state their length, so any body is valid.
    #[test]
    fn requests_round_trip(bodies in proptest::collection::vec(body(), 0..6)) {
        let mut out = Vec::new();
        let mut batch = Writer::new(&mut out, "b");
        for body in &bodies {
            batch.request(&Method::PUT, ["/T", "(PartitionKey='',RowKey='')"], None, [], body);
        }
        batch.close();
        let read = parts(&out).unwrap();
        let read: Vec<_> = read.iter().map(message).collect();
        prop_assert_eq!(read.len(), bodies.len());
        for ((method, target, _, read), body) in read.into_iter().zip(&bodies) {
            prop_assert_eq!((method, target), (Method::PUT, "/T(PartitionKey='',RowKey='')"));
            prop_assert_eq!(read, &body[..]);
        }
    }

    #[test]
    fn no_bytes_panic(
        kind in "multipart/mixed;( ?boundary=\"?[bc]\"?;?|[ -~]{0,10})",
        pieces in proptest::collection::vec(0..PIECES.len(), 0..30),
        bytes in proptest::collection::vec(any::<u8>(), 0..20),
        at in any::<prop::sample::Index>(),
    ) {
        let mut body: Vec<u8> = pieces.into_iter().flat_map(|piece| PIECES[piece].bytes()).collect();
        let at = at.index(body.len() + 1);
        body.splice(at..at, bytes);
        for part in Parts::read(&kind, &body).into_iter().flatten().flatten() {
            match part {
                Part::Message(message) => {
                    let _ = (message.request(), message.status(), message.headers());
                }
                Part::Parts(parts) => assert!(parts.count() < 1000),
            }
        }
    }
}

const PIECES: [&str; 12] = [
    "--b",
    "--c",
    "--",
    "\r\n",
    "\n",
    "\n\n",
    "Content-Type: application/http\n",
    "Content-Type: multipart/mixed; boundary=c\n\n",
    "Content-Length: ",
    "7\n",
    "GET /T HTTP/1.1\n",
    "HTTP/1.1 200 OK\n",
];

/// Parts with all of their values, or the error that ends them.
fn described<'a>(
    mut parts: Parts<'a>,
    mut before: impl FnMut(&mut Parts<'a>),
) -> Vec<Result<String, MultipartError>> {
    let mut all = Vec::new();
    loop {
        before(&mut parts);
        let Some(part) = parts.next() else { return all };
        all.push(part.map(|part| match part {
            Part::Message(it) => format!(
                "{:?} {:?} {:?} {:?} {:?} {:?}",
                it.request(),
                it.status(),
                it.content_id(),
                it.etag(),
                it.headers(),
                it.body
            ),
            Part::Parts(parts) => format!("{parts:?}"),
        }));
    }
}

/// Lines of a part. The first ones are frequent.
const LINES: [&str; 20] = [
    "ETag: W/\"1\"\r\n",
    "ETag: W/\"2\"\r\n",
    "Content-ID: 1\r\n",
    "Content-ID: 2\r\n",
    "Location: /T(PartitionKey='p',RowKey='1')\r\n",
    "Location: /T(PartitionKey='p',RowKey='22')\r\n",
    "Content-Length: 3\r\n",
    "Content-Length: 0\r\n",
    "content-length: x\r\n",
    "ETag: \u{7}\r\n",
    "Content-Type: text\r\n",
    "X: \n",
    "X\r\n",
    "--b: 1\r\n",
    "--b\r\n",
    "\r\n",
    " HTTP/1.1 200 OK\r\n",
    "Content-Transfer-Encoding: base64\r\n",
    "--b--\r\n",
    "abc\r\n",
];

proptest! {
    /// Comparing a part with the first one does not change what is read.
    #[test]
    fn similar_parts_are_read_like_others(
        lines in proptest::collection::vec(0..7_usize, 0..5),
        edits in proptest::collection::vec((0..5_usize, 0..3_u8, 0..LINES.len(), any::<prop::sample::Index>()), 0..6),
        length in 0..5_usize,
    ) {
        let part: Vec<&str> = ["Content-Type: application/http\r\n", "\r\n", "HTTP/1.1 204 No Content\r\n"]
            .into_iter()
            .chain(lines.into_iter().map(|at| LINES[at]))
            .chain(["\r\n", "abc"[..length.min(3)].into(), "\r\n"])
            .collect();
        let mut parts = vec![part; 4];
        for (part, edit, line, at) in edits {
            let Some(part) = parts.get_mut(part) else { continue };
            let at = at.index(part.len().max(1));
            match edit {
                0 => part.insert(at.min(part.len()), LINES[line]),
                1 if at < part.len() => part[at] = LINES[line],
                _ if at < part.len() => drop(part.remove(at)),
                _ => {}
            }
        }
        let parts: Vec<_> = parts.iter().map(|part| part.concat()).collect();
        let body = format!("--b\r\n{}--b--\r\n", parts.join("--b\r\n"));
        let read = || Parts::read(KIND, body.as_bytes()).unwrap();
        prop_assert_eq!(described(read(), |_| {}), described(read(), Parts::forget_first), "{}", body);
    }
}

/// The names of a head that is compared are compared with each other, which takes quadratic time.
#[test]
fn a_part_with_very_many_headers_is_not_compared() {
    for (count, is_compared) in [(64, true), (65, false)] {
        let headers: Vec<_> = (0..count).map(|n| format!("h{n}: x\r\n")).collect();
        let headers = headers.concat();
        let part = format!(
            "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\n{headers}\r\n\r\n"
        );
        let body = format!("{part}{part}--b--\r\n");
        let mut parts = Parts::read(KIND, body.as_bytes()).unwrap();
        for at in 0..2 {
            assert_eq!(parts.is_next_similar(), is_compared && at > 0, "{count} headers");
            let Some(Ok(Part::Message(message))) = parts.next() else { panic!() };
            assert_eq!(message.headers().unwrap().len(), count);
        }
    }
}

#[test]
fn the_parts_of_a_response_are_compared_with_the_first_one() {
    let part = |at: usize| {
        format!(
            "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             HTTP/1.1 204 No Content\r\nETag: W/\"{at}\"\r\nContent-ID: {at}\r\nCache-Control: no-cache\r\n\r\n\r\n"
        )
    };
    let body: String = (0..3).map(part).chain(["--b--\r\n".to_owned()]).collect();
    let mut parts = Parts::read(KIND, body.as_bytes()).unwrap();
    assert!(!parts.is_next_similar());
    for at in 0..3 {
        assert_eq!(parts.is_next_similar(), at > 0);
        let Some(Ok(Part::Message(message))) = parts.next() else { panic!() };
        assert_eq!(message.etag(), Some(&*format!("W/\"{at}\"")));
        assert_eq!(message.content_id(), Some(&*at.to_string()));
        assert_eq!(message.headers().unwrap().len(), 3);
    }
    assert!(parts.next().is_none());
}
