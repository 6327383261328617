//! Two writers of one row (optimistic concurrency): without locks, and without lost changes.
//!
//! Every row has a version, its ETag. A write names the version on which it is based, and the
//! service refuses it (412) if the row has another version by then. The program decides how to continue. This
//! example shows three ways: read again and decide, repeat the change on the new row (`update_with`), and a
//! context that applies its own changes on top of the others.
//!
//! `cargo run -p azure-table-examples --example two_writers` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::error::Error;

use azure_table_client::context::{MergeOption, TableContext};
use azure_table_client::{TableClient, TableEntity, TableServiceClient};
use azure_table_examples::Steps;

/// The stock and the price of an article.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Article {
    #[table(partition_key)]
    store: String,
    #[table(row_key)]
    number: u32,
    stock: i32,
    cents: i64,
}

const KEY: (&str, &str) = ("Bern", "0000000007");

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let articles = service.table_named(azure_table_examples::unique("ExampleArticles"));
    articles.create().await?;
    let new = Article { store: "Bern".to_owned(), number: 7, stock: 100, cents: 990 };
    articles.insert(&new).await?;
    steps.done("a new article", format!("{} in stock, {} cents", new.stock, new.cents));

    conflict(&articles, &mut steps).await?;
    counting(&articles, &mut steps).await?;
    refusing(&articles, &mut steps).await?;
    contexts(&service, &articles, &mut steps).await?;

    articles.delete_table().await?;
    steps.done("delete the table", "");
    steps.total();
    Ok(())
}

/// The conflict itself: the second writer receives an error, and the price of the first one stays.
async fn conflict(
    articles: &TableClient<Article>,
    steps: &mut Steps,
) -> Result<(), Box<dyn Error>> {
    let (first, second) = (articles.get(KEY).await?, articles.get(KEY).await?);
    articles.merge(&Article { cents: 890, ..first.entity.clone() }, &first.etag).await?;
    let late = Article { stock: 99, ..second.entity.clone() };
    let Err(refused) = articles.merge(&late, &second.etag).await else {
        return Err("the service accepted an update of an old version".into());
    };
    assert!(refused.is_precondition_failed());
    let stored = articles.get(KEY).await?;
    assert_eq!((stored.stock, stored.cents), (100, 890));
    steps.done("two read it, one sets the price, the other its old copy", refused.to_string());
    Ok(())
}

/// A change that depends on the stored row: reads, changes and writes until no concurrent update intervenes.
async fn counting(
    articles: &TableClient<Article>,
    steps: &mut Steps,
) -> Result<(), Box<dyn Error>> {
    let sell = async || {
        let mut rounds = 0;
        for _ in 0..10 {
            rounds += articles.update_with(KEY, |article| article.stock -= 1).await?.rounds();
        }
        Ok::<_, azure_table_client::Error>(rounds)
    };
    let (one, other) = tokio::try_join!(sell(), sell())?;
    assert_eq!(articles.get(KEY).await?.stock, 80);
    assert!(one + other >= 20);
    let conflicts = one + other - 20;
    steps.done("two tills sell ten each", format!("80 are left; conflicts resolved: {conflicts}"));
    Ok(())
}

/// A change that may be refused: the closure checks the row that the write replaces, not an older one.
async fn refusing(
    articles: &TableClient<Article>,
    steps: &mut Steps,
) -> Result<(), Box<dyn Error>> {
    let before = articles.get(KEY).await?.etag.clone();
    let take = |article: &mut Article| -> Result<(), Box<dyn Error + Send + Sync>> {
        article.stock -= 81;
        if article.stock < 0 { Err("the stock is too small".into()) } else { Ok(()) }
    };
    let Err(refused) = articles.try_update_with(KEY, take).await else {
        return Err("more were sold than were in stock".into());
    };
    assert_eq!(articles.get(KEY).await?.etag, before);
    steps.done("a customer wants 81", format!("{refused}; the row is unchanged"));
    Ok(())
}

/// Two units of work. Each sends only its changes, under the version that it read.
async fn contexts(
    service: &TableServiceClient,
    articles: &TableClient<Article>,
    steps: &mut Steps,
) -> Result<(), Box<dyn Error>> {
    let (mut buyer, mut seller) = (TableContext::new(service), TableContext::new(service));
    let mut bought = buyer.load(articles.query()).first().await?.ok_or("no article")?;
    let mut sold = seller.load(articles.query()).first().await?.ok_or("no article")?;

    bought.stock += 50;
    buyer.table_of(articles).update(&bought)?;
    buyer.save_changes().await?;
    sold.cents = 790;
    seller.table_of(articles).update(&sold)?;
    let Err(refused) = seller.save_changes().await else {
        return Err("the service accepted a change of an old version".into());
    };
    assert!(refused.error.is_precondition_failed());
    steps.done("two contexts: one stocks up, the other sets the price", refused.to_string());

    // The server's values with the local changes. If both changed the same property, the local value
    // wins; with OverwriteChanges, the server's.
    let again = seller.load(articles.query()).merge_option(MergeOption::PreserveChanges);
    let both = again.first().await?.ok_or("no article")?;
    assert_eq!((both.stock, both.cents), (130, 790));
    assert_eq!(seller.entries()[0].changed(), ["Cents"]);
    let report = seller.save_changes().await?;
    let stored = articles.get(KEY).await?;
    assert_eq!((stored.stock, stored.cents), (130, 790));
    steps.done("it reads again, keeps its change, and saves", report.to_string());
    Ok(())
}
