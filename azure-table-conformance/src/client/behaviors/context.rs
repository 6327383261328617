//! The unit of work against a service.

use crate::client::blog::Blog;
use azure_table_client::context::{EntityState, MergeOption, SaveOptions, TableContext};
use azure_table_client::{DynamicEntity, EntityKey, IfMatch, TableClient};

use crate::client::target::Target;

async fn texts(table: &TableClient<Blog>) -> Vec<String> {
    let rows = table.query().select(|b| (b.channel, b.id, b.text)).await.unwrap();
    rows.iter().map(|(channel, id, text)| format!("{channel}{id} {text}")).collect()
}

/// Read, change, add, delete, and one save for all changes, in every save mode.
pub(crate) async fn a_unit_of_work(target: &Target) {
    for (options, foreign) in [
        (SaveOptions::each(), Some(5)),
        (SaveOptions::each().replace_on_update(), None),
        (SaveOptions::atomic(), Some(5)),
        (SaveOptions::atomic().replace_on_update(), None),
        (SaveOptions::per_partition(), Some(5)),
        (SaveOptions::per_partition().concurrency(1), Some(5)),
    ] {
        let table = target.table::<Blog>().await;
        for id in ["1", "2", "3", "4"] {
            table.insert(&Blog::new("c", id, "old")).await.unwrap();
        }
        let other = DynamicEntity::new("c", "3").with("Foreign", 5_i64);
        table.with_entity::<DynamicEntity>().merge(&other, IfMatch::Any).await.unwrap();
        let mut ctx = TableContext::new(&target.service());
        let name = table.name().to_owned();
        let read = ctx
            .load(ctx.service().table_named::<Blog>(&name).query().filter(|b| b.channel.eq("c")))
            .await
            .unwrap();
        let mut blogs = ctx.table_named::<Blog>(&name);
        blogs.update(&Blog { text: "new".into(), ..read[0].clone() }).unwrap();
        blogs.delete(&read[1]).unwrap();
        // Removing a property requires a replace, which keeps the properties that another program
        // wrote, unless the program replaces all entities.
        blogs.update(&Blog { rating: None, ..read[2].clone() }).unwrap();
        blogs.delete(&read[3]).unwrap();
        blogs.add(&Blog::new("c", "4", "again")).unwrap();
        blogs.add(&Blog::new("c", "5 it's", "new")).unwrap();
        blogs.add_or_merge(&Blog::new("c", "6", "new")).unwrap();
        let report = ctx.save_changes_with(options.clone()).await.unwrap();
        assert_eq!((report.applied(), report.is_complete()), (6, true), "{options:?}");
        assert_eq!(texts(&table).await, ["c1 new", "c3 old", "c4 again", "c5 it's new", "c6 new"]);
        let row = table.with_entity::<DynamicEntity>().get(("c", "3")).await.unwrap();
        assert_eq!((row.value("Rating"), row.get("Foreign")), (None, foreign.map(Ok::<i64, _>)));
        // The versions in the replies are those of the rows.
        for id in ["1", "3", "4", "5 it's", "6"] {
            let etag = table.get(("c", id)).await.unwrap().etag.clone();
            let entry = ctx.table_named::<Blog>(&name);
            let entry = entry.entry(("c", id)).unwrap();
            assert_eq!(entry.condition(), Some(&IfMatch::Tag(etag)), "{options:?} {id}");
            assert_eq!(entry.state(), EntityState::Unchanged);
        }
        assert!(!ctx.has_changes());
        table.delete_table().await.unwrap();
    }
}

/// A conflict is found, with separate requests and in a transaction; after a refresh the client may
/// win.
pub(crate) async fn conflicts(target: &Target) {
    // With separate requests, the change before the conflict is applied; in a transaction, no
    // change is.
    for (options, expected) in [(SaveOptions::each(), "mine"), (SaveOptions::atomic(), "old")] {
        let table = target.table::<Blog>().await;
        for id in ["1", "2"] {
            table.insert(&Blog::new("c", id, "old")).await.unwrap();
        }
        let name = table.name().to_owned();
        let mut ctx = TableContext::new(&target.service());
        ctx.load(ctx.service().table_named::<Blog>(&name).query()).await.unwrap();
        ctx.table_named(&name).update(&Blog::new("c", "2", "mine")).unwrap();
        ctx.table_named(&name).update(&Blog::new("c", "1", "mine")).unwrap();
        table.merge(&Blog::new("c", "1", "theirs"), IfMatch::Any).await.unwrap();
        let error = ctx.save_changes_with(options.clone()).await.unwrap_err();
        assert!(error.error.is_precondition_failed(), "{error}");
        let failed = error.report.results.iter().find(|result| {
            matches!(result.outcome, azure_table_client::client::WriteOutcome::Failed(_))
        });
        assert_eq!(failed.unwrap().key, Some(EntityKey::new("c", "1")));
        assert_eq!(texts(&table).await, ["c1 theirs".to_owned(), format!("c2 {expected}")]);
        let refresh = ctx.load(ctx.service().table_named::<Blog>(&name).query());
        refresh.merge_option(MergeOption::PreserveChanges).await.unwrap();
        ctx.save_changes_with(options.clone()).await.unwrap();
        assert_eq!(texts(&table).await, ["c1 mine", "c2 mine"]);
        table.delete_table().await.unwrap();
    }
}

/// Many changes over several partitions, in transactions of a hundred.
pub(crate) async fn many_changes(target: &Target) {
    let table = target.table::<Blog>().await;
    let name = table.name().to_owned();
    let mut ctx = TableContext::new(&target.service());
    for n in 0..250 {
        let new = Blog::new(&format!("c{}", n % 2), &format!("{n:03}"), "new");
        ctx.table_named(&name).add(&new).unwrap();
    }
    let report = ctx.save_changes_with(SaveOptions::per_partition()).await.unwrap();
    assert_eq!(report.applied(), 250);
    assert_eq!(table.query().count().await.unwrap(), 250);
    for entity in ctx.load(ctx.service().table_named::<Blog>(&name).query()).await.unwrap() {
        ctx.table_named(&name).delete(&entity).unwrap();
    }
    ctx.save_changes_with(SaveOptions::per_partition()).await.unwrap();
    assert_eq!(table.query().count().await.unwrap(), 0);
    table.delete_table().await.unwrap();
}
