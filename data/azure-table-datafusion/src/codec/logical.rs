//! Tables in logical plans.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_catalog::TableProvider;
use datafusion_common::{Result, TableReference};
use datafusion_execution::TaskContext;
use datafusion_expr::{AggregateUDF, Extension, HigherOrderUDF, LogicalPlan, ScalarUDF, WindowUDF};
use datafusion_proto::logical_plan::LogicalExtensionCodec;

use super::AzureTableCodec;
use super::message::{SchemaMessage, SourceMessage, TableMessage, decode, encode, is_own};
use crate::AzureTable;

impl LogicalExtensionCodec for AzureTableCodec {
    fn try_decode_table_provider(
        &self,
        bytes: &[u8],
        name: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        if !is_own(bytes) {
            return self.logical.try_decode_table_provider(bytes, name, schema, context);
        }
        let message: TableMessage = decode(bytes)?;
        let source = message.source.into_source(&*self.connections)?;
        let schema = message.schema.into_schema()?;
        Ok(Arc::new(AzureTable::from_parts(source, schema, message.partitions)))
    }

    fn try_encode_table_provider(
        &self,
        name: &TableReference,
        provider: Arc<dyn TableProvider>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(table) = provider.downcast_ref::<AzureTable>() else {
            return self.logical.try_encode_table_provider(name, provider, bytes);
        };
        let (source, partitions) = table.parts();
        let source = SourceMessage::new(source)?;
        let schema = SchemaMessage::new(table.table_schema());
        encode(&TableMessage { source, schema, partitions }, bytes)
    }

    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[LogicalPlan],
        context: &TaskContext,
    ) -> Result<Extension> {
        self.logical.try_decode(bytes, inputs, context)
    }

    fn try_encode(&self, node: &Extension, bytes: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode(node, bytes)
    }

    fn try_decode_file_format(
        &self,
        bytes: &[u8],
        context: &TaskContext,
    ) -> Result<Arc<dyn datafusion_datasource::file_format::FileFormatFactory>> {
        self.logical.try_decode_file_format(bytes, context)
    }

    fn try_encode_file_format(
        &self,
        bytes: &mut Vec<u8>,
        format: Arc<dyn datafusion_datasource::file_format::FileFormatFactory>,
    ) -> Result<()> {
        self.logical.try_encode_file_format(bytes, format)
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.logical.try_decode_udf(name, bytes)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode_udf(function, bytes)
    }

    fn try_decode_higher_order_function(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<Arc<HigherOrderUDF>> {
        self.logical.try_decode_higher_order_function(name, bytes)
    }

    fn try_encode_higher_order_function(
        &self,
        function: &HigherOrderUDF,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        self.logical.try_encode_higher_order_function(function, bytes)
    }

    fn try_decode_udaf(&self, name: &str, bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.logical.try_decode_udaf(name, bytes)
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode_udaf(function, bytes)
    }

    fn try_decode_udwf(&self, name: &str, bytes: &[u8]) -> Result<Arc<WindowUDF>> {
        self.logical.try_decode_udwf(name, bytes)
    }

    fn try_encode_udwf(&self, function: &WindowUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode_udwf(function, bytes)
    }
}
