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
    execution_stage::{ExecutionStage, TaskInfo},
    executor_manager::ExecutorManager,
    task_manager::{JobInfoCache, TaskLauncher},
};
use cne_proto::v1::{LaunchedPlan, TaskLaunch};
use cne_task::{QueryOptions, blocks::wrap_plan, changed_settings, location::ATTEMPTS};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};

use super::blocks::{Sending, SentBlocks};
use super::failures::WornTasks;
use crate::counters::Counters;

type BallistaState = SchedulerState<LogicalPlanNode, PhysicalPlanNode>;

/// Sends tasks over the connection that Ballista's executor manager keeps per executor, tells each task its partition, and sends each block once. A launch that fails
/// makes Ballista remove the executor at once, so a dead one is noticed before its heartbeat runs out.
pub(super) struct Launcher {
    gateway_endpoint: String,
    sent: Arc<SentBlocks>,
    counters: Counters,
    worn: Arc<WornTasks>,
    // Set when Ballista, which owns this launcher, has been made.
    state: OnceLock<Weak<BallistaState>>,
}

impl Launcher {
    pub(super) fn new(
        gateway_endpoint: String,
        sent: Arc<SentBlocks>,
        counters: Counters,
        worn: Arc<WornTasks>,
    ) -> Self {
        Self {
            gateway_endpoint,
            sent,
            counters,
            worn,
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
            self.worn.retain(|job| jobs.contains_key(&JobId::new(job)));
        }
        let (mut kept, mut refused) = (vec![], HashSet::new());
        for mut task in tasks {
            let job = JobId::new(&task.job_id);
            let Some(running) = jobs.as_ref().and_then(|jobs| jobs.get(&job)) else {
                continue;
            };
            match self.fill(&mut task, running, sending).await {
                Filled::Whole => kept.push(task),
                // Its query is failed by the one that watches it.
                Filled::Worn => {
                    tracing::error!(job = %job, stage = task.stage_id, "a task was started too often")
                }
                Filled::Unknown => {
                    tracing::error!(job = %job, stage = task.stage_id, "a task is launched that its stage does not know");
                    refused.insert(job);
                }
            }
        }
        (kept, refused)
    }

    async fn fill(
        &self,
        tasks: &mut MultiTaskDefinition,
        job: &JobInfoCache,
        sending: &mut Sending<'_>,
    ) -> Filled {
        let graph = job.execution_graph.read().await;
        let first_attempt = QueryOptions::of(&graph.session_config()).first_attempt;
        let Some(ExecutionStage::Running(stage)) = graph.stages().get(&(tasks.stage_id as usize)) else {
            return Filled::Unknown;
        };
        let mut launches = Vec::with_capacity(tasks.task_ids.len());
        for task in &mut tasks.task_ids {
            let number = task.task_id as usize;
            let Some(info) = stage.task_infos.get(number) else {
                return Filled::Unknown;
            };
            let partitions = &info.global_input_partition_ids;
            task.global_output_partition_ids = partitions.iter().map(|p| *p as u32).collect();
            let before = started_before(&stage.task_infos, number, partitions);
            if !self.worn.start(&tasks.job_id, tasks.stage_id, partitions, before) {
                return Filled::Worn;
            }
            self.counters.launched(before > 0);
            launches.push(TaskLaunch {
                task_id: task.task_id,
                // Ballista numbers the launches of a stage's tasks without a gap, and does not use a number again.
                attempt: first_attempt.wrapping_add(task.task_id) % ATTEMPTS,
                look_first: before > 0,
            });
        }
        tasks.props = changed_settings(std::mem::take(&mut tasks.props));
        let launched = LaunchedPlan {
            plan: std::mem::take(&mut tasks.plan).into(),
            blocks: sending.missing(&tasks.job_id, &stage.plan),
            tasks: launches,
            executor_id: sending.executor().to_string(),
        };
        tasks.plan = wrap_plan(&launched);
        Filled::Whole
    }
}

/// How many tasks before `number` were given one of its partitions.
fn started_before(tasks: &[TaskInfo], number: usize, partitions: &[usize]) -> usize {
    let before = tasks.iter().take(number);
    before
        .filter(|task| {
            let of = &task.global_input_partition_ids;
            of.iter().any(|p| partitions.contains(p))
        })
        .count()
}

/// What became of a launch.
enum Filled {
    Whole,
    /// One of its tasks was started too often.
    Worn,
    /// The stage does not run, or does not have a task.
    Unknown,
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
