//! The wire: Comet 1.2.0's contract and the pool's own messages, as prost types, with the schema fingerprint and strict decoding.
//! No logic beyond that.
//!
//! [`decode::decode_strict`] is the only way in for bytes that came over the network: prost alone drops what it does not know.

mod content;
pub mod decode;
mod fingerprint;
mod schema;
mod walk;

#[allow(missing_docs, unreachable_pub, clippy::all, rustdoc::all)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/modules.rs"));
}

pub use content::append_content;
pub use fingerprint::{schema_fingerprint, schema_lines};
pub use generated::cne::v1;
pub use generated::spark::{
    spark_config, spark_expression, spark_metric, spark_operator, spark_partitioning,
};

/// The only Comet version whose plans are accepted.
pub const COMET_VERSION: &str = "1.2.0";

/// Spark versions whose plans are accepted. Patch versions change answers (SPARK-54918), so each is listed only
/// after its answers were compared.
pub const SPARK_VERSIONS: &[&str] = &["4.1.3"];
