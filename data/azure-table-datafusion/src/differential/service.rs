//! A service that decides the open points in the other way than the mock.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Rewrites the filters of requests to the mock, so that
/// - `ne`, `lt` and `le` match missing properties,
/// - values of all types are compared with a literal: both types of integers as numbers, texts as times if they are, other
///   types by their texts,
/// - Guids are ordered by their last bytes first, as by SQL Server, and Binaries by their length first.
#[derive(Debug)]
pub(super) struct OtherService {
    mock: Arc<dyn Transport>,
    /// All values of the table, with their properties.
    values: Vec<(String, EdmValue)>,
}

impl OtherService {
    pub(super) fn new(mock: Arc<dyn Transport>, rows: &[DynamicEntity]) -> Self {
        let mut known = BTreeSet::new();
        let mut values = Vec::new();
        for (name, value) in rows.iter().flat_map(DynamicEntity::properties) {
            if known.insert(format!("{name} {} {value}", value.edm_type())) {
                values.push((name.to_owned(), value.clone()));
            }
        }
        Self { mock, values }
    }

    fn rewrite(&self, filter: Filter) -> Filter {
        let all = |filters: Vec<Filter>| filters.into_iter().map(|one| self.rewrite(one));
        match filter {
            Filter::And { 0: filters, .. } => all(filters).reduce(|a, b| a & b).unwrap(),
            Filter::Or { 0: filters, .. } => all(filters).reduce(|a, b| a | b).unwrap(),
            Filter::Not { 0: inner, .. } => !self.rewrite(*inner),
            Filter::Compare { property, op, literal, .. } => self.compare(&property, op, &literal),
            other => other,
        }
    }

    fn compare(&self, property: &str, op: CompareOp, literal: &EdmValue) -> Filter {
        if ["PartitionKey", "RowKey", "Timestamp"].contains(&property) {
            return Filter::compare(property, op, literal.clone()).unwrap();
        }
        match op {
            CompareOp::Ne => !self.listed(property, CompareOp::Eq, literal),
            CompareOp::Lt => !self.listed(property, CompareOp::Ge, literal),
            CompareOp::Le => !self.listed(property, CompareOp::Gt, literal),
            op => self.listed(property, op, literal),
        }
    }

    /// The values of the table that have the order.
    fn listed(&self, property: &str, op: CompareOp, literal: &EdmValue) -> Filter {
        let matches = |value: &EdmValue| match op {
            CompareOp::Eq => order(value, literal).is_eq(),
            CompareOp::Ge => order(value, literal).is_ge(),
            _ => order(value, literal).is_gt(),
        };
        let listed = self.values.iter().filter(|(name, value)| name == property && matches(value));
        let one = |(name, value): &(String, EdmValue)| {
            Filter::compare(name.as_str(), CompareOp::Eq, value.clone()).unwrap()
        };
        let never = Filter::compare(property, CompareOp::Eq, "no value is this text").unwrap();
        listed.map(one).fold(never, |a, b| a | b)
    }
}

fn order(value: &EdmValue, literal: &EdmValue) -> Ordering {
    match (value, literal) {
        (EdmValue::Guid(a), EdmValue::Guid(b)) => {
            let last_first = |id: &uuid::Uuid| {
                let mut bytes = *id.as_bytes();
                bytes.rotate_right(6);
                bytes
            };
            last_first(a).cmp(&last_first(b))
        }
        (EdmValue::Binary(a), EdmValue::Binary(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (EdmValue::Int32(a), EdmValue::Int32(b)) => a.cmp(b),
        (EdmValue::Int32(a), EdmValue::Int64(b)) => i64::from(*a).cmp(b),
        (EdmValue::Int64(a), EdmValue::Int32(b)) => a.cmp(&i64::from(*b)),
        (EdmValue::Int64(a), EdmValue::Int64(b)) => a.cmp(b),
        (EdmValue::String(a), EdmValue::DateTime(b)) => {
            a.parse::<EdmDateTime>().map_or(Ordering::Less, |a| a.cmp(b))
        }
        // Times, all with seven digits, and Booleans have the order of their texts.
        (a, b) => a.to_string().encode_utf16().cmp(b.to_string().encode_utf16()),
    }
}

impl Transport for OtherService {
    fn send(&self, mut request: HttpRequest) -> ResponseFuture<'_> {
        let uri = request.uri.to_string();
        if let Some((path, query)) = uri.split_once('?') {
            let options = query.split('&').map(|option| match option.split_once("filter=") {
                Some((dollar, text)) => {
                    let text = percent_decode_str(text).decode_utf8().unwrap();
                    let filter = self.rewrite(Filter::parse(&text).unwrap()).to_string();
                    let filter = utf8_percent_encode(&filter, NON_ALPHANUMERIC);
                    format!("{dollar}filter={filter}")
                }
                None => option.to_owned(),
            });
            let options = options.collect::<Vec<_>>().join("&");
            request.uri = format!("{path}?{options}").parse().unwrap();
        }
        self.mock.send(request)
    }
}
