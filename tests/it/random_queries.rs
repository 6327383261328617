//! Random filters over random keys: every kind of query returns the rows that a loop over the table
//! finds.

use std::cmp::Ordering;

use azure_table_client::edm::EdmValue;
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableClient};
use azure_table_tests::sized;
use futures_util::TryStreamExt as _;

/// Compares by UTF-16 code units.
fn ordinal(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

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
        match self.below(7) {
            0 => !parts.into_iter().next().unwrap(),
            1 | 2 => parts.into_iter().reduce(|a, b| a & b).unwrap(),
            _ => parts.into_iter().reduce(|a, b| a | b).unwrap(),
        }
    }
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
            match op {
                CompareOp::Eq => order.is_eq(),
                CompareOp::Ne => order.is_ne(),
                CompareOp::Gt => order.is_gt(),
                CompareOp::Ge => order.is_ge(),
                CompareOp::Lt => order.is_lt(),
                CompareOp::Le => order.is_le(),
            }
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

async fn filled(numbers: &mut Numbers) -> (TableClient<DynamicEntity>, Vec<Row>) {
    let table = MockTableService::new().client().table_named::<DynamicEntity>("Rows");
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

#[tokio::test]
async fn every_kind_of_query_matches_a_loop() {
    let (mut split, mut filters) = (0, 0);
    for seed in [35_190_049, 88_172_645_463_325_252] {
        let mut numbers = Numbers(seed);
        let (table, rows) = filled(&mut numbers).await;
        for _ in 0..sized(10, 50) {
            let filter = numbers.filter(3);
            let expected: Vec<_> = rows.iter().filter(|row| holds(&filter, row)).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(p, r, _)| (p.clone(), r.clone())).collect();
            let query = || table.query().matching(&filter);
            split += usize::from(query().plan().unwrap().queries > 1);
            filters += 1;
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
            let count = expected.len() as u64;
            assert_eq!(query().count().await.unwrap(), count, "{filter}");
            assert_eq!(query().parallel(ranges).count().await.unwrap(), count, "{filter}");
            assert_eq!(query().any().await.unwrap(), count > 0, "{filter}");
            let take = numbers.below(10).min(expected.len());
            let found = sized().take(take as u64).await.unwrap();
            assert_eq!(keys(&found), expected[..take], "take {take}: {filter}");
            let found = sized().take(take as u64).parallel(ranges).await.unwrap();
            assert_eq!(keys(&found), expected[..take], "take {take} of ranges: {filter}");
        }
    }
    println!("{filters} filters, {split} of them as several queries");
    assert!(split > sized(1, 5), "only {split} were split");
}
