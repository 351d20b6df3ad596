//! Which blocks each executor has.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use cne_fragment::CometFragmentExec;
use cne_proto::v1::{FragmentBlock, FragmentNode};
use cne_task::blocks::block_of;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;

/// The digests of the blocks that were sent, by job and executor.
#[derive(Debug, Default)]
pub(super) struct SentBlocks(Mutex<HashMap<String, HashMap<String, HashSet<Bytes>>>>);

/// Blocks that go along with one launch. They count as sent when it has succeeded: two launches at a time may send the same block.
#[derive(Debug)]
pub(super) struct Sending<'a> {
    sent: &'a SentBlocks,
    executor: &'a str,
    new: HashSet<(String, Bytes)>,
}

impl SentBlocks {
    /// A launch on `executor`.
    pub(super) fn launch<'a>(&'a self, executor: &'a str) -> Sending<'a> {
        Sending {
            sent: self,
            executor,
            new: HashSet::new(),
        }
    }

    /// The executor has lost the blocks of a job.
    pub(super) fn forget(&self, job: &str, executor: &str) {
        if let Some(executors) = self.0.lock().get_mut(job) {
            executors.remove(executor);
        }
    }

    /// Forgets the jobs that do not run any more.
    pub(super) fn retain(&self, runs: impl Fn(&str) -> bool) {
        self.0.lock().retain(|job, _| runs(job));
    }

    fn has(&self, job: &str, executor: &str, digest: &Bytes) -> bool {
        let sent = self.0.lock();
        let digests = sent.get(job).and_then(|executors| executors.get(executor));
        digests.is_some_and(|digests| digests.contains(digest))
    }
}

impl Sending<'_> {
    /// The blocks of a stage's plan that the executor does not get otherwise.
    pub(super) fn missing(&mut self, job: &str, plan: &Arc<dyn ExecutionPlan>) -> Vec<FragmentBlock> {
        let mut missing = vec![];
        // The visitor does not fail.
        let _ = plan.apply(|node| {
            if let Some(fragment) = node.downcast_ref::<CometFragmentExec>() {
                missing.extend(self.add(job, fragment.node()));
            }
            Ok(TreeNodeRecursion::Continue)
        });
        missing
    }

    /// The executor of the launch.
    pub(super) fn executor(&self) -> &str {
        self.executor
    }

    fn add(&mut self, job: &str, node: &FragmentNode) -> Option<FragmentBlock> {
        let digest = &node.block_digest;
        let here = digest.is_empty()
            || self.sent.has(job, self.executor, digest)
            || !self.new.insert((job.to_string(), digest.clone()));
        (!here).then(|| block_of(node))
    }

    /// The launch has succeeded.
    pub(super) fn done(self) {
        let mut sent = self.sent.0.lock();
        for (job, digest) in self.new {
            let executors = sent.entry(job).or_default();
            executors
                .entry(self.executor.to_string())
                .or_default()
                .insert(digest);
        }
    }
}
