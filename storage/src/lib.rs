//! Object stores, and the outputs of tasks in them.
//!
//! One map task writes one immutable data object and publishes it by one conditional create of a commit record: the first attempt wins,
//! a later one deletes its own data and learns who won. Each generation of a query (it starts again when outputs were lost) has records of
//! its own; one found of an earlier attempt or generation is used when what it was made from is still what is there. A local directory and S3
//! are one code path (`object_store`).
//!
//! * [`ShuffleStore`] is the entrance: [`ShuffleStore::writer`], [`ShuffleStore::record`], [`ShuffleStore::read`], deletion.
//! * [`ShuffleWriter`] gathers rows per bucket within the task's memory pool and spills through the task's disk manager.
//! * [`open_store`] turns a storage URL into a store and a prefix.
//! * [`ClientOptions`] and [`Buckets`] say how buckets are reached; [`Clients`] are those of the process, one per bucket, each with the identity of
//!   `cne-identity` that its bucket wants.
//! * [`ExecutorObjectStores`] is the registry that scans read through: `file:` under configured roots, S3 per bucket, nothing else.
//!
//! Results are map outputs with one bucket.

mod behind;
mod buckets;
mod cache;
mod checksum;
mod clients;
mod counts;
mod delete;
mod encode;
mod error;
mod gather;
mod kept;
mod key;
mod local;
mod open;
mod output;
mod partition;
mod peers;
mod reader;
mod registry;
mod renewed;
mod retry;
mod rooted;
mod source;
mod spill;
mod store;
mod sweep;
mod upload;
mod windows;
mod writer;

pub use buckets::{BucketSettings, Buckets, BucketsError};
pub use clients::{ClientOptions, Clients};
pub use cne_identity::{IdentityCounts, IdentityError};
pub use counts::{Outcome, RequestCount, RequestCounts, Verb};
pub use encode::Compression;
pub use error::StoreError;
pub use kept::Publication;
pub use key::{MapOutput, MapOutputId, OutputVersion, TaskAttempt};
pub use local::{LocalParts, LocalUsage};
pub use open::open_store;
pub use output::Durability;
pub use partition::{PartitionedBatch, partition_batch};
pub use peers::{PeerError, Peers};
pub use registry::{AccessError, ExecutorObjectStores};
pub use retry::RetryPolicy;
pub use store::{Committed, ShuffleStore, StoredRecord};
pub use sweep::Swept;
pub use writer::{ShuffleWriter, WriterOptions};

#[cfg(test)]
mod behind_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod inline_tests;
#[cfg(test)]
mod local_tests;
#[cfg(test)]
mod race_tests;
#[cfg(test)]
mod tests;
