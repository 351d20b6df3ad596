//! Ballista's scheduler inside this process, reachable for executors only, and with a pseudo executor that owns every finished task.

mod avoid;
mod blocks;
mod cluster;
mod failures;
mod gateway;
mod launch;
mod liveness;
mod load;
mod secured;

use std::{sync::Arc, time::Duration};

use ballista_core::{
    JobId, JobStatusSubscriber, config::TaskSchedulingPolicy, error::BallistaError, serde::BallistaCodec,
};
use ballista_scheduler::{
    cluster::{BallistaCluster, ClusterState, memory::InMemoryJobState},
    config::SchedulerConfig,
    metrics::NoopMetricsCollector,
    scheduler_server::SchedulerServer,
    state::{execution_stage::ExecutionStage, task_manager::TaskLauncher},
};
use cne_task::{CometCodec, GRPC_MESSAGE_BYTES, location::Removal, session_config};
use datafusion::{physical_plan::ExecutionPlan, prelude::SessionContext};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};

use cne_transport::Transport;

use crate::counters::Counters;
use blocks::SentBlocks;
pub use cluster::PoolCluster;
use failures::{Failures, WornTasks};
pub use gateway::Gateway;
pub use load::Load;

/// Ballista's scheduler with the plan messages it is used with here.
pub type BallistaScheduler = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

/// How the pool notices what happens to its executors.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// `host:port` at which executors reach the gateway; sent with every launch.
    pub gateway_endpoint: String,
    /// An executor without a heartbeat for so long is dead. Whole seconds.
    pub executor_timeout: Duration,
    /// How often a task that failed with a retryable error is started in all.
    pub task_attempts: usize,
    /// How executors are reached.
    pub transport: Transport,
}

/// An executor that is registered now.
#[derive(Debug, Clone)]
pub struct ExecutorInfo {
    /// Fresh for each start of the process.
    pub id: String,
    /// Where its Flight service answers, "host:port".
    pub flight: String,
    /// Tasks it runs at the same time.
    pub slots: u32,
}

/// How far a job is; counts of stages and tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobProgress {
    /// All stages of the job.
    pub stages_total: u32,
    /// Stages whose every task has succeeded.
    pub stages_done: u32,
    /// All tasks of the job.
    pub tasks_total: u32,
    /// Tasks that have succeeded.
    pub tasks_done: u32,
    /// Tasks that were given to an executor and have not ended.
    pub tasks_running: u32,
}

/// The embedded scheduler. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    ballista: BallistaScheduler,
    cluster: Arc<PoolCluster>,
    sent: Arc<SentBlocks>,
    failures: Arc<Failures>,
    counters: Counters,
    worn: Arc<WornTasks>,
    transport: Transport,
}

impl Pool {
    /// Starts Ballista's scheduler; nothing listens yet.
    ///
    /// # Errors
    /// When Ballista's event loop cannot be started.
    pub async fn start(options: &PoolOptions) -> Result<Self, BallistaError> {
        let config = SchedulerConfig {
            scheduling_policy: TaskSchedulingPolicy::PushStaged,
            override_physical_codec: Some(Arc::new(CometCodec::naming_blocks())),
            override_config_producer: Some(Arc::new(session_config)),
            executor_timeout_seconds: options.executor_timeout.as_secs().max(2),
            expire_dead_executor_interval_seconds: 1,
            // Statuses of the last tasks of a drained executor may come after its farewell.
            executor_termination_grace_period: 30,
            // Waiting for executors is bounded per query by us, with a typed failure.
            no_executors_grace_period_seconds: 365 * 24 * 3600,
            // Results live until their lease ends, see `query`.
            finished_job_data_clean_up_interval_seconds: 0,
            // A finished job's graph holds every plan of the job.
            finished_job_state_clean_up_interval_seconds: 30,
            grpc_server_max_decoding_message_size: GRPC_MESSAGE_BYTES as u32,
            grpc_server_max_encoding_message_size: GRPC_MESSAGE_BYTES as u32,
            grpc_client_max_message_size: GRPC_MESSAGE_BYTES as u32,
            // See `failures`.
            task_max_failures: usize::MAX,
            min_ready_executors: 0,
            event_loop_buffer_size: 65_536,
            job_id_generator: Some(Arc::new(UniqueJobIds)),
            override_create_grpc_client_endpoint: secured::endpoints(&options.transport),
            ..SchedulerConfig::default()
        };
        let config = Arc::new(config);
        let counters = Counters::default();
        let worn = Arc::new(WornTasks::default());
        let cluster = Arc::new(PoolCluster::new(counters.clone()));
        let jobs = InMemoryJobState::new(
            config.scheduler_id.clone(),
            Arc::new(ballista_core::utils::default_session_builder),
            Arc::new(session_config),
        );
        let state = BallistaCluster::new(Arc::clone(&cluster) as Arc<dyn ClusterState>, Arc::new(jobs));
        let codec = BallistaCodec::new(
            Arc::new(ballista_core::serde::BallistaLogicalExtensionCodec::default()),
            Arc::new(CometCodec::naming_blocks()),
        );
        let sent = Arc::new(SentBlocks::default());
        let launcher = Arc::new(launch::Launcher::new(
            options.gateway_endpoint.clone(),
            Arc::clone(&sent),
            counters.clone(),
            Arc::clone(&worn),
        ));
        let mut ballista = BallistaScheduler::new_with_task_launcher(
            options.gateway_endpoint.clone(),
            state,
            codec,
            config,
            Arc::new(NoopMetricsCollector::default()),
            Arc::clone(&launcher) as Arc<dyn TaskLauncher>,
        );
        launcher.attach(&ballista.state);
        ballista.init().await?;
        if let Some(changes) = options.transport.changes() {
            tokio::spawn(secured::reconnect(
                changes,
                Arc::downgrade(&ballista.state),
                Arc::clone(&cluster),
            ));
        }
        Ok(Self {
            ballista,
            cluster,
            sent,
            failures: Arc::new(Failures::new(options.task_attempts)),
            counters,
            worn,
            transport: options.transport.clone(),
        })
    }

    /// What has happened since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A task of `job` that was started too often without an end of its own, as (stage, partition): its executors were lost each time.
    pub fn worn_task(&self, job: &JobId) -> Option<(u32, u32)> {
        self.worn.of(job.as_str())
    }

    /// The service that executors talk to.
    pub fn gateway(&self) -> Gateway {
        Gateway::new(
            self.ballista.clone(),
            Arc::clone(&self.cluster),
            Arc::clone(&self.sent),
            Arc::clone(&self.failures),
            self.counters.clone(),
            self.transport.connector(),
        )
    }

    /// Hands a plan to Ballista, which runs it as a job. `subscriber` hears every change of the job's status.
    ///
    /// # Errors
    /// When Ballista's event loop has stopped.
    pub async fn submit(
        &self,
        name: &str,
        context: Arc<SessionContext>,
        plan: Arc<dyn ExecutionPlan>,
        subscriber: JobStatusSubscriber,
    ) -> Result<JobId, BallistaError> {
        self.ballista
            .submit_physical_plan(name, context, plan, Some(subscriber))
            .await
    }

    /// Cancels a job: its running tasks are stopped, its data is removed.
    ///
    /// # Errors
    /// When Ballista's event loop has stopped.
    pub async fn cancel(&self, job: &JobId) -> Result<(), BallistaError> {
        self.ballista.cancel_job(job.clone()).await
    }

    /// Asks every live executor to remove what it has stored in `namespace`, and one of them to look for what others have left there.
    pub fn remove_outputs(&self, namespace: &str) {
        let lister = self.cluster.some_executor();
        let lister = lister.as_deref();
        self.remove_data(&JobId::new(Removal::Outputs { namespace, lister }.to_string()));
    }

    /// Asks every live executor to remove the rows that it has stored for `stages` of a query. Their commit records stay.
    pub fn retire_stages(&self, namespace: &str, stages: Vec<u32>) {
        self.remove_data(&JobId::new(Removal::Stages { namespace, stages }.to_string()));
    }

    /// Stages of a running job whose rows nobody reads any more: every stage that reads them has succeeded.
    pub async fn read_stages(&self, job: &JobId) -> Vec<u32> {
        let jobs = self.ballista.state.task_manager.get_running_job_cache();
        let Some(job) = jobs.get(job) else {
            return vec![];
        };
        let graph = job.execution_graph.read().await;
        let done = |stage: &usize| matches!(graph.stages().get(stage), Some(ExecutionStage::Successful(_)));
        let read = graph.stages().values().filter_map(|stage| match stage {
            ExecutionStage::Successful(stage) => {
                let links = &stage.output_links;
                (!links.is_empty() && links.iter().all(done)).then_some(stage.stage_id as u32)
            }
            _ => None,
        });
        read.collect()
    }

    /// Slots of all executors together.
    pub async fn slots(&self) -> u32 {
        self.executors().await.iter().map(|executor| executor.slots).sum()
    }

    /// Asks every live executor to forget what it keeps for `job` (Ballista's `RemoveJobData`).
    pub fn remove_data(&self, job: &JobId) {
        self.ballista
            .state
            .executor_manager
            .clean_up_job_data(job.clone());
    }

    /// Executors that are registered now, the pseudo executor and those left out that are leaving: they get no further task, and their
    /// results are served by the others.
    pub async fn executors(&self) -> Vec<ExecutorInfo> {
        let leaving = self.cluster.leaving();
        let registered = self.cluster.registered_executor_metadata().await.into_iter();
        let mut executors: Vec<_> = registered
            .filter(|m| !leaving.contains(&m.id))
            .map(|m| ExecutorInfo {
                flight: format!("{}:{}", m.host, m.port),
                slots: m.specification.vcores,
                id: m.id,
            })
            .collect();
        executors.sort_by(|a, b| a.id.cmp(&b.id));
        executors
    }

    /// Progress of a running job; `None` when it does not run (any more).
    pub async fn progress(&self, job: &JobId) -> Option<JobProgress> {
        let jobs = self.ballista.state.task_manager.get_running_job_cache();
        let graph = jobs.get(job)?.execution_graph.read().await;
        let mut progress = JobProgress::default();
        for stage in graph.stages().values() {
            progress.stages_total += 1;
            let (total, done, running) = match stage {
                ExecutionStage::UnResolved(s) => (partitions(&s.plan), 0, 0),
                ExecutionStage::Resolved(s) => (s.partitions, 0, 0),
                ExecutionStage::Running(s) => {
                    use ballista_core::serde::protobuf::task_status::Status;
                    let count =
                        |of: fn(&Status) -> bool| s.task_infos.iter().filter(|t| of(&t.task_status)).count();
                    let done = count(|status| matches!(status, Status::Successful(_)));
                    let running = count(|status| matches!(status, Status::Running(_)));
                    (s.partitions, done, running)
                }
                ExecutionStage::Successful(s) => {
                    progress.stages_done += 1;
                    (s.partitions, s.partitions, 0)
                }
                ExecutionStage::Failed(s) => (s.partitions, 0, 0),
            };
            progress.tasks_total += total as u32;
            progress.tasks_done += done as u32;
            progress.tasks_running += running as u32;
        }
        Some(progress)
    }

    /// Number of tasks of any job that run now.
    pub async fn tasks_running(&self) -> usize {
        let jobs = self.ballista.state.task_manager.get_running_job_cache();
        let mut running = 0;
        for job in jobs.values() {
            running += job.execution_graph.read().await.running_tasks().len();
        }
        running
    }
}

fn partitions(plan: &Arc<dyn ExecutionPlan>) -> usize {
    plan.properties().partitioning.partition_count()
}

/// Job ids name stored data, so they must not repeat after a restart of the scheduler.
struct UniqueJobIds;

#[async_trait::async_trait]
impl ballista_scheduler::scheduler_server::JobIdGenerator for UniqueJobIds {
    async fn next_id(&self) -> String {
        uuid::Uuid::new_v4().simple().to_string()
    }
}
