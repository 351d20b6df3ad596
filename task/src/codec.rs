//! Carries our nodes in Ballista's serialized plans, beside Ballista's own.

use std::sync::Arc;

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use cne_fragment::CometFragmentExec;
use cne_proto::v1::{ExchangeNode, FragmentNode, SortedMergeNode};
use datafusion::{
    error::{DataFusionError, Result},
    execution::TaskContext,
    physical_plan::ExecutionPlan,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use prost::Message;

use crate::{ExchangeExec, SortedMergeExec};

// Ballista's codec writes protobuf, whose first byte is a small field tag: these prefixes cannot be confused with it.
const FRAGMENT: &[u8] = b"\xffCNE\x01F";
const EXCHANGE: &[u8] = b"\xffCNE\x01X";
const MERGE: &[u8] = b"\xffCNE\x01M";

/// The physical codec of scheduler and executors: `CometFragmentExec`, [`ExchangeExec`] and [`SortedMergeExec`] behind a prefix, everything else by
/// Ballista's. Children are carried by datafusion-proto beside these bytes.
#[derive(Debug, Default)]
pub struct CometCodec {
    ballista: BallistaPhysicalExtensionCodec,
}

impl PhysicalExtensionCodec for CometCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some(body) = buf.strip_prefix(FRAGMENT) {
            let node = FragmentNode::decode(body).map_err(external)?;
            return Ok(Arc::new(
                CometFragmentExec::try_new(node, inputs.to_vec()).map_err(external)?,
            ));
        }
        if let Some(body) = buf.strip_prefix(EXCHANGE) {
            let node = ExchangeNode::decode(body).map_err(external)?;
            return Ok(Arc::new(ExchangeExec::new(node, only(inputs)?)));
        }
        if let Some(body) = buf.strip_prefix(MERGE) {
            let node = SortedMergeNode::decode(body).map_err(external)?;
            return Ok(Arc::new(SortedMergeExec::try_new(node, only(inputs)?)?));
        }
        self.ballista.try_decode(buf, inputs, context, converter)
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some(fragment) = node.downcast_ref::<CometFragmentExec>() {
            buf.extend_from_slice(FRAGMENT);
            return fragment.node().encode(buf).map_err(external);
        }
        if let Some(exchange) = node.downcast_ref::<ExchangeExec>() {
            buf.extend_from_slice(EXCHANGE);
            return exchange.node().encode(buf).map_err(external);
        }
        if let Some(merge) = node.downcast_ref::<SortedMergeExec>() {
            buf.extend_from_slice(MERGE);
            return merge.node().encode(buf).map_err(external);
        }
        self.ballista.try_encode(node, buf, converter)
    }
}

fn only(inputs: &[Arc<dyn ExecutionPlan>]) -> Result<Arc<dyn ExecutionPlan>> {
    match inputs {
        [child] => Ok(Arc::clone(child)),
        _ => Err(DataFusionError::Plan(format!(
            "a node with one input got {}",
            inputs.len()
        ))),
    }
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
