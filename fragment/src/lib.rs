//! A Comet `Operator` block as a one-partition DataFusion plan.
//!
//! * [`validate`] plans a block without any data and reports everything in it that cannot be executed; the scheduler calls it at submission.
//! * [`CometFragmentExec`] is the node that carries a block through a distributed plan. Each of its partitions plans the block anew, on a
//!   blocking thread, from its row of the [`descriptor`], and runs it. The dry plan and the real one come from the same planner.
//! * [`plan_partitioning`] turns the message of an exchange into key expressions.
//!
//! Inside a block every plan has one partition and every node gives its columns names that are unique in the block (`n<node>_<column>`):
//! DataFusion moves dynamic filters and projections by name. Outside, columns are `col_<i>`: only position counts.

pub mod descriptor;
mod error;
mod exec;
pub mod expr;
mod hash_joins;
mod optimize;
mod partitioning;
mod plan;
mod properties;
pub mod scan;
mod types;
pub mod validate;

pub use error::FragmentError;
pub use exec::{Cancellable, CometFragmentExec, JobInputs, SharedInputs, TaskCancellation};
pub use hash_joins::HashJoinBudget;
pub use partitioning::{ExchangePartitioning, plan_partitioning};
pub use properties::{sorted_properties, unordered_properties};
pub use types::arrow_type;
pub use validate::{ValidatedBlock, validate_block};

#[cfg(test)]
mod tests;
