//! One purchase, two partitions: an order that is confirmed if, and only if, its articles are reserved.
//!
//! `cargo run -p azure-table-patterns --example purchase` runs it on the mock. `docs/purchase.md` explains it.

#![allow(missing_docs, clippy::print_stdout, reason = "an example")]

#[path = "purchase/shop.rs"]
mod shop;

use azure_table_client::mock::MockTableService;
use shop::{ARTICLE, Article, Order, Shop, State, Stock};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shop = Shop::open(&MockTableService::new().client())?;
    shop.orders.create().await?;
    shop.stock.create().await?;
    let chair = Article { name: "chair".into(), row: ARTICLE.into(), left: 3 };
    shop.stock.insert(&Stock::Article(chair)).await?;

    // The web site.
    for (customer, quantity) in [("joe", 2), ("sue", 2)] {
        let (customer, article) = (customer.to_owned(), "chair".to_owned());
        let order = Order { customer, id: "17".into(), article, quantity, state: State::Pending };
        shop.place(&order).await?;
    }

    // A worker.
    let mut worker = shop.outbox.worker("worker-1");
    while let Some(item) = worker.next().await? {
        let ended = shop.fulfil(&item.work).await;
        worker.end(item, ended).await;
    }

    for (customer, expected) in [("joe", State::Confirmed), ("sue", State::Refused)] {
        let order = shop.orders.get((customer, "17")).await?;
        println!("{customer}: {:?}", order.state);
        assert_eq!(order.state, expected);
    }
    Ok(())
}
