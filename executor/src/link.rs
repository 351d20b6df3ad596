//! The executor's side of the conversation with the scheduler: heartbeats, ends of tasks, farewell. All of it outlives a scheduler that is
//! away or was started again: a heartbeat carries the registration.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ballista_core::serde::protobuf::executor_status::Status as ExecutorState;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    ExecutorRegistration, ExecutorStatus, ExecutorStoppedParams, HeartBeatParams, TaskStatus,
    UpdateTaskStatusParams,
};
use cne_startup::{Pulse, Status as ProcessStatus};
use cne_task::GRPC_MESSAGE_BYTES;
use cne_task::reports::reports_client::ReportsClient;
use cne_task::reports::{ResultPartition, ResultsReadRequest};
use cne_transport::Transport;
use tokio::sync::mpsc;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::membership::Membership;
use crate::service::TaskService;

const HEARTBEAT: Duration = Duration::from_secs(1);
/// Longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(10);
/// Longest turn of a loop of a healthy process.
const STUCK: Duration = Duration::from_secs(60);
const DRAINING: &str = "draining";
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Ends of tasks sent at once.
const BATCH: usize = 256;
/// Attempts to report ends that the scheduler itself refuses; a scheduler that is away is waited for.
const REFUSALS: u32 = 5;

/// The way to the scheduler. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Link {
    scheduler: SchedulerGrpcClient<Channel>,
    reports: ReportsClient<Channel>,
    registration: Arc<ExecutorRegistration>,
    membership: Arc<Membership>,
    draining: Arc<AtomicBool>,
    status: ProcessStatus,
}

impl Link {
    /// Connects when it is first used, and again whenever the connection is lost.
    ///
    /// # Errors
    /// When `address` is not host:port.
    pub(crate) fn new(
        transport: &Transport,
        address: &str,
        registration: ExecutorRegistration,
        membership: Arc<Membership>,
        status: ProcessStatus,
    ) -> Result<Self, tonic::transport::Error> {
        let channel = transport.channel(address, |endpoint| {
            endpoint.connect_timeout(ANSWER).timeout(ANSWER)
        })?;
        let reports = ReportsClient::new(channel.clone());
        let scheduler = SchedulerGrpcClient::new(channel)
            .max_decoding_message_size(GRPC_MESSAGE_BYTES)
            .max_encoding_message_size(GRPC_MESSAGE_BYTES);
        Ok(Self {
            scheduler,
            reports,
            registration: Arc::new(registration),
            membership,
            draining: Arc::default(),
            status,
        })
    }

    async fn beat(&self) -> Result<(), Status> {
        self.beat_as(&self.membership.id()).await
    }

    async fn beat_as(&self, id: &str) -> Result<(), Status> {
        let state = match self.draining.load(Ordering::Acquire) {
            true => ExecutorState::Terminating(String::new()),
            false => ExecutorState::Active(String::new()),
        };
        let params = HeartBeatParams {
            executor_id: id.to_string(),
            metrics: vec![],
            status: Some(ExecutorStatus { status: Some(state) }),
            metadata: Some(ExecutorRegistration {
                id: id.to_string(),
                ..ExecutorRegistration::clone(&self.registration)
            }),
        };
        self.scheduler.clone().heart_beat_from_executor(params).await?;
        self.membership.heard();
        Ok(())
    }

    /// Registers and keeps the registration alive, for ever. The process is ready as long as the last answer of the scheduler was good.
    pub(crate) async fn heartbeats(self, service: TaskService) {
        let pulse = self.status.watch_loop("heartbeats", STUCK);
        let mut heard = None;
        loop {
            pulse.beat();
            let id = self.membership.id();
            let answer = self.beat_as(&id).await;
            if answer.as_ref().is_err_and(|error| error.code() == Code::Aborted) {
                service.taken_for_lost(&id);
                continue;
            }
            let ok = answer.is_ok();
            match &answer {
                _ if self.draining.load(Ordering::Acquire) => self.status.set_unready(DRAINING),
                Ok(()) => self.status.set_ready(),
                Err(_) => self
                    .status
                    .set_unready("not registered: the scheduler does not answer"),
            }
            // Changes only.
            if heard != Some(ok) {
                match answer {
                    Ok(()) => {
                        tracing::info!(executor = %id, "registered with the scheduler")
                    }
                    Err(error) => tracing::warn!(%error, "the scheduler does not answer; trying again"),
                }
                heard = Some(ok);
            }
            tokio::time::sleep(HEARTBEAT).await;
        }
    }

    /// Reports the ends of tasks, each until the scheduler has confirmed it. The scheduler ignores what it has heard before.
    pub(crate) async fn report(self, mut ends: mpsc::UnboundedReceiver<TaskStatus>, service: TaskService) {
        let mut batch = vec![];
        let pulse = self.status.watch_loop("reports", STUCK);
        loop {
            let received = tokio::time::timeout(HEARTBEAT, ends.recv_many(&mut batch, BATCH)).await;
            pulse.beat();
            match received {
                Ok(0) => return,
                Ok(_) => {}
                Err(_) => continue,
            }
            let count = batch.len();
            let params = UpdateTaskStatusParams {
                executor_id: self.membership.id().to_string(),
                task_status: std::mem::take(&mut batch),
            };
            self.send(params, &pulse).await;
            service.confirmed(count);
        }
    }

    async fn send(&self, params: UpdateTaskStatusParams, pulse: &Pulse) {
        let (mut pause, mut refusals) = (FIRST_PAUSE, 0);
        while let Err(error) = self.scheduler.clone().update_task_status(params.clone()).await {
            let away = matches!(
                error.code(),
                Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown
            );
            pulse.beat();
            refusals += u32::from(!away);
            if refusals == REFUSALS {
                tracing::error!(%error, ends = params.task_status.len(), "the scheduler refuses the ends of tasks");
                return;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Reports which results were read to their end. Only the wanted number of executors depends on it: what cannot be told is given up
    /// after some attempts.
    pub(crate) async fn report_reads(self, mut reads: mpsc::UnboundedReceiver<ResultPartition>) {
        let mut partitions = vec![];
        while reads.recv_many(&mut partitions, BATCH).await > 0 {
            let request = ResultsReadRequest {
                partitions: std::mem::take(&mut partitions),
            };
            for _ in 0..REFUSALS {
                if self.reports.clone().results_read(request.clone()).await.is_ok() {
                    break;
                }
                tokio::time::sleep(LONGEST_PAUSE).await;
            }
        }
    }

    /// Asks for no further tasks; the next heartbeats repeat it.
    pub(crate) async fn announce_drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.status.set_unready(DRAINING);
        if let Err(error) = self.beat().await {
            tracing::warn!(%error, "the scheduler was not told of the drain");
        }
    }

    /// Leaves the pool. Heartbeats have to have ended: one would register the executor again.
    pub(crate) async fn farewell(&self) {
        let params = ExecutorStoppedParams {
            executor_id: self.membership.id().to_string(),
            reason: "drained".into(),
        };
        if let Err(error) = self.scheduler.clone().executor_stopped(params).await {
            tracing::warn!(%error, "the scheduler was not told of the stop");
        }
    }
}
