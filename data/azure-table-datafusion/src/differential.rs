//! Random queries on a table of the service and on the same rows in memory.
//!
//! The mock decides the points that the documentation leaves open in one way. [`OtherService`] decides them in the other way, so
//! that the results cannot depend on them. Each forbidden push is forced once, to prove that the queries notice it.
//!
//! The queries have joins, groups, `DISTINCT`, `ORDER BY`, `LIMIT` and `OFFSET` over all types, with NaN, -0.0, missing and mixed
//! values and supplementary characters in keys and texts. `AZURE_TABLE_TESTS_SEED` chooses other queries. With the default,
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
use azure_table_client::edm::EdmType;
use azure_table_client::mock::{Fault, MockTableService};
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::AzureTable;
use crate::pushdown::Forbidden;
use compare::{Counts, Difference};
use service::OtherService;

const QUERIES: usize = 500;

/// The seed of the queries, printed so that a run can be repeated.
fn seed() -> u64 {
    let seed = std::env::var("AZURE_TABLE_TESTS_SEED");
    let seed = seed.map_or(25, |seed| seed.parse().expect("AZURE_TABLE_TESTS_SEED is a number"));
    println!("AZURE_TABLE_TESTS_SEED={seed}");
    seed
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

impl Sessions {
    async fn new(service: Service, forbidden: Forbidden) -> Self {
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
        let table = AzureTable::new(table, data::schema()).forcing(forbidden);
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

    /// Runs queries up to the first difference.
    async fn run(&self, seed: u64, queries: usize) -> (Counts, Option<Box<Difference>>) {
        let mut numbers = fastrand::Rng::with_seed(seed);
        let mut counts = Counts::default();
        for _ in 0..queries {
            let query = queries::random(&mut numbers);
            if let Err(difference) = compare::run(self, &query, &mut counts).await {
                return (counts, Some(difference));
            }
        }
        (counts, None)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_queries_have_the_results_of_a_table_in_memory() {
    let seed = seed();
    for service in [Service::Mock, Service::Other] {
        let sessions = Sessions::new(service, Forbidden::default()).await;
        let (counts, difference) = sessions.run(seed, QUERIES).await;
        println!("{service:?}: {counts}");
        assert!(difference.is_none(), "{}", difference.unwrap());
        assert_eq!(counts.queries, QUERIES);
        assert!(counts.exact > 100 && counts.inexact > 100 && counts.not > 100, "{counts}");
        assert!(counts.several_ranges > QUERIES / 4, "{counts}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_forbidden_push_makes_a_difference() {
    let (seed, none) = (seed(), Forbidden::default());
    let exact = |edm_type| Forbidden { other_types_as_exact: Some(edm_type), ..none };
    for (name, service, forbidden) in [
        ("Doubles", Service::Mock, Forbidden { doubles: true, ..none }),
        ("IS NULL", Service::Mock, Forbidden { is_null: true, ..none }),
        ("the rest column", Service::Mock, Forbidden { rest: true, ..none }),
        ("bounds from U+D800 on", Service::Mock, Forbidden { surrogates: true, ..none }),
        ("times that are not rounded", Service::Mock, Forbidden { unrounded_times: true, ..none }),
        ("more than 15 comparisons", Service::Mock, Forbidden { any_length: true, ..none }),
        ("ranges of Guids", Service::Other, Forbidden { guid_ranges: true, ..none }),
        ("ranges of Binaries", Service::Other, Forbidden { binary_ranges: true, ..none }),
        (
            "<>, <, <= of properties as exact",
            Service::Other,
            Forbidden { missing_as_exact: true, ..none },
        ),
        ("Strings as exact", Service::Other, exact(EdmType::String)),
        ("Booleans as exact", Service::Other, exact(EdmType::Boolean)),
        ("Int32s as exact", Service::Other, exact(EdmType::Int32)),
        ("Int64s as exact", Service::Other, exact(EdmType::Int64)),
        ("times as exact", Service::Other, exact(EdmType::DateTime)),
        ("Guids as exact", Service::Other, exact(EdmType::Guid)),
        ("Binaries as exact", Service::Other, exact(EdmType::Binary)),
    ] {
        let sessions = Sessions::new(service, forbidden).await;
        let (counts, difference) = sessions.run(seed, 4 * QUERIES).await;
        let difference = difference.unwrap_or_else(|| panic!("{name}: no difference"));
        println!("{name}: {}. query: {difference}", counts.queries);
        // A wrong push returns wrong rows; only a request that is too long is refused.
        assert_eq!(difference.has_rows(), !forbidden.any_length, "{name}: {difference}");
    }
}
