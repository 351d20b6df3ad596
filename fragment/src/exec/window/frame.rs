use std::ops::Range;
use std::sync::Arc;

use datafusion::common::Result;

use super::chunk::Chunk;
use super::values::{ValueBound, of_values};

/// What a frame counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Rows,
    /// Rows with equal ORDER BY keys are one.
    Range,
}

/// An end of a frame.
#[derive(Debug, Clone)]
pub(crate) enum Bound {
    /// The end of the group on this side.
    Unbounded,
    CurrentRow,
    /// So many rows from the current one: before it when negative. Of rows only.
    Offset(i64),
    /// The rows whose ORDER BY key is so far from the current one. Of ranges only.
    Value(Arc<ValueBound>),
}

impl Bound {
    fn is_unbounded(&self) -> bool {
        matches!(self, Self::Unbounded)
    }

    fn is_value(&self) -> bool {
        matches!(self, Self::Value(_))
    }
}

/// Which rows around the current one a function sees.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) unit: Unit,
    pub(crate) lower: Bound,
    pub(crate) upper: Bound,
}

impl Frame {
    /// Whether every row of a group sees the whole group.
    pub(super) fn is_whole_group(&self) -> bool {
        self.lower.is_unbounded() && self.upper.is_unbounded()
    }

    /// The frame of each row. The error is Spark's, where the key and an offset overflow.
    pub(super) fn of_rows(&self, chunk: &Chunk) -> Result<Vec<Range<usize>>> {
        match self.lower.is_value() || self.upper.is_value() {
            true => of_values(&self.lower, &self.upper, chunk),
            false => Ok(self.of_positions(chunk)),
        }
    }

    fn of_positions(&self, chunk: &Chunk) -> Vec<Range<usize>> {
        let mut frames = Vec::with_capacity(chunk.batch.num_rows());
        let mut peers = chunk.peers.iter();
        let mut peer = 0..0;
        for group in &chunk.groups {
            for row in group.clone() {
                if row >= peer.end
                    && let Some(next) = peers.next()
                {
                    peer = next.clone();
                }
                let start = match (&self.lower, self.unit) {
                    (Bound::Unbounded, _) => group.start,
                    (Bound::CurrentRow, Unit::Rows) => row,
                    (Bound::Offset(offset), _) => moved(row, *offset, group),
                    (Bound::CurrentRow | Bound::Value(_), _) => peer.start,
                };
                let end = match (&self.upper, self.unit) {
                    (Bound::Unbounded, _) => group.end,
                    (Bound::CurrentRow, Unit::Rows) => row + 1,
                    (Bound::Offset(offset), _) => moved(row, offset.saturating_add(1), group),
                    (Bound::CurrentRow | Bound::Value(_), _) => peer.end,
                };
                frames.push(start..end.max(start));
            }
        }
        frames
    }
}

/// `row + offset`, within the group or its end.
fn moved(row: usize, offset: i64, group: &Range<usize>) -> usize {
    let distance = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let moved = match offset < 0 {
        true => row.saturating_sub(distance),
        false => row.saturating_add(distance),
    };
    moved.clamp(group.start, group.end)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, RecordBatch};

    use super::*;

    fn chunk(groups: Vec<Range<usize>>, peers: Vec<Range<usize>>) -> Chunk {
        let rows = groups.last().map_or(0, |last| last.end) as i64;
        let column = Arc::new(Int64Array::from_iter_values(0..rows)) as _;
        Chunk {
            batch: RecordBatch::try_from_iter([("a", column)]).unwrap(),
            groups,
            peers,
        }
    }

    #[test]
    fn frames_stay_in_their_group() {
        let chunk = chunk(vec![0..3, 3..5], vec![0..2, 2..3, 3..5]);
        let frames = |unit, lower, upper| Frame { unit, lower, upper }.of_rows(&chunk).unwrap();
        assert_eq!(
            frames(Unit::Rows, Bound::Offset(-1), Bound::Offset(1)),
            [0..2, 0..3, 1..3, 3..5, 3..5]
        );
        assert_eq!(
            frames(Unit::Rows, Bound::Offset(1), Bound::Offset(2)),
            [1..3, 2..3, 3..3, 4..5, 5..5]
        );
        assert_eq!(
            frames(Unit::Rows, Bound::Offset(i64::MIN), Bound::Offset(i64::MAX)),
            [0..3, 0..3, 0..3, 3..5, 3..5]
        );
        assert_eq!(
            frames(Unit::Rows, Bound::Offset(-3), Bound::Offset(-2)),
            [0..0, 0..0, 0..1, 3..3, 3..3]
        );
        assert_eq!(
            frames(Unit::Range, Bound::Unbounded, Bound::CurrentRow),
            [0..2, 0..2, 0..3, 3..5, 3..5]
        );
        assert_eq!(
            frames(Unit::Range, Bound::CurrentRow, Bound::Unbounded),
            [0..3, 0..3, 2..3, 3..5, 3..5]
        );
    }
}
