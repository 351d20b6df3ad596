//! One scheduler: its listeners, the embedded Ballista scheduler, and its queries.

use std::{net::SocketAddr, time::Duration};

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::{error::BallistaError, serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer};
use cne_startup::{Status, grpc_health, serve_http};
use cne_task::{GRPC_MESSAGE_BYTES, reports::reports_server::ReportsServer};
use cne_transport::{Clients, Transport, spawn_watch};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tonic::{service::interceptor::InterceptedService, transport::Server};

use crate::{
    demand::Demand,
    flight::{FrontEnd, Gate},
    options::Options,
    pool::{Pool, PoolOptions},
    query::Queries,
    reports::ReportService,
    scaler::{Scaler, contract::external_scaler_server::ExternalScalerServer},
};

/// Why a scheduler did not start or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A listener could not be opened.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// Ballista did not start.
    #[error("the embedded scheduler did not start")]
    Ballista(#[from] BallistaError),
    /// A listener failed.
    #[error("a listener failed")]
    Serve(#[from] tonic::transport::Error),
    /// A background task was lost.
    #[error("a background task was lost")]
    Task(#[from] tokio::task::JoinError),
}

/// A running scheduler. Dropping it does not stop it.
pub struct Handle {
    /// Where drivers connect.
    pub flight_address: SocketAddr,
    /// Where executors connect.
    pub executor_address: SocketAddr,
    /// Where probes and monitoring ask.
    pub http_address: SocketAddr,
    /// Where KEDA asks for the number of executors.
    pub scaler_address: SocketAddr,
    /// How many executors there should be.
    pub demand: Demand,
    /// What the scheduler says of itself there.
    pub status: Status,
    /// The embedded scheduler.
    pub pool: Pool,
    queries: Queries,
    drain: CancellationToken,
    listeners: Vec<JoinHandle<Result<(), tonic::transport::Error>>>,
}

/// Starts a scheduler; returns when its listeners accept connections. `drain` stops it: running queries fail with a retryable error.
///
/// # Errors
/// When an address cannot be listened on or Ballista does not start.
pub async fn start(options: Options, drain: CancellationToken) -> Result<Handle, ServiceError> {
    let (flight_listener, flight_address) = listen(options.flight_address).await?;
    let (executor_listener, executor_address) = listen(options.executor_address).await?;
    let (http_listener, http_address) = listen(options.http_address).await?;
    let (scaler_listener, scaler_address) = listen(options.scaler_address).await?;
    let status = Status::new();
    tokio::spawn(serve_http(http_listener, status.clone()));
    let transport = options.transport.clone();
    status.metrics(|registry| transport.register(registry));
    spawn_watch(&transport, drain.clone());
    let for_scaler = match options.scaler_tls {
        true => transport.clone(),
        false => Transport::plaintext(),
    };
    let pool = Pool::start(&PoolOptions {
        gateway_endpoint: executor_address.to_string(),
        executor_timeout: options.executor_timeout,
        task_attempts: options.task_attempts,
        transport: transport.clone(),
    })
    .await?;
    status.metrics(|registry| pool.counters().register(registry));
    let queries = Queries::new(options.clone(), pool.clone(), drain.clone());
    let demand = Demand::new(options.scale.clone());
    demand.start(pool.clone(), queries.clone(), &status, drain.clone());
    let max_request = options.limits.bytes.saturating_add(1 << 20);
    let front = FlightServiceServer::new(FrontEnd::new(
        queries.clone(),
        pool.clone(),
        demand.clone(),
        options,
    ))
    // A request that is a little too large gets the typed answer.
    .max_decoding_message_size(max_request)
    .max_encoding_message_size(GRPC_MESSAGE_BYTES);
    let front = InterceptedService::new(front, Gate::new(transport.access().clone()));
    let gateway = SchedulerGrpcServer::new(pool.gateway())
        .max_decoding_message_size(GRPC_MESSAGE_BYTES)
        .max_encoding_message_size(GRPC_MESSAGE_BYTES);
    let stop = drain.clone();
    let health = grpc_health(&status, drain.clone()).await;
    let flight = server()
        .add_service(front)
        .add_service(health.clone())
        .serve_with_incoming_shutdown(
            transport.incoming(flight_listener, Clients::Drivers, "drivers"),
            async move { stop.cancelled().await },
        );
    // Executors are served until the queries have ended, so that their cancelled tasks can report.
    let stopped = queries.clone();
    let stop = drain.clone();
    let executors = server()
        .add_service(gateway)
        .add_service(ReportsServer::new(ReportService::new(demand.clone())))
        .add_service(health)
        .serve_with_incoming_shutdown(
            transport.incoming(executor_listener, Clients::Members, "executors"),
            async move {
                stop.cancelled().await;
                stopped.drained().await;
            },
        );
    let stop = drain.clone();
    let scaler = Scaler::new(demand.clone(), drain.clone());
    let scaler = server()
        .add_service(ExternalScalerServer::new(scaler))
        .serve_with_incoming_shutdown(
            for_scaler.incoming(scaler_listener, Clients::Anyone, "scaler"),
            async move { stop.cancelled().await },
        );
    tokio::spawn(async move {
        if let Err(error) = scaler.await {
            tracing::error!(%error, "the scaler's listener failed");
        }
    });
    let listeners = vec![tokio::spawn(flight), tokio::spawn(executors)];
    status.set_ready();
    let (stopping, stop) = (status.clone(), drain.clone());
    tokio::spawn(async move {
        stop.cancelled().await;
        stopping.set_unready("stopping");
    });
    tracing::info!(%flight_address, %executor_address, %http_address, %scaler_address, tls = transport.is_tls(), "comet-scheduler is ready");
    Ok(Handle {
        flight_address,
        executor_address,
        http_address,
        scaler_address,
        demand,
        status,
        pool,
        queries,
        drain,
        listeners,
    })
}

fn server() -> Server {
    Server::builder()
        .tcp_nodelay(true)
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServiceError> {
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    };
    bound
        .await
        .map_err(|source| ServiceError::Listen { address, source })
}

impl Handle {
    /// Waits until the scheduler has stopped. Calls that are still open are given five seconds after the drain.
    ///
    /// # Errors
    /// When a listener failed before the drain.
    pub async fn stopped(self) -> Result<(), ServiceError> {
        let [flight, executors] =
            <[_; 2]>::try_from(self.listeners).map_or_else(|_| [None, None], |l| l.map(Some));
        let (Some(mut flight), Some(mut executors)) = (flight, executors) else {
            return Ok(());
        };
        tokio::select! {
            ended = &mut flight => return Ok(ended??),
            ended = &mut executors => return Ok(ended??),
            () = self.drain.cancelled() => {}
        }
        self.queries.drained().await;
        let both = async { (flight.await, executors.await) };
        if let Ok((flight, executors)) = tokio::time::timeout(Duration::from_secs(5), both).await {
            flight??;
            executors??;
        }
        Ok(())
    }
}
