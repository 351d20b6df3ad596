//! Variables of the project's scripts and tests, for the documentation; the binaries let them pass.

/// Name and meaning.
pub(crate) const TOOL_VARIABLES: &[(&str, &str)] = &[
    (
        "CNE_CACHE",
        "Directory of everything that the scripts download, generate and build; `~/.cache/cne` by default.",
    ),
    (
        "CNE_PROFILE",
        "Which build of the binaries is used: `debug` (default) or `release`.",
    ),
    (
        "CNE_DRIVER_JAR",
        "The driver jar to test instead of the one in `driver/target`.",
    ),
    (
        "CNE_DRIVER_MEMORY",
        "Memory of the Spark drivers that tests start; `2g` by default.",
    ),
    (
        "CNE_SPARK_LOG",
        "Log level of the Spark drivers that tests start; `ERROR` by default.",
    ),
    (
        "CNE_POOL_START_SECONDS",
        "How long tests wait for a pool to start; 60 by default.",
    ),
    (
        "CNE_CAPTURES",
        "Directory of captured requests that the replay test runs; set by `just replay`.",
    ),
    (
        "CNE_TEST_S3_URL",
        "Bucket and prefix for the storage tests that need an S3 server; set by `just test-s3`.",
    ),
    ("CNE_ROOT", "Set by the scripts themselves: the checkout."),
    (
        "CNE_VENV",
        "Set by the scripts themselves: the Python environment.",
    ),
    (
        "CNE_COMET_JAR",
        "Set by the scripts themselves: the released Comet jar.",
    ),
    (
        "CNE_COMET_VERSION",
        "Set by the scripts themselves: the version of that jar.",
    ),
    (
        "CNE_SPARK_TESTS_JAR",
        "Set by the scripts themselves: the jar of Spark's own SQL tests.",
    ),
    (
        "CNE_SPARK_VERSION",
        "Set by the scripts themselves: the version of Spark.",
    ),
];
