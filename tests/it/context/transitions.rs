//! One test for each cell of the table of transitions.

use azure_table_client::IfMatch;
use azure_table_client::context::{EntityState, TableContext};

use super::{STARTS, Start, blog, in_state, service, state};

use EntityState::{Added, Deleted, Modified, Unchanged};

/// The result of a call: a new state, `None` for not tracked, or an error with this in its text.
type Cell = Result<Option<EntityState>, &'static str>;

const ALREADY: Cell = Err("tracked already");
const NOT_TRACKED: Cell = Err("no tracked entity");

type Act = fn(&mut TableContext) -> Result<(), azure_table_client::Error>;

/// The calls, and their results for an entity that is not tracked, added, unchanged, modified,
/// deleted.
const TABLE: [(&str, Act, [Cell; 5]); 9] = [
    (
        "add",
        |c| c.add(&blog("1", "new")),
        [Ok(Some(Added)), ALREADY, ALREADY, ALREADY, Ok(Some(Modified))],
    ),
    (
        "attach",
        |c| c.attach(&blog("1", "new"), IfMatch::Any),
        [Ok(Some(Unchanged)), ALREADY, ALREADY, ALREADY, ALREADY],
    ),
    (
        "update",
        |c| c.update(&blog("1", "new")),
        [
            NOT_TRACKED,
            Ok(Some(Added)),
            Ok(Some(Modified)),
            Ok(Some(Modified)),
            Err("it is deleted"),
        ],
    ),
    (
        "update to the same",
        |c| c.update(&blog("1", "old")),
        [
            NOT_TRACKED,
            Ok(Some(Added)),
            Ok(Some(Unchanged)),
            Ok(Some(Unchanged)),
            Err("it is deleted"),
        ],
    ),
    (
        "delete",
        |c| c.delete(&blog("1", "")),
        [NOT_TRACKED, Ok(None), Ok(Some(Deleted)), Ok(Some(Deleted)), Ok(Some(Deleted))],
    ),
    (
        "detach",
        |c| c.detach(&blog("1", "")).map(|_| ()),
        [Ok(None), Ok(None), Ok(None), Ok(None), Ok(None)],
    ),
    (
        "reset",
        |c| c.reset(&blog("1", "")),
        [
            NOT_TRACKED,
            Err("it is new"),
            Ok(Some(Unchanged)),
            Ok(Some(Unchanged)),
            Ok(Some(Unchanged)),
        ],
    ),
    (
        "clear",
        |c| {
            c.clear();
            Ok(())
        },
        [Ok(None), Ok(None), Ok(None), Ok(None), Ok(None)],
    ),
    (
        "detach_where",
        |c| {
            c.detach_where(|entry| entry.key().row_key == "1");
            Ok(())
        },
        [Ok(None), Ok(None), Ok(None), Ok(None), Ok(None)],
    ),
];

#[tokio::test]
async fn every_cell() {
    let (mock, blogs) = service().await;
    let mut cells = 0;
    for (call, act, row) in TABLE {
        for (start, expected) in STARTS.into_iter().zip(row) {
            let mut ctx = in_state(&mock, &blogs, start).await;
            let before = format!("{ctx:?}");
            mock.requests().clear();
            match (act(&mut ctx), expected) {
                (Ok(()), Ok(expected)) => assert_eq!(state(&ctx), expected, "{call} on {start:?}"),
                (Err(error), Err(text)) => {
                    assert!(error.to_string().contains(text), "{call} on {start:?}: {error}");
                    assert_eq!(error.entity_key().unwrap().row_key, "1");
                    assert_eq!(format!("{ctx:?}"), before, "{call} on {start:?} changes nothing");
                }
                (result, expected) => panic!("{call} on {start:?}: {result:?}, not {expected:?}"),
            }
            assert_eq!(mock.requests().total(), 0, "{call} sends nothing");
            cells += 1;
        }
    }
    println!("{cells} cells");
}

#[tokio::test]
async fn detach_reports_whether_the_entity_was_tracked() {
    let (mock, blogs) = service().await;
    for start in STARTS {
        let mut ctx = in_state(&mock, &blogs, start).await;
        assert_eq!(ctx.detach(&blog("1", "")).unwrap(), start != Start::NotTracked);
    }
}

/// The sequence numbers of the changes: new for a newly changed entity, unchanged for the others.
#[tokio::test]
async fn changes_keep_their_order() {
    let (mock, blogs) = service().await;
    for id in ["1", "2", "3"] {
        blogs.insert(&blog(id, "old")).await.unwrap();
    }
    let mut ctx = super::context(&mock);
    ctx.load(ctx.service().table::<super::Blog>().query()).await.unwrap();
    let order = |ctx: &TableContext| -> Vec<String> {
        ctx.entries().iter().map(|entry| entry.key().row_key.clone()).collect()
    };
    assert_eq!(order(&ctx), ["1", "2", "3"]);
    ctx.update(&blog("1", "new")).unwrap();
    assert_eq!(order(&ctx), ["2", "3", "1"], "a change comes behind");
    ctx.update(&blog("2", "new")).unwrap();
    ctx.update(&blog("1", "newer")).unwrap();
    assert_eq!(order(&ctx), ["3", "1", "2"], "changed again, it keeps its place");
    ctx.delete(&blog("1", "")).unwrap();
    assert_eq!(order(&ctx), ["3", "2", "1"], "a deletion is another change");
    ctx.delete(&blog("1", "")).unwrap();
    ctx.add(&blog("1", "again")).unwrap();
    ctx.add(&blog("0", "new")).unwrap();
    assert_eq!(order(&ctx), ["3", "2", "1", "0"]);
}

/// The error about an entity with another key names it.
#[tokio::test]
async fn a_changed_key_is_another_entity() {
    let (mock, blogs) = service().await;
    let mut ctx = in_state(&mock, &blogs, Start::Unchanged).await;
    let error = ctx.update(&blog("2", "old")).unwrap_err();
    assert!(error.to_string().contains(r#"("c", "2")"#), "{error}");
    // Table names ignore case, keys do not.
    assert!(ctx.table_named::<super::Blog>("BLOGS").entry(("c", "1")).is_some());
    assert!(ctx.table_named::<super::Blog>("Blogs").entry(("C", "1")).is_none());
}
