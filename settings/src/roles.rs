//! The settings of the two binaries. To add one: add a field here, use it, and run `UPDATE_DOCS=1 cargo test -p cne-settings`.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use crate::{
    Address, ByteSize, Durability, LogFormat, Secret, SettingsError, ShuffleCompression, registry::settings,
    value::is_loopback,
};

settings! {
    /// Settings of `comet-scheduler`.
    pub struct SchedulerSettings for "comet-scheduler" probed at "CNE_SCHEDULER_HTTP_ADDRESS" {
        /// Where drivers connect (Arrow Flight).
        pub flight_address: Address = "CNE_SCHEDULER_FLIGHT_ADDRESS" default "127.0.0.1:50050";
        /// Where executors connect (gRPC).
        pub executor_address: Address = "CNE_SCHEDULER_EXECUTOR_ADDRESS" default "127.0.0.1:50051";
        /// Where `GET /healthz`, `/readyz` and `/metrics` are answered (HTTP).
        pub http_address: Address = "CNE_SCHEDULER_HTTP_ADDRESS" default "127.0.0.1:50053";
        /// Where KEDA asks for the number of executors (gRPC external scaler).
        pub scaler_address: Address = "CNE_SCALER_ADDRESS" default "127.0.0.1:50054";
        /// Fewest executors that the scaler asks for.
        pub scale_min_executors: u32 = "CNE_SCALE_MIN_EXECUTORS" default "0";
        /// Most executors that the scaler asks for.
        pub scale_max_executors: u32 = "CNE_SCALE_MAX_EXECUTORS" default "10";
        /// Tasks that have waited for less do not make the scaler ask for further executors, unless there is none.
        pub scale_patience: Duration = "CNE_SCALE_PATIENCE" default "2s";
        /// The scaler asks for fewer executors when no more were needed for this long.
        pub scale_cool_down: Duration = "CNE_SCALE_COOL_DOWN" default "60s";
        /// Most executors by which the scaler raises the number within CNE_SCALE_BURST_PERIOD.
        pub scale_burst: u32 = "CNE_SCALE_BURST" default "10";
        /// The period of CNE_SCALE_BURST.
        pub scale_burst_period: Duration = "CNE_SCALE_BURST_PERIOD" default "30s";
        /// Task slots that an executor is expected to have while none has registered since the scheduler's start.
        pub scale_slots: u32 = "CNE_SCALE_SLOTS" default "4";
        /// Whether addresses that are not loopback are allowed although traffic is not encrypted (where no CNE_TLS_CERT is given, and for CNE_SCALER_ADDRESS).
        pub allow_plaintext: bool = "CNE_ALLOW_PLAINTEXT" default "false";
        /// PEM file of this process's certificate and its intermediate ones. With CNE_TLS_KEY and CNE_TLS_CA: all connections between drivers, scheduler and executors are TLS, and nothing else is accepted there. Read again when the files change.
        pub tls_cert: Option<PathBuf> = "CNE_TLS_CERT";
        /// PEM file of the private key of CNE_TLS_CERT.
        pub tls_key: Option<PathBuf> = "CNE_TLS_KEY";
        /// PEM file of the pool's CA, or several. Whoever has a certificate of it is a member of the pool: scheduler and executors, nobody else.
        pub tls_ca: Option<PathBuf> = "CNE_TLS_CA";
        /// PEM file of the CA of drivers' certificates; another one than the pool's. Without CNE_TENANTS_FILE, a driver needs such a certificate; with it, a certificate or a token.
        pub tls_client_ca: Option<PathBuf> = "CNE_TLS_CLIENT_CA";
        /// Name that the certificate of every member of the pool has among its DNS names; it is checked whatever address is dialled. By default a member's certificate has to name the host or IP address under which it is reached.
        pub tls_server_name: Option<String> = "CNE_TLS_SERVER_NAME";
        /// TOML file of the tenants: their names, digests of tokens, names in certificates, and what they may read (operations.md). Read again when it changes. Without it, everybody is the tenant `default`.
        pub tenants_file: Option<PathBuf> = "CNE_TENANTS_FILE";
        /// Whether CNE_SCALER_ADDRESS is TLS with CNE_TLS_CERT too. KEDA needs the pool's CA then (`caCert`).
        pub scaler_tls: bool = "CNE_SCALER_TLS" default "false";
        /// Name of the pool. A result ticket is valid in the pool that issued it only.
        pub pool_name: String = "CNE_POOL_NAME" default "default";
        /// Key that signs result tickets, as `id:hex` with at least 16 bytes. To rotate: `newid:hex,oldid:hex`; the first one signs, all are accepted.
        pub ticket_key: Secret = "CNE_TICKET_KEY";
        /// How long a result is kept after its last renewal.
        pub results_lease: Duration = "CNE_RESULTS_LEASE" default "10m";
        /// Largest request of a driver.
        pub max_request_bytes: ByteSize = "CNE_MAX_REQUEST_BYTES" default "64MiB";
        /// Directories below which `file:` tables may be read; a plan with another one is refused. None by default: then no local file is read.
        pub file_roots: Vec<String> = "CNE_FILE_ROOTS";
        /// Further versions of Spark whose drivers are served, exactly as they name themselves (such as `4.1.1-amzn-0`). What such a Spark does otherwise than the one that the pool was built for changes its answers. See emr.md.
        pub accepted_spark_versions: Vec<String> = "CNE_ACCEPTED_SPARK_VERSIONS";
        /// Deepest nesting of messages in a plan.
        pub max_request_depth: usize = "CNE_MAX_REQUEST_DEPTH" default "2000";
        /// Most stages in one query.
        pub max_stages: usize = "CNE_MAX_STAGES" default "1000";
        /// Most queries that are kept at one time, those counted whose results are still leased; a further one is refused and may be sent again.
        pub max_queries: usize = "CNE_MAX_QUERIES" default "1000";
        /// Longest time that a query may take, from its acceptance to its last result partition. A driver can ask for less.
        pub query_deadline: Duration = "CNE_QUERY_DEADLINE" default "1h";
        /// How long a query waits while no executor is there; then it fails. Long enough for a pool at zero: a new node of a cluster takes minutes.
        pub executor_wait: Duration = "CNE_EXECUTOR_WAIT" default "10m";
        /// An executor that was not heard from for this long is taken for lost.
        pub executor_timeout: Duration = "CNE_EXECUTOR_TIMEOUT" default "4s";
        /// Longest time that one poll of a driver is held until there is news.
        pub poll_wait: Duration = "CNE_POLL_WAIT" default "5s";
        /// A running query is cancelled when no client has asked for it for this long. Longer than CNE_POLL_WAIT.
        pub client_timeout: Duration = "CNE_CLIENT_TIMEOUT" default "30s";
        /// A query is failed when no task of any query has run for this long although executors are there.
        pub stuck_timeout: Duration = "CNE_STUCK_TIMEOUT" default "60s";
        /// Bytes of input that one task should get where the scheduler chooses the number of shuffle partitions.
        pub target_partition_bytes: ByteSize = "CNE_TARGET_PARTITION_BYTES" default "64MiB";
        /// When the output of a task counts as committed: in the store (`store`), on its executor's disk and in the store soon (`write-behind`), or on its executor's disk (`local`). See operations.md.
        pub durability: Durability = "CNE_DURABILITY" default "store";
        /// What is logged: error, warn, info, debug or trace, also per module (`info,cne_scheduler=debug`).
        pub log_level: String = "CNE_LOG_LEVEL" default "info";
        /// How log lines are written. In JSON each has its fields by name (query, stage, partition, attempt), for a log store.
        pub log_format: LogFormat = "CNE_LOG_FORMAT" default "text";
    }

    fn validate(&self) -> Result<(), SettingsError> {
        let tls = self.security().check(&self.flight_address.host)?;
        if self.scaler_tls && !tls {
            return Err(SettingsError::Contradiction(
                "CNE_SCALER_TLS needs CNE_TLS_CERT, CNE_TLS_KEY and CNE_TLS_CA",
            ));
        }
        let allowed = self.allow_plaintext || tls;
        plaintext("CNE_SCHEDULER_FLIGHT_ADDRESS", &self.flight_address.host, allowed)?;
        plaintext("CNE_SCHEDULER_EXECUTOR_ADDRESS", &self.executor_address.host, allowed)?;
        plaintext("CNE_SCHEDULER_HTTP_ADDRESS", &self.http_address.host, allowed)?;
        let allowed = self.allow_plaintext || self.scaler_tls;
        plaintext("CNE_SCALER_ADDRESS", &self.scaler_address.host, allowed)?;
        if self.scale_min_executors > self.scale_max_executors {
            return Err(SettingsError::Contradiction("CNE_SCALE_MIN_EXECUTORS is above CNE_SCALE_MAX_EXECUTORS"));
        }
        spark_versions(&self.accepted_spark_versions)
    }
}

settings! {
    /// Settings of `comet-executor`.
    pub struct ExecutorSettings for "comet-executor" probed at "CNE_EXECUTOR_HTTP_ADDRESS" {
        /// Where result rows are served (Arrow Flight). Port 0 takes any free one.
        pub flight_address: Address = "CNE_EXECUTOR_FLIGHT_ADDRESS" default "127.0.0.1:0";
        /// Where the scheduler launches tasks (gRPC). Port 0 takes any free one.
        pub grpc_address: Address = "CNE_EXECUTOR_GRPC_ADDRESS" default "127.0.0.1:0";
        /// Where `GET /healthz`, `/readyz` and `/metrics` are answered (HTTP). Port 0 takes any free one.
        pub http_address: Address = "CNE_EXECUTOR_HTTP_ADDRESS" default "127.0.0.1:0";
        /// The scheduler's address for executors.
        pub scheduler_address: Address = "CNE_SCHEDULER_ADDRESS" default "127.0.0.1:50051";
        /// Host name or IP address under which the scheduler and drivers reach this executor. By default the host of CNE_EXECUTOR_FLIGHT_ADDRESS; where that is every interface (0.0.0.0), the address from which the executor reaches the scheduler.
        pub host: Option<String> = "CNE_HOST";
        /// Whether addresses that are not loopback are allowed although traffic is not encrypted (where no CNE_TLS_CERT is given, and for CNE_SCALER_ADDRESS).
        pub allow_plaintext: bool = "CNE_ALLOW_PLAINTEXT" default "false";
        /// PEM file of this process's certificate and its intermediate ones. With CNE_TLS_KEY and CNE_TLS_CA: all connections between drivers, scheduler and executors are TLS, and nothing else is accepted there. Read again when the files change.
        pub tls_cert: Option<PathBuf> = "CNE_TLS_CERT";
        /// PEM file of the private key of CNE_TLS_CERT.
        pub tls_key: Option<PathBuf> = "CNE_TLS_KEY";
        /// PEM file of the pool's CA, or several. Whoever has a certificate of it is a member of the pool: scheduler and executors, nobody else.
        pub tls_ca: Option<PathBuf> = "CNE_TLS_CA";
        /// PEM file of the CA of drivers' certificates; another one than the pool's. Without CNE_TENANTS_FILE, a driver needs such a certificate; with it, a certificate or a token.
        pub tls_client_ca: Option<PathBuf> = "CNE_TLS_CLIENT_CA";
        /// Name that the certificate of every member of the pool has among its DNS names; it is checked whatever address is dialled. By default a member's certificate has to name the host or IP address under which it is reached.
        pub tls_server_name: Option<String> = "CNE_TLS_SERVER_NAME";
        /// TOML file of the tenants: their names, digests of tokens, names in certificates, and what they may read (operations.md). Read again when it changes. Without it, everybody is the tenant `default`.
        pub tenants_file: Option<PathBuf> = "CNE_TENANTS_FILE";
        /// Name of the pool. A result ticket is valid in the pool that issued it only.
        pub pool_name: String = "CNE_POOL_NAME" default "default";
        /// Key that result tickets are checked with; the same as the scheduler's.
        pub ticket_key: Secret = "CNE_TICKET_KEY";
        /// Where shuffle and result data goes, the same for all executors: `file:///directory` or `s3://bucket/prefix`.
        pub storage_url: String = "CNE_STORAGE_URL";
        /// Longest time until a connection to the object store is there.
        pub store_connect_timeout: Duration = "CNE_STORE_CONNECT_TIMEOUT" default "3s";
        /// Longest time of one request to the object store, its body included (up to 8 MiB are sent, up to 4 MiB read).
        pub store_request_timeout: Duration = "CNE_STORE_REQUEST_TIMEOUT" default "20s";
        /// A request to the object store that failed for the moment (5xx, throttling, timeout, lost connection) is repeated for this long; then its task fails and is tried again.
        pub store_retry_timeout: Duration = "CNE_STORE_RETRY_TIMEOUT" default "30s";
        /// File (TOML) that says how S3 buckets are reached: region, endpoint, path style, requester pays, KMS key, role, anonymous. See operations.md. Without it, as the `AWS_*` variables say.
        pub buckets_file: Option<PathBuf> = "CNE_BUCKETS_FILE";
        /// Directories below which `file:` tables may be read. None by default: then no local file is read.
        pub file_roots: Vec<String> = "CNE_FILE_ROOTS";
        /// Whatever is below CNE_STORAGE_URL is removed when it is older than this: what was left by processes that died. Longer than the longest query and lease; 0s: never.
        pub sweep_age: Duration = "CNE_SWEEP_AGE" default "25h";
        /// Neighbouring partitions of one map output that together have about so many bytes are fetched by one request, and kept below CNE_LOCAL_QUOTA; 0: each by its own. Object stores only.
        pub fetch_window: ByteSize = "CNE_FETCH_WINDOW" default "1MiB";
        /// Most bytes of outputs that are kept in the work directory: what tasks of this executor wrote and what they fetched. What was not used for longest goes first.
        pub local_quota: ByteSize = "CNE_LOCAL_QUOTA" default "8GiB";
        /// An output of a task of at most so many bytes is stored in its commit record: one request writes it, and one reads it. At most 1 MiB.
        pub inline_bytes: ByteSize = "CNE_INLINE_BYTES" default "16KiB";
        /// Directory for spilled data and kept outputs. Each process has a folder `tasks-<pid>-*` in it, which it keeps locked, and removes those that dead processes left. By default
        /// `comet-executor` in the system's temporary directory.
        pub work_dir: Option<PathBuf> = "CNE_WORK_DIR";
        /// Tasks that run at the same time. By default the number of cores that the process may use, also by its container's CPU limit.
        pub task_slots: Option<NonZeroUsize> = "CNE_TASK_SLOTS";
        /// Memory for the data of all tasks together; each slot gets an equal part. By default a share of the container's memory limit (operations.md), and 2GiB without one. A value that leaves too little of the limit for everything else is refused.
        pub memory_bytes: Option<ByteSize> = "CNE_MEMORY_BYTES";
        /// Most bytes that all tasks together spill to the work directory.
        pub spill_quota: ByteSize = "CNE_SPILL_QUOTA" default "16GiB";
        /// How long the executor may take to end after SIGTERM. Tasks that are not done when ten seconds of it (a quarter of a short one) are left are handed back and start elsewhere. Shorter than the time after which the process is killed (Kubernetes: `terminationGracePeriodSeconds`).
        pub drain_grace: Duration = "CNE_DRAIN_GRACE" default "110s";
        /// How shuffle and result data is compressed.
        pub shuffle_compression: ShuffleCompression = "CNE_SHUFFLE_COMPRESSION" default "lz4";
        /// What is logged: error, warn, info, debug or trace, also per module (`info,cne_executor=debug`).
        pub log_level: String = "CNE_LOG_LEVEL" default "info";
        /// How log lines are written. In JSON each has its fields by name (query, stage, partition, attempt), for a log store.
        pub log_format: LogFormat = "CNE_LOG_FORMAT" default "text";
    }

    fn validate(&self) -> Result<(), SettingsError> {
        let tls = self.security().check(&self.flight_address.host)?;
        let allowed = self.allow_plaintext || tls;
        plaintext("CNE_EXECUTOR_FLIGHT_ADDRESS", &self.flight_address.host, allowed)?;
        plaintext("CNE_EXECUTOR_GRPC_ADDRESS", &self.grpc_address.host, allowed)?;
        plaintext("CNE_EXECUTOR_HTTP_ADDRESS", &self.http_address.host, allowed)?;
        plaintext("CNE_SCHEDULER_ADDRESS", &self.scheduler_address.host, allowed)?;
        match &self.host {
            Some(host) => plaintext("CNE_HOST", host, allowed),
            None => Ok(()),
        }
    }
}

// A pattern or a bare `4.1` would look as if it accepted every patch version, and would match none.
fn spark_versions(versions: &[String]) -> Result<(), SettingsError> {
    let exact = |version: &str| {
        let numbers = version.split(|c: char| !c.is_ascii_digit() && c != '.').next();
        let three = numbers.is_some_and(|n| n.split('.').filter(|part| !part.is_empty()).count() >= 3);
        three
            && version
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".-_+".contains(c))
    };
    match versions.iter().find(|version| !exact(version)) {
        None => Ok(()),
        Some(version) => Err(SettingsError::Invalid {
            origin: "CNE_ACCEPTED_SPARK_VERSIONS".to_owned(),
            expected: "exact versions such as 4.1.1-amzn-0",
            value: Some(version.clone()),
        }),
    }
}

/// The settings of both binaries by which they know each other and drivers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// CNE_TLS_CERT.
    pub cert: Option<PathBuf>,
    /// CNE_TLS_KEY.
    pub key: Option<PathBuf>,
    /// CNE_TLS_CA.
    pub ca: Option<PathBuf>,
    /// CNE_TLS_CLIENT_CA.
    pub client_ca: Option<PathBuf>,
    /// CNE_TLS_SERVER_NAME.
    pub server_name: Option<String>,
    /// CNE_TENANTS_FILE.
    pub tenants_file: Option<PathBuf>,
}

impl Security {
    /// Whether TLS is on. `host` is the one that drivers connect to.
    fn check(&self, host: &str) -> Result<bool, SettingsError> {
        let tls = match (&self.cert, &self.key, &self.ca) {
            (Some(_), Some(_), Some(_)) => true,
            (None, None, None) => false,
            _ => {
                return Err(SettingsError::Contradiction(
                    "CNE_TLS_CERT, CNE_TLS_KEY and CNE_TLS_CA belong together: set all of them or none",
                ));
            }
        };
        if !tls && (self.client_ca.is_some() || self.server_name.is_some()) {
            return Err(SettingsError::Contradiction(
                "CNE_TLS_CLIENT_CA and CNE_TLS_SERVER_NAME need CNE_TLS_CERT, CNE_TLS_KEY and CNE_TLS_CA",
            ));
        }
        if tls && self.client_ca.is_none() && self.tenants_file.is_none() && !is_loopback(host) {
            return Err(SettingsError::Contradiction(
                "beyond loopback drivers have to say who they are: set CNE_TENANTS_FILE, CNE_TLS_CLIENT_CA or both",
            ));
        }
        Ok(tls)
    }
}

macro_rules! security {
    ($($settings:ident)*) => {$(
        impl $settings {
            /// What connections are secured with.
            pub fn security(&self) -> Security {
                Security {
                    cert: self.tls_cert.clone(),
                    key: self.tls_key.clone(),
                    ca: self.tls_ca.clone(),
                    client_ca: self.tls_client_ca.clone(),
                    server_name: self.tls_server_name.clone(),
                    tenants_file: self.tenants_file.clone(),
                }
            }
        }
    )*};
}
security!(SchedulerSettings ExecutorSettings);

fn plaintext(env: &'static str, host: &str, allowed: bool) -> Result<(), SettingsError> {
    if allowed || is_loopback(host) {
        Ok(())
    } else {
        Err(SettingsError::Plaintext {
            env,
            host: host.to_owned(),
        })
    }
}
