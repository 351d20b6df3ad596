//! Strict decoding: bytes are accepted only when every one of them means something to us.
//!
//! prost skips unknown fields, keeps unknown enum values, and takes the last of two members of a oneof: a plan from a newer
//! Comet would then run with another meaning. So a walk over the bytes comes first ([`check`]), with limits on size, nesting and number of values,
//! and prost decodes only what passed it. Bytes fields that hold messages (a block's `operator`) are opaque to the walk: whoever
//! opens one calls [`decode_strict`] again.

use bytes::Bytes;
use prost::Message;

use crate::{schema::Schema, walk::walk};

/// Bounds on what is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole message.
    pub bytes: usize,
    /// Messages inside each other; the outermost is 1.
    pub depth: usize,
    /// Messages, strings and byte fields in all. They bound the memory that a few bytes can ask for.
    pub values: usize,
}

impl Default for Limits {
    /// 64 MiB, 2000 levels, two million values.
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            depth: 2000,
            values: 2_000_000,
        }
    }
}

/// Why bytes are not a message of ours. `path` is made of field names from the outermost message, e.g. "cne.v1.QueryRequest/stages/block".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    #[error("{size} bytes are more than the limit of {limit}")]
    TooLarge { size: usize, limit: usize },
    #[error("messages are nested deeper than {limit} levels at {path}")]
    TooDeep { limit: usize, path: String },
    #[error("more than {limit} values")]
    TooManyValues { limit: usize },
    #[error("unknown field {number} in {message} at {path}")]
    UnknownField {
        message: String,
        number: u32,
        path: String,
    },
    #[error("field {field} of {message} has wire type {found} at {path}")]
    WrongWireType {
        message: String,
        field: String,
        found: u8,
        path: String,
    },
    #[error("unknown value {value} for field {field} of {message} at {path}")]
    UnknownEnumValue {
        message: String,
        field: String,
        value: i64,
        path: String,
    },
    #[error("value of field {field} of {message} is out of range at {path}")]
    OutOfRange {
        message: String,
        field: String,
        path: String,
    },
    #[error(
        "field {field} of {message} is given twice, or another member of its oneof is given too, at {path}"
    )]
    Conflict {
        message: String,
        field: String,
        path: String,
    },
    #[error("field {field} of {message} is not UTF-8 at {path}")]
    InvalidUtf8 {
        message: String,
        field: String,
        path: String,
    },
    #[error("truncated or malformed at byte {offset} in {message} at {path}")]
    Malformed {
        message: String,
        offset: usize,
        path: String,
    },
    #[error("there is no message {0}")]
    UnknownMessage(String),
    /// prost refuses what the walk accepted.
    #[error("cannot decode {message}")]
    Prost {
        message: String,
        source: prost::DecodeError,
    },
}

/// Checks that `bytes` are a message `name` (full name, e.g. "cne.v1.QueryRequest") within `limits`; gives its number of levels.
///
/// Needs no stack for nesting.
pub fn check(bytes: &[u8], name: &str, limits: &Limits) -> Result<usize, DecodeError> {
    let schema = Schema::get();
    let root = schema
        .index_of(name)
        .ok_or_else(|| DecodeError::UnknownMessage(name.to_owned()))?;
    walk(schema, root, bytes, limits)
}

/// Decodes a message `name` (full name of `M`, e.g. "spark.spark_operator.Operator") after [`check`].
pub fn decode_strict<M: Message + Default>(
    bytes: &[u8],
    name: &str,
    limits: &Limits,
) -> Result<M, DecodeError> {
    let depth = check(bytes, name, limits)?;
    decode_checked(bytes, name, depth)
}

/// Like [`decode_strict`]; byte fields of the result share the memory of `bytes`.
pub fn decode_strict_shared<M: Message + Default>(
    bytes: &Bytes,
    name: &str,
    limits: &Limits,
) -> Result<M, DecodeError> {
    let depth = check(bytes, name, limits)?;
    decode_checked(bytes.clone(), name, depth)
}

fn decode_checked<M: Message + Default>(
    bytes: impl bytes::Buf,
    name: &str,
    depth: usize,
) -> Result<M, DecodeError> {
    with_stack_for(depth, || M::decode(bytes)).map_err(|source| DecodeError::Prost {
        message: name.to_owned(),
        source,
    })
}

/// Stack that one level of nesting may use: prost needs 3 to 4 KiB in a debug build (measured), a planner more.
const STACK_PER_LEVEL: usize = 16 << 10;
/// What every call may use beside that.
const STACK_BASE: usize = 256 << 10;

/// Runs `work`, which recurses once per level of a message of `depth` levels, on a stack that is large enough: 16 KiB per level.
///
/// Plans are trees of boxes: besides decoding, also dropping, cloning and printing them recurse.
pub fn with_stack_for<R>(depth: usize, work: impl FnOnce() -> R) -> R {
    let need = STACK_BASE.saturating_add(depth.saturating_mul(STACK_PER_LEVEL));
    stacker::maybe_grow(need, need, work)
}
