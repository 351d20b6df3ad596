//! What the pool executes as Spark does, and the proof of it. Test code: nothing of it is in a binary of the pool.
//!
//! * `cases/` are SQL cases, run on a pool and judged by plain Spark (`tests/e2e/cne_e2e/semantics.py`); requests of those that ended equal are
//!   captured.
//! * [`inventory`] says what a captured request uses: `evidence.txt` is that of all cases.
//! * [`compatibility`] writes `docs/compatibility.md`: the whole contract ([`contract`]), what the planner says of each part, and whether a case
//!   proves it.
//! * [`in_process`] runs a captured request without pool and JVM; [`corpus`] does it for the requests, files and answers below `corpus/`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

pub mod compatibility;
pub mod contract;
pub mod corpus;
pub mod in_process;
pub mod inventory;
pub mod message;
pub mod probe;
