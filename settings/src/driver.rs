//! The settings of the JVM side, for the documentation only: Spark reads them.

/// One Spark setting of the driver.
#[derive(Clone, Copy, Debug)]
pub struct DriverSetting {
    /// Spark's key.
    pub key: &'static str,
    /// How a value is written.
    pub type_name: &'static str,
    /// As text; empty = none.
    pub default: &'static str,
    /// What it is for.
    pub doc: &'static str,
}

/// Every `spark.comet.nativeExecutors.*` key.
pub const DRIVER_SETTINGS: &[DriverSetting] = &[
    DriverSetting {
        key: "spark.comet.nativeExecutors.enabled",
        type_name: "true or false",
        default: "false",
        doc: "Whether queries of this session run on the pool. May be changed while the session lives.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.scheduler.url",
        type_name: "grpc://host:port or grpc+tls://host:port",
        default: "grpc://127.0.0.1:50050",
        doc: "The scheduler's Flight address. Without TLS, loopback only.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.tls.ca",
        type_name: "a file",
        default: "",
        doc: "Certificates (PEM) of the authorities that sign the pool's; those that the JVM trusts when it is not set. An absolute path, or the name of a file that `spark.files` ships.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.tls.cert",
        type_name: "a file",
        default: "",
        doc: "Certificate chain (PEM) that the application shows to the pool, together with `spark.comet.nativeExecutors.tls.key`. An absolute path, or the name of a file that `spark.files` ships.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.tls.key",
        type_name: "a file",
        default: "",
        doc: "Private key of `spark.comet.nativeExecutors.tls.cert` (PEM, PKCS#8, not encrypted). An absolute path, or the name of a file that `spark.files` ships.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.tls.serverName",
        type_name: "a host name",
        default: "",
        doc: "The name that certificates of the pool must have, in the place of the host that is connected to: for executors that are reached by their IP addresses.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.auth.tokenFile",
        type_name: "a file",
        default: "",
        doc: "A file with the bearer token that names the application's tenant. It is read again for each call, so that a new token in it counts at once. An absolute path, or the name of a file that `spark.files` ships.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.allowPlaintext",
        type_name: "true or false",
        default: "false",
        doc: "Whether addresses that are not loopback may be reached without TLS: everybody on the way reads queries, rows and the token.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.deadline",
        type_name: "a duration such as 30s or 2h",
        default: "0",
        doc: "How long one query may take on the pool, counted from its acceptance. 0 leaves it to the scheduler's own limit.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.scheduler.timeout",
        type_name: "a duration such as 10s",
        default: "10s",
        doc: "How long the driver keeps trying while the scheduler does not answer at all, before the query fails.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.recoveryTimeout",
        type_name: "a duration such as 2m",
        default: "2m",
        doc: "How long an accepted query waits for a scheduler that is started again, and a reader of its rows for an executor that serves them.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.sparkExecutorTimeout",
        type_name: "a duration such as 5m",
        default: "5m",
        doc: "How long a query waits while the Spark application has no executor; then it fails. Not for `local[N]`, where the driver is the executor.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.result.rowsPerTask",
        type_name: "a positive number",
        default: "100000",
        doc: "About how many rows of a collected result one Spark task of the driver reads.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.result.inlineRows",
        type_name: "a number",
        default: "1000",
        doc: "Up to how many rows of a collected result are read by the Spark task that waits for the query, without a second job.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.captureDir",
        type_name: "a directory",
        default: "",
        doc: "When set, the bytes of every request are also written there, as <number>-<description>.pb; for bug reports.",
    },
];
