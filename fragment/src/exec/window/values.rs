//! Frames of rows whose ORDER BY key is within a distance of the current one.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::SortOptions;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;

use super::chunk::Chunk;
use super::frame::Bound;

/// An end of a RANGE frame: the one ORDER BY key and an offset. All expressions are canonical where they are floats.
#[derive(Debug)]
pub(crate) struct ValueBound {
    pub(crate) key: Arc<dyn PhysicalExpr>,
    pub(crate) options: SortOptions,
    /// Key and offset added up, as Java wraps it.
    pub(crate) sum: Arc<dyn PhysicalExpr>,
    /// The same, with Spark's error where it overflows; of ANSI sessions.
    pub(crate) checked: Option<Arc<dyn PhysicalExpr>>,
}

/// The frame of each row by Spark's two pointers: neither ever goes back, so that a row which a wrapped sum has left out stays out. An end is
/// computed for a row when a key is compared with it, and fails only then.
pub(super) fn of_values(lower: &Bound, upper: &Bound, chunk: &Chunk) -> Result<Vec<Range<usize>>> {
    let ((Bound::Value(bound), _) | (_, Bound::Value(bound))) = (lower, upper) else {
        return internal_err!("a frame without offsets");
    };
    let keys = Encoder::try_new(bound, &chunk.batch)?;
    let (mut lower, mut upper) = (End::new(lower, &keys)?, End::new(upper, &keys)?);
    let mut frames = Vec::with_capacity(chunk.batch.num_rows());
    for group in &chunk.groups {
        let (mut start, mut end) = (group.start, group.start);
        if upper.is_unbounded() {
            end = group.end;
        }
        for row in group.clone() {
            while start < end && lower.compare(start, row)? == Ordering::Less {
                start += 1;
            }
            while !upper.is_unbounded() && end < group.end && upper.compare(end, row)? != Ordering::Greater {
                if lower.compare(end, row)? == Ordering::Less {
                    start = end + 1;
                }
                end += 1;
            }
            frames.push(start..end.max(start));
        }
    }
    Ok(frames)
}

/// Keys of a chunk in an order of bytes.
struct Encoder<'a> {
    converter: RowConverter,
    batch: &'a RecordBatch,
    keys: Rows,
}

impl<'a> Encoder<'a> {
    fn try_new(bound: &ValueBound, batch: &'a RecordBatch) -> Result<Self> {
        let key = array(&bound.key, batch)?;
        let field = SortField::new_with_options(key.data_type().clone(), bound.options);
        let converter = RowConverter::new(vec![field])?;
        let keys = converter.convert_columns(&[key])?;
        Ok(Self {
            converter,
            batch,
            keys,
        })
    }
}

fn array(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef> {
    expr.evaluate(batch)?.into_array(batch.num_rows())
}

/// An end of the frames of a chunk.
struct End<'a> {
    keys: &'a Encoder<'a>,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Unbounded,
    Peers,
    Sums {
        sums: Rows,
        /// Where some sum fails: what makes it, and the last row whose sum did not.
        fails: Option<(&'a Arc<dyn PhysicalExpr>, Option<usize>)>,
    },
}

impl<'a> End<'a> {
    fn new(bound: &'a Bound, keys: &'a Encoder<'a>) -> Result<Self> {
        let kind = match bound {
            Bound::Unbounded => Kind::Unbounded,
            Bound::CurrentRow => Kind::Peers,
            Bound::Value(bound) => Kind::Sums {
                sums: keys
                    .converter
                    .convert_columns(&[array(&bound.sum, keys.batch)?])?,
                fails: bound
                    .checked
                    .as_ref()
                    .filter(|checked| array(checked, keys.batch).is_err())
                    .map(|checked| (checked, None)),
            },
            Bound::Offset(_) => return internal_err!("an offset of rows in a frame of values"),
        };
        Ok(Self { keys, kind })
    }

    fn is_unbounded(&self) -> bool {
        matches!(self.kind, Kind::Unbounded)
    }

    /// Where the key of `input` stands to the end that `row` has. An unbounded end is below all keys.
    fn compare(&mut self, input: usize, row: usize) -> Result<Ordering> {
        let keys = &self.keys.keys;
        match &mut self.kind {
            Kind::Unbounded => Ok(Ordering::Greater),
            Kind::Peers => Ok(keys.row(input).cmp(&keys.row(row))),
            Kind::Sums { sums, fails } => {
                if let Some((checked, known)) = fails
                    && *known != Some(row)
                {
                    array(checked, &self.keys.batch.slice(row, 1))?;
                    *known = Some(row);
                }
                Ok(keys.row(input).cmp(&sums.row(row)))
            }
        }
    }
}
