//! Ballista's cluster state with one executor more for each that there was: what it has stored, which never dies and never runs a task.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use ballista_core::{
    JobId,
    error::Result,
    serde::{
        protobuf::{ExecutorHeartbeat, executor_status::Status as State},
        scheduler::{ExecutorData, ExecutorMetadata, ExecutorSpecification},
    },
};
use ballista_scheduler::{
    cluster::{BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot, memory::InMemoryClusterState},
    config::TaskDistributionPolicy,
    state::task_manager::JobInfoCache,
};
use cne_task::{KEPT_OUTPUTS, kept_outputs_of};
use parking_lot::Mutex;

use super::avoid::Avoided;
use crate::counters::Counters;

/// Executors whose addresses are remembered after they have gone.
const REMEMBERED: usize = 10_000;

/// In-memory cluster state that also answers for [`KEPT_OUTPUTS`].
#[derive(Default)]
pub struct PoolCluster {
    inner: InMemoryClusterState,
    known: Mutex<Known>,
    avoided: Avoided,
    // Registered executors whose process has ended.
    ended: Mutex<HashSet<String>>,
    // Executors that are not removed although Ballista says so.
    kept: Mutex<HashSet<String>>,
    counters: Counters,
}

/// Every executor that has registered, in that order.
#[derive(Default)]
struct Known {
    metadata: HashMap<String, ExecutorMetadata>,
    order: VecDeque<String>,
}

impl PoolCluster {
    /// Without executors. Those that are lost are counted.
    pub fn new(counters: Counters) -> Self {
        Self {
            counters,
            ..Self::default()
        }
    }

    /// Registered executors that have said that they are about to stop.
    pub fn leaving(&self) -> HashSet<String> {
        let leaves = |heartbeat: &ExecutorHeartbeat| {
            let status = heartbeat
                .status
                .as_ref()
                .and_then(|status| status.status.as_ref());
            matches!(status, Some(State::Terminating(_) | State::Dead(_)))
        };
        let heartbeats = self.inner.executor_heartbeats().into_iter();
        heartbeats
            .filter(|(_, heartbeat)| leaves(heartbeat))
            .map(|(id, _)| id)
            .collect()
    }

    /// One that is there and stays.
    pub fn some_executor(&self) -> Option<String> {
        let leaving = self.leaving();
        let mut there = self.inner.executor_heartbeats().into_keys();
        there.find(|id| !leaving.contains(id))
    }

    /// Whether this executor was registered at some time.
    pub(super) fn was_registered(&self, executor: &str) -> bool {
        self.known.lock().metadata.contains_key(executor)
    }

    /// A task has failed on this executor for a reason that may be its own. Gives for how long others are preferred.
    pub(super) fn avoid(&self, executor: &str) -> Duration {
        self.avoided.add(executor)
    }

    /// The process of a registered executor has ended: Ballista takes it for lost when it looks next. `false` when it is not registered.
    pub(super) fn end_heartbeat(&self, executor: &str) -> bool {
        let registered = self.inner.get_executor_heartbeat(executor).is_some();
        if registered {
            self.ended.lock().insert(executor.to_string());
        }
        registered
    }

    /// While it is kept, an executor stays registered when Ballista removes it.
    pub(super) fn keep(&self, executor: &str, keep: bool) {
        let mut kept = self.kept.lock();
        match keep {
            true => kept.insert(executor.to_string()),
            false => kept.remove(executor),
        };
    }

    fn with_ends(&self, mut heartbeat: ExecutorHeartbeat) -> ExecutorHeartbeat {
        if self.ended.lock().contains(&heartbeat.executor_id) {
            heartbeat.timestamp = 0;
        }
        heartbeat
    }

    fn remember(&self, metadata: &ExecutorMetadata) {
        let mut known = self.known.lock();
        if known
            .metadata
            .insert(metadata.id.clone(), metadata.clone())
            .is_none()
        {
            known.order.push_back(metadata.id.clone());
        }
        if known.order.len() > REMEMBERED
            && let Some(oldest) = known.order.pop_front()
        {
            known.metadata.remove(&oldest);
        }
    }

    /// Where the executor answers, or did, whose outputs the pseudo executor `id` stands for.
    fn kept_outputs(&self, id: &str) -> ExecutorMetadata {
        let executor = id.strip_prefix(KEPT_OUTPUTS).unwrap_or_default();
        let found = self.known.lock().metadata.get(executor).cloned();
        let mut metadata = found.unwrap_or_else(nowhere);
        metadata.id = kept_outputs_of(executor);
        metadata.specification = ExecutorSpecification::default().with_vcores(0);
        metadata
    }
}

fn nowhere() -> ExecutorMetadata {
    ExecutorMetadata {
        id: String::new(),
        host: String::new(),
        port: 0,
        grpc_port: 0,
        specification: ExecutorSpecification::default().with_vcores(0),
        os_info: Default::default(),
    }
}

#[async_trait::async_trait]
impl ClusterState for PoolCluster {
    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        let executors = executors.map(|alive| self.avoided.without(alive));
        self.inner
            .bind_schedulable_tasks(distribution, jobs, executors)
            .await
    }

    async fn unbind_tasks(&self, slots: Vec<ExecutorSlot>) -> Result<()> {
        // The gateway gives a finished task's slot back to the executor that ran it.
        let real = slots
            .into_iter()
            .filter(|(id, _)| !id.starts_with(KEPT_OUTPUTS))
            .collect();
        self.inner.unbind_tasks(real).await
    }

    async fn register_executor(&self, metadata: ExecutorMetadata, data: ExecutorData) -> Result<()> {
        self.inner.register_executor(metadata.clone(), data).await?;
        self.remember(&metadata);
        Ok(())
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        self.inner.save_executor_metadata(metadata).await
    }

    async fn get_executor_metadata(&self, executor_id: &str) -> Result<ExecutorMetadata> {
        if executor_id.starts_with(KEPT_OUTPUTS) {
            return Ok(self.kept_outputs(executor_id));
        }
        self.inner.get_executor_metadata(executor_id).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.inner.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.inner.save_executor_heartbeat(heartbeat).await
    }

    async fn remove_executor(&self, executor_id: &str) -> Result<()> {
        if self.kept.lock().contains(executor_id) {
            return Ok(());
        }
        self.ended.lock().remove(executor_id);
        let registered = self.inner.get_executor_heartbeat(executor_id).is_some();
        if registered && !self.leaving().contains(executor_id) {
            self.counters.executor_lost();
        }
        self.inner.remove_executor(executor_id).await
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        let heartbeats = self.inner.executor_heartbeats().into_iter();
        heartbeats
            .map(|(id, heartbeat)| (id, self.with_ends(heartbeat)))
            .collect()
    }

    fn get_executor_heartbeat(&self, executor_id: &str) -> Option<ExecutorHeartbeat> {
        if executor_id.starts_with(KEPT_OUTPUTS) {
            // No status: neither dead (its statuses are taken) nor active (it gets no task).
            return Some(ExecutorHeartbeat {
                executor_id: executor_id.into(),
                timestamp: u64::MAX / 2,
                metrics: vec![],
                status: None,
                peak_proc_physical_memory: 0,
                peak_proc_virtual_memory: 0,
            });
        }
        let heartbeat = self.inner.get_executor_heartbeat(executor_id);
        heartbeat.map(|heartbeat| self.with_ends(heartbeat))
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.inner.cluster_state_events().await
    }
}
