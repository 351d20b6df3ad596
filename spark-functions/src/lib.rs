//! Spark 4.1's semantics as DataFusion physical expressions and aggregate functions.
//!
//! Nothing here knows a wire format: every constructor takes plain arguments, so that any DataFusion project can use it. What is not
//! exact is refused with [`Unsupported`], never approximated. Errors that Spark raises are [`SparkError`]s inside
//! `DataFusionError::External`; [`find_spark_error`] finds them again in any chain.

pub mod aggregates;
pub mod arithmetic;
pub mod cast;
pub mod compare;
pub mod datetime;
pub mod decimal;
pub mod error;
pub mod eval_mode;
pub mod functions;
pub mod hash;
pub mod logic;
pub mod random;
pub mod regex;
pub mod strings;
pub mod temporal;
pub mod truncate;
pub mod types;

mod arrays;
mod bits;
mod decimal_binary;
mod encode;
mod fdlibm;
mod lists;
mod math;
mod negate;
mod numeric;
mod order;
mod row;
mod text;
mod time;
mod vector;

#[cfg(test)]
mod golden;

pub use error::{QueryContext, SparkError, SparkErrorKind, Unsupported, find_spark_error};
pub use eval_mode::EvalMode;
