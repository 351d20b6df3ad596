//! `comet-executor`: runs the tasks of a pool and serves its results. Keeps nothing that a successor cannot read from the object store.
//!
//! * [`engine`] is the execution engine that Ballista calls for each task: it replaces Ballista's shuffle readers and writers by ours.
//! * [`flight`] serves committed results over Arrow Flight, by signed ticket.
//! * [`runtime`] gives each task its memory, its spill files and the object stores it may read.
//! * [`process`] puts them together: registration, heartbeats, drain.

mod cancel;
mod distribute;
pub mod engine;
mod failure;
pub mod flight;
pub mod options;
pub mod process;
mod reader;
pub mod runtime;
mod totals;

pub use options::Options;
pub use process::{ExecutorError, run};
pub use totals::Totals;
