//! What one scheduler is told; `main` fills it from the settings.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use cne_proto::{SPARK_VERSIONS, decode::Limits};
use cne_task::{Durability, ticket::TicketKeys};
use cne_transport::Transport;

use crate::demand::Policy;

/// Options of a scheduler. Ports may be 0.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where drivers connect.
    pub flight_address: SocketAddr,
    /// Where executors connect.
    pub executor_address: SocketAddr,
    /// Where probes and monitoring ask.
    pub http_address: SocketAddr,
    /// Where KEDA asks for the number of executors.
    pub scaler_address: SocketAddr,
    /// Whether KEDA asks over TLS.
    pub scaler_tls: bool,
    /// How connections are secured, and who the tenants are.
    pub transport: Transport,
    /// What the pool may be scaled to.
    pub scale: Policy,
    /// Signs result tickets.
    pub ticket_keys: TicketKeys,
    /// Name of the pool; audience of its tickets.
    pub pool_name: String,
    /// Bounds of a request's bytes, nesting and values.
    pub limits: Limits,
    /// Most stages in one query.
    pub max_stages: usize,
    /// Most queries that are kept at one time, finished ones included.
    pub max_queries: usize,
    /// Directories whose files may be scanned; `None` leaves that to the executors.
    pub file_roots: Option<Vec<PathBuf>>,
    /// Versions of Spark whose drivers are served, exactly as they name themselves.
    pub spark_versions: Vec<String>,
    /// Longest time that a query may take.
    pub query_deadline: Duration,
    /// How long a query waits without any executor.
    pub executor_wait: Duration,
    /// An executor without a heartbeat for so long is dead. Whole seconds.
    pub executor_timeout: Duration,
    /// How long a poll is held until there is news.
    pub poll_wait: Duration,
    /// A running query that nobody asked for so long is cancelled.
    pub client_timeout: Duration,
    /// A query of which nothing ran for so long, in an idle pool with executors, is failed.
    pub stuck_timeout: Duration,
    /// How long a result is kept after it was last renewed.
    pub results_lease: Duration,
    /// Compressed input bytes that a partition should have at most.
    pub target_partition_bytes: u64,
    /// Compressed input bytes below which a further partition is not worth its task.
    pub smallest_partition_bytes: u64,
    /// When the output of a task counts as committed.
    pub durability: Durability,
    /// How often a task that fails with a retryable error is started in all.
    pub task_attempts: usize,
}

impl Options {
    /// Defaults for everything but the key. Listens on free ports of the loopback interface.
    pub fn local(ticket_keys: TicketKeys) -> Self {
        Self {
            flight_address: SocketAddr::from(([127, 0, 0, 1], 0)),
            executor_address: SocketAddr::from(([127, 0, 0, 1], 0)),
            http_address: SocketAddr::from(([127, 0, 0, 1], 0)),
            scaler_address: SocketAddr::from(([127, 0, 0, 1], 0)),
            scaler_tls: false,
            transport: Transport::plaintext(),
            scale: Policy::default(),
            ticket_keys,
            pool_name: "default".into(),
            limits: Limits::default(),
            max_stages: 1000,
            max_queries: 1000,
            file_roots: None,
            spark_versions: SPARK_VERSIONS.iter().map(ToString::to_string).collect(),
            query_deadline: Duration::from_secs(3600),
            executor_wait: Duration::from_secs(600),
            executor_timeout: Duration::from_secs(4),
            poll_wait: Duration::from_secs(5),
            client_timeout: Duration::from_secs(30),
            stuck_timeout: Duration::from_secs(60),
            results_lease: Duration::from_secs(600),
            target_partition_bytes: 64 << 20,
            smallest_partition_bytes: 4 << 20,
            durability: Durability::Store,
            task_attempts: 4,
        }
    }
}
