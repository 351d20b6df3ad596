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
        doc: "Whether queries of this session run on the pool.",
    },
    DriverSetting {
        key: "spark.comet.nativeExecutors.scheduler.url",
        type_name: "URL",
        default: "grpc://127.0.0.1:50050",
        doc: "The scheduler's Flight address.",
    },
];
