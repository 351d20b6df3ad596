//! How an expression behaves where Spark could raise.

/// Spark's `EvalMode`: what happens on overflow, division by zero and malformed input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EvalMode {
    /// `spark.sql.ansi.enabled=false`: integers wrap, the rest becomes NULL.
    Legacy,
    /// The `try_` functions: NULL.
    Try,
    /// Spark 4's default: an error.
    Ansi,
}

impl EvalMode {
    /// Whether a value without an answer is an error.
    #[must_use]
    pub fn fails(self) -> bool {
        self == Self::Ansi
    }
}
