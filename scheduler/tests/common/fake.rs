//! An executor without execution: it takes tasks, waits, and reports that they have succeeded. It counts what it was given.

#![allow(unreachable_pub)]

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ballista_core::extension::SessionConfigHelperExt;
use ballista_core::{
    BALLISTA_PROTOCOL_VERSION,
    error::BallistaError,
    serde::protobuf::{
        CancelTasksParams, CancelTasksResult, ExecutorOperatingSystemSpecification, ExecutorRegistration,
        ExecutorResource, ExecutorSpecification, ExecutorStatus, FailedTask, HeartBeatParams,
        LaunchMultiTaskParams, LaunchMultiTaskResult, LaunchTaskParams, LaunchTaskResult,
        RegisterExecutorParams, RemoveJobDataParams, RemoveJobDataResult, ShuffleWritePartition,
        StopExecutorParams, StopExecutorResult, SuccessfulTask, TaskStatus, UpdateTaskStatusParams,
        executor_grpc_server::{ExecutorGrpc, ExecutorGrpcServer},
        executor_resource::Resource,
        executor_status,
        scheduler_grpc_client::SchedulerGrpcClient,
        task_status::Status as TaskEnd,
    },
};
use cne_proto::v1::{LaunchedPlan, TaskFailure};
use cne_task::{
    Blocks, CometCodec, ExchangeExec, QueryOptions, blocks::unwrap_plan, codes, failure, location::Removal,
    session_config,
};
use datafusion::{physical_plan::ExecutionPlan, prelude::SessionContext};
use datafusion_proto::{physical_plan::AsExecutionPlan, protobuf::PhysicalPlanNode};
use parking_lot::Mutex;
use prost::Message;
use tonic::{Request, Response, Status, transport::Channel};

/// One task that was started: stage, stage attempt, partition.
pub type Started = (u32, u32, u32);

/// What a task ends with; gets stage and partition.
pub type Behaviour = Arc<dyn Fn(u32, u32) -> Result<Duration, FailedTask> + Send + Sync>;

#[derive(Clone)]
pub struct Fake {
    pub id: String,
    pub started: Arc<Mutex<Vec<Started>>>,
    pub finished: Arc<Mutex<Vec<Started>>>,
    pub cancelled: Arc<Mutex<Vec<(u32, u32)>>>,
    pub removed: Arc<Mutex<Vec<String>>>,
    /// The options of the query of each launch.
    pub queries: Arc<Mutex<Vec<QueryOptions>>>,
    /// Tasks that run now, and the most that ever ran.
    pub running: Arc<Mutex<(usize, usize)>>,
    /// Of each launched task: bytes of its plan and of the blocks beside it as they came, and as they would be with the blocks in the plan.
    pub launched: Arc<Mutex<Vec<(usize, usize)>>>,
    /// Blocks by job.
    blocks: Arc<Mutex<HashMap<String, Arc<Blocks>>>>,
    dead: Arc<AtomicBool>,
    draining: Arc<AtomicBool>,
    registration: Arc<ExecutorRegistration>,
    behaviour: Behaviour,
    scheduler: SchedulerGrpcClient<Channel>,
}

impl Fake {
    /// Whether it was asked to remove the outputs in `namespace`.
    pub fn removes(&self, namespace: &str) -> bool {
        let removed = self.removed.lock();
        let of = |job: &String| matches!(Removal::parse(job), Some(Removal::Outputs { namespace: found, .. }) if found == namespace);
        removed.iter().any(of)
    }

    /// Stages of a query whose rows it was asked to remove, in that order.
    pub fn retired(&self, namespace: &str) -> Vec<u32> {
        let removed = self.removed.lock();
        let of = |job: &String| match Removal::parse(job) {
            Some(Removal::Stages {
                namespace: found,
                stages,
            }) if found == namespace => stages,
            _ => vec![],
        };
        removed.iter().flat_map(of).collect()
    }

    /// Starts an executor with `slots` and registers it.
    pub async fn start(scheduler: SocketAddr, slots: u32, behaviour: Behaviour) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = u32::from(listener.local_addr().unwrap().port());
        let channel = Channel::from_shared(format!("http://{scheduler}"))
            .unwrap()
            .connect()
            .await
            .unwrap();
        let id = uuid::Uuid::new_v4().to_string();
        let registration = ExecutorRegistration {
            id: id.clone(),
            host: Some("127.0.0.1".into()),
            port: 1,
            grpc_port: port,
            specification: Some(ExecutorSpecification {
                resources: vec![ExecutorResource {
                    resource: Some(Resource::Vcores(slots)),
                }],
            }),
            os_info: Some(ExecutorOperatingSystemSpecification::default()),
            ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
        };
        let fake = Self {
            id,
            started: Arc::default(),
            finished: Arc::default(),
            cancelled: Arc::default(),
            removed: Arc::default(),
            queries: Arc::default(),
            running: Arc::default(),
            launched: Arc::default(),
            blocks: Arc::default(),
            dead: Arc::default(),
            draining: Arc::default(),
            registration: Arc::new(registration),
            behaviour,
            scheduler: SchedulerGrpcClient::new(channel),
        };
        let service = ExecutorGrpcServer::new(fake.clone());
        let incoming = tonic::transport::server::TcpIncoming::from(listener);
        tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming),
        );
        let metadata = Some(ExecutorRegistration::clone(&fake.registration));
        fake.scheduler
            .clone()
            .register_executor(RegisterExecutorParams { metadata })
            .await
            .unwrap();
        let beating = fake.clone();
        tokio::spawn(async move {
            while !beating.dead.load(Ordering::SeqCst) {
                beating.beat().await;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        fake
    }

    async fn beat(&self) {
        let state = match self.draining.load(Ordering::SeqCst) {
            true => executor_status::Status::Terminating(String::new()),
            false => executor_status::Status::Active(String::new()),
        };
        let beat = HeartBeatParams {
            executor_id: self.id.clone(),
            metrics: vec![],
            status: Some(ExecutorStatus { status: Some(state) }),
            metadata: Some(ExecutorRegistration::clone(&self.registration)),
        };
        let _ = self.scheduler.clone().heart_beat_from_executor(beat).await;
    }

    /// As after SIGTERM: what runs is finished, nothing more is asked for.
    pub async fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        self.beat().await;
    }

    /// As `kill -9`: no heartbeat, no status, and launches fail.
    pub fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    /// As an executor that has dropped what it was sent.
    pub fn lose_blocks(&self) {
        self.blocks.lock().clear();
    }

    /// The decoded plan, or the failure of a task whose block is not here.
    fn decode(&self, job: &str, launched: Vec<u8>) -> Result<Arc<dyn ExecutionPlan>, FailedTask> {
        let bytes = launched.len();
        let LaunchedPlan {
            plan, blocks: sent, ..
        } = unwrap_plan(&launched).unwrap();
        let blocks = Arc::clone(self.blocks.lock().entry(job.into()).or_default());
        sent.into_iter().for_each(|block| blocks.insert(block));
        let node = PhysicalPlanNode::try_decode(&plan).unwrap();
        let codec = CometCodec::with_blocks(blocks);
        match node.try_into_physical_plan(&SessionContext::new().task_ctx(), &codec) {
            Ok(plan) => {
                let codec = CometCodec::default();
                let inline = PhysicalPlanNode::try_from_physical_plan(Arc::clone(&plan), &codec).unwrap();
                self.launched.lock().push((bytes, inline.encoded_len()));
                Ok(plan)
            }
            Err(error) => {
                assert!(error.find_root().to_string().contains("is not here"), "{error}");
                let failure = TaskFailure {
                    code: codes::UNKNOWN_BLOCK.code.into(),
                    retryable: true,
                    ..Default::default()
                };
                let error = BallistaError::DataFusionError(Box::new(failure::to_error(&failure)));
                Err(FailedTask::from(error))
            }
        }
    }

    async fn report(&self, status: TaskStatus) {
        let params = UpdateTaskStatusParams {
            executor_id: self.id.clone(),
            task_status: vec![status],
        };
        let _ = self.scheduler.clone().update_task_status(params).await;
    }

    async fn run(&self, mut status: TaskStatus, partition: u32, plan: Arc<dyn ExecutionPlan>) {
        let this = (status.stage_id, status.stage_attempt_num, partition);
        self.started.lock().push(this);
        {
            let mut running = self.running.lock();
            running.0 += 1;
            running.1 = running.1.max(running.0);
        }
        let end = match (self.behaviour)(status.stage_id, partition) {
            Ok(takes) => {
                tokio::time::sleep(takes).await;
                TaskEnd::Successful(SuccessfulTask {
                    executor_id: self.id.clone(),
                    partitions: outputs(&plan, partition),
                    ..Default::default()
                })
            }
            Err(failed) => TaskEnd::Failed(failed),
        };
        self.running.lock().0 -= 1;
        if self.dead.load(Ordering::SeqCst) {
            return;
        }
        self.finished.lock().push(this);
        status.status = Some(end);
        // Twice, as a client does that retries a call whose answer was lost.
        for _ in 0..2 {
            self.report(status.clone()).await;
        }
    }
}

// A row in every bucket of the exchange node at the top of the stage.
fn outputs(writer: &Arc<dyn ExecutionPlan>, partition: u32) -> Vec<ShuffleWritePartition> {
    let top = writer.children()[0];
    let exchange = top
        .downcast_ref::<ExchangeExec>()
        .expect("a stage has an exchange node at its top");
    let shuffled = writer.name().starts_with("Sort");
    assert!(shuffled || exchange.node().num_buckets == 1);
    let bucket = |at: u32| ShuffleWritePartition {
        partition_id: u64::from(if shuffled { at } else { partition }),
        num_batches: 1,
        num_rows: 1,
        num_bytes: 8,
        file_id: Some(u64::from(partition)),
        is_sort_shuffle: shuffled,
    };
    (0..exchange.node().num_buckets).map(bucket).collect()
}

#[tonic::async_trait]
impl ExecutorGrpc for Fake {
    async fn launch_task(&self, _: Request<LaunchTaskParams>) -> Result<Response<LaunchTaskResult>, Status> {
        Err(Status::unimplemented("multi tasks only"))
    }

    async fn launch_multi_task(
        &self,
        r: Request<LaunchMultiTaskParams>,
    ) -> Result<Response<LaunchMultiTaskResult>, Status> {
        if self.dead.load(Ordering::SeqCst) {
            return Err(Status::unavailable("dead"));
        }
        for tasks in r.into_inner().multi_tasks {
            let config = session_config().update_from_key_value_pair(&tasks.props);
            self.queries.lock().push(QueryOptions::of(&config));
            for task in tasks.task_ids {
                let [partition] = task.global_output_partition_ids[..] else {
                    panic!("one partition per task")
                };
                let plan = self.decode(&tasks.job_id, tasks.plan.clone());
                let mut status = TaskStatus {
                    task_id: task.task_id,
                    job_id: tasks.job_id.clone(),
                    stage_id: tasks.stage_id,
                    stage_attempt_num: tasks.stage_attempt_num,
                    ..Default::default()
                };
                let fake = self.clone();
                tokio::spawn(async move {
                    match plan {
                        Ok(plan) => fake.run(status, partition, plan).await,
                        Err(failed) => {
                            status.status = Some(TaskEnd::Failed(failed));
                            fake.report(status).await;
                        }
                    }
                });
            }
        }
        Ok(Response::new(LaunchMultiTaskResult { failed_jobs: vec![] }))
    }

    async fn stop_executor(
        &self,
        _: Request<StopExecutorParams>,
    ) -> Result<Response<StopExecutorResult>, Status> {
        Ok(Response::new(StopExecutorResult {}))
    }

    async fn cancel_tasks(
        &self,
        r: Request<CancelTasksParams>,
    ) -> Result<Response<CancelTasksResult>, Status> {
        self.cancelled.lock().extend(
            r.into_inner()
                .task_infos
                .iter()
                .map(|task| (task.stage_id, task.task_id)),
        );
        Ok(Response::new(CancelTasksResult { cancelled: true }))
    }

    async fn remove_job_data(
        &self,
        r: Request<RemoveJobDataParams>,
    ) -> Result<Response<RemoveJobDataResult>, Status> {
        let params = r.into_inner();
        if params.remove_stage_ids.is_empty() {
            self.removed.lock().push(params.job_id);
        }
        Ok(Response::new(RemoveJobDataResult {}))
    }
}

/// How often each task was started, over all executors.
pub fn starts(fakes: &[&Fake]) -> HashMap<Started, usize> {
    let mut count = HashMap::new();
    for fake in fakes {
        for started in fake.started.lock().iter() {
            *count.entry(*started).or_default() += 1;
        }
    }
    count
}
