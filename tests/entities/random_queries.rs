//! Random filters over random keys: every kind of query returns the rows that a loop over the table
//! finds.

use azure_table_client::edm::EdmValue;
use azure_table_client::filter::{CompareOp, Filter, PlanKind};
use azure_table_client::mock::{Fault, MockTableService, RecordedRequest};
use azure_table_client::{DynamicEntity, TableClient};
use azure_table_tests::sized;
use futures_util::TryStreamExt as _;

use super::key_oracle::{can_match, matches, ordinal};

/// The same numbers for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end
    }

    /// Keys at the points where UTF-16 and UTF-8 differ in order; some are prefixes of others.
    fn key(&mut self) -> String {
        const LETTERS: [&str; 8] =
            ["a", "b", "\u{7f00}", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}"];
        (0..self.below(4)).map(|_| LETTERS[self.below(8)]).collect()
    }

    fn number(&mut self) -> i32 {
        i32::try_from(self.below(20)).unwrap()
    }

    fn comparison(&mut self) -> Filter {
        use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let op = [Eq, Eq, Eq, Ge, Lt, Gt, Le, Ne][self.below(8)];
        match self.below(3) {
            0 => Filter::compare("PartitionKey", op, self.key()),
            1 => Filter::compare("RowKey", op, self.key()),
            _ => Filter::compare("A", op, self.number()),
        }
        .unwrap()
    }

    fn filter(&mut self, depth: usize) -> Filter {
        if depth == 0 || self.below(6) == 0 {
            return self.comparison();
        }
        let parts: Vec<_> = (0..=self.below(5)).map(|_| self.filter(depth - 1)).collect();
        match self.below(16) {
            0 | 1 => !parts.into_iter().next().unwrap(),
            2 => self.lists_of_one_key(),
            3..=6 => parts.into_iter().reduce(|a, b| a & b).unwrap(),
            _ => parts.into_iter().reduce(|a, b| a | b).unwrap(),
        }
    }
}

/// Filters that list keys.
impl Numbers {
    /// Two lists of one of the keys, which often have no key in common.
    fn lists_of_one_key(&mut self) -> Filter {
        let one = if self.below(2) == 0 { partition } else { row };
        let list = |numbers: &mut Self| numbers.any(4, |numbers| one(&numbers.key()));
        list(self) & list(self)
    }

    /// Keys of rows, and sometimes others.
    fn keys_of(&mut self, rows: &[Row]) -> (String, String) {
        match self.below(4) {
            0 => (self.key(), self.key()),
            _ => {
                let (partition, row, _) = &rows[self.below(rows.len())];
                (partition.clone(), row.clone())
            }
        }
    }

    /// A list of up to `most` alternatives.
    fn any(&mut self, most: usize, mut one: impl FnMut(&mut Self) -> Filter) -> Filter {
        let count = 1 + self.below(most);
        (0..count).map(|_| one(self)).reduce(|a, b| a | b).unwrap()
    }

    fn partitions(&mut self, rows: &[Row]) -> Filter {
        self.any(12, |numbers| partition(&numbers.keys_of(rows).0))
    }

    fn rows(&mut self, rows: &[Row]) -> Filter {
        self.any(30, |numbers| row(&numbers.keys_of(rows).1))
    }

    fn alternative(&mut self, rows: &[Row]) -> Filter {
        let (partition_key, row_key) = self.keys_of(rows);
        match self.below(5) {
            0 => partition(&partition_key),
            1 => partition(&partition_key) & self.comparison(),
            2 => self.partitions(rows) & self.rows(rows),
            _ => partition(&partition_key) & row(&row_key),
        }
    }

    fn listed(&mut self, rows: &[Row]) -> Filter {
        let list = match self.below(5) {
            0 => self.partitions(rows),
            1 => self.partitions(rows) & self.rows(rows),
            2 => partition(&self.keys_of(rows).0) & self.rows(rows),
            3 => self.any(10, |numbers| numbers.alternative(rows)),
            _ => self.any(4, |numbers| numbers.alternative(rows)) & self.partitions(rows),
        };
        match self.below(5) {
            0 => self.filter(2) & list,
            3 => list & self.any(30, |numbers| number(numbers.number())),
            1 => list & self.comparison(),
            2 => list & self.any(3, |numbers| numbers.alternative(rows)),
            _ => list,
        }
    }
}

fn partition(key: &str) -> Filter {
    Filter::compare("PartitionKey", CompareOp::Eq, key).unwrap()
}

fn number(number: i32) -> Filter {
    Filter::compare("A", CompareOp::Eq, number).unwrap()
}

fn row(key: &str) -> Filter {
    Filter::compare("RowKey", CompareOp::Eq, key).unwrap()
}

type Row = (String, String, i32);

fn holds(filter: &Filter, row: &Row) -> bool {
    match filter {
        Filter::Compare { property, op, literal, .. } => {
            let order = match (property.as_str(), literal) {
                ("PartitionKey", EdmValue::String(key)) => ordinal(&row.0, key),
                ("RowKey", EdmValue::String(key)) => ordinal(&row.1, key),
                ("A", EdmValue::Int32(number)) => row.2.cmp(number),
                _ => return false,
            };
            matches(*op, order)
        }
        Filter::And { 0: all, .. } => all.iter().all(|filter| holds(filter, row)),
        Filter::Or { 0: any, .. } => any.iter().any(|filter| holds(filter, row)),
        Filter::Not { 0: inner, .. } => !holds(inner, row),
        _ => panic!("a filter that was not made"),
    }
}

fn keys(rows: &[DynamicEntity]) -> Vec<(String, String)> {
    rows.iter().map(|row| (row.key().partition_key.clone(), row.key().row_key.clone())).collect()
}

async fn filled(
    mock: &MockTableService,
    numbers: &mut Numbers,
) -> (TableClient<DynamicEntity>, Vec<Row>) {
    let table = mock.client().table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();
    let mut rows: Vec<Row> = Vec::new();
    while rows.len() < 250 {
        let row = (numbers.key(), numbers.key(), numbers.number());
        if rows.iter().any(|known| (&known.0, &known.1) == (&row.0, &row.1)) {
            continue;
        }
        let mut entity = DynamicEntity::new(&*row.0, &*row.1);
        entity.set("A", row.2);
        table.insert(&entity).await.unwrap();
        rows.push(row);
    }
    rows.sort_by(|a, b| ordinal(&a.0, &b.0).then_with(|| ordinal(&a.1, &b.1)));
    (table, rows)
}

/// All pages, each by a new query that continues after the last one, with another page size.
async fn resumed(
    table: &TableClient<DynamicEntity>,
    filter: &Filter,
    numbers: &mut Numbers,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut at: Option<String> = None;
    loop {
        let size = u32::try_from(1 + numbers.below(40)).unwrap();
        let mut query = table.query().matching(filter).page_size(size);
        if let Some(at) = &at {
            query = query.start_at(at.parse().unwrap());
        }
        if numbers.below(2) == 0 {
            query = query.take(1 + numbers.below(5) as u64);
        }
        let Some(page) = query.pages().next().await else { return found };
        let page = page.unwrap();
        found.extend(keys(&page.entities));
        match page.continuation {
            Some(next) => at = Some(next.to_string()),
            None => return found,
        }
    }
}

/// Some pages of a query, then the others by new queries that continue from a text.
async fn stopped(
    table: &TableClient<DynamicEntity>,
    filter: &Filter,
    numbers: &mut Numbers,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut at: Option<String> = None;
    loop {
        let size = u32::try_from(1 + numbers.below(40)).unwrap();
        let mut query = table.query().matching(filter).page_size(size);
        if let Some(at) = &at {
            query = query.start_at(at.parse().unwrap());
        }
        if numbers.below(2) == 0 {
            query = query.take(1 + numbers.below(60) as u64);
        }
        let mut pages = query.pages();
        for n in 0..=numbers.below(4) {
            let Some(page) = pages.next().await else {
                match n {
                    0 => return found,
                    _ => break,
                }
            };
            let page = page.unwrap();
            found.extend(keys(&page.entities));
            match page.continuation {
                Some(next) => at = Some(next.to_string()),
                None => return found,
            }
        }
    }
}

#[tokio::test]
async fn filters_that_list_keys_match_a_loop() {
    let (mut point_reads, mut fanned_out, mut split, mut found_rows) = (0, 0, 0, 0);
    let mut impossible = 0;
    let filters = sized(30, 5000);
    let mut numbers = Numbers(2_463_534_242);
    // Pages that end early, and empty ones, in half of the queries.
    let mocks = [MockTableService::new(), MockTableService::new()];
    let mut tables = Vec::new();
    for mock in &mocks {
        tables.push(filled(mock, &mut numbers).await);
    }
    mocks[1].faults().add(Fault::split_page().probability(0.5));
    for n in 0..filters {
        let (table, rows) = &tables[n % 2];
        let filter = numbers.listed(rows);
        let expected: Vec<_> = rows.iter().filter(|row| holds(&filter, row)).collect();
        let expected: Vec<_> =
            expected.into_iter().map(|(p, r, _)| (p.clone(), r.clone())).collect();
        found_rows += expected.len();
        let size = u32::try_from(1 + numbers.below(60)).unwrap();
        let query = || table.query().matching(&filter).page_size(size);
        let plan = query().plan().unwrap();
        point_reads += usize::from(plan.queries > 1 && plan.kind == PlanKind::Point);
        fanned_out += usize::from(plan.reason == "the filter lists the PartitionKeys");
        split += usize::from(plan.to_string().contains(", in "));
        assert!(plan.kind < PlanKind::TableScan, "{plan}: {filter}");

        let requests = mocks[n % 2].requests();
        requests.clear();
        let all = query().await.unwrap();
        assert_eq!(keys(&all), expected, "{filter}");
        assert_eq!(all.cost.requests, requests.total() as u64, "{filter}");
        let is_possible = !expected.is_empty() || can_match(&filter);
        assert_eq!(requests.total() > 0, is_possible, "{plan}: {filter}");
        for sent in requests.all().iter().filter_map(RecordedRequest::filter) {
            assert!(can_match(&Filter::parse(&sent).unwrap()), "{sent} of {filter}");
        }
        impossible += usize::from(!is_possible);
        requests.clear();
        assert_eq!(stopped(table, &filter, &mut numbers).await, expected, "stopped: {filter}");
        let take = numbers.below(expected.len() + 2);
        let first = &expected[..take.min(expected.len())];
        let limited = || query().take(take as u64);
        let concurrency = 1 + numbers.below(20);
        match n / 2 % 4 {
            0 => assert_eq!(keys(&limited().await.unwrap()), first, "take {take}: {filter}"),
            1 => {
                let rows: Vec<_> = limited().stream().try_collect().await.unwrap();
                assert_eq!(keys(&rows), first, "stream of {take}: {filter}");
            }
            2 => {
                let found = limited().parallel(concurrency).await.unwrap();
                assert_eq!(keys(&found), first, "take {take} of {concurrency}: {filter}");
            }
            _ => {
                let count = expected.len() as u64;
                assert_eq!(query().count().await.unwrap(), count, "{filter}");
                let counted = query().parallel(concurrency).count().await.unwrap();
                assert_eq!(counted, count, "{filter}");
                assert_eq!(query().any().await.unwrap(), count > 0, "{filter}");
            }
        }
        assert!(is_possible || requests.total() == 0, "{plan}: {filter}");
    }
    println!(
        "{filters} filters: {impossible} that no key can meet, {point_reads} as point reads only, {fanned_out} by partition, {split} split by length; \
         {found_rows} rows"
    );
    assert!(point_reads > filters / 10 && fanned_out > filters / 10 && split > filters / 50);
    assert!(impossible > filters / 20, "only {impossible} are impossible");
}

#[tokio::test]
async fn every_kind_of_query_matches_a_loop() {
    let (mut split, mut impossible, mut filters) = (0, 0, 0);
    for seed in [35_190_049, 88_172_645_463_325_252] {
        let mut numbers = Numbers(seed);
        let mock = MockTableService::new();
        let (table, rows) = filled(&mock, &mut numbers).await;
        for _ in 0..sized(6, 100) {
            let filter = numbers.filter(3);
            let expected: Vec<_> = rows.iter().filter(|row| holds(&filter, row)).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(p, r, _)| (p.clone(), r.clone())).collect();
            let query = || table.query().matching(&filter);
            split += usize::from(query().plan().unwrap().queries > 1);
            filters += 1;
            mock.requests().clear();
            let size = u32::try_from(1 + numbers.below(40)).unwrap();
            let sized = || query().page_size(size);
            assert_eq!(keys(&query().await.unwrap()), expected, "{filter}");
            assert_eq!(keys(&sized().await.unwrap()), expected, "{filter}");
            let rows: Vec<_> = sized().stream().try_collect().await.unwrap();
            assert_eq!(keys(&rows), expected, "stream: {filter}");
            assert_eq!(resumed(&table, &filter, &mut numbers).await, expected, "resumed: {filter}");
            let ranges = 1 + numbers.below(20);
            let found = sized().parallel(ranges).await.unwrap();
            assert_eq!(keys(&found), expected, "{ranges} ranges: {filter}");
            let rows: Vec<_> = sized().parallel(ranges).stream().try_collect().await.unwrap();
            assert_eq!(keys(&rows), expected, "stream of {ranges} ranges: {filter}");
            let mut found = keys(&sized().parallel(ranges).unordered().await.unwrap());
            found.sort_by(|a, b| ordinal(&a.0, &b.0).then_with(|| ordinal(&a.1, &b.1)));
            assert_eq!(found, expected, "unordered: {filter}");
            let mut found = Vec::new();
            for range in query().parallel(ranges).range_filters().await.unwrap() {
                // As another process would read it.
                let text = range.map_or_else(|| "true".to_owned(), |filter| filter.to_string());
                found.extend(keys(&table.query().filter_text(&text).await.unwrap()));
            }
            assert_eq!(found, expected, "filters of {ranges} ranges: {filter}");
            let count = expected.len() as u64;
            assert_eq!(query().count().await.unwrap(), count, "{filter}");
            assert_eq!(query().parallel(ranges).count().await.unwrap(), count, "{filter}");
            assert_eq!(query().any().await.unwrap(), count > 0, "{filter}");
            let take = numbers.below(10).min(expected.len());
            let found = sized().take(take as u64).await.unwrap();
            assert_eq!(keys(&found), expected[..take], "take {take}: {filter}");
            let found = sized().take(take as u64).parallel(ranges).await.unwrap();
            assert_eq!(keys(&found), expected[..take], "take {take} of ranges: {filter}");
            let is_possible = !expected.is_empty() || can_match(&filter);
            assert_eq!(mock.requests().total() > 0, is_possible, "{filter}");
            impossible += usize::from(!is_possible);
        }
    }
    println!(
        "{filters} filters, {split} of them as several queries, {impossible} that no key can meet"
    );
    // Few filters are impossible.
    assert!(!sized(false, true) || impossible >= 6, "only {impossible} are impossible");
    assert!(split > sized(0, 5), "only {split} were split");
}
