//! A block's bytes travel once to each executor that runs tasks of the job; the tasks' plans name them by digest.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use cne_fragment::{CometFragmentExec, ValidatedBlock};
use cne_proto::v1::{FragmentBlock, FragmentNode, LaunchedPlan};
use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;
use prost::{DecodeError, Message};
use sha2::{Digest, Sha256};

// A plan is a protobuf message, whose first byte is a small field tag: it cannot be confused with this.
const LAUNCHED: &[u8] = b"\xffCNE\x01L";

/// A plan names a block that was not sent, or was dropped: the scheduler has to send it again.
#[derive(Debug, thiserror::Error)]
#[error("the block {} is not here", hex::encode(.digest))]
pub struct UnknownBlock {
    digest: Bytes,
}

/// The name of a block: SHA-256 over its operator and its scans, each behind its length.
#[must_use]
pub fn block_digest(operator: &[u8], scan_commons: &[Bytes]) -> Bytes {
    let mut hash = Sha256::new();
    for part in std::iter::once(operator).chain(scan_commons.iter().map(AsRef::as_ref)) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Bytes::copy_from_slice(&hash.finalize())
}

/// A launch in the place of the plan that Ballista sends.
#[must_use]
pub fn wrap_plan(launched: &LaunchedPlan) -> Vec<u8> {
    let mut wrapped = Vec::with_capacity(LAUNCHED.len() + launched.encoded_len());
    wrapped.extend_from_slice(LAUNCHED);
    // It grows as it has to.
    let _ = launched.encode(&mut wrapped);
    wrapped
}

/// What [`wrap_plan`] was given.
///
/// # Errors
/// When the bytes are damaged, or are a plan without a launch.
pub fn unwrap_plan(wrapped: &[u8]) -> Result<LaunchedPlan, DecodeError> {
    // The marker alone is no message, so that bytes without it are refused.
    LaunchedPlan::decode(wrapped.strip_prefix(LAUNCHED).unwrap_or(&[0xff]))
}

/// The blocks of one job on one executor, by digest. Each is checked once for all tasks.
#[derive(Debug, Default)]
pub struct Blocks(Mutex<HashMap<Bytes, Block>>);

#[derive(Debug)]
struct Block {
    operator: Bytes,
    scan_commons: Vec<Bytes>,
    validated: Option<Arc<ValidatedBlock>>,
}

impl Blocks {
    /// Keeps `block`.
    pub fn insert(&self, block: FragmentBlock) {
        let FragmentBlock {
            operator,
            scan_commons,
        } = block;
        let digest = block_digest(&operator, &scan_commons);
        self.0.lock().entry(digest).or_insert(Block {
            operator,
            scan_commons,
            validated: None,
        });
    }

    /// The fragment of a node that names its block.
    ///
    /// # Errors
    /// [`UnknownBlock`], and what [`CometFragmentExec::try_new`] gives.
    pub fn fragment(
        &self,
        mut node: FragmentNode,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<CometFragmentExec> {
        let digest = node.block_digest.clone();
        let known = {
            let blocks = self.0.lock();
            let Some(block) = blocks.get(&digest) else {
                return Err(unknown(digest));
            };
            node.operator = block.operator.clone();
            node.scan_commons.clone_from(&block.scan_commons);
            block.validated.clone()
        };
        // The lock is not held: a block is checked on the threads of several tasks at worst.
        match known {
            Some(known) => Ok(CometFragmentExec::with_validated(node, children, &known)?),
            None => {
                let fragment = CometFragmentExec::try_new(node, children)?;
                if let Some(block) = self.0.lock().get_mut(&digest) {
                    block.validated = Some(Arc::clone(fragment.block()));
                }
                Ok(fragment)
            }
        }
    }
}

/// The error of a plan that names a block which is not here.
pub(crate) fn unknown(digest: Bytes) -> datafusion::error::DataFusionError {
    datafusion::error::DataFusionError::External(Box::new(UnknownBlock { digest }))
}

/// The block of a fragment's node, as it is sent.
#[must_use]
pub fn block_of(node: &FragmentNode) -> FragmentBlock {
    FragmentBlock {
        operator: node.operator.clone(),
        scan_commons: node.scan_commons.clone(),
    }
}

#[cfg(test)]
mod tests {
    use cne_fragment::descriptor::descriptor_plan;
    use cne_proto::spark_operator::{Operator, RangeScan, operator::OpStruct};
    use cne_proto::v1::PartitionPayload;
    use cne_proto::v1::TaskLaunch;
    use datafusion::prelude::SessionContext;
    use datafusion_proto::physical_plan::AsExecutionPlan;
    use datafusion_proto::protobuf::PhysicalPlanNode;

    use super::*;
    use crate::CometCodec;

    fn range(elements: i64) -> FragmentNode {
        let scan = RangeScan {
            step: 1,
            num_elements: elements,
            num_slices: 1,
            ..Default::default()
        };
        let operator = Operator {
            op_struct: Some(OpStruct::RangeScan(scan)),
            ..Default::default()
        };
        let operator = Bytes::from(operator.encode_to_vec());
        FragmentNode {
            block_digest: block_digest(&operator, &[]),
            operator,
            ..Default::default()
        }
    }

    fn named(node: &FragmentNode) -> PhysicalPlanNode {
        let descriptors = descriptor_plan(vec![PartitionPayload::default()]).unwrap();
        let plan = CometFragmentExec::try_new(node.clone(), vec![descriptors]).unwrap();
        PhysicalPlanNode::try_from_physical_plan(Arc::new(plan), &CometCodec::naming_blocks()).unwrap()
    }

    fn decode(plan: &PhysicalPlanNode, blocks: &Arc<Blocks>) -> Result<Arc<dyn ExecutionPlan>> {
        let context = SessionContext::new().task_ctx();
        plan.try_into_physical_plan(&context, &CometCodec::with_blocks(Arc::clone(blocks)))
    }

    #[test]
    fn a_named_block_is_found_by_its_content_and_checked_once() {
        let (node, other) = (range(10), range(11));
        let plan = named(&node);
        let bytes = plan.encode_to_vec();
        assert!(
            !bytes
                .windows(node.operator.len())
                .any(|part| part == node.operator)
        );
        let blocks = Arc::new(Blocks::default());
        blocks.insert(block_of(&other));
        let error = decode(&plan, &blocks).unwrap_err();
        assert!(
            error.to_string().contains(&hex::encode(&node.block_digest)),
            "{error}"
        );
        blocks.insert(block_of(&node));
        let checked: Vec<_> = (0..2)
            .map(|_| {
                let plan = decode(&plan, &blocks).unwrap();
                let fragment = plan.downcast_ref::<CometFragmentExec>().unwrap();
                assert_eq!(fragment.node(), &node);
                Arc::clone(fragment.block())
            })
            .collect();
        assert!(Arc::ptr_eq(&checked[0], &checked[1]));
    }

    #[test]
    fn blocks_and_attempts_travel_with_a_plan() {
        let task = TaskLaunch {
            task_id: 3,
            attempt: 7,
            look_first: true,
        };
        let launched = LaunchedPlan {
            plan: named(&range(10)).encode_to_vec().into(),
            blocks: vec![block_of(&range(10)), block_of(&range(11))],
            tasks: vec![task],
            executor_id: "executor".into(),
        };
        let wrapped = wrap_plan(&launched);
        assert!(unwrap_plan(&wrapped[..wrapped.len() - 1]).is_err());
        assert!(unwrap_plan(&launched.plan).is_err(), "a plan without a launch");
        assert_eq!(unwrap_plan(&wrapped).unwrap(), launched);
    }

    #[test]
    fn where_one_part_ends_counts() {
        let part = |text: &'static str| Bytes::from(text);
        assert_ne!(
            block_digest(b"ab", &[part("c")]),
            block_digest(b"a", &[part("bc")])
        );
        assert_ne!(block_digest(b"ab", &[]), block_digest(b"ab", &[part("")]));
    }
}
