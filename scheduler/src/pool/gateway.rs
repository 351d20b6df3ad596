//! What executors may call, in front of Ballista's own service.
//!
//! Everything that a client of Ballista could call (run any plan, change sessions, read job state) is closed: queries come in over Flight.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    sync::Arc,
};

use ballista_core::{
    BALLISTA_PROTOCOL_VERSION, JobId,
    serde::{
        protobuf::{
            CancelJobParams, CancelJobResult, CleanJobDataParams, CleanJobDataResult,
            CreateUpdateSessionParams, CreateUpdateSessionResult, ExecuteQueryParams, ExecuteQueryResult,
            ExecutorRegistration, ExecutorStoppedParams, ExecutorStoppedResult, GetJobMetricsParams,
            GetJobMetricsResult, GetJobStatusParams, GetJobStatusResult, HeartBeatParams, HeartBeatResult,
            PollWorkParams, PollWorkResult, RegisterExecutorParams, RegisterExecutorResult,
            RemoveSessionParams, RemoveSessionResult, TaskStatus, UpdateTaskStatusParams,
            UpdateTaskStatusResult, scheduler_grpc_server::SchedulerGrpc, task_status,
        },
        scheduler::{ExecutorData, ExecutorMetadata},
    },
};
use ballista_scheduler::{
    cluster::ClusterState,
    state::execution_stage::{ExecutionStage, TaskInfo},
};
use cne_task::{KEPT_OUTPUTS, codes, failure, kept_outputs_of};
use cne_transport::{Connector, Peer};
use parking_lot::Mutex;
use tonic::{Request, Response, Status};

use super::{
    BallistaScheduler, PoolCluster, avoid::of_the_executor, blocks::SentBlocks, failures::Failures, liveness,
};
use crate::counters::Counters;

// (stage, stage attempt, task)
type Ended = HashSet<(u32, u32, u32)>;

/// The executors' service.
#[derive(Clone)]
pub struct Gateway {
    ballista: BallistaScheduler,
    cluster: Arc<PoolCluster>,
    // Per running job: every task whose end was reported.
    ended: Arc<Mutex<HashMap<String, Ended>>>,
    sent: Arc<SentBlocks>,
    failures: Arc<Failures>,
    counters: Counters,
    connector: Connector,
}

impl Gateway {
    pub(super) fn new(
        ballista: BallistaScheduler,
        cluster: Arc<PoolCluster>,
        sent: Arc<SentBlocks>,
        failures: Arc<Failures>,
        counters: Counters,
        connector: Connector,
    ) -> Self {
        Self {
            ballista,
            cluster,
            ended: Arc::default(),
            sent,
            failures,
            counters,
            connector,
        }
    }

    /// Registers an executor unless it is registered already. Ballista's own way connects back over plain HTTP first; the first launch
    /// tells as much.
    async fn register(&self, registration: ExecutorRegistration, peer: Option<String>) -> Result<(), Status> {
        if registration.ballista_protocol_version != BALLISTA_PROTOCOL_VERSION {
            return Err(Status::failed_precondition(format!(
                "the executor speaks Ballista protocol {}, the scheduler {BALLISTA_PROTOCOL_VERSION}",
                registration.ballista_protocol_version
            )));
        }
        let id = registration.id;
        if id.is_empty() || id.starts_with(KEPT_OUTPUTS) {
            return Err(Status::invalid_argument("the executor's id is empty or reserved"));
        }
        if self.cluster.get_executor_metadata(&id).await.is_ok() {
            return Ok(());
        }
        if self.cluster.was_registered(&id) {
            // Its tasks were given to others.
            return Err(Status::aborted(
                "the executor was taken for lost; it needs another id",
            ));
        }
        let port =
            |port: u32| u16::try_from(port).map_err(|_| Status::invalid_argument("a port is out of range"));
        let metadata = ExecutorMetadata {
            id: id.clone(),
            host: registration
                .host
                .or(peer)
                .ok_or_else(|| Status::invalid_argument("the executor's host is missing"))?,
            port: port(registration.port)?,
            grpc_port: port(registration.grpc_port)?,
            specification: registration.specification.map(Into::into).unwrap_or_default(),
            os_info: registration.os_info.map(Into::into).unwrap_or_default(),
        };
        let slots = metadata.specification.vcores;
        tracing::info!(executor = %id, host = %metadata.host, port = metadata.port, slots, "executor registered");
        let data = ExecutorData {
            executor_id: id,
            total_vcores: slots,
            available_vcores: slots,
        };
        self.cluster
            .register_executor(metadata.clone(), data)
            .await
            .map_err(internal)?;
        tokio::spawn(liveness::watch(
            Arc::clone(&self.cluster),
            metadata,
            self.connector.clone(),
        ));
        // An update without statuses makes Ballista offer waiting tasks to the new slots.
        self.forward(KEPT_OUTPUTS.into(), vec![]).await
    }

    async fn forward(&self, executor_id: String, task_status: Vec<TaskStatus>) -> Result<(), Status> {
        let params = UpdateTaskStatusParams {
            executor_id,
            task_status,
        };
        SchedulerGrpc::update_task_status(&self.ballista, Request::new(params))
            .await
            .map(drop)
    }

    async fn count_failures(&self, statuses: &mut [TaskStatus]) {
        let jobs = self.ballista.state.task_manager.get_running_job_cache();
        self.failures.retain(|job| jobs.contains_key(&JobId::new(job)));
        for status in statuses {
            let Some(task_status::Status::Failed(failed)) = &mut status.status else {
                continue;
            };
            let Some(job) = jobs.get(&JobId::new(&status.job_id)) else {
                continue;
            };
            let graph = job.execution_graph.read().await;
            if let Some(ExecutionStage::Running(stage)) = graph.stages().get(&(status.stage_id as usize))
                && let Some(task) = stage.task_infos.get(status.task_id as usize)
            {
                let partitions = &task.global_input_partition_ids;
                self.failures
                    .count(&status.job_id, status.stage_id, partitions, failed);
            }
        }
    }

    fn look_at_failure(&self, executor_id: &str, task: &TaskStatus) {
        let Some(task_status::Status::Failed(failed)) = &task.status else {
            return;
        };
        let Some(failure) = failure::decode(&failed.error) else {
            self.counters.attempt_failed("");
            return;
        };
        self.counters.attempt_failed(&failure.code);
        if failure.code == codes::UNKNOWN_BLOCK.code {
            self.sent.forget(&task.job_id, executor_id);
        }
        if of_the_executor(&failure.code) {
            let avoided = self.cluster.avoid(executor_id);
            tracing::warn!(executor = executor_id, code = %failure.code, ?avoided, "a task failed on an executor that may be the reason");
            let gateway = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(avoided).await;
                // Nothing else may happen that makes Ballista look for free slots.
                if let Err(error) = gateway.forward(KEPT_OUTPUTS.into(), vec![]).await {
                    tracing::error!(%error, "slots were not offered again");
                }
            });
        }
    }

    /// Keeps the statuses that end a running task for the first time, and counts the slots of the successful ones.
    ///
    /// Ballista would take a repeated status (a retried call) as another output of the same partition. A task of a job that has ended holds
    /// no slot: Ballista gave it back when it ended the job. An executor that was taken for lost may still report a task that another one
    /// has been given since: its output counts when the new attempt finds it committed.
    async fn first_ends(&self, executor_id: &str, statuses: Vec<TaskStatus>) -> (Vec<TaskStatus>, u32) {
        let jobs = self.ballista.state.task_manager.get_running_job_cache();
        let mut slots = 0;
        let mut kept = vec![];
        for status in statuses {
            let (stage, task) = (status.stage_id as usize, status.task_id as usize);
            let Some(job) = jobs.get(&JobId::new(&status.job_id)) else {
                continue;
            };
            let held = {
                let graph = job.execution_graph.read().await;
                match graph.stages().get(&stage) {
                    Some(ExecutionStage::Running(s))
                        if s.stage_attempt_num == status.stage_attempt_num as usize =>
                    {
                        let info = s.task_infos.get(task);
                        let runs_here = |i: &&TaskInfo| match &i.task_status {
                            task_status::Status::Running(running) => running.executor_id == executor_id,
                            _ => false,
                        };
                        info.filter(runs_here).map(|i| i.vcores_consumed)
                    }
                    _ => None,
                }
            };
            let Some(held) = held else {
                tracing::info!(job = %status.job_id, stage, task, "status of a task that has ended is ignored");
                continue;
            };
            if !matches!(status.status, Some(task_status::Status::Running(_)) | None) {
                let mut ended = self.ended.lock();
                ended.retain(|job, _| jobs.contains_key(&JobId::new(job)));
                let attempt = (status.stage_id, status.stage_attempt_num, status.task_id);
                if !ended.entry(status.job_id.clone()).or_default().insert(attempt) {
                    continue;
                }
            }
            if matches!(status.status, Some(task_status::Status::Successful(_))) {
                slots += held;
            }
            kept.push(status);
        }
        (kept, slots)
    }
}

// As part of a URL.
fn host_of(peer: &Peer) -> String {
    match peer.address.ip().to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn internal(error: impl std::fmt::Display) -> Status {
    Status::internal(error.to_string())
}

fn closed<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented(
        "this port is for executors; queries are submitted over Arrow Flight",
    ))
}

#[tonic::async_trait]
impl SchedulerGrpc for Gateway {
    type ExecuteQueryPushStream = <BallistaScheduler as SchedulerGrpc>::ExecuteQueryPushStream;

    async fn register_executor(
        &self,
        request: Request<RegisterExecutorParams>,
    ) -> Result<Response<RegisterExecutorResult>, Status> {
        let peer = Peer::of(&request).map(host_of);
        let metadata = request
            .into_inner()
            .metadata
            .ok_or_else(|| Status::invalid_argument("metadata is missing"))?;
        self.register(metadata, peer).await?;
        Ok(Response::new(RegisterExecutorResult { success: true }))
    }

    async fn heart_beat_from_executor(
        &self,
        request: Request<HeartBeatParams>,
    ) -> Result<Response<HeartBeatResult>, Status> {
        let peer = Peer::of(&request).map(host_of);
        let metadata = request.get_ref().metadata.clone();
        let metadata =
            metadata.ok_or_else(|| Status::failed_precondition("the heartbeat lacks the registration"))?;
        if metadata.id != request.get_ref().executor_id {
            return Err(Status::invalid_argument("the heartbeat names two executors"));
        }
        // Known again after the scheduler was restarted or lost it.
        self.register(metadata, peer).await?;
        SchedulerGrpc::heart_beat_from_executor(&self.ballista, request).await
    }

    async fn update_task_status(
        &self,
        request: Request<UpdateTaskStatusParams>,
    ) -> Result<Response<UpdateTaskStatusResult>, Status> {
        let UpdateTaskStatusParams {
            executor_id,
            task_status,
        } = request.into_inner();
        let told = task_status.len();
        let (first, slots) = self.first_ends(&executor_id, task_status).await;
        self.counters.late_ends(told - first.len());
        let successful = |t: &TaskStatus| matches!(t.status, Some(task_status::Status::Successful(_)));
        let (mut done, mut rest): (Vec<_>, Vec<_>) = first.into_iter().partition(successful);
        self.counters.attempts_succeeded(done.len());
        if !done.is_empty() {
            for task in &mut done {
                if let Some(task_status::Status::Successful(success)) = &mut task.status {
                    success.executor_id = kept_outputs_of(&executor_id);
                }
            }
            self.cluster
                .unbind_tasks(vec![(executor_id.clone(), slots)])
                .await
                .map_err(internal)?;
            self.forward(kept_outputs_of(&executor_id), done).await?;
        }
        self.count_failures(&mut rest).await;
        // Before Ballista launches the tasks again.
        for task in &rest {
            self.look_at_failure(&executor_id, task);
        }
        if !rest.is_empty() {
            self.forward(executor_id, rest).await?;
        }
        Ok(Response::new(UpdateTaskStatusResult { success: true }))
    }

    async fn executor_stopped(
        &self,
        request: Request<ExecutorStoppedParams>,
    ) -> Result<Response<ExecutorStoppedResult>, Status> {
        SchedulerGrpc::executor_stopped(&self.ballista, request).await
    }

    async fn poll_work(&self, _: Request<PollWorkParams>) -> Result<Response<PollWorkResult>, Status> {
        Err(Status::unimplemented(
            "tasks are pushed to executors; polling for them is not served",
        ))
    }

    async fn create_update_session(
        &self,
        _: Request<CreateUpdateSessionParams>,
    ) -> Result<Response<CreateUpdateSessionResult>, Status> {
        closed()
    }

    async fn remove_session(
        &self,
        _: Request<RemoveSessionParams>,
    ) -> Result<Response<RemoveSessionResult>, Status> {
        closed()
    }

    async fn execute_query_push(
        &self,
        _: Request<ExecuteQueryParams>,
    ) -> Result<Response<Self::ExecuteQueryPushStream>, Status> {
        closed()
    }

    async fn execute_query(
        &self,
        _: Request<ExecuteQueryParams>,
    ) -> Result<Response<ExecuteQueryResult>, Status> {
        closed()
    }

    async fn get_job_status(
        &self,
        _: Request<GetJobStatusParams>,
    ) -> Result<Response<GetJobStatusResult>, Status> {
        closed()
    }

    async fn get_job_metrics(
        &self,
        _: Request<GetJobMetricsParams>,
    ) -> Result<Response<GetJobMetricsResult>, Status> {
        closed()
    }

    async fn cancel_job(&self, _: Request<CancelJobParams>) -> Result<Response<CancelJobResult>, Status> {
        closed()
    }

    async fn clean_job_data(
        &self,
        _: Request<CleanJobDataParams>,
    ) -> Result<Response<CleanJobDataResult>, Status> {
        closed()
    }
}
