//! Tests of the clean-up: removed tables and restored settings.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const REFUSED: &str = "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n";

fn cases(count: usize, request: &str) -> Vec<Case> {
    let case = |number| format!("### n{number}: x\nsource: s\n{request}\n=> 204\n\n");
    parse("area", &(0..count).map(case).collect::<String>()).unwrap()
}

fn sent(fake: &Fake, request: &str) -> usize {
    fake.received().iter().filter(|line| line.starts_with(request)).count()
}

#[tokio::test]
async fn a_case_has_its_own_tables_and_removes_them() {
    let fake = Fake::start(Some(ROW)).await;
    let text = "### one: x\nsource: s\nrow: {\"PartitionKey\":\"a\"}\nrestores: service properties\n\n\
        GET /{name}\nX: {table2}\n=> 200\n\n{\"A\":1}\n";
    assert_eq!(run(&fake, text).await, Outcome::Passed);
    let lines = fake.received();
    let table = lines[2].strip_prefix("POST /one/").unwrap().trim_end_matches("table").to_owned();
    let expected: Vec<_> = [
        "POST /one/Tables",
        "POST /one/Tables",
        "POST /one/{}table",
        "GET /one/?restype=service&comp=properties",
        "GET /one/{}name",
        "PUT /one/?restype=service&comp=properties",
        "DELETE /one/Tables('{}name')",
        "DELETE /one/Tables('{}table')",
        "DELETE /one/Tables('{}table2')",
    ]
    .map(|line| line.replace("{}", &table))
    .into();
    assert_eq!(lines, expected);
    assert!(table.starts_with("conformance"), "{table}");
}

#[tokio::test]
async fn an_interrupted_run_is_cleaned_up() {
    let fake = Fake::start(None).await;
    let cases = parse("area", "### one: x\nsource: s\n\nGET /{table}\n=> 200\n").unwrap();
    let mut run = Run::new(&fake.server);
    let selection = Selection::default();
    let interrupted = async {
        while fake.received().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = run.cases(&cases, &selection, |_| ()) => panic!("the case ended"),
        () = interrupted => {}
    }
    assert_eq!(run.clean_up().await, Ok(()));
    assert_eq!(run.clean_up().await, Ok(()));
    let lines = fake.received();
    let deleted = lines.iter().filter(|line| line.starts_with("DELETE /one/Tables('")).count();
    assert_eq!((lines.len(), deleted), (3, 1), "{lines:?}");
}

#[tokio::test]
async fn an_interrupted_removal_is_repeated() {
    let deletions = AtomicUsize::new(0);
    let fake = Fake::serving(move |line| {
        let is_first = line.starts_with("DELETE") && deletions.fetch_add(1, Ordering::SeqCst) == 0;
        if is_first { None } else { Some(NOTHING) }
    })
    .await;
    let (cases, selection) = (cases(1, "\nPUT /{table}"), Selection::default());
    let mut run = Run::new(&fake.server);
    let interrupted = async {
        while sent(&fake, "DELETE") == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = run.cases(&cases, &selection, |_| ()) => panic!("the case ended"),
        () = interrupted => {}
    }
    assert_eq!(run.clean_up().await, Ok(()));
    assert_eq!(sent(&fake, "DELETE"), 2);
}

#[tokio::test]
async fn tables_that_a_server_does_not_delete_are_tried_once_more() {
    let fake =
        Fake::serving(|line| Some(if line.starts_with("DELETE") { REFUSED } else { NOTHING }))
            .await;
    let mut run = Run::new(&fake.server);
    run.cases(&cases(4, "\nPUT /{table}"), &Selection::default(), |_| ()).await;
    assert_eq!(sent(&fake, "DELETE"), 4);
    let left = run.clean_up().await.unwrap_err();
    assert_eq!((left.len(), sent(&fake, "DELETE")), (4, 8));
    assert!(left.iter().all(|name| name.starts_with(run.prefix())), "{left:?}");
}

#[tokio::test]
async fn deletions_end_if_there_is_no_response() {
    let fake = Fake::serving(|line| (!line.starts_with("DELETE")).then_some(NOTHING)).await;
    let mut run = Run::new(&fake.server);
    run.cases(
        &cases(1, "\nPUT /{name}{name2}{name3}{name4}{name5}"),
        &Selection::default(),
        |_| (),
    )
    .await;
    assert_eq!(sent(&fake, "DELETE"), 3);
    assert_eq!(run.clean_up().await.unwrap_err().len(), 5);
    assert_eq!(sent(&fake, "DELETE"), 6);
}

#[tokio::test]
async fn the_properties_from_before_the_first_case_are_restored() {
    let fake = Fake::serving(|line| {
        let is_restored = line.starts_with("PUT /one/?restype");
        Some(if is_restored {
            REFUSED
        } else if line.starts_with("GET") {
            ROW
        } else {
            NOTHING
        })
    })
    .await;
    let mut run = Run::new(&fake.server);
    let cases = cases(2, "restores: service properties\n\nPUT /x");
    run.cases(&cases, &Selection::default(), |_| ()).await;
    assert_eq!((sent(&fake, "GET /one/?restype"), sent(&fake, "PUT /one/?restype")), (1, 2));
    assert_eq!(run.clean_up().await, Err(vec!["the service properties".to_owned()]));
    assert_eq!(sent(&fake, "PUT /one/?restype"), 3);
}

#[tokio::test]
async fn a_table_outside_of_the_prefix_is_deleted_if_it_was_created() {
    for (response, name, deletions) in
        [(NOTHING, "ab", 1), (REFUSED, "ab", 0), (NOTHING, "1{name}", 2), (REFUSED, "1{name}", 1)]
    {
        let fake = Fake::serving(move |line| {
            Some(if line.starts_with("POST") { response } else { NOTHING })
        })
        .await;
        let mut run = Run::new(&fake.server);
        let create = format!("\nPOST /Tables\n\n{{\"TableName\":\"{name}\"}}");
        run.cases(&cases(1, &create), &Selection::default(), |_| ()).await;
        assert_eq!(sent(&fake, "DELETE"), deletions, "{name}: {:?}", fake.received());
        if name == "ab" {
            assert_eq!(sent(&fake, "DELETE /one/Tables('ab')"), deletions);
        }
    }
}

#[tokio::test]
async fn cases_are_not_run_on_a_server_without_responses() {
    let fake = Fake::serving(|_| None).await;
    let mut run = Run::new(&fake.server);
    let report = run.cases(&cases(6, "\nPUT /{table}"), &Selection::default(), |_| ()).await;
    assert!(report.results.iter().all(|it| matches!(it.outcome, Outcome::Differs(_))));
    assert_eq!((report.results.len(), sent(&fake, "POST /one/Tables")), (6, 3));
    let (_, got) = difference(report.results[5].outcome.clone());
    assert!(got.starts_with("not run"), "{got}");
}
