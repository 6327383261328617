//! Data that must survive a save: columns with a custom codec, columns that were not read,
//! concurrent writes of other programs, and changes by hooks.

use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{EntityState, MergeOption, SaveOptions, TableContext};
use azure_table_client::entity::PropertyGroup;
use azure_table_client::{DynamicEntity, IfMatch, Operation, Proof, TableEntity};
use azure_table_tests::scripted::{Scripted, Step, is_write, on};

use super::{Blog, blog, context, service, stored};

/// Fields with custom codecs.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs")]
struct Odd {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    #[table(on_mistyped = "none")]
    none: Option<i32>,
    #[table(on_mistyped = "default", default)]
    mistyped: i32,
    #[table(default)]
    missing: i32,
    #[table(alias = "former")]
    named: String,
    #[table(accept = "widened")]
    widened: i64,
    #[table(split)]
    split: String,
    #[table(as_string)]
    text: u128,
    #[table(as_i64)]
    number: u64,
    real: f64,
    #[table(series)]
    series: Vec<i32>,
    #[table(flatten = "Home_")]
    home: Option<Home>,
}

#[derive(Debug, Clone, PartialEq, PropertyGroup)]
struct Home {
    city: Option<String>,
}

/// An entity that was read and updated without a change is not sent, regardless of its codecs.
#[tokio::test]
async fn an_update_without_a_change_sends_nothing() {
    let (mock, _) = service().await;
    let mut row = DynamicEntity::new("p", "r");
    row.set("none", "precious").set("mistyped", "precious").set("former", "text").set("widened", 5);
    row.set("split", "not split yet").set("text", "5").set("number", 7_i64).set("real", f64::NAN);
    row.set("series00", 1).set("series01", 2).set("Home_city", "Ulm").set("foreign", true);
    stored(&mock).insert(&row).await.unwrap();
    let mut ctx = context(&mock);
    let mut read = ctx.load(ctx.service().table::<Odd>().query()).await.unwrap().remove(0);
    ctx.update(&read).unwrap();
    assert!(!ctx.has_changes(), "{:?}", ctx.entries());
    mock.requests().clear();
    // A single change is sent alone; unreadable properties keep their values.
    read.missing = 1;
    ctx.update(&read).unwrap();
    assert_eq!(ctx.entries()[0].changed(), ["missing"]);
    ctx.save_changes().await.unwrap();
    assert_eq!(mock.requests().count(Operation::Merge), 1);
    let after = stored(&mock).get(("p", "r")).await.unwrap();
    for (name, value) in row.properties() {
        assert_eq!(after.value(name), Some(value), "{name}");
    }
    // A removed value is removed by the name of its column.
    read.home = None;
    read.series.pop();
    ctx.update(&read).unwrap();
    ctx.save_changes().await.unwrap();
    let after = stored(&mock).get(("p", "r")).await.unwrap();
    assert_eq!((after.value("Home_city"), after.value("series01")), (None, None));
    assert_eq!(after.value("none"), row.value("none"));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
struct Defaults {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    #[table(default)]
    text: String,
    #[table(default)]
    rating: i32,
}

/// A projected struct removes only columns that its projection had, even if a later query has read
/// the complete row.
#[tokio::test]
async fn a_struct_of_an_earlier_projection_removes_nothing() {
    let (mock, blogs) = service().await;
    blogs.insert(&Blog { rating: Some(5), ..blog("1", "precious") }).await.unwrap();
    let mut ctx = context(&mock);
    let mut early = ctx
        .load(ctx.service().table::<Defaults>().query().select_names(["Rating"]))
        .await
        .unwrap()
        .remove(0);
    let late = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap().remove(0);
    assert_eq!((&*early.text, &*late.text), ("", "precious"));
    early.rating = 4;
    let error = ctx.update(&early).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(r#""Text" has the default of a struct whose query did not select it"#)
    );
    // The complete struct may change every column, and the earlier struct its own columns.
    ctx.update(&Blog { rating: Some(3), ..late }).unwrap();
    early.text = "changed".into();
    ctx.update(&early).unwrap();
    ctx.save_changes().await.unwrap();
    let after = blogs.get(("c", "1")).await.unwrap();
    assert_eq!((&*after.text, after.rating), ("changed", Some(4)));
}

/// The defaults of unread columns do not overwrite them.
#[tokio::test]
async fn defaults_of_a_projection_overwrite_nothing() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "precious")).await.unwrap();
    let mut ctx = context(&mock);
    let mut read = ctx
        .load(ctx.service().table::<Defaults>().query().select_names(["Rating"]))
        .await
        .unwrap()
        .remove(0);
    read.rating = 4;
    ctx.update(&read).unwrap();
    ctx.save_changes().await.unwrap();
    let after = blogs.get(("c", "1")).await.unwrap();
    assert_eq!((&*after.text, after.rating), ("precious", Some(4)));
}

/// Hooks change the entity that is sent, once for each request.
#[tokio::test]
async fn hooks_are_not_applied_twice() {
    let (mock, blogs) = service().await;
    let mut ctx = context(&mock);
    let map = |entity: &mut DynamicEntity, map: fn(String) -> String| {
        if let Some(Ok(text)) = entity.get::<String>("Text") {
            entity.set("Text", map(text));
        }
    };
    ctx.on_writing(move |entity| map(entity, |text| format!("<{text}>")));
    ctx.on_reading(move |entity| {
        map(entity, |text| text.trim_matches(['<', '>']).to_owned());
    });
    blogs.insert(&blog("1", "<other>")).await.unwrap();
    ctx.add(&blog("1", "secret")).unwrap();
    ctx.save_changes().await.unwrap_err();
    blogs.delete(("c", "1"), IfMatch::Any).await.unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(blogs.get(("c", "1")).await.unwrap().text, "<secret>");
    let found = ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    assert_eq!(found[0].text, "secret");
    ctx.update(&found[0]).unwrap();
    assert!(!ctx.has_changes());
    ctx.clear();
    assert_eq!(ctx.load(ctx.service().table::<Blog>().query()).await.unwrap()[0].text, "secret");
}

/// A struct has the ETag of its values, never a newer one.
#[tokio::test]
async fn tracked_values_keep_their_own_version() {
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "Blogs", rename_all = "PascalCase")]
    struct Versioned {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
        #[table(etag)]
        etag: azure_table_client::ETag,
    }
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let mut ctx = context(&mock);
    let first = ctx.load(ctx.service().table::<Versioned>().query()).await.unwrap().remove(0);
    blogs.insert_or_replace(&blog("1", "other")).await.unwrap();
    let again = ctx.load(ctx.service().table::<Versioned>().query()).await.unwrap().remove(0);
    assert_eq!((&*again.text, &again.etag), ("old", &first.etag));
    let table = blogs.with_entity::<Versioned>();
    let error = table.replace(&again, &again.etag).await.unwrap_err();
    assert!(error.is_precondition_failed(), "the other program's text stays");
}

/// A removal outside a projection is refused, not forgotten.
#[tokio::test]
async fn a_removal_survives_a_refresh_by_a_projection() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let mut ctx = context(&mock);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&Blog { rating: None, ..blog("1", "old") }).unwrap();
    let query = ctx.load(ctx.service().table::<Blog>().query().select_names(["Text"]));
    query.merge_option(MergeOption::PreserveChanges).await.unwrap();
    assert_eq!(ctx.entries()[0].changed(), ["Rating"]);
    let error = ctx.save_changes().await.unwrap_err();
    assert!(error.error.to_string().contains("read all columns first"), "{}", error.error);
    ctx.load(ctx.service().table::<Blog>().query())
        .merge_option(MergeOption::PreserveChanges)
        .await
        .unwrap();
    ctx.save_changes().await.unwrap();
    assert_eq!(blogs.get(("c", "1")).await.unwrap().rating, None);
    // A change that the service already has is not sent.
    ctx.update(&Blog { rating: Some(5), ..blog("1", "old") }).unwrap();
    blogs.insert_or_replace(&Blog { rating: Some(5), ..blog("1", "old") }).await.unwrap();
    ctx.load(ctx.service().table::<Blog>().query())
        .merge_option(MergeOption::PreserveChanges)
        .await
        .unwrap();
    mock.requests().clear();
    ctx.save_changes().await.unwrap();
    assert_eq!(mock.requests().total(), 0);
}

/// Removes the ETags from the response to a batch.
pub(super) fn without_etags() -> Step {
    Step::pass().edit(|response| {
        let text = str::from_utf8(&response.body).unwrap();
        let kept = text.split_inclusive("\r\n").filter(|line| !line.starts_with("ETag"));
        response.body = kept.collect::<String>().into();
    })
}

/// If a response has no ETag, the client reads it; an update is never sent without one.
#[tokio::test]
async fn a_missing_version_is_read() {
    let (mock, blogs) = service().await;
    let stripping = Scripted::new(mock.transport(), on(is_write, |_| without_etags()));
    let client = mock.client_builder().transport(stripping).build().unwrap();
    let mut ctx = TableContext::new(&client);
    ctx.add(&blog("1", "mine")).unwrap();
    ctx.save_changes_with(SaveOptions::atomic()).await.unwrap();
    let etag = blogs.get(("c", "1")).await.unwrap().etag.clone();
    assert_eq!(ctx.entries()[0].condition(), Some(&IfMatch::Tag(etag)));
    blogs.insert_or_replace(&blog("1", "other")).await.unwrap();
    ctx.update(&blog("1", "again")).unwrap();
    assert!(ctx.save_changes().await.unwrap_err().error.is_precondition_failed());
}

/// Another program's write after a change with a lost reply is a conflict.
#[tokio::test]
async fn a_foreign_write_after_a_lost_reply_is_a_conflict() {
    let (mock, blogs) = service().await;
    blogs.insert(&blog("1", "old")).await.unwrap();
    let mut ctx = context(&mock);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&blog("1", "mine")).unwrap();
    {
        // The request is applied, and its reply is in flight.
        let mut save = Box::pin(ctx.save_changes());
        for _ in 0..3 {
            let _ = futures_util::poll!(save.as_mut());
        }
    }
    let mut others = DynamicEntity::new("c", "1");
    others.set("Rating", 99);
    stored(&mock).merge(&others, IfMatch::Any).await.unwrap();
    // The state matches, which proves nothing by default.
    let error = ctx.save_changes().await.unwrap_err();
    assert_eq!(error.report.unknown().count(), 1);
    assert!(error.error.state_matches(), "{}", error.error);
    ctx.save_changes_with(SaveOptions::each().proof(Proof::MatchingUpdate)).await.unwrap();
    assert_eq!(ctx.entries()[0].state(), EntityState::Unchanged);
    ctx.update(&blog("1", "again")).unwrap();
    let saved = ctx.save_changes_with(SaveOptions::each().replace_on_update()).await;
    assert!(saved.unwrap_err().error.is_precondition_failed());
    assert_eq!(blogs.get(("c", "1")).await.unwrap().rating, Some(99));
}

/// The report of a dropped save names the changes that were sent.
#[tokio::test]
async fn the_report_of_a_dropped_save() {
    let (mock, _) = service().await;
    let mut ctx = context(&mock);
    for id in ["1", "2"] {
        ctx.add(&blog(id, "new")).unwrap();
    }
    assert!(ctx.last_report().results.is_empty());
    {
        let mut save = Box::pin(ctx.save_changes());
        let _ = futures_util::poll!(save.as_mut());
    }
    let outcomes = &ctx.last_report().results;
    assert!(matches!(outcomes[0].outcome, WriteOutcome::Unknown(_)));
    assert!(matches!(outcomes[1].outcome, WriteOutcome::NotAttempted(_)));
    assert_eq!(ctx.last_report().to_string(), "0 applied, 0 failed, 1 not attempted, 1 unknown");
    // All unknown changes are named, also while they are resolved.
    {
        let mut save = Box::pin(ctx.save_changes());
        let _ = futures_util::poll!(save.as_mut());
    }
    assert_eq!(ctx.last_report().unknown().count(), 1);
    ctx.save_changes().await.unwrap();
}

/// The write id of one row proves that the whole transaction was applied, and another program's
/// later write stays. Without ids, one matching row is not a proof: a conflict is reported, and
/// nothing is lost.
#[tokio::test]
async fn a_transaction_is_resolved_as_a_whole() {
    for (polls, has_ids) in (1..6).flat_map(|polls| [(polls, true), (polls, false)]) {
        let (mock, blogs) = service().await;
        let mut client = mock.client_builder();
        if has_ids {
            client = client.write_id_column("WriteId");
        }
        let mut ctx = TableContext::new(&client.build().unwrap());
        ctx.table::<Blog>().add_or_replace(&blog("1", "mine")).unwrap();
        ctx.add(&blog("2", "mine")).unwrap();
        {
            let mut save = Box::pin(ctx.save_changes_with(SaveOptions::atomic()));
            for _ in 0..polls {
                if futures_util::poll!(save.as_mut()).is_ready() {
                    break;
                }
            }
        }
        let is_known = !ctx.has_changes();
        let was_made = blogs.query().count().await.unwrap() == 2;
        if was_made {
            blogs.insert_or_replace(&blog("1", "theirs")).await.unwrap();
        }
        let saved = ctx.save_changes_with(SaveOptions::atomic()).await;
        let is_told = has_ids || is_known || !was_made;
        assert_eq!(saved.is_ok(), is_told, "after {polls} polls, ids: {has_ids}");
        let texts = blogs.query().select(|b| b.text).await.unwrap();
        let first = if was_made { "theirs" } else { "mine" };
        assert_eq!(texts, [first, "mine"], "after {polls} polls, ids: {has_ids}");
        assert_eq!(ctx.has_changes(), !is_told);
    }
}

/// An unreadable foreign property fails no query and is kept; an unreadable property of the struct
/// fails the query.
#[tokio::test]
async fn unreadable_properties_are_kept() {
    let (mock, _) = service().await;
    let mut row = DynamicEntity::new("c", "1");
    row.set("Text", "old").set("Rating", 3).set("Foreign", "broken");
    stored(&mock).insert(&row).await.unwrap();
    let lone_surrogate =
        Scripted::new(mock.transport(), |_| Step::pass().replace("broken", "\\ud800"));
    let client = mock.client_builder().transport(lone_surrogate).build().unwrap();
    for option in [MergeOption::NoTracking, MergeOption::AppendOnly] {
        let mut ctx = TableContext::new(&client);
        assert_eq!(
            ctx.load(ctx.service().table::<Blog>().query())
                .merge_option(option)
                .await
                .unwrap()
                .len(),
            1
        );
    }
    let mut ctx = TableContext::new(&client);
    ctx.load(ctx.service().table::<Blog>().query()).await.unwrap();
    ctx.update(&Blog { rating: None, ..blog("1", "new") }).unwrap();
    assert!(ctx.save_changes().await.is_err(), "a replace would lose it");
    ctx.update(&blog("1", "new")).unwrap();
    ctx.save_changes().await.unwrap();
    let after = stored(&mock).get(("c", "1")).await.unwrap();
    assert_eq!(after.get("Foreign"), Some(Ok("broken".to_owned())));
    assert!(ctx.load(ctx.service().table_named::<DynamicEntity>("Blogs").query()).await.is_err());
}
