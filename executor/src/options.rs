use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cne_settings::{Address, ByteSize, ExecutorSettings, ShuffleCompression};
use cne_startup::Limits;
use cne_storage::{Buckets, BucketsError, ClientOptions, Compression};
use cne_task::ticket::{KeyError, TicketKeys};
use cne_transport::{Transport, TransportError};

use crate::sizing::{Sizing, SizingError};

/// Commit records are read whole, by each executor that reads one of their buckets.
const MOST_INLINE_BYTES: usize = 1 << 20;

/// What an executor needs to know; see `ExecutorSettings` for where it comes from.
#[derive(Debug)]
pub struct Options {
    /// Address of the Flight service; port 0 takes a free one.
    pub flight_host: String,
    /// Port of the Flight service.
    pub flight_port: u16,
    /// Address of the task service; port 0 takes a free one.
    pub grpc_host: IpAddr,
    /// Port of the task service.
    pub grpc_port: u16,
    /// Address for probes and monitoring; port 0 takes a free one.
    pub http_host: String,
    /// Port for probes and monitoring.
    pub http_port: u16,
    /// Name or address under which the others reach this executor; `None`: the address that the scheduler sees.
    pub host: Option<String>,
    /// The scheduler's address for executors.
    pub scheduler_address: Address,
    /// Audience of the tickets that are served.
    pub pool_name: String,
    /// Keys of the tickets.
    pub ticket_keys: TicketKeys,
    /// How connections are secured, and who the tenants are.
    pub transport: Transport,
    /// Where outputs of tasks go.
    pub storage_url: String,
    /// Bytes of neighbouring buckets that one request fetches.
    pub fetch_window: u64,
    /// Most bytes of an output that is stored in its commit record.
    pub inline_bytes: usize,
    /// Most bytes of outputs kept in the work directory.
    pub local_quota: u64,
    /// Age of what is swept from the storage; zero: nothing is.
    pub sweep_age: Duration,
    /// How requests to object stores are made.
    pub client: ClientOptions,
    /// Directories below which `file:` tables may be read.
    pub file_roots: Vec<PathBuf>,
    /// Directory for spilled data and kept outputs; a temporary one when `None`.
    pub work_dir: Option<PathBuf>,
    /// Tasks at the same time.
    pub task_slots: usize,
    /// Memory of all tasks together, in bytes.
    pub memory_bytes: usize,
    /// The container's limits that both follow.
    pub limits: Limits,
    /// Most bytes spilled, all tasks together.
    pub spill_quota: u64,
    /// How long a drain may take.
    pub drain_grace: Duration,
    /// Compression of the outputs.
    pub compression: Compression,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// `CNE_TICKET_KEY` does not hold keys.
    #[error("CNE_TICKET_KEY is not usable")]
    TicketKey(#[from] KeyError),
    /// Certificates or tenants cannot be used.
    #[error("certificates or tenants cannot be used")]
    Transport(#[from] TransportError),
    /// The address to listen on has to be an IP address.
    #[error("CNE_EXECUTOR_GRPC_ADDRESS {0:?} is not an IP address with a port")]
    Address(String),
    /// `CNE_BUCKETS_FILE` cannot be used.
    #[error("CNE_BUCKETS_FILE is not usable")]
    Buckets(#[from] BucketsError),
    /// Memory and slots do not fit into the container's limits.
    #[error("the executor does not fit into its memory limit")]
    Sizing(#[from] SizingError),
}

/// The host that was given, or the one that is listened on when it is one.
fn advertised(settings: &ExecutorSettings) -> Option<String> {
    let listened = &settings.flight_address.host;
    let bare = listened.trim_matches(['[', ']']);
    let everywhere = bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified());
    let own = (!everywhere).then(|| listened.clone());
    settings.host.clone().or(own)
}

impl Options {
    /// Takes the options from the settings.
    ///
    /// # Errors
    /// Unusable ticket keys, certificates or tenants; a host name where an IP address is needed; an unusable file of buckets; a container whose
    /// memory limit is too small.
    pub fn from_settings(settings: &ExecutorSettings) -> Result<Self, OptionsError> {
        let grpc_host = settings.grpc_address.host.trim_matches(['[', ']']);
        let buckets = settings.buckets_file.as_deref().map(Buckets::read).transpose()?;
        let limits = Limits::of_this_process();
        let sizing = Sizing::new(
            &limits,
            settings.task_slots,
            settings.memory_bytes.map(ByteSize::bytes),
        )?;
        Ok(Self {
            flight_host: settings.flight_address.host.clone(),
            flight_port: settings.flight_address.port,
            grpc_host: grpc_host
                .parse()
                .map_err(|_| OptionsError::Address(settings.grpc_address.to_string()))?,
            grpc_port: settings.grpc_address.port,
            http_host: settings.http_address.host.clone(),
            http_port: settings.http_address.port,
            host: advertised(settings),
            scheduler_address: settings.scheduler_address.clone(),
            pool_name: settings.pool_name.clone(),
            ticket_keys: TicketKeys::parse(settings.ticket_key.expose())?,
            transport: Transport::open(&settings.security())?,
            storage_url: settings.storage_url.clone(),
            fetch_window: settings.fetch_window.0,
            inline_bytes: settings.inline_bytes.to_usize().min(MOST_INLINE_BYTES),
            local_quota: settings.local_quota.0,
            sweep_age: settings.sweep_age,
            client: ClientOptions {
                connect_timeout: settings.store_connect_timeout,
                request_timeout: settings.store_request_timeout,
                retry_timeout: settings.store_retry_timeout,
                buckets: Arc::new(buckets.unwrap_or_default()),
                ..ClientOptions::default()
            },
            file_roots: settings.file_roots.iter().map(PathBuf::from).collect(),
            work_dir: settings.work_dir.clone(),
            task_slots: sizing.slots.get(),
            memory_bytes: usize::try_from(sizing.memory).unwrap_or(usize::MAX),
            limits,
            spill_quota: settings.spill_quota.0,
            drain_grace: settings.drain_grace,
            compression: match settings.shuffle_compression {
                ShuffleCompression::None => Compression::None,
                ShuffleCompression::Lz4 => Compression::Lz4,
                ShuffleCompression::Zstd => Compression::Zstd,
            },
        })
    }
}
