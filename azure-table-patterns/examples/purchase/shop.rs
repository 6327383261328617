//! A shop whose orders are in the partitions of its customers, and whose stock is in the partitions of its articles.

use azure_table_client::{EntityKey, TableClient, TableEntity, TableEnum, TableServiceClient};
use azure_table_patterns::Error;
use azure_table_patterns::outbox::Outbox;

#[derive(Debug, Clone, Copy, PartialEq, TableEnum)]
pub(crate) enum State {
    Pending,
    Confirmed,
    Refused,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders")]
pub(crate) struct Order {
    #[table(partition_key)]
    pub(crate) customer: String,
    /// The caller chooses it once, so that it can place the order again after a lost response.
    #[table(row_key)]
    pub(crate) id: String,
    pub(crate) article: String,
    pub(crate) quantity: i32,
    pub(crate) state: State,
}

/// The work that remains after the order: an item of the outbox, next to the order.
#[derive(Debug, TableEntity)]
pub(crate) struct Purchase {
    #[table(partition_key)]
    pub(crate) customer: String,
    #[table(row_key)]
    pub(crate) order: String,
    pub(crate) article: String,
    pub(crate) quantity: i32,
}

#[derive(Debug, TableEntity)]
pub(crate) struct Article {
    #[table(partition_key)]
    pub(crate) name: String,
    #[table(row_key)]
    pub(crate) row: String,
    pub(crate) left: i32,
}

/// The decision about an order. It is made once and stays. The key tells the orders of all customers apart.
#[derive(Debug, TableEntity)]
#[table(row_key(customer, order))]
pub(crate) struct Reservation {
    #[table(partition_key)]
    pub(crate) article: String,
    pub(crate) customer: String,
    pub(crate) order: String,
    pub(crate) quantity: i32,
    pub(crate) is_granted: bool,
}

#[derive(Debug, TableEntity)]
#[table(name = "Stock", discriminator = "Kind")]
pub(crate) enum Stock {
    Article(Article),
    Reservation(Reservation),
}

/// The RowKey of an article.
pub(crate) const ARTICLE: &str = "article";

pub(crate) struct Shop {
    pub(crate) orders: TableClient<Order>,
    pub(crate) stock: TableClient<Stock>,
    pub(crate) outbox: Outbox<Purchase>,
}

impl Shop {
    pub(crate) fn open(service: &TableServiceClient) -> Result<Self, Error> {
        let orders = service.table();
        let outbox = Outbox::new(&orders, "purchase")?;
        Ok(Self { orders, stock: service.table(), outbox })
    }

    /// Stores the order and the work in one transaction, in the partition of the customer.
    pub(crate) async fn place(&self, order: &Order) -> Result<(), Error> {
        let work = Purchase {
            customer: order.customer.clone(),
            order: order.id.clone(),
            article: order.article.clone(),
            quantity: order.quantity,
        };
        self.outbox.enqueue(self.orders.transaction().insert(order), &work).await
    }

    /// The steps of a worker. Each of them can run again, also late and by two workers.
    pub(crate) async fn fulfil(&self, work: &Purchase) -> Result<(), Error> {
        let is_granted = self.reserve(work).await?;
        let state = if is_granted { State::Confirmed } else { State::Refused };
        let decide = |order: &mut Order| {
            if order.state == State::Pending {
                order.state = state;
            }
        };
        self.orders.update_with((&*work.customer, &*work.order), decide).idempotent().await?;
        Ok(())
    }

    /// Takes the articles from the stock and records the decision in one transaction, in the partition of the article.
    async fn reserve(&self, work: &Purchase) -> Result<bool, Error> {
        let reservation = Reservation::key(&work.article, &work.customer, &work.order)?;
        let keys = [EntityKey::new(&*work.article, ARTICLE), reservation.clone()];
        let mut is_granted = false;
        let change = self.stock.update_rows_with(keys, |rows| {
            if let Some(Stock::Reservation(decided)) = rows.get(&reservation.row_key) {
                is_granted = decided.is_granted; // by an earlier attempt
                return;
            }
            is_granted = match rows.get_mut(ARTICLE) {
                Some(Stock::Article(article)) if article.left >= work.quantity => {
                    article.left -= work.quantity;
                    true
                }
                _ => false,
            };
            rows.insert(Stock::Reservation(Reservation {
                article: work.article.clone(),
                customer: work.customer.clone(),
                order: work.order.clone(),
                quantity: work.quantity,
                is_granted,
            }));
        });
        change.await?;
        Ok(is_granted)
    }
}
