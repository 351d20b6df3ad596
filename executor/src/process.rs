//! The life of an executor process: connect, register, run tasks, drain.

use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::executor_status::Status as ExecutorState;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{ExecutorRegistration, ExecutorStatus, ExecutorStoppedParams, HeartBeatParams};
use ballista_core::serde::{BallistaCodec, BallistaLogicalExtensionCodec};
use ballista_executor::executor::{Executor, TasksDrainedFuture};
use ballista_executor::executor_process::{ExecutorProcessConfig, structure_executor_metadata};
use ballista_executor::executor_server;
use ballista_executor::metrics::LoggingMetricsCollector;
use ballista_executor::shutdown::ShutdownNotifier;
use cne_storage::{ShuffleStore, StoreError, WriterOptions, open_store};
use cne_task::{CometCodec, GRPC_MESSAGE_BYTES, session_config};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};

use crate::engine::Engine;
use crate::flight::ResultService;
use crate::{Options, Totals, runtime};

/// Between two attempts to reach the scheduler, at first; doubled up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The last statuses are on their way after the last task has ended.
const FLUSH: Duration = Duration::from_secs(1);
/// Longest drain. What still runs then is run again elsewhere.
const DRAIN: Duration = Duration::from_secs(110);

/// Why an executor cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The work directory cannot be used.
    #[error("the work directory {path:?} cannot be used")]
    WorkDir {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The storage cannot be opened.
    #[error("the storage cannot be opened")]
    Storage(#[from] StoreError),
    /// The run-time environment cannot be built.
    #[error("the run-time environment cannot be built")]
    Runtime(#[from] datafusion::error::DataFusionError),
    /// The scheduler's address is none.
    #[error("the scheduler's address {address:?} cannot be used")]
    Scheduler {
        /// The address.
        address: String,
        /// The cause.
        #[source]
        source: tonic::transport::Error,
    },
    /// A signal handler or a background thread could not be set up.
    #[error("the process could not be set up")]
    System(#[from] std::io::Error),
}

/// What stays when the scheduler goes away and comes back.
struct Pool {
    options: Options,
    work_dir: PathBuf,
    store: ShuffleStore,
    runtime: Arc<RuntimeEnv>,
    totals: Arc<Totals>,
    flight_port: u16,
}

enum Ended {
    Drained,
    SchedulerLost,
}

/// Runs an executor until `drain` is cancelled and its tasks have ended.
///
/// # Errors
/// What keeps it from starting. A scheduler that is away is waited for.
pub async fn run(options: Options, drain: CancellationToken) -> Result<(), ExecutorError> {
    let work_root = options.work_dir.clone().unwrap_or_else(|| std::env::temp_dir().join("comet-executor"));
    let work_dir = fresh_work_dir(&work_root)?;
    let url = options.storage_url.clone();
    let opened = tokio::task::spawn_blocking(move || open_store(&url)).await.map_err(std::io::Error::other)?;
    let (store, prefix) = opened?;
    let store = ShuffleStore::new(store, prefix);
    let runtime = runtime::base_runtime(&options, work_dir.path())?;
    let totals = Arc::new(Totals::default());
    let address = format!("{}:{}", options.flight_host, options.flight_port);
    let listener = TcpListener::bind(&address).await;
    let listener = listener.map_err(|source| ExecutorError::Listen { address: address.clone(), source })?;
    let flight_port = listener.local_addr()?.port();
    let keys = Arc::new(options.ticket_keys.clone());
    let process_id = uuid::Uuid::new_v4().to_string();
    let service =
        ResultService::new(store.clone(), keys, options.pool_name.clone(), process_id, options.task_slots, Arc::clone(&totals));
    let serving = CancellationToken::new();
    let stop_serving = serving.clone();
    let flight = tokio::spawn(
        Server::builder()
            .add_service(FlightServiceServer::new(service).max_encoding_message_size(GRPC_MESSAGE_BYTES))
            .serve_with_incoming_shutdown(TcpIncoming::from(listener), async move { stop_serving.cancelled().await }),
    );
    let pool = Pool { options, work_dir: work_dir.path().to_path_buf(), store, runtime, totals, flight_port };
    while !drain.is_cancelled() {
        match pool.serve(&drain).await? {
            Ended::Drained => break,
            Ended::SchedulerLost => tracing::warn!("the scheduler does not answer any more; connecting again"),
        }
    }
    // Readers of results that are on their way may finish.
    serving.cancel();
    let _ = tokio::time::timeout(FLUSH, flight).await;
    tracing::info!("stopped");
    Ok(())
}

/// A directory of this process alone below `root`; it goes with the process. What dead processes left is removed.
fn fresh_work_dir(root: &std::path::Path) -> Result<tempfile::TempDir, ExecutorError> {
    let fail = |source| ExecutorError::WorkDir { path: root.to_path_buf(), source };
    std::fs::create_dir_all(root).map_err(fail)?;
    for entry in std::fs::read_dir(root).map_err(fail)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix("tasks-").and_then(|rest| rest.split_once('-')).and_then(|(pid, _)| pid.parse::<u32>().ok());
        if owner.is_some_and(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()) {
            std::fs::remove_dir_all(entry.path()).map_err(fail)?;
        }
    }
    tempfile::Builder::new().prefix(&format!("tasks-{}-", std::process::id())).tempdir_in(root).map_err(fail)
}

fn free_port(host: IpAddr, wanted: u16) -> Result<u16, ExecutorError> {
    let address = SocketAddr::new(host, wanted);
    let bound = StdListener::bind(address).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|source| ExecutorError::Listen { address: address.to_string(), source })
}

impl Pool {
    /// Registers and runs tasks until the drain is over or the scheduler is lost.
    async fn serve(&self, drain: &CancellationToken) -> Result<Ended, ExecutorError> {
        let Some(channel) = self.connect(drain).await? else { return Ok(Ended::Drained) };
        let mut scheduler = SchedulerGrpcClient::new(channel)
            .max_decoding_message_size(GRPC_MESSAGE_BYTES)
            .max_encoding_message_size(GRPC_MESSAGE_BYTES);
        let config = Arc::new(self.process_config()?);
        let registration = structure_executor_metadata(&config, config.vcores as u32);
        let executor = Arc::new(self.executor(registration.clone()));
        let codec: BallistaCodec<LogicalPlanNode, PhysicalPlanNode> =
            BallistaCodec::new(Arc::new(BallistaLogicalExtensionCodec::default()), Arc::new(CometCodec::default()));
        let notifier = ShutdownNotifier::new();
        let (stop_sender, mut stop) = mpsc::channel(8);
        let started = executor_server::startup(
            scheduler.clone(),
            Arc::clone(&config),
            Arc::clone(&executor),
            codec,
            stop_sender,
            &notifier,
            config.health.clone(),
        );
        let tasks = match started.await {
            Ok(tasks) => tasks,
            Err(error) => {
                tracing::warn!(error = %error, "registration failed");
                tokio::time::sleep(FIRST_PAUSE).await;
                return Ok(Ended::SchedulerLost);
            }
        };
        tracing::info!(
            executor = %config.executor_id, flight = %format!("{}:{}", self.options.host, self.flight_port),
            grpc_port = config.grpc_port, slots = config.vcores, "registered"
        );
        let ended = tokio::select! {
            () = drain.cancelled() => Ended::Drained,
            _ = stop.recv() => Ended::SchedulerLost,
        };
        if matches!(ended, Ended::Drained) {
            drained(&mut scheduler, &config.executor_id, registration, executor).await;
        }
        tasks.abort();
        drop(notifier);
        Ok(ended)
    }

    /// A connection to the scheduler; `None` when the drain began while it was away.
    async fn connect(&self, drain: &CancellationToken) -> Result<Option<Channel>, ExecutorError> {
        let address = format!("http://{}:{}", self.options.scheduler_host, self.options.scheduler_port);
        let endpoint = Endpoint::from_shared(address.clone()).map_err(|source| ExecutorError::Scheduler { address, source })?;
        let endpoint = endpoint.connect_timeout(LONGEST_PAUSE).tcp_nodelay(true);
        let mut pause = FIRST_PAUSE;
        loop {
            match endpoint.connect().await {
                Ok(channel) => return Ok(Some(channel)),
                Err(error) => tracing::info!(scheduler = %endpoint.uri(), error = %error, "waiting for the scheduler"),
            }
            tokio::select! {
                () = drain.cancelled() => return Ok(None),
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
        }
    }

    fn process_config(&self) -> Result<ExecutorProcessConfig, ExecutorError> {
        let options = &self.options;
        Ok(ExecutorProcessConfig {
            // A new one per registration: Ballista refuses an id that it still holds.
            executor_id: uuid::Uuid::new_v4().to_string(),
            bind_host: options.grpc_host.to_string(),
            external_host: Some(options.host.clone()),
            port: self.flight_port,
            grpc_port: free_port(options.grpc_host, options.grpc_port)?,
            scheduler_host: options.scheduler_host.clone(),
            scheduler_port: options.scheduler_port,
            vcores: options.task_slots,
            work_dir: Some(self.work_dir.to_string_lossy().into_owned()),
            grpc_max_decoding_message_size: GRPC_MESSAGE_BYTES as u32,
            grpc_max_encoding_message_size: GRPC_MESSAGE_BYTES as u32,
            executor_heartbeat_interval_seconds: 1,
            ..Default::default()
        })
    }

    fn executor(&self, registration: ExecutorRegistration) -> Executor {
        let options = &self.options;
        let writer = WriterOptions { compression: options.compression, ..WriterOptions::default() };
        let engine = Engine::new(self.store.clone(), registration.id.clone(), writer, Arc::clone(&self.totals));
        Executor::new(
            registration,
            &self.work_dir.to_string_lossy(),
            runtime::producer(Arc::clone(&self.runtime)),
            Arc::new(session_config),
            Arc::default(),
            Arc::new(LoggingMetricsCollector::default()),
            options.task_slots,
            Arc::new(engine),
        )
        .with_session_runtime_cache(Some(runtime::task_runtimes(Arc::clone(&self.runtime), options)))
    }
}

/// Takes no new tasks, lets the running ones end and their statuses arrive, and only then leaves.
async fn drained(
    scheduler: &mut SchedulerGrpcClient<Channel>,
    executor_id: &str,
    registration: ExecutorRegistration,
    executor: Arc<Executor>,
) {
    tracing::info!("draining");
    executor_server::TERMINATING.store(true, Ordering::Release);
    let status = ExecutorStatus { status: Some(ExecutorState::Terminating(String::new())) };
    let heartbeat = HeartBeatParams {
        executor_id: executor_id.to_string(),
        metrics: vec![],
        status: Some(status),
        metadata: Some(registration),
    };
    let told = scheduler.heart_beat_from_executor(heartbeat).await.map_err(BallistaError::from);
    if let Err(error) = told {
        tracing::warn!(error = %error, "the scheduler was not told of the drain");
    }
    if tokio::time::timeout(DRAIN, TasksDrainedFuture(executor)).await.is_err() {
        tracing::warn!("tasks still run after {DRAIN:?}; they are given up");
    }
    tokio::time::sleep(FLUSH).await;
    let stopped = ExecutorStoppedParams { executor_id: executor_id.to_string(), reason: "drained".to_string() };
    if let Err(error) = scheduler.executor_stopped(stopped).await {
        tracing::warn!(error = %error, "the scheduler was not told of the stop");
    }
}
