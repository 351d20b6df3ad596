//! `comet-executor`: runs the tasks of a pool and serves its results. Keeps nothing that a successor cannot read from the object store.
//!
//! * [`engine`] is the execution engine that Ballista calls for each task: it replaces Ballista's shuffle readers and writers by ours.
//! * [`flight`] serves committed results over Arrow Flight, by signed ticket.
//! * [`runtime`] gives each task its memory, its spill files and the object stores it may read.
//! * `service` takes tasks from the scheduler, `link` reports to it; [`process`] puts everything together and drains it at the end.

mod client_types;
mod distribute;
mod drain;
pub mod engine;
mod failure;
pub mod flight;
mod jobs;
mod link;
mod membership;
mod memory;
mod merge;
pub mod options;
mod peers;
pub mod process;
mod reader;
pub mod runtime;
mod service;
mod sizing;
mod totals;
mod work_dir;

pub use options::Options;
pub use process::{ExecutorError, run};
pub use sizing::SizingError;
pub use totals::Totals;

#[cfg(test)]
mod tests;
