//! The wire: Comet 1.2.0's contract and the pool's own messages, as prost types, with the schema fingerprint and strict decoding.
//! No logic beyond that.

#[allow(missing_docs, clippy::all, rustdoc::all)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/modules.rs"));
}

pub use generated::cne::v1;
pub use generated::spark::{spark_config, spark_expression, spark_metric, spark_operator, spark_partitioning};
