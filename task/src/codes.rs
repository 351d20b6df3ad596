//! Every error code of the pool. docs/errors.md has one line for each, kept equal by a test.

/// A stable error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// "CNE-nnnn".
    pub code: &'static str,
    /// One line for the documentation.
    pub summary: &'static str,
    /// Whether the same request may succeed when it is sent again.
    pub retryable: bool,
}

macro_rules! codes {
    ($($name:ident = $code:literal, $retryable:literal, $summary:literal;)*) => {
        $(#[doc = $summary] pub const $name: Code = Code { code: $code, summary: $summary, retryable: $retryable };)*
        /// Every code, in ascending order.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    COMET_VERSION = "CNE-1001", false, "The driver's Comet version is not the one the pool was built for.";
    FINGERPRINT = "CNE-1002", false, "The driver's Comet messages differ from the pool's (schema fingerprint).";
    SPARK_VERSION = "CNE-1003", false, "The pool does not know the driver's Spark version.";
    CONFIG_KEY = "CNE-1004", false, "The request carries a setting that the pool does not read, or a value that it cannot have.";
    TOO_LARGE = "CNE-1005", false, "The request is larger than the pool accepts.";
    UNKNOWN_FIELD = "CNE-1006", false, "The request has a field that the pool does not know.";
    TOO_DEEP = "CNE-1007", false, "The request is nested deeper than the pool accepts.";
    MALFORMED = "CNE-1008", false, "The request cannot be read: truncated, not protobuf, or a required part is missing.";
    STAGE_GRAPH = "CNE-1009", false, "The stage graph makes no sense: a cycle, a missing producer, or an edge that does not fit its stages.";
    SECRET = "CNE-1010", false, "The request carries a credential or an endpoint.";
    FILE_ROOT = "CNE-1011", false, "A path lies outside the roots that may be read.";
    NOT_EXECUTED = "CNE-1012", false, "The plan has parts that the pool does not execute; each is named.";
    NOT_SERVED = "CNE-1013", false, "The call or action is not served by this part of the pool.";
    UNKNOWN_QUERY = "CNE-1014", false, "No query has this id, or it has been forgotten.";
    QUERY_ID_TAKEN = "CNE-1015", false, "Another request was submitted under the same query id.";
    BUSY = "CNE-1016", true, "The pool already holds as many queries as it accepts.";
    PREFIX = "CNE-1017", false, "A path lies outside what the tenant may read (`prefixes` in CNE_TENANTS_FILE).";
    SPARK_ERROR = "CNE-2001", false, "Spark's own error, raised by the data (division by zero, overflow, invalid cast and others).";
    TASK_FAILED = "CNE-2002", false, "A task failed for a reason without a code of its own.";
    FILE_MISSING = "CNE-2003", false, "A data file does not exist.";
    FILE_CORRUPT = "CNE-2004", false, "A data file is empty, damaged, not Parquet, or not the one that was listed.";
    OUT_OF_MEMORY = "CNE-2005", true, "A task needed more memory than it may use.";
    DISK_FULL = "CNE-2006", true, "The executor's work directory is full.";
    STORAGE = "CNE-2007", true, "The object store failed.";
    OUTPUT_LOST = "CNE-2008", true, "The output of an earlier stage is gone.";
    TASK_CANCELLED = "CNE-2009", true, "A task was stopped before its end.";
    PLANNING_DIFFERS = "CNE-2010", false, "An executor could not plan what the scheduler accepted (versions differ?).";
    ACCESS_DENIED = "CNE-2011", false, "The executor's identity may not read a file.";
    RESULT_TOO_LARGE = "CNE-2012", false, "One row or batch is larger than can be sent.";
    FILE_CONTENT = "CNE-2013", false, "A data file holds what is not read as Spark would: a column of another type, an ambiguous name, dates of the Julian calendar.";
    UNKNOWN_BLOCK = "CNE-2014", true, "An executor does not have the block that a task names; it is sent again.";
    TASK_WORN = "CNE-2015", true, "A task was started again and again, and its executors were lost each time.";
    IDENTITY = "CNE-2016", true, "An executor could not get credentials for the moment: the service that issues them is busy or away, or its token has expired.";
    IDENTITY_REFUSED = "CNE-2017", false, "An executor has no usable identity: its configuration, its token file, or the service that issues credentials said no.";
    CANCELLED = "CNE-3001", false, "The query was cancelled by the client.";
    DEADLINE = "CNE-3002", false, "The query took longer than its deadline.";
    NO_EXECUTORS = "CNE-3003", true, "No executor was there for longer than the configured wait.";
    CLIENT_GONE = "CNE-3004", false, "The client did not ask for the query any more, so it was cancelled.";
    STUCK = "CNE-3005", true, "The query made no progress although executors were free.";
    SHUTTING_DOWN = "CNE-3006", true, "The scheduler is shutting down.";
    RESULT_INCONSISTENT = "CNE-3007", true, "A result partition was reported twice or not at all; no row was given out.";
    INTERNAL = "CNE-3008", true, "The scheduler failed for a reason without a code of its own.";
    TICKET_FORGED = "CNE-4001", false, "The ticket is not one of the pool's.";
    TICKET_EXPIRED = "CNE-4002", false, "The ticket has expired.";
    TICKET_FOREIGN = "CNE-4003", false, "The ticket was issued for another pool.";
    RESULT_GONE = "CNE-4004", true, "The result is not stored any more.";
    NO_TENANT = "CNE-4005", false, "The call carries no token or client certificate that names a tenant.";
    TICKET_TENANT = "CNE-4006", false, "The ticket was issued to another tenant.";
    MEMBERS_ONLY = "CNE-4007", false, "Only members of the pool may ask this of each other.";
    UNREACHABLE = "CNE-5001", true, "Raised by the driver: the scheduler or an executor does not answer.";
    RESULT_SCHEMA = "CNE-5002", false, "Raised by the driver: the pool's result has other columns than the plan.";
    CONNECTION_SETTINGS = "CNE-5003", false, "Raised by the driver: its settings of connections to the pool cannot be used, or would send queries unprotected.";
    UNTRUSTED = "CNE-5004", false, "Raised by the driver: TLS with the pool fails, because a certificate is not trusted, has expired or has another name.";
    CALLER_UNKNOWN = "CNE-5005", false, "Raised by the driver: the pool does not accept the application's token or certificate.";
    NO_SPARK_EXECUTOR = "CNE-5006", true, "Raised by the driver: the Spark application has no executor that could wait for the query and read its rows.";
}

/// The entry of `code`, if it is one of the pool's.
pub fn lookup(code: &str) -> Option<Code> {
    ALL.iter().copied().find(|entry| entry.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> String {
        std::fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap_or_default()
    }

    #[test]
    fn unique_ordered_and_documented() {
        assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
        let rows: String = ALL
            .iter()
            .map(|c| {
                format!(
                    "| {} | {} | {} |\n",
                    c.code,
                    if c.retryable { "yes" } else { "no" },
                    c.summary
                )
            })
            .collect();
        let expected = format!(
            "# Error codes\n\nEvery error of the pool has one of these codes. Kept equal to `task/src/codes.rs` by a test.\n\n\
             | code | may succeed again | meaning |\n|---|---|---|\n{rows}"
        );
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/errors.md");
            std::fs::write(path, &expected).unwrap();
        }
        assert!(
            read("docs/errors.md") == expected,
            "docs/errors.md is stale: run `UPDATE_DOCS=1 cargo test -p cne-task` and commit it"
        );
    }

    #[test]
    fn the_driver_has_no_codes_of_its_own() {
        let driver = read("driver/src/main/scala/org/apache/comet/nativeexecutors/Errors.scala");
        let codes: Vec<_> = driver
            .split('"')
            .filter(|text| text.starts_with("CNE-") && text.len() == "CNE-nnnn".len())
            .collect();
        assert!(
            codes.contains(&UNREACHABLE.code) && codes.contains(&RESULT_SCHEMA.code),
            "{codes:?}"
        );
        for code in codes {
            assert!(lookup(code).is_some(), "{code}");
        }
    }
}
