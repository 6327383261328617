//! Random queries on a table of the service and on the same rows in memory.
//!
//! The mock decides the points that the documentation leaves open in one way. [`OtherService`] decides them in the other way, so
//! that the results cannot depend on them. `.ci/without sql` forces each forbidden push with a patch,
//! to prove that the queries notice it.
//!
//! The queries have joins, groups, `DISTINCT`, `ORDER BY`, `LIMIT` and `OFFSET` over all types, with NaN, -0.0, missing and mixed
//! values and supplementary characters in keys and texts. `AZURE_TABLE_TESTS_SEED` chooses other queries,
//! `AZURE_TABLE_TESTS_QUERIES` their number, and `AZURE_TABLE_TESTS_SERVICE` one of the services. With the defaults,
//! `cargo test -p azure-table-datafusion differential -- --nocapture` prints
//!
//! ```text
//! Mock: 500 queries; conditions pushed exact: 169, inexact: 357, not: 403; 332 queries in several ranges
//! Other: 500 queries; conditions pushed exact: 169, inexact: 357, not: 403; 357 queries in several ranges
//! ```

mod compare;
mod data;
mod queries;
mod service;

use std::sync::Arc;

use azure_table_client::TableServiceClient;
use azure_table_client::mock::{Fault, MockTableService};
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::AzureTable;
use compare::Counts;
use service::OtherService;

/// The seed of the queries, printed so that a run can be repeated.
fn seed() -> u64 {
    let seed = std::env::var("AZURE_TABLE_TESTS_SEED");
    let seed = seed.map_or(25, |seed| seed.parse().expect("AZURE_TABLE_TESTS_SEED is a number"));
    println!("AZURE_TABLE_TESTS_SEED={seed}");
    seed
}

/// The number of queries on each service.
fn query_count() -> usize {
    let count = std::env::var("AZURE_TABLE_TESTS_QUERIES");
    count.map_or(500, |count| count.parse().expect("AZURE_TABLE_TESTS_QUERIES is a number"))
}

/// Both sessions, with the same rows.
struct Sessions {
    service: SessionContext,
    memory: SessionContext,
}

/// The services that the queries run on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Service {
    Mock,
    Other,
}

/// Returns both services, or the chosen one.
fn services() -> impl Iterator<Item = Service> {
    let chosen = std::env::var("AZURE_TABLE_TESTS_SERVICE").ok();
    let is_chosen =
        move |service: &Service| chosen.as_ref().is_none_or(|name| format!("{service:?}") == *name);
    [Service::Mock, Service::Other].into_iter().filter(is_chosen)
}

impl Sessions {
    async fn new(service: Service) -> Self {
        let mock = match service {
            // The documented limit.
            Service::Mock => MockTableService::builder().max_comparisons(15).build(),
            // Rewritten filters are longer.
            Service::Other => MockTableService::new(),
        };
        let rows = data::rows();
        let client: TableServiceClient = match service {
            Service::Mock => mock.client(),
            Service::Other => {
                let transport = OtherService::new(mock.transport(), &rows);
                mock.client_builder().transport(Arc::new(transport)).build().unwrap()
            }
        };
        let table = data::fill(&client, &rows).await;
        // Pages that are so small that the table has several ranges.
        mock.faults().add(Fault::page_of(40).on_reads());
        let table = AzureTable::new(table, data::schema());
        let session = || {
            let config = SessionConfig::new().with_target_partitions(3).with_batch_size(16);
            // A column has the same name in SQL as on the service.
            SessionContext::new_with_config(
                config.set_bool("datafusion.sql_parser.enable_ident_normalization", false),
            )
        };
        let (service, memory) = (session(), session());
        service.register_table("t", Arc::new(table)).unwrap();
        memory.register_batch("t", data::batch(&rows)).unwrap();
        Self { service, memory }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_queries_have_the_results_of_a_table_in_memory() {
    let count = query_count();
    let mut numbers = fastrand::Rng::with_seed(seed());
    let mut all = Vec::new();
    for service in services() {
        all.push((service, Sessions::new(service).await, Counts::default()));
    }
    for _ in 0..count {
        let query = queries::random(&mut numbers);
        for (service, sessions, counts) in &mut all {
            if let Err(difference) = compare::run(sessions, &query, counts).await {
                panic!("{service:?}: {difference}");
            }
        }
    }
    for (service, _, counts) in all {
        println!("{service:?}: {counts}");
        assert_eq!(counts.queries, count);
        assert!(counts.exact > 100 && counts.inexact > 100 && counts.not > 100, "{counts}");
        assert!(counts.several_ranges > count / 4, "{counts}");
    }
}
