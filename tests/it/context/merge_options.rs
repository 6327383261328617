//! One test for each cell of the table of merge options.

use azure_table_client::IfMatch;
use azure_table_client::context::{EntityState, MergeOption, SaveOptions};

use super::{Blog, STARTS, Start, blog, context, in_state, service, state, stored};

use EntityState::{Added, Deleted, Modified, Unchanged};

/// The text and the rating that the query returns, the state after it, and the ETag of the next
/// write.
type Cell = (&'static str, i32, Option<EntityState>, ETag);

#[derive(Debug, Clone, Copy, PartialEq)]
enum ETag {
    None,
    Old,
    New,
}

/// The service's text is "server" and its rating 9; the local text is "local".
const TABLE: [(MergeOption, [Cell; 5]); 4] = [
    (
        MergeOption::NoTracking,
        [
            ("server", 9, None, ETag::None),
            ("server", 9, Some(Added), ETag::None),
            ("server", 9, Some(Unchanged), ETag::Old),
            ("server", 9, Some(Modified), ETag::Old),
            ("server", 9, Some(Deleted), ETag::Old),
        ],
    ),
    (
        MergeOption::AppendOnly,
        [
            ("server", 9, Some(Unchanged), ETag::New),
            ("old", 3, Some(Added), ETag::None),
            ("old", 3, Some(Unchanged), ETag::Old),
            ("local", 3, Some(Modified), ETag::Old),
            ("old", 3, Some(Deleted), ETag::Old),
        ],
    ),
    (
        MergeOption::OverwriteChanges,
        [
            ("server", 9, Some(Unchanged), ETag::New),
            ("server", 9, Some(Unchanged), ETag::New),
            ("server", 9, Some(Unchanged), ETag::New),
            ("server", 9, Some(Unchanged), ETag::New),
            ("server", 9, Some(Unchanged), ETag::New),
        ],
    ),
    (
        MergeOption::PreserveChanges,
        [
            ("server", 9, Some(Unchanged), ETag::New),
            ("old", 3, Some(Modified), ETag::New),
            ("server", 9, Some(Unchanged), ETag::New),
            ("local", 9, Some(Modified), ETag::New),
            ("server", 9, Some(Deleted), ETag::New),
        ],
    ),
];

#[tokio::test]
async fn every_cell() {
    let (mock, blogs) = service().await;
    let mut cells = 0;
    for (option, row) in TABLE {
        for (start, (text, rating, then, etag)) in STARTS.into_iter().zip(row) {
            let what = format!("{option:?} on {start:?}");
            let mut ctx = in_state(&mock, &blogs, start).await;
            let old = ctx.entry(&blog("1", "")).unwrap().and_then(|e| e.condition().cloned());
            let server = Blog { rating: Some(9), ..blog("1", "server") };
            let new = blogs.insert_or_replace(&server).await.unwrap().etag;
            let found =
                ctx.load(ctx.service().table::<Blog>().query()).merge_option(option).await.unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!((&*found[0].text, found[0].rating), (text, Some(rating)), "{what}");
            assert_eq!(state(&ctx), then, "{what}");
            let condition = ctx.entry(&blog("1", "")).unwrap().and_then(|e| e.condition().cloned());
            let expected = match etag {
                ETag::None => None,
                ETag::Old => old,
                ETag::New => Some(IfMatch::Tag(new)),
            };
            assert_eq!(condition, expected, "{what}");
            // Two results for the same key have equal values.
            let again =
                ctx.load(ctx.service().table::<Blog>().query()).merge_option(option).await.unwrap();
            assert_eq!(again, found, "{what}");
            cells += 1;
        }
    }
    println!("{cells} cells");
}

/// After a refresh that preserves changes, the client wins; without a refresh, the save reports a
/// conflict.
#[tokio::test]
async fn preserved_changes_win() {
    let (mock, blogs) = service().await;
    for (option, text) in
        [(MergeOption::AppendOnly, "server"), (MergeOption::PreserveChanges, "local")]
    {
        let mut ctx = in_state(&mock, &blogs, Start::Modified).await;
        blogs.insert_or_replace(&blog("1", "server")).await.unwrap();
        ctx.load(ctx.service().table::<Blog>().query()).merge_option(option).await.unwrap();
        let saved = ctx.save_changes().await;
        assert_eq!(saved.is_ok(), option == MergeOption::PreserveChanges);
        assert_eq!(blogs.get(("c", "1")).await.unwrap().text, text);
    }
}

/// A later query fills in columns that a projection left out; tracked values stay.
#[tokio::test]
async fn a_projection_is_completed() {
    let (mock, blogs) = service().await;
    let table = stored(&mock);
    let mut other = azure_table_client::DynamicEntity::new("c", "1");
    other.set("Text", "old").set("Rating", 3).set("Foreign", "stays");
    table.insert(&other).await.unwrap();
    let mut ctx = context(&mock);
    let found =
        ctx.load(ctx.service().table::<Blog>().query().select_names(["Text"])).await.unwrap();
    assert_eq!(found[0].rating, None, "not read");
    // Removing a property needs a replace, which would lose columns that were not read.
    let removing = Blog { rating: Some(4), ..found[0].clone() };
    ctx.update(&removing).unwrap();
    assert_eq!(ctx.entry(&removing).unwrap().unwrap().changed(), ["Rating"]);
    blogs.merge(&Blog { rating: Some(5), ..blog("1", "server") }, IfMatch::Any).await.unwrap();
    let found = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    assert_eq!((&*found[0].text, found[0].rating), ("old", Some(4)), "tracked values stay");
    let mut ctx = context(&mock);
    ctx.load(ctx.service().table::<Blog>().query().select_names(["Text", "Rating"])).await.unwrap();
    ctx.update(&Blog { rating: None, ..blog("1", "server") }).unwrap();
    mock.requests().clear();
    let error = ctx.save_changes().await.unwrap_err();
    assert!(error.error.to_string().contains("did not select"), "{}", error.error);
    assert_eq!(mock.requests().total(), 0);
    // Once the complete row was read, the property can be removed, and the others stay.
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.save_changes().await.unwrap();
    let row = table.get(("c", "1")).await.unwrap();
    assert_eq!((row.value("Rating"), row.get("Foreign")), (None, Some(Ok("stays".to_owned()))));
}

/// Another program has written the value that the program has set, and then a newer one. Nothing was left to change, so that a
/// replacement of the row keeps the newer value.
#[tokio::test]
async fn a_replacement_follows_a_value_that_the_row_had_already() {
    let (mock, blogs) = service().await;
    let mut ctx = context(&mock);
    ctx.add(&blog("1", "old")).unwrap();
    ctx.update(&blog("1", "same")).unwrap();
    for text in ["same", "newer"] {
        blogs.insert_or_replace(&blog("1", text)).await.unwrap();
        let query = ctx.service().table::<Blog>().query();
        ctx.load(query).merge_option(MergeOption::PreserveChanges).await.unwrap();
    }
    let options = SaveOptions::each().replace_on_update();
    ctx.save_changes_with(options).await.unwrap();
    assert_eq!(blogs.get(("c", "1")).await.unwrap().text, "newer");
}
