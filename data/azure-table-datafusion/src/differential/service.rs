//! A service that decides the open points in the other way than the mock.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmType, EdmValue};
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Rewrites the filters of requests to the mock, so that
/// - `ne`, `lt` and `le` match missing properties,
/// - Guids are ordered by their last bytes first, as by SQL Server, and Binaries by their length first,
/// - both types of integers are compared.
#[derive(Debug)]
pub(super) struct OtherService {
    mock: Arc<dyn Transport>,
    /// All Guids and Binaries of the table, with their properties.
    values: Vec<(String, EdmValue)>,
}

impl OtherService {
    pub(super) fn new(mock: Arc<dyn Transport>, rows: &[DynamicEntity]) -> Self {
        let mut known = BTreeSet::new();
        let mut values = Vec::new();
        for (name, value) in rows.iter().flat_map(DynamicEntity::properties) {
            let is_ordered = matches!(value.edm_type(), EdmType::Guid | EdmType::Binary);
            if is_ordered && known.insert(format!("{name} {value}")) {
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
            Filter::Compare { property, op, literal, .. } => self.compare(&property, op, literal),
            other => other,
        }
    }

    fn compare(&self, property: &str, op: CompareOp, literal: EdmValue) -> Filter {
        if ["PartitionKey", "RowKey"].contains(&property) {
            return Filter::compare(property, op, literal).unwrap();
        }
        // Whether a value is equal or greater.
        let compare = |op| match &literal {
            EdmValue::Guid(_) | EdmValue::Binary(_) => self.listed(property, op, &literal),
            EdmValue::Int32(number) => {
                both(property, op, (*number).into(), i64::from(*number).into())
            }
            EdmValue::Int64(number) => match i32::try_from(*number) {
                Ok(small) => both(property, op, (*number).into(), small.into()),
                Err(_) => Filter::compare(property, op, *number).unwrap(),
            },
            _ => Filter::compare(property, op, literal.clone()).unwrap(),
        };
        match op {
            CompareOp::Ne => !compare(CompareOp::Eq),
            CompareOp::Lt => !compare(CompareOp::Ge),
            CompareOp::Le => !compare(CompareOp::Gt),
            op => compare(op),
        }
    }

    /// The values of the table that have the order.
    fn listed(&self, property: &str, op: CompareOp, literal: &EdmValue) -> Filter {
        let matches = |value: &EdmValue| match (op, order(value, literal)) {
            (_, None) => false,
            (CompareOp::Eq, Some(order)) => order.is_eq(),
            (CompareOp::Ge, Some(order)) => order.is_ge(),
            (_, Some(order)) => order.is_gt(),
        };
        let listed = self.values.iter().filter(|(name, value)| name == property && matches(value));
        let one = |(name, value): &(String, EdmValue)| {
            Filter::compare(name.as_str(), CompareOp::Eq, value.clone()).unwrap()
        };
        let never = Filter::compare(property, CompareOp::Eq, "no value is a text").unwrap();
        listed.map(one).fold(never, |a, b| a | b)
    }
}

/// A comparison of integers of both types.
fn both(property: &str, op: CompareOp, one: EdmValue, other: EdmValue) -> Filter {
    Filter::compare(property, op, one).unwrap() | Filter::compare(property, op, other).unwrap()
}

fn order(value: &EdmValue, literal: &EdmValue) -> Option<Ordering> {
    match (value, literal) {
        (EdmValue::Guid(a), EdmValue::Guid(b)) => {
            let last_first = |id: &uuid::Uuid| {
                let mut bytes = *id.as_bytes();
                bytes.rotate_right(6);
                bytes
            };
            Some(last_first(a).cmp(&last_first(b)))
        }
        (EdmValue::Binary(a), EdmValue::Binary(b)) => {
            Some(a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
        }
        _ => None,
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
