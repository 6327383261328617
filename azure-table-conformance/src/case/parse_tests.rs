#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use super::super::cases;
use super::*;

const TEXT: &str = r#"# The title of the file.

### one: The rule
source: a page
dialect: both
row: {"PartitionKey":"a"}

POST /{table}
Prefer: return-no-content
-Accept

{"A":1,

"B":2}

=> 204
ETag: {etag}
-Location
(more): x

(empty)

GET /{table}
=> 200

exactly
{"value":[]}

POST /$batch

--b
GET /inside HTTP/1.1
--b--
=> 202
-> 204
Content-ID: 1
-> 404 ResourceNotFound

{"odata.error":{}}

### two: An open rule
source: one page
source: another page
status: not settled

GET /?comp=acl
=> 200

<SignedIdentifiers />
*</SignedIdentifiers>
or => 400 InvalidInput
"#;

#[test]
fn a_file_is_read() {
    let cases = parse("area", TEXT).unwrap();
    let [one, two] = cases.as_slice() else { panic!("{cases:?}") };
    assert_eq!(
        (one.name.as_str(), one.area(), one.title.as_str()),
        ("area/one", "area", "The rule")
    );
    assert_eq!(one.dialects, [Dialect::Storage, Dialect::Cosmos]);
    assert_eq!(one.tables(), ["table"]);
    let [post, get, batch] = one.steps.as_slice() else { panic!("{one:?}") };
    let prefer = ("Prefer".to_owned(), Some("return-no-content".to_owned()));
    assert_eq!(post.headers, [prefer, ("Accept".to_owned(), None)]);
    assert_eq!(post.body, "{\"A\":1,\n\n\"B\":2}");
    assert!(matches!(post.expected[0].body, ExpectedBody::Empty));
    assert_eq!(post.expected[0].headers[1], ("location".to_owned(), None));
    assert!(matches!(get.expected[0].body, ExpectedBody::Json { is_exact: true, .. }));
    assert_eq!(batch.body, "--b\nGET /inside HTTP/1.1\n--b--");
    let parts = &batch.expected[0].parts;
    assert_eq!(parts.iter().map(|part| part.status).collect::<Vec<_>>(), [204, 404]);
    assert_eq!(parts[1].code.as_deref(), Some("ResourceNotFound"));
    assert_eq!((two.sources.len(), two.is_settled), (2, false));
    let [yes, no] = two.steps[0].expected.as_slice() else { panic!("{two:?}") };
    assert!(matches!(&yes.body, ExpectedBody::Lines(lines) if lines.len() == 2));
    assert_eq!((no.status, no.code.as_deref()), (400, Some("InvalidInput")));
}

#[test]
fn malformed_files_are_refused_with_the_line() {
    for (text, line, reason) in [
        ("x", 1, "begins with ###"),
        ("### x", 1, "### name: title"),
        ("### x: y\nsource: s\n\nGET /\n", 4, "no => follows"),
        ("### x: y\n\nGET /\n=> 200", 4, "no source"),
        ("### x: y\nsource: s\n", 2, "no request"),
        ("### x: y\nsource: s\ncolor: red\n", 3, "unknown field"),
        ("### x: y\nsource: s\n\nGET /\n=> 2x", 5, "no status"),
        ("### x: y\nsource: s\n\nGET /\nAccept\n=> 200", 5, "not a header"),
        ("### x: y\nsource: s\n\nGET /\n=> 200\n\n{\"a\":}", 7, "JSON"),
        ("### x: y\nsource: s\n\nGET /\n=> 200\nor => 400", 6, "not settled"),
        ("### x: y\nsource: s\nstatus: not settled\n\nGET /\n=> 200", 6, "not settled"),
    ] {
        let error = parse("area", text).unwrap_err();
        assert_eq!(error.place, format!("area.http:{line}"), "{text}: {error}");
        assert!(error.reason.contains(reason), "{text}: {error}");
    }
}

#[test]
fn names_are_unique_and_names_in_requests_have_values() {
    let server = crate::Server::new("http://h/one", "one", "a2V5").unwrap();
    let mut names = BTreeSet::new();
    for case in cases().unwrap() {
        assert!(names.insert(case.name.clone()), "{} twice", case.name);
        let mut values = super::super::Values::new(&server, "t");
        for step in &case.steps {
            let headers = step.headers.iter().filter_map(|(_, value)| value.as_ref());
            for text in [&step.target, &step.body].into_iter().chain(headers) {
                values.fill(text).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            }
            for name in bound(&step.expected) {
                values.bind(&name, String::new());
            }
        }
    }
}

/// The names that a response binds.
fn bound(expected: &[Expected]) -> Vec<String> {
    let mut texts = Vec::new();
    for one in expected {
        texts.extend(one.headers.iter().filter_map(|(_, it)| Some(it.as_ref()?.text().to_owned())));
        match &one.body {
            ExpectedBody::Json { value, .. } => texts.push(value.to_string()),
            ExpectedBody::Lines(lines) => texts.extend(lines.iter().map(|it| it.text().to_owned())),
            ExpectedBody::Any | ExpectedBody::Empty => {}
        }
        texts.extend(bound(&one.parts).iter().map(|name| format!("{{{name}}}")));
    }
    let names = texts.iter().flat_map(|text| text.split('{').skip(1));
    names.filter_map(|rest| Some(crate::case::fill::name(rest)?.0.to_owned())).collect()
}

/// The number of cases in each area, and of recordings. A new case changes them.
#[test]
fn each_area_has_its_cases() {
    let mut counts = BTreeMap::new();
    for case in cases().unwrap() {
        *counts.entry(case.area().to_owned()).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(area, count)| (area.as_str(), *count)).collect();
    let expected = [
        ("authorization", 44),
        ("cosmos", 29),
        ("filters", 65),
        ("gets", 17),
        ("headers", 36),
        ("inserts", 34),
        ("limits", 25),
        ("literals", 61),
        ("paging", 25),
        ("recorded", 239),
        ("service", 35),
        ("tables", 32),
        ("transactions", 46),
        ("updates", 50),
    ];
    assert_eq!(counts, expected);
}

/// Variants of a rule count once: about 40 settled cases of Azure Storage are variants of others.
#[test]
fn azure_storage_has_more_than_300_settled_rules() {
    let cases = cases().unwrap();
    let is_rule = |case: &&Case| case.area() != "recorded" && case.applies_to(Dialect::Storage);
    let settled = cases.iter().filter(is_rule).filter(|case| case.is_settled).count();
    assert!(settled > 340, "{settled}");
}

/// A name that only one response has would match any text there.
#[test]
fn each_name_that_a_response_binds_is_used() {
    let mut bound_names = 0;
    for case in cases().unwrap().iter().filter(|case| case.area() != "recorded") {
        let server = crate::Server::new("http://h/one", "one", "a2V5").unwrap();
        let values = super::super::Values::new(&server, "t");
        let of_responses: Vec<_> = case.steps.iter().flat_map(|it| bound(&it.expected)).collect();
        let sent: String = case.sent().collect();
        for name in of_responses.iter().filter(|name| values.get(name).is_none()) {
            bound_names += 1;
            let uses = of_responses.iter().filter(|it| *it == name).count();
            let is_sent = sent.contains(&format!("{{{name}}}"));
            assert!(uses > 1 || is_sent, "{}: {name} is used once", case.name);
        }
    }
    assert!(bound_names > 20);
}

/// A source `recording SET NAME` is in `tests/recordings`; other sources are URLs or files of the repository.
#[test]
fn each_source_exists() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for case in cases().unwrap() {
        for source in &case.sources {
            let Some(recording) = source.strip_prefix("recording ") else {
                let place = source.split([' ', ',']).next().unwrap();
                let exists = place.starts_with("http") || root.join(place).exists();
                assert!(exists, "{}: {source}", case.name);
                continue;
            };
            let (set, name) = recording.split_once(' ').unwrap();
            let path = root.join("tests/recordings").join(set).with_extension("jsonl");
            let lines = std::fs::read_to_string(&path).unwrap_or_default();
            let name = format!("{{\"name\":\"{name}\"");
            assert!(lines.lines().any(|line| line.starts_with(&name)), "{}: {source}", case.name);
        }
    }
}
