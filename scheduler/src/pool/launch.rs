//! How tasks get to executors.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock, Weak},
};

use ballista_core::{
    JobId,
    error::Result,
    serde::{protobuf::MultiTaskDefinition, scheduler::ExecutorMetadata},
};
use ballista_scheduler::state::{
    SchedulerState,
    execution_stage::ExecutionStage,
    executor_manager::ExecutorManager,
    task_manager::{JobInfoCache, TaskLauncher},
};
use cne_task::{blocks::wrap_plan, changed_settings};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};

use super::blocks::{Sending, SentBlocks};

type BallistaState = SchedulerState<LogicalPlanNode, PhysicalPlanNode>;

/// Sends tasks over the connection that Ballista's executor manager keeps per executor, tells each task its partition, and sends each block once. A launch that fails
/// makes Ballista remove the executor at once, so a dead one is noticed before its heartbeat runs out.
pub(super) struct Launcher {
    gateway_endpoint: String,
    sent: Arc<SentBlocks>,
    // Set when Ballista, which owns this launcher, has been made.
    state: OnceLock<Weak<BallistaState>>,
}

impl Launcher {
    pub(super) fn new(gateway_endpoint: String, sent: Arc<SentBlocks>) -> Self {
        Self {
            gateway_endpoint,
            sent,
            state: OnceLock::new(),
        }
    }

    pub(super) fn attach(&self, state: &Arc<BallistaState>) {
        // Attached once, by the pool that made it.
        let _ = self.state.set(Arc::downgrade(state));
    }

    /// Puts the partitions that each task computes in the place of Ballista's "global output partitions", which for a hash stage are the numbers
    /// of all buckets: our executors commit a map output under the partition. Adds the blocks that the executor does not have. Left out are the
    /// settings that it has, and the tasks of jobs that have ended.
    async fn complete(
        &self,
        tasks: Vec<MultiTaskDefinition>,
        sending: &mut Sending<'_>,
    ) -> (Vec<MultiTaskDefinition>, HashSet<JobId>) {
        let jobs = self
            .state
            .get()
            .and_then(Weak::upgrade)
            .map(|state| state.task_manager.get_running_job_cache());
        if let Some(jobs) = &jobs {
            self.sent.retain(|job| jobs.contains_key(&JobId::new(job)));
        }
        let (mut kept, mut refused) = (vec![], HashSet::new());
        for mut task in tasks {
            let job = JobId::new(&task.job_id);
            let Some(running) = jobs.as_ref().and_then(|jobs| jobs.get(&job)) else {
                continue;
            };
            if fill(&mut task, running, sending).await {
                kept.push(task);
            } else {
                tracing::error!(job = %job, stage = task.stage_id, "a task is launched that its stage does not know");
                refused.insert(job);
            }
        }
        (kept, refused)
    }
}

async fn fill(tasks: &mut MultiTaskDefinition, job: &JobInfoCache, sending: &mut Sending<'_>) -> bool {
    let graph = job.execution_graph.read().await;
    let Some(ExecutionStage::Running(stage)) = graph.stages().get(&(tasks.stage_id as usize)) else {
        return false;
    };
    tasks.props = changed_settings(std::mem::take(&mut tasks.props));
    let blocks = sending.missing(&tasks.job_id, &stage.plan);
    tasks.plan = wrap_plan(std::mem::take(&mut tasks.plan), blocks);
    tasks
        .task_ids
        .iter_mut()
        .all(|task| match stage.task_infos.get(task.task_id as usize) {
            Some(info) => {
                task.global_output_partition_ids = info
                    .global_input_partition_ids
                    .iter()
                    .map(|p| *p as u32)
                    .collect();
                true
            }
            None => false,
        })
}

#[async_trait::async_trait]
impl TaskLauncher for Launcher {
    async fn launch_tasks(
        &self,
        executor: &ExecutorMetadata,
        tasks: Vec<MultiTaskDefinition>,
        executor_manager: &ExecutorManager,
    ) -> Result<HashSet<JobId>> {
        let mut sending = self.sent.launch(&executor.id);
        let (tasks, mut refused) = self.complete(tasks, &mut sending).await;
        tracing::debug!(executor = %executor.id, tasks = tasks.len(), "launching tasks");
        if !tasks.is_empty() {
            let endpoint = self.gateway_endpoint.clone();
            refused.extend(
                executor_manager
                    .launch_multi_task(&executor.id, tasks, endpoint)
                    .await?,
            );
            sending.done();
        }
        Ok(refused)
    }
}
