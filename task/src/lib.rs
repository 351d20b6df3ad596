//! What scheduler and executors agree on through Ballista: the physical codec, the session's options, the exchange node, task failures as
//! text, error codes, tickets. Nothing here schedules or executes.

pub mod blocks;
pub mod codec;
pub mod codes;
pub mod exchange;
pub mod failure;
pub mod merge;
pub mod options;
pub mod scope;
pub mod ticket;

pub use blocks::{Blocks, UnknownBlock};
pub use codec::CometCodec;
pub use exchange::ExchangeExec;
pub use merge::SortedMergeExec;
pub use options::{GRPC_MESSAGE_BYTES, QueryOptions, changed_settings, session_config};
pub use scope::{TaskIdentity, TaskScope};

/// The pseudo executor to which the scheduler attributes every successful task: it stands for the object store, is always registered, and
/// never dies, so that the loss of a real executor takes no finished work along.
pub const OBJECT_STORE_EXECUTOR_ID: &str = "comet-object-store";
