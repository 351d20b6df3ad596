//! The life of an executor process: connect, register, run tasks, drain.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::BALLISTA_PROTOCOL_VERSION;
use ballista_core::serde::protobuf::executor_grpc_server::ExecutorGrpcServer;
use ballista_core::serde::protobuf::executor_resource::Resource;
use ballista_core::serde::protobuf::{
    ExecutorOperatingSystemSpecification, ExecutorRegistration, ExecutorResource, ExecutorSpecification,
};
use cne_startup::{Status, grpc_health, serve_http};
use cne_storage::{ClientOptions, LocalParts, ShuffleStore, StoreError, WriterOptions, open_store};
use cne_task::GRPC_MESSAGE_BYTES;
use cne_transport::{Clients, spawn_watch};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;

use crate::drain::{self, Times};
use crate::engine::Engine;
use crate::flight::ResultService;
use crate::link::Link;
use crate::membership::Membership;
use crate::peers::FlightPeers;
use crate::service::{Parts, TaskService};
use crate::work_dir::WorkDir;
use crate::{Options, Totals, runtime};

/// What tasks of a job share is kept for so long after the last of them has ended.
const INPUTS_IDLE: Duration = Duration::from_secs(60);
/// And a job's blocks, which are small and would have to be sent again.
const JOB_IDLE: Duration = Duration::from_secs(1800);
/// Outputs of queries whose removal was never asked for are kept for so long.
const KEPT_AGE: Duration = Duration::from_secs(25 * 3600);

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

/// Runs an executor until `drain` is cancelled and its tasks have ended.
///
/// # Errors
/// What keeps it from starting. A scheduler that is away is waited for.
pub async fn run(mut options: Options, drain: CancellationToken) -> Result<(), ExecutorError> {
    let work_root = options
        .work_dir
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join("comet-executor"));
    let work_dir = WorkDir::fresh(&work_root)?;
    // Not on the threads of tasks, which may compute for long.
    options.client.runtime = Some(tokio::runtime::Handle::current());
    let totals = Arc::new(Totals::new(Arc::clone(options.client.clients.identity_counts())));
    let client = ClientOptions {
        counts: Arc::clone(totals.store_requests()),
        ..options.client.clone()
    };
    let url = options.storage_url.clone();
    let opened = tokio::task::spawn_blocking(move || open_store(&url, &client))
        .await
        .map_err(std::io::Error::other)?;
    let (store, prefix) = opened?;
    let clients = Arc::clone(&options.client.clients);
    tokio::spawn(async move { clients.warm().await });
    let mut store = ShuffleStore::new(store, prefix);
    let local = LocalParts::open(work_dir.path().join("outputs"), options.local_quota)?;
    let keys = Arc::new(options.ticket_keys.clone());
    let transport = options.transport.clone();
    let watching = CancellationToken::new();
    spawn_watch(&transport, watching.clone());
    let peers = FlightPeers::new(Arc::clone(&keys), options.pool_name.clone(), transport.clone());
    store = store
        .with_local(local, options.fetch_window)
        .with_peers(Arc::new(peers), tokio::runtime::Handle::current());
    if options.storage_url.starts_with("file:") {
        store = store.without_copies();
    }
    let status = Status::new();
    status.metrics(|registry| {
        totals.register(registry);
        transport.register(registry);
    });
    let http = listen(&options.http_host, options.http_port).await?;
    let http_port = http.local_addr()?.port();
    tokio::spawn(serve_http(http, status.clone()));
    let sweep =
        (!options.sweep_age.is_zero()).then(|| tokio::spawn(store.clone().sweep_for_ever(options.sweep_age)));
    let base = runtime::base_runtime(&options, work_dir.path(), Arc::clone(totals.scan_requests()))?;
    let flight = listen(&options.flight_host, options.flight_port).await?;
    let tasks = listen(&options.grpc_host.to_string(), options.grpc_port).await?;

    let membership = Membership::new();
    let executor_id = membership.id().to_string();
    let (flight_port, grpc_port) = (flight.local_addr()?.port(), tasks.local_addr()?.port());
    let registration = registration(&options, &executor_id, flight_port, grpc_port);
    let address = options.scheduler_address.to_string();
    let link = Link::new(
        &transport,
        &address,
        registration,
        Arc::clone(&membership),
        status.clone(),
    );
    let link = link.map_err(|source| ExecutorError::Scheduler {
        address: address.clone(),
        source,
    })?;
    tracing::info!(
        executor = %executor_id, host = options.host.as_deref().unwrap_or("as the scheduler sees it"), flight_port, grpc_port, http_port,
        scheduler = %address, tls = transport.is_tls(), slots = options.task_slots, memory = options.memory_bytes, memory_limit = options.limits.memory, storage = %options.storage_url, "executor started"
    );

    let threads = TaskThreads::start(options.task_slots)?;
    let writer = WriterOptions {
        compression: options.compression,
        inline_bytes: options.inline_bytes,
        ..WriterOptions::default()
    };
    let (reads, reports) = mpsc::unbounded_channel();
    let results = ResultService::new(
        store.clone(),
        keys,
        options.pool_name.clone(),
        executor_id.clone(),
        options.task_slots,
        Arc::clone(&totals),
        reads,
    )
    .secured_by(transport.clone());
    let outputs = store.clone();
    let memory = runtime::memory(&options);
    let jobs = runtime::jobs(&base, &memory)?;
    let (service, ends) = TaskService::new(Parts {
        engine: Engine::new(
            store.clone(),
            executor_id.clone(),
            writer,
            totals,
            Arc::clone(&jobs),
        ),
        jobs: Arc::clone(&jobs),
        membership,
        store,
        producer: runtime::producer(Arc::clone(&base)),
        runtimes: runtime::task_runtimes(base, &options, memory),
        threads: threads.handle(),
        slots: options.task_slots,
    });

    let serving = CancellationToken::new();
    let results = FlightServiceServer::new(results).max_encoding_message_size(GRPC_MESSAGE_BYTES);
    let launches = ExecutorGrpcServer::new(service.clone()).max_decoding_message_size(GRPC_MESSAGE_BYTES);
    let health = grpc_health(&status, serving.clone()).await;
    let (stop_results, stop_tasks) = (serving.clone(), serving.clone());
    let results = tokio::spawn(
        Server::builder()
            .add_service(results)
            .add_service(health.clone())
            .serve_with_incoming_shutdown(
                transport.incoming(flight, Clients::Drivers, "results"),
                stop_results.cancelled_owned(),
            ),
    );
    tokio::spawn(
        Server::builder()
            .add_service(launches)
            .add_service(health)
            .serve_with_incoming_shutdown(
                transport.incoming(tasks, Clients::Members, "tasks"),
                stop_tasks.cancelled_owned(),
            ),
    );
    let (kept, flushed) = (outputs.clone(), outputs);
    let reporter = tokio::spawn(link.clone().report(ends, service.clone()));
    let heartbeats = tokio::spawn(link.clone().heartbeats(service.clone()));
    let reads = tokio::spawn(link.clone().report_reads(reports));
    let sweeper = tokio::spawn(async move {
        loop {
            tokio::time::sleep(INPUTS_IDLE / 4).await;
            jobs.sweep(INPUTS_IDLE, JOB_IDLE);
            kept.forget_older(KEPT_AGE);
        }
    });

    drain.cancelled().await;
    tracing::info!(grace = ?options.drain_grace, "draining");
    let times = Times::new(options.drain_grace);
    drain::tasks(&link, &service, times).await;
    service.close();
    drain::flush(&flushed, times).await;
    heartbeats.abort();
    // Aborted is not ended.
    let _ = heartbeats.await;
    drain::farewell(&link).await;
    reporter.abort();
    serving.cancel();
    sweeper.abort();
    watching.cancel();
    if let Some(sweep) = sweep {
        sweep.abort();
    }
    drain::readers(results, times).await;
    drain::reads(reads).await;
    tracing::info!("stopped");
    Ok(())
}

fn registration(options: &Options, id: &str, flight_port: u16, grpc_port: u16) -> ExecutorRegistration {
    let slots = Resource::Vcores(u32::try_from(options.task_slots).unwrap_or(u32::MAX));
    ExecutorRegistration {
        id: id.to_string(),
        host: options.host.clone(),
        port: u32::from(flight_port),
        grpc_port: u32::from(grpc_port),
        specification: Some(ExecutorSpecification {
            resources: vec![ExecutorResource {
                resource: Some(slots),
            }],
        }),
        // Ballista repeats it in every location of a map output.
        os_info: Some(ExecutorOperatingSystemSpecification::default()),
        ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
    }
}

async fn listen(host: &str, port: u16) -> Result<TcpListener, ExecutorError> {
    let host = host.trim_matches(['[', ']']);
    let bound = TcpListener::bind((host, port)).await;
    bound.map_err(|source| ExecutorError::Listen {
        address: format!("{host}:{port}"),
        source,
    })
}

/// The threads that tasks run on.
struct TaskThreads(Option<tokio::runtime::Runtime>);

impl TaskThreads {
    fn start(slots: usize) -> std::io::Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        // One more than slots: an operator that computes for long must not stop the reading of others.
        let runtime = builder
            .worker_threads(slots.max(1) + 1)
            .thread_name("comet-task")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    fn handle(&self) -> tokio::runtime::Handle {
        // Taken by `drop` alone.
        self.0
            .as_ref()
            .map_or_else(tokio::runtime::Handle::current, |runtime| {
                runtime.handle().clone()
            })
    }
}

impl Drop for TaskThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Dropping a runtime waits, which is not allowed on an asynchronous thread.
            runtime.shutdown_background();
        }
    }
}
