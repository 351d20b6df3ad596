//! Carries our nodes in Ballista's serialized plans, beside Ballista's own.

use std::sync::Arc;

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use bytes::Bytes;
use cne_fragment::CometFragmentExec;
use cne_proto::v1::{ExchangeNode, FragmentNode, SortedMergeNode};
use datafusion::{
    error::{DataFusionError, Result},
    execution::TaskContext,
    physical_plan::ExecutionPlan,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use prost::Message;

use crate::blocks::{self, Blocks};
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
    /// Whether blocks are named where a fragment has their digest, in the place of their bytes.
    names_blocks: bool,
    /// Where named blocks are.
    blocks: Option<Arc<Blocks>>,
}

impl CometCodec {
    /// The scheduler's: it names blocks. Their bytes travel beside the plan.
    #[must_use]
    pub fn naming_blocks() -> Self {
        Self {
            names_blocks: true,
            ..Self::default()
        }
    }

    /// An executor's: it finds named blocks in `blocks`.
    #[must_use]
    pub fn with_blocks(blocks: Arc<Blocks>) -> Self {
        Self {
            blocks: Some(blocks),
            ..Self::default()
        }
    }

    fn fragment(&self, node: FragmentNode, inputs: &[Arc<dyn ExecutionPlan>]) -> Result<CometFragmentExec> {
        match &self.blocks {
            _ if !node.operator.is_empty() || node.block_digest.is_empty() => {
                Ok(CometFragmentExec::try_new(node, inputs.to_vec())?)
            }
            Some(blocks) => blocks.fragment(node, inputs.to_vec()),
            None => Err(blocks::unknown(node.block_digest)),
        }
    }
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
            return Ok(Arc::new(self.fragment(node, inputs)?));
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
            let node = fragment.node();
            if !self.names_blocks || node.block_digest.is_empty() {
                return node.encode(buf).map_err(external);
            }
            let named = FragmentNode {
                operator: Bytes::new(),
                scan_commons: vec![],
                ..node.clone()
            };
            return named.encode(buf).map_err(external);
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
