//! The comparison of two results.

use std::fmt;

use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::physical_plan::{ExecutionPlan, collect};

use super::Sessions;
use super::queries::{Query, Rows};
use crate::AzureTableScan;

/// The number of queries, and of their conditions by the place where they are evaluated.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) queries: usize,
    /// On the service only.
    pub(super) exact: usize,
    /// On the service and in DataFusion.
    pub(super) inexact: usize,
    /// In DataFusion only.
    pub(super) not: usize,
    /// Queries whose scan has several partitions.
    pub(super) several_ranges: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queries, exact, inexact, not, several_ranges } = self;
        write!(
            f,
            "{queries} queries; conditions pushed exact: {exact}, inexact: {inexact}, not: {not}"
        )?;
        write!(f, "; {several_ranges} queries in several ranges")
    }
}

/// A query with different results.
#[derive(Debug)]
pub(super) struct Difference {
    sql: String,
    service: Result<Vec<String>, String>,
    memory: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sql)?;
        match &self.service {
            Ok(rows) => write!(f, ": {} rows instead of {}", rows.len(), self.memory.len())?,
            Err(error) => write!(f, ": refused: {error}")?,
        }
        let rows = self.service.as_deref().unwrap_or_default();
        let missing = self.memory.iter().find(|row| !rows.contains(row));
        let extra = rows.iter().find(|row| !self.memory.contains(row));
        write!(f, ", the first missing one {missing:?}, the first extra one {extra:?}")
    }
}

/// Runs a query on both, without and with its limit.
pub(super) async fn run(
    sessions: &Sessions,
    query: &Query,
    counts: &mut Counts,
) -> Result<(), Box<Difference>> {
    counts.queries += 1;
    let is_ordered = matches!(query.rows, Rows::Ordered);
    let of = |rows: Vec<String>| if is_ordered { rows } else { sorted(rows) };
    let memory = of(rows(&sessions.memory, &query.sql, None).await.unwrap());
    let service = rows(&sessions.service, &query.sql, Some(&mut *counts)).await.map(of);
    let is_same = service.as_ref().is_ok_and(|rows| *rows == memory);
    let different =
        |sql: String, service| Err(Box::new(Difference { sql, service, memory: memory.clone() }));
    if !is_same {
        return different(query.sql.clone(), service);
    }
    let Rows::Part { limit, offset } = query.rows else { return Ok(()) };
    let sql = format!("{} LIMIT {limit} OFFSET {offset}", query.sql);
    let service = rows(&sessions.service, &sql, None).await.map(sorted);
    let size = limit.min(memory.len().saturating_sub(offset));
    let is_part = |rows: &Vec<String>| rows.len() == size && is_part(rows, &memory);
    if service.as_ref().is_ok_and(is_part) { Ok(()) } else { different(sql, service) }
}

/// Whether sorted rows are among others, each at most as often as there.
fn is_part(rows: &[String], all: &[String]) -> bool {
    let mut all = all.iter();
    rows.iter().all(|row| all.any(|one| one == row))
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

/// The rows of a result as texts.
async fn rows(
    session: &SessionContext,
    sql: &str,
    counts: Option<&mut Counts>,
) -> Result<Vec<String>, String> {
    let text = |error: datafusion::error::DataFusionError| error.to_string();
    let frame = session.sql(sql).await.map_err(text)?;
    let (state, plan) = frame.into_parts();
    let plan = state.optimize(&plan).map_err(text)?;
    let physical = state.query_planner().create_physical_plan(&plan, &state).await.map_err(text)?;
    if let Some(counts) = counts {
        count(&plan, counts);
        counts.several_ranges += usize::from(partitions(&*physical) > 1);
    }
    let batches = collect(physical, state.task_ctx()).await.map_err(text)?;
    let mut rows = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|column| {
                if column.is_null(row) {
                    "null".to_owned()
                } else {
                    array_value_to_string(column, row).unwrap()
                }
            });
            rows.push(values.collect::<Vec<_>>().join(", "));
        }
    }
    Ok(rows)
}

/// Counts the conditions on tables in an optimized plan by the place where they are evaluated.
fn count(plan: &LogicalPlan, counts: &mut Counts) {
    plan.apply(|node| {
        let (scan, local) = match node {
            LogicalPlan::TableScan(scan) => (scan, Vec::new()),
            LogicalPlan::Filter(filter) => match &*filter.input {
                LogicalPlan::TableScan(scan) => (scan, split_conjunction(&filter.predicate)),
                _ => return Ok(TreeNodeRecursion::Continue),
            },
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        let both = scan.filters.iter().filter(|one| local.contains(one)).count();
        counts.exact += scan.filters.len() - both;
        counts.inexact += both;
        counts.not += local.len() - both;
        Ok(TreeNodeRecursion::Jump)
    })
    .unwrap();
}

fn partitions(plan: &dyn ExecutionPlan) -> usize {
    let scan = plan.downcast_ref::<AzureTableScan>().map_or(0, |scan| scan.filters().len());
    plan.children().iter().map(|child| partitions(&***child)).sum::<usize>() + scan
}

#[test]
fn a_part_has_each_row_at_most_as_often() {
    let part = |rows: &[&str]| {
        is_part(
            &rows.iter().map(ToString::to_string).collect::<Vec<_>>(),
            &["a", "b", "b", "c"].map(str::to_owned),
        )
    };
    assert!(part(&[]) && part(&["a", "c"]) && part(&["b", "b", "c"]));
    assert!(!part(&["a", "a"]) && !part(&["b", "b", "b"]) && !part(&["d"]));
}
