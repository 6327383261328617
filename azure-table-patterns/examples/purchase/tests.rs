//! The purchase of `docs/purchase.md`: crashes at each request, and several workers at the same time. `tests/it/main.rs`
//! includes this file.

mod shop;

use std::time::Duration;

use azure_table_client::ErrorCode::EntityAlreadyExists;
use azure_table_client::mock::MockTableService;
use azure_table_client::{Outcome, TableServiceClient};
use azure_table_tests::crashes::{LATENESS, at_every_request};
use futures_util::future::join_all;

use shop::{ARTICLE, Article, Order, Shop, State, Stock};

const TTL: Duration = Duration::from_secs(60);
const LEFT: i32 = 3;

fn order(customer: &str, quantity: i32) -> Order {
    let (customer, article) = (customer.to_owned(), "chair".to_owned());
    Order { customer, id: "17".to_owned(), article, quantity, state: State::Pending }
}

/// A shop with some chairs.
async fn open(mock: &MockTableService) {
    let shop = Shop::open(&mock.client()).unwrap();
    shop.orders.create().await.unwrap();
    shop.stock.create().await.unwrap();
    let chair = Article { name: "chair".to_owned(), row: ARTICLE.to_owned(), left: LEFT };
    shop.stock.insert(&Stock::Article(chair)).await.unwrap();
}

/// Places an order, and repeats it while its outcome is unknown. An order that exists is placed.
async fn place(service: &TableServiceClient, order: &Order) {
    let shop = Shop::open(service).unwrap();
    while let Err(error) = shop.place(order).await {
        if error.client().and_then(|refusal| refusal.code()) == Some(&EntityAlreadyExists) {
            return;
        }
        assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    }
}

/// Runs a worker until no item is left.
async fn work(service: &TableServiceClient, name: &str) {
    let shop = Shop::open(service).unwrap();
    let mut worker =
        shop.outbox.worker(name).ttl(TTL).unwrap().waits(Duration::ZERO, Duration::ZERO);
    for _ in 0..100 {
        while let Some(item) = worker.next().await.unwrap() {
            let ended = shop.fulfil(&item.work).await;
            worker.end(item, ended).await;
        }
        if worker.pass().is_drained() {
            return;
        }
        tokio::time::sleep(TTL).await;
    }
    panic!("{name} has not finished");
}

/// Checks that an order is confirmed only with its articles, and that no article is lost. Returns the states.
async fn check(mock: &MockTableService, orders: &[Order]) -> Vec<Option<State>> {
    let shop = Shop::open(&mock.client()).unwrap();
    let (mut left, mut granted) = (0, Vec::new());
    for row in shop.stock.query().partition("chair").await.unwrap() {
        match row {
            Stock::Article(article) => left += article.left,
            Stock::Reservation(made) if made.is_granted => {
                left += made.quantity;
                granted.push((made.customer, made.order));
            }
            Stock::Reservation(_) => {}
        }
    }
    assert_eq!(left, LEFT, "each chair is in the stock or reserved");
    let mut states = Vec::new();
    for Order { customer, id, .. } in orders {
        let found = shop.orders.get_if_exists((&**customer, &**id)).await.unwrap();
        let state = found.map(|order| order.state);
        let is_granted = granted.contains(&(customer.clone(), id.clone()));
        match state {
            None => assert!(!is_granted, "{customer}"),
            Some(State::Pending) => {}
            Some(state) => assert_eq!(state == State::Confirmed, is_granted, "{customer}"),
        }
        states.push(state);
    }
    states
}

/// The web site places two orders, and a worker runs. The stock is enough for one of them.
async fn program(orders: &[Order], service: &TableServiceClient) {
    for order in orders {
        place(service, order).await;
    }
    work(service, "first").await;
}

#[tokio::test(start_paused = true)]
async fn a_purchase_survives_a_crash_at_each_request() {
    let orders = [order("joe", 2), order("sue", 2)];
    let points = at_every_request(
        async |mock: &MockTableService| open(mock).await,
        async |(), service| program(&orders, &service).await,
        async |(), mock, _| {
            check(mock, &orders).await;
            program(&orders, &mock.client()).await;
            let states = check(mock, &orders).await;
            let mut sorted: Vec<_> = states.iter().map(|state| format!("{state:?}")).collect();
            sorted.sort_unstable();
            assert_eq!(sorted, ["Some(Confirmed)", "Some(Refused)"]);
            tokio::time::sleep(LATENESS * 2).await;
            assert_eq!(check(mock, &orders).await, states, "late requests change nothing");
        },
    );
    let points = points.await;
    println!("crashes: purchase: {points}");
    assert!(points.requests >= 10, "{points}");
}

#[tokio::test(start_paused = true)]
async fn workers_at_the_same_time_decide_once() {
    let mock = MockTableService::new();
    open(&mock).await;
    let names = ["ann", "bob", "cyd", "dan", "eve"];
    let orders: Vec<_> = names.iter().map(|name| order(name, 1)).collect();
    let service = mock.client();
    join_all(orders.iter().map(|order| place(&service, order))).await;
    join_all(["a", "b", "c"].map(|name| work(&service, name))).await;
    // An attempt that comes late finds the decision.
    let shop = Shop::open(&service).unwrap();
    for Order { customer, id, article, quantity, .. } in orders.clone() {
        let work = shop::Purchase { customer, order: id, article, quantity };
        shop.fulfil(&work).await.unwrap();
    }
    let states = check(&mock, &orders).await;
    let count = |state| states.iter().filter(|found| **found == Some(state)).count();
    assert_eq!((count(State::Confirmed), count(State::Refused)), (3, 2));
}

#[test]
fn the_page_shows_the_calls_of_the_shop() {
    let page = include_str!("../../docs/purchase.md");
    let program = include_str!("shop.rs");
    let calls = &program[program.find("\nimpl Shop {").unwrap()..];
    assert!(page.contains(calls.trim()), "copy `impl Shop` of shop.rs into docs/purchase.md");
}
