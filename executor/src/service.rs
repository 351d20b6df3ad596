//! The task service: takes tasks from the scheduler, runs them, stops them, removes stored outputs.
//!
//! In the place of Ballista's own, which gives up when the scheduler is away for a few seconds, sends each status once, decodes plans on the
//! threads that answer calls, and removes local files only.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::executor_grpc_server::ExecutorGrpc;
use ballista_core::serde::protobuf::task_status::Status as TaskEnd;
use ballista_core::serde::protobuf::{
    CancelTasksParams, CancelTasksResult, FailedTask, LaunchMultiTaskParams, LaunchMultiTaskResult,
    LaunchTaskParams, LaunchTaskResult, MultiTaskDefinition, RemoveJobDataParams, RemoveJobDataResult,
    StopExecutorParams, StopExecutorResult, SuccessfulTask, TaskStatus,
};
use ballista_core::serde::scheduler::from_proto::get_task_definition_vec;
use ballista_core::serde::scheduler::{TaskDefinition, TaskKey};
use ballista_core::serde::{BallistaCodec, BallistaLogicalExtensionCodec};
use ballista_core::{RuntimeProducer, serde::protobuf::ShuffleWritePartition};
use ballista_executor::execution_engine::ExecutionEngine;
use ballista_executor::runtime_cache::SessionRuntimeCache;
use cne_proto::v1::{LaunchedPlan, TaskLaunch};
use cne_storage::ShuffleStore;
use cne_task::blocks::unwrap_plan;
use cne_task::location::Removal;
use cne_task::{CometCodec, LaunchedTask, session_config};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use futures::future::{AbortHandle, AbortRegistration, Abortable};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc, watch};
use tonic::{Request, Response, Status};

use crate::engine::Engine;
use crate::failure;
use crate::jobs::Jobs;
use crate::membership::Membership;

type Codec = BallistaCodec<LogicalPlanNode, PhysicalPlanNode>;

/// The tasks of this executor. Cheap to clone.
#[derive(Clone)]
pub(crate) struct TaskService(Arc<Inner>);

struct Inner {
    membership: Arc<Membership>,
    engine: Engine,
    store: ShuffleStore,
    jobs: Arc<Jobs>,
    producer: RuntimeProducer,
    runtimes: Arc<dyn SessionRuntimeCache>,
    logical: Arc<BallistaLogicalExtensionCodec>,
    /// Threads for tasks, so that a busy operator does not keep calls and heartbeats waiting.
    threads: tokio::runtime::Handle,
    /// A place for each task that may run. The scheduler counts too, but may have taken this executor for lost and begun anew.
    places: Semaphore,
    aborts: Mutex<HashMap<TaskKey, AbortHandle>>,
    statuses: mpsc::UnboundedSender<TaskStatus>,
    /// Tasks that were taken and whose end the scheduler has not confirmed.
    open: watch::Sender<usize>,
    closed: AtomicBool,
}

/// What a [`TaskService`] is made of.
pub(crate) struct Parts {
    pub(crate) membership: Arc<Membership>,
    pub(crate) engine: Engine,
    pub(crate) store: ShuffleStore,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) producer: RuntimeProducer,
    pub(crate) runtimes: Arc<dyn SessionRuntimeCache>,
    pub(crate) threads: tokio::runtime::Handle,
    pub(crate) slots: usize,
}

impl TaskService {
    /// The service, and the ends of its tasks, to be reported.
    pub(crate) fn new(parts: Parts) -> (Self, mpsc::UnboundedReceiver<TaskStatus>) {
        let (statuses, ends) = mpsc::unbounded_channel();
        let inner = Inner {
            membership: parts.membership,
            engine: parts.engine,
            store: parts.store,
            jobs: parts.jobs,
            producer: parts.producer,
            runtimes: parts.runtimes,
            logical: Arc::default(),
            threads: parts.threads,
            places: Semaphore::new(parts.slots.max(1)),
            aborts: Mutex::default(),
            statuses,
            open: watch::Sender::new(0),
            closed: AtomicBool::new(false),
        };
        (Self(Arc::new(inner)), ends)
    }

    /// Forgets tasks whose end the scheduler has confirmed.
    pub(crate) fn confirmed(&self, count: usize) {
        self.0.open.send_modify(|open| *open = open.saturating_sub(count));
    }

    /// Waits until no task is open.
    pub(crate) async fn idle(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.open.subscribe().wait_for(|open| *open == 0).await;
    }

    /// Stops the tasks that run and refuses every further one; gives the number of those stopped. Each ends as a task that Ballista starts
    /// again without counting a failure.
    pub(crate) fn hand_back(&self) -> usize {
        self.close();
        let aborts = self.0.aborts.lock();
        aborts.values().for_each(AbortHandle::abort);
        aborts.len()
    }

    /// The scheduler has given the tasks of the executor `id` to others: if that is this one, they are stopped here, and it goes on under another id.
    pub(crate) fn taken_for_lost(&self, id: &str) {
        if !self.0.membership.renew(id) {
            return;
        }
        let aborts = self.0.aborts.lock();
        aborts.values().for_each(AbortHandle::abort);
        tracing::warn!(executor = id, next = %self.0.membership.id(), tasks = aborts.len(), "taken for lost: going on as another executor");
    }

    /// Refuses every further task.
    pub(crate) fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
    }

    fn launch(&self, tasks: MultiTaskDefinition, launches: HashMap<usize, LaunchedTask>) {
        let registered: Vec<_> = tasks
            .task_ids
            .iter()
            .map(|task| {
                let (abort, registration) = AbortHandle::new_pair();
                let key = TaskKey {
                    job_id: tasks.job_id.clone().into(),
                    stage_id: tasks.stage_id as usize,
                    task_id: task.task_id as usize,
                };
                // Before the call is answered: a cancellation may follow at once.
                self.0.aborts.lock().insert(key, abort);
                registration
            })
            .collect();
        self.0.open.send_modify(|open| *open += registered.len());
        let service = self.clone();
        self.0.threads.spawn(async move {
            // Decoding validates the block.
            let (inner, definition) = (Arc::clone(&service.0), tasks.clone());
            let decoded = tokio::task::spawn_blocking(move || inner.decode(definition)).await;
            let error = match decoded {
                Ok(Ok(decoded)) => {
                    for (task, registration) in decoded.into_iter().zip(registered) {
                        let service = service.clone();
                        let launched = launches.get(&task.task_id).copied();
                        tokio::spawn(async move { service.run(task, launched, registration).await });
                    }
                    return;
                }
                // It names no cause of its own.
                Ok(Err(BallistaError::DataFusionError(error))) => {
                    failure::undecodable(error.as_ref(), tasks.stage_id)
                }
                Ok(Err(error)) => failure::undecodable(&error, tasks.stage_id),
                Err(error) => failure::undecodable(&error, tasks.stage_id),
            };
            tracing::error!(job = %tasks.job_id, stage = tasks.stage_id, %error, "tasks cannot be decoded");
            for task in &tasks.task_ids {
                // Errors have no copies; these two are the kinds that a report has.
                let error = match &error {
                    DataFusionError::IoError(error) => {
                        DataFusionError::IoError(std::io::Error::other(error.to_string()))
                    }
                    error => DataFusionError::Execution(error.to_string()),
                };
                let error = BallistaError::DataFusionError(Box::new(error));
                let status = TaskStatus {
                    task_id: task.task_id,
                    job_id: tasks.job_id.clone(),
                    stage_id: tasks.stage_id,
                    stage_attempt_num: tasks.stage_attempt_num,
                    launch_time: tasks.launch_time,
                    ..Default::default()
                };
                service.ended(status, Err(error));
            }
        });
    }

    async fn run(
        &self,
        task: TaskDefinition,
        launched: Option<LaunchedTask>,
        registration: AbortRegistration,
    ) {
        let status = TaskStatus {
            task_id: task.task_id as u32,
            job_id: task.job_id.to_string(),
            stage_id: task.stage_id as u32,
            stage_attempt_num: task.stage_attempt_num as u32,
            launch_time: task.launch_time,
            start_exec_time: now_ms(),
            ..Default::default()
        };
        let result = match Abortable::new(self.0.execute(task, launched), registration).await {
            Ok(result) => result.map_err(|error| BallistaError::DataFusionError(Box::new(error))),
            Err(_) => Err(BallistaError::Cancelled),
        };
        self.ended(status, result);
    }

    fn ended(&self, mut status: TaskStatus, result: Result<Vec<ShuffleWritePartition>, BallistaError>) {
        status.end_exec_time = now_ms();
        status.status = Some(match result {
            Ok(partitions) => {
                let executor_id = self.0.membership.id().to_string();
                TaskEnd::Successful(SuccessfulTask {
                    executor_id,
                    partitions,
                    ..Default::default()
                })
            }
            Err(error) => TaskEnd::Failed(FailedTask::from(error)),
        });
        let key = TaskKey {
            job_id: status.job_id.clone().into(),
            stage_id: status.stage_id as usize,
            task_id: status.task_id as usize,
        };
        self.0.aborts.lock().remove(&key);
        if self.0.statuses.send(status).is_err() {
            // Nobody reports any more: the process ends.
            self.confirmed(1);
        }
    }
}

fn of_launch(launch: &TaskLaunch) -> (usize, LaunchedTask) {
    let launched = LaunchedTask {
        attempt: launch.attempt,
        look_first: launch.look_first,
    };
    (launch.task_id as usize, launched)
}

fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}

impl Inner {
    fn decode(&self, tasks: MultiTaskDefinition) -> Result<Vec<TaskDefinition>, BallistaError> {
        let none = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        let producer = Arc::clone(&self.producer);
        let blocks = self.jobs.blocks(&tasks.job_id);
        let codec = Codec::new(
            Arc::clone(&self.logical) as _,
            Arc::new(CometCodec::with_blocks(blocks)),
        );
        get_task_definition_vec(
            tasks,
            producer,
            session_config(),
            none.0,
            none.1,
            none.2,
            none.3,
            codec,
        )
    }

    async fn execute(
        &self,
        mut task: TaskDefinition,
        launched: Option<LaunchedTask>,
    ) -> datafusion::error::Result<Vec<ShuffleWritePartition>> {
        self.membership.fresh().await;
        // Never closed.
        let _place = self.places.acquire().await;
        if let Some(launched) = launched {
            task.session_config = task.session_config.with_extension(Arc::new(launched));
        }
        let name = format!(
            "TID {}/{}.{}/{}.{}",
            task.job_id, task.stage_id, task.stage_attempt_num, task.task_id, task.task_attempt_num
        );
        let partitions = task.global_output_partition_ids;
        let config = &task.session_config;
        let stage = self.engine.create_query_stage_exec(
            task.job_id,
            task.stage_id,
            task.task_id,
            partitions,
            task.plan,
            "",
            config,
        )?;
        let runtime =
            self.runtimes
                .produce_runtime(&task.session_id, &task.session_config, task.vcores_consumed)?;
        let functions = &task.function_registry;
        let context = TaskContext::new(
            Some(name),
            task.session_id,
            task.session_config,
            functions.scalar_functions.clone(),
            functions.higher_order_functions.clone(),
            functions.aggregate_functions.clone(),
            functions.window_functions.clone(),
            runtime,
        );
        stage.execute_query_stage(task.task_id, Arc::new(context)).await
    }
}

#[tonic::async_trait]
impl ExecutorGrpc for TaskService {
    async fn launch_task(&self, _: Request<LaunchTaskParams>) -> Result<Response<LaunchTaskResult>, Status> {
        Err(Status::unimplemented("tasks are launched by LaunchMultiTask"))
    }

    async fn launch_multi_task(
        &self,
        request: Request<LaunchMultiTaskParams>,
    ) -> Result<Response<LaunchMultiTaskResult>, Status> {
        if self.0.closed.load(Ordering::Acquire) {
            return Err(Status::unavailable("the executor is stopping"));
        }
        let mut launched = request.into_inner().multi_tasks;
        let mut all: Vec<HashMap<usize, LaunchedTask>> = Vec::with_capacity(launched.len());
        for tasks in &mut launched {
            // Before the call is answered, and before any plan of it is decoded: the scheduler takes the blocks for known from then on.
            let LaunchedPlan {
                plan,
                blocks,
                tasks: launches,
                executor_id,
            } = unwrap_plan(&tasks.plan).map_err(|error| Status::invalid_argument(error.to_string()))?;
            if *executor_id != *self.0.membership.id() {
                return Err(Status::unavailable("this executor has another id now"));
            }
            tasks.plan = plan.into();
            if !blocks.is_empty() {
                let known = self.0.jobs.blocks(&tasks.job_id);
                blocks.into_iter().for_each(|block| known.insert(block));
            }
            all.push(launches.iter().map(of_launch).collect());
        }
        for (tasks, launches) in launched.into_iter().zip(all) {
            self.launch(tasks, launches);
        }
        Ok(Response::new(LaunchMultiTaskResult::default()))
    }

    async fn stop_executor(
        &self,
        request: Request<StopExecutorParams>,
    ) -> Result<Response<StopExecutorResult>, Status> {
        let params = request.into_inner();
        // Ballista says so to an executor from which it has not heard.
        self.taken_for_lost(&params.executor_id);
        Ok(Response::new(StopExecutorResult {}))
    }

    async fn cancel_tasks(
        &self,
        request: Request<CancelTasksParams>,
    ) -> Result<Response<CancelTasksResult>, Status> {
        let tasks = request.into_inner().task_infos;
        let aborts = self.0.aborts.lock();
        for task in tasks {
            let key = TaskKey {
                job_id: task.job_id.into(),
                stage_id: task.stage_id as usize,
                task_id: task.task_id as usize,
            };
            if let Some(abort) = aborts.get(&key) {
                abort.abort();
            }
        }
        Ok(Response::new(CancelTasksResult { cancelled: true }))
    }

    /// Every executor is asked; they share the store, so what one has removed is nothing to the next.
    async fn remove_job_data(
        &self,
        request: Request<RemoveJobDataParams>,
    ) -> Result<Response<RemoveJobDataResult>, Status> {
        let RemoveJobDataParams {
            job_id,
            remove_stage_ids,
        } = request.into_inner();
        // The outputs of its tasks outlive a job of Ballista: the next job of the same query may use them.
        let failed = |error: cne_storage::StoreError| Status::internal(error.to_string());
        let store = &self.0.store;
        match Removal::parse(&job_id) {
            None if remove_stage_ids.is_empty() => self.0.jobs.remove(&job_id),
            None => {}
            Some(Removal::Outputs { namespace, lister }) => {
                let mut deleted = store.delete_own(namespace).await.map_err(failed)?;
                if lister == Some(&*self.0.membership.id()) {
                    deleted += store.delete_namespace(namespace).await.map_err(failed)?;
                }
                tracing::debug!(namespace, deleted, "stored outputs removed");
            }
            Some(Removal::Stages { namespace, stages }) => {
                let deleted = store.retire_stages(namespace, &stages).await.map_err(failed)?;
                tracing::debug!(namespace, ?stages, deleted, "rows that were read removed");
            }
        }
        Ok(Response::new(RemoveJobDataResult {}))
    }
}
