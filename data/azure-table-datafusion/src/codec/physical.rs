//! Scans in physical plans.

use std::sync::Arc;

use azure_table_client::filter::Filter;
use datafusion_common::{Result, exec_datafusion_err, exec_err};
use datafusion_execution::TaskContext;
use datafusion_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, WindowUDF};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion_physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};

use super::AzureTableCodec;
use super::message::{ScanMessage, SchemaMessage, SourceMessage, decode, encode, is_own};
use crate::AzureTableScan;

impl PhysicalExtensionCodec for AzureTableCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !is_own(bytes) {
            return self.physical.try_decode(bytes, inputs, context, converter);
        }
        let message: ScanMessage = decode(bytes)?;
        let [input] = inputs else {
            return exec_err!("damaged plan of a table: {} inputs instead of 1", inputs.len());
        };
        let source = message.source.into_source(&*self.connections)?;
        let filter = message.filter.as_deref().map(Filter::parse).transpose().map_err(|error| {
            exec_datafusion_err!("damaged plan of a table: invalid filter: {error}")
        })?;
        let scan = AzureTableScan::new(
            source,
            &message.schema.into_schema()?,
            message.projection,
            filter,
            message.limit,
            Arc::clone(input),
        )?;
        Ok(Arc::new(scan))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(scan) = node.downcast_ref::<AzureTableScan>() else {
            return self.physical.try_encode(node, bytes, converter);
        };
        let message = ScanMessage {
            source: SourceMessage::new(&scan.source)?,
            schema: SchemaMessage::new(&scan.schema),
            projection: scan.projection.clone(),
            filter: scan.filter.as_ref().map(Filter::to_string),
            limit: scan.limit,
        };
        encode(&message, bytes)
    }

    fn try_decode_expr(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        context: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        self.physical.try_decode_expr(bytes, inputs, context)
    }

    fn try_encode_expr(
        &self,
        node: &Arc<dyn PhysicalExpr>,
        bytes: &mut Vec<u8>,
        context: &PhysicalExprEncodeCtx<'_>,
    ) -> Result<()> {
        self.physical.try_encode_expr(node, bytes, context)
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.physical.try_decode_udf(name, bytes)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.physical.try_encode_udf(function, bytes)
    }

    fn try_decode_higher_order_function(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<Arc<HigherOrderUDF>> {
        self.physical.try_decode_higher_order_function(name, bytes)
    }

    fn try_encode_higher_order_function(
        &self,
        function: &HigherOrderUDF,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        self.physical.try_encode_higher_order_function(function, bytes)
    }

    fn try_decode_udaf(&self, name: &str, bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.physical.try_decode_udaf(name, bytes)
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.physical.try_encode_udaf(function, bytes)
    }

    fn try_decode_udwf(&self, name: &str, bytes: &[u8]) -> Result<Arc<WindowUDF>> {
        self.physical.try_decode_udwf(name, bytes)
    }

    fn try_encode_udwf(&self, function: &WindowUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.physical.try_encode_udwf(function, bytes)
    }
}
