//! Parquet, through `azure-table-arrow`.

use std::path::Path;
use clap::ValueEnum;
use super::{Output, RowWriter, Rows};
use crate::failure::{Exit, Failure, Result};
use azure_table_client::DynamicEntity;

/// The form of `Edm.DateTime` in Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Datetimes { Nanos, Micros, Ticks }
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mixed { Error, Rest }
pub(crate) struct Options { pub(crate) datetimes: Datetimes, pub(crate) mixed: Mixed }
pub(crate) struct Inference;
impl Inference { pub(crate) fn new(_: &Options) -> Self { Self } pub(crate) fn add(&mut self, _: &DynamicEntity) -> Result<()> { Ok(()) }
 pub(crate) fn writer(self, out: Output) -> Result<super::jsonl::Writer> { Ok(super::jsonl::Writer::new(out, false)) } }
pub(super) fn rows(_: &Path) -> Result<Rows> { Err(Failure::new(Exit::Failed, "no")) }
