//! `comet-scheduler`: takes queries over Arrow Flight, checks and plans them, and has them run by an embedded Ballista scheduler.
//!
//! [`flight`] is what drivers call, [`check`] and [`graph`] turn a request into a plan, [`query`] is the life of a query, [`pool`] is Ballista
//! and what executors call, [`counters`] say what has happened, [`demand`] says how many executors there should be and [`scaler`] tells KEDA, [`service`] puts them together. No storage and no credentials here.

pub mod check;
pub mod counters;
pub mod demand;
pub mod error;
pub mod flight;
pub mod graph;
pub mod options;
pub mod pool;
pub mod query;
pub mod reports;
pub mod scaler;
pub mod service;

pub use error::Failure;
pub use options::Options;
pub use service::{Handle, ServiceError, start};
