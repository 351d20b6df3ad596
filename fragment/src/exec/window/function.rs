use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, Int32Array, UInt32Array};
use arrow::compute::{concat, take};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;

use super::aggregate::WindowAggregate;
use super::chunk::Chunk;
use super::frame::Frame;

/// A function of Spark's that a window has.
#[derive(Debug, Clone)]
pub(crate) enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    /// Into so many buckets, at least one.
    Ntile(i32),
    Shift(Shift),
    NthValue(NthValue),
    Aggregate(WindowAggregate),
}

/// `lag` and `lead`.
#[derive(Debug, Clone)]
pub(crate) struct Shift {
    pub(crate) value: Arc<dyn PhysicalExpr>,
    /// Rows from the current one: before it when negative.
    pub(crate) offset: i64,
    /// Where there is no such row; of the value's type.
    pub(crate) default: ScalarValue,
    pub(crate) ignore_nulls: bool,
}

/// `nth_value`.
#[derive(Debug, Clone)]
pub(crate) struct NthValue {
    pub(crate) value: Arc<dyn PhysicalExpr>,
    /// From 1 on.
    pub(crate) number: usize,
    pub(crate) ignore_nulls: bool,
    pub(crate) frame: Frame,
}

impl WindowFunction {
    /// What it is computed from.
    pub(super) fn args(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        match self {
            Self::Shift(shift) => vec![&shift.value],
            Self::NthValue(nth) => vec![&nth.value],
            Self::Aggregate(aggregate) => aggregate.args.iter().collect(),
            _ => vec![],
        }
    }

    /// Its value in each row.
    pub(super) fn evaluate(&self, chunk: &Chunk, data_type: &DataType) -> Result<ArrayRef> {
        match self {
            Self::RowNumber => Ok(ints(chunk, |_, group, row| row - group.start + 1)),
            Self::Rank => Ok(ints(chunk, |peer, group, _| peer.start - group.start + 1)),
            Self::DenseRank => Ok(dense_rank(chunk)),
            Self::PercentRank => Ok(doubles(chunk, |peer, group| match group.len() {
                1 => 0.0,
                count => (peer.start - group.start) as f64 / (count - 1) as f64,
            })),
            Self::CumeDist => Ok(doubles(chunk, |peer, group| {
                (peer.end - group.start) as f64 / group.len() as f64
            })),
            Self::Ntile(buckets) => Ok(ints(chunk, |_, group, row| {
                bucket(row - group.start, group.len(), *buckets)
            })),
            Self::Shift(shift) => shift.evaluate(chunk),
            Self::NthValue(nth) => nth.evaluate(chunk),
            Self::Aggregate(aggregate) => aggregate.evaluate(chunk, data_type),
        }
    }
}

/// Calls `f` with the peers, the group and the number of each row.
fn each(chunk: &Chunk, mut f: impl FnMut(&Range<usize>, &Range<usize>, usize)) {
    let mut groups = chunk.groups.iter();
    let mut group = &(0..0);
    for peer in &chunk.peers {
        while peer.start >= group.end
            && let Some(next) = groups.next()
        {
            group = next;
        }
        for row in peer.clone() {
            f(peer, group, row);
        }
    }
}

fn ints(chunk: &Chunk, of: impl Fn(&Range<usize>, &Range<usize>, usize) -> usize) -> ArrayRef {
    let mut values = Vec::with_capacity(chunk.batch.num_rows());
    each(chunk, |peer, group, row| {
        values.push(i32::try_from(of(peer, group, row)).unwrap_or(i32::MAX));
    });
    Arc::new(Int32Array::from(values))
}

fn doubles(chunk: &Chunk, of: impl Fn(&Range<usize>, &Range<usize>) -> f64) -> ArrayRef {
    let mut values = Vec::with_capacity(chunk.batch.num_rows());
    each(chunk, |peer, group, _| values.push(of(peer, group)));
    Arc::new(Float64Array::from(values))
}

fn dense_rank(chunk: &Chunk) -> ArrayRef {
    let mut values = Vec::with_capacity(chunk.batch.num_rows());
    let mut rank = 0;
    each(chunk, |peer, group, row| {
        if row == group.start {
            rank = 1;
        } else if row == peer.start {
            rank += 1;
        }
        values.push(rank);
    });
    Arc::new(Int32Array::from(values))
}

/// The first buckets have a row more each where the rows cannot be divided evenly.
fn bucket(row: usize, rows: usize, buckets: i32) -> usize {
    let buckets = usize::try_from(buckets).unwrap_or(1).max(1);
    let (size, larger) = (rows / buckets, rows % buckets);
    let in_larger = larger * (size + 1);
    match row.checked_sub(in_larger) {
        None => row / (size + 1) + 1,
        Some(rest) => larger + rest / size.max(1) + 1,
    }
}

fn pick(values: &ArrayRef, rows: impl Iterator<Item = Option<usize>>) -> Result<ArrayRef> {
    let indices: UInt32Array = rows.map(|row| row.map(|row| row as u32)).collect();
    Ok(take(values, &indices, None)?)
}

/// The rows of a group whose value is not NULL, in order.
fn valid(values: &ArrayRef, group: &Range<usize>) -> Vec<usize> {
    group.clone().filter(|row| values.is_valid(*row)).collect()
}

impl Shift {
    fn evaluate(&self, chunk: &Chunk) -> Result<ArrayRef> {
        let count = chunk.batch.num_rows();
        let values = self.value.evaluate(&chunk.batch)?.into_array(count)?;
        // Behind the values stands what is taken where there is no row.
        let extended = concat(&[&values, &self.default.to_array()?])?;
        let mut rows = Vec::with_capacity(count);
        for group in &chunk.groups {
            let known = self.ignore_nulls.then(|| valid(&values, group));
            for row in group.clone() {
                let found = match &known {
                    None => self.neighbour(row, group),
                    Some(known) => self.known_neighbour(row, known),
                };
                rows.push(Some(found.unwrap_or(count)));
            }
        }
        pick(&extended, rows.into_iter())
    }

    fn distance(&self) -> usize {
        usize::try_from(self.offset.unsigned_abs()).unwrap_or(usize::MAX)
    }

    fn neighbour(&self, row: usize, group: &Range<usize>) -> Option<usize> {
        let found = match self.offset < 0 {
            true => row.checked_sub(self.distance())?,
            false => row.checked_add(self.distance())?,
        };
        group.contains(&found).then_some(found)
    }

    /// Counts the rows with a value only. The offset is not 0.
    fn known_neighbour(&self, row: usize, known: &[usize]) -> Option<usize> {
        let at = match self.offset < 0 {
            true => known
                .partition_point(|found| *found < row)
                .checked_sub(self.distance())?,
            false => known
                .partition_point(|found| *found <= row)
                .checked_add(self.distance() - 1)?,
        };
        known.get(at).copied()
    }
}

impl NthValue {
    fn evaluate(&self, chunk: &Chunk) -> Result<ArrayRef> {
        let count = chunk.batch.num_rows();
        let values = self.value.evaluate(&chunk.batch)?.into_array(count)?;
        let frames = self.frame.of_rows(chunk)?;
        let known = self.ignore_nulls.then(|| valid(&values, &(0..count)));
        let rows = frames.into_iter().map(|frame| {
            let found = match &known {
                None => frame.start.checked_add(self.number - 1)?,
                Some(known) => {
                    let first = known.partition_point(|row| *row < frame.start);
                    *known.get(first.checked_add(self.number - 1)?)?
                }
            };
            frame.contains(&found).then_some(found)
        });
        pick(&values, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_dealt_into_buckets_as_evenly_as_they_can_be() {
        let dealt = |rows, buckets| {
            (0..rows)
                .map(|row| bucket(row, rows, buckets))
                .collect::<Vec<_>>()
        };
        assert_eq!(dealt(5, 3), [1, 1, 2, 2, 3]);
        assert_eq!(dealt(6, 3), [1, 1, 2, 2, 3, 3]);
        assert_eq!(dealt(2, 5), [1, 2]);
    }
}
