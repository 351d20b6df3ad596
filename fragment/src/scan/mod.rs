//! Parquet scans: Comet's `NativeScan` as a one-partition `DataSourceExec`.
//!
//! * [`check_scan`] says at submission what cannot be read, without touching a file.
//! * [`scan_output_schema`] is what a consumer of the scan sees.
//! * [`plan_scan`] plans one partition's files. Object stores and the footer cache come from the task's runtime environment.
//!
//! Files are matched to Spark's schema by an adapter per file (names, field ids, missing columns, widening). What Spark would read
//! differently (a calendar rebase, an illegal type pair) is a [`ScanError`] that names the file, never another value.

mod adapter;
mod align;
mod align_expr;
mod calendar;
mod check;
mod error;
mod leaf;
mod leaves;
mod location;
mod plan;
mod pruning;
mod reader;
mod types;

pub use check::{ScanRejection, check_file, check_scan};
pub use error::{MismatchKind, ScanError};
pub use plan::{ScanContext, plan_scan, scan_output_schema};
pub(crate) use types::text_columns;

#[cfg(test)]
mod tests;
