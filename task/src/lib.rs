//! What scheduler and executors agree on through Ballista: the physical codec, the session's options, the exchange node, task failures as
//! text, error codes, tickets. Nothing here schedules or executes.

pub mod blocks;
pub mod codec;
pub mod codes;
pub mod exchange;
pub mod failure;
pub mod location;
pub mod merge;
pub mod options;
pub mod reports;
pub mod scope;
pub mod ticket;

pub use blocks::{Blocks, UnknownBlock};
pub use codec::CometCodec;
pub use exchange::ExchangeExec;
pub use location::OutputLocation;
pub use merge::SortedMergeExec;
pub use options::{Durability, GRPC_MESSAGE_BYTES, QueryOptions, changed_settings, session_config};
pub use scope::{LaunchedTask, TaskIdentity, TaskScope};

/// The scheduler attributes every successful task to a pseudo executor, which stands for what the task has stored: it is always registered and
/// never dies, so that the loss of a real executor takes no finished work along. This one for no executor in particular.
pub const KEPT_OUTPUTS: &str = "kept:";

/// The pseudo executor for what `executor_id` has stored. Its host and port are those of the executor.
#[must_use]
pub fn kept_outputs_of(executor_id: &str) -> String {
    format!("{KEPT_OUTPUTS}{executor_id}")
}
