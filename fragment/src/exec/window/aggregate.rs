use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;

use super::chunk::Chunk;
use super::frame::Frame;

/// An aggregate function over a frame.
#[derive(Debug, Clone)]
pub(crate) struct WindowAggregate {
    pub(crate) function: Arc<AggregateFunctionExpr>,
    pub(crate) args: Vec<Arc<dyn PhysicalExpr>>,
    pub(crate) frame: Frame,
    /// What is made of each result; over a batch of the results alone.
    pub(crate) finish: Option<Arc<dyn PhysicalExpr>>,
}

impl WindowAggregate {
    pub(super) fn evaluate(&self, chunk: &Chunk, data_type: &DataType) -> Result<ArrayRef> {
        let Some(finish) = &self.finish else {
            return self.results(chunk, data_type);
        };
        let field = self.function.field();
        let results = self.results(chunk, field.data_type())?;
        let rows = results.len();
        let schema = Schema::new(vec![field.as_ref().clone().with_nullable(true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![results])?;
        finish.evaluate(&batch)?.into_array(rows)
    }

    fn results(&self, chunk: &Chunk, data_type: &DataType) -> Result<ArrayRef> {
        let rows = chunk.batch.num_rows();
        let args = self
            .args
            .iter()
            .map(|arg| arg.evaluate(&chunk.batch)?.into_array(rows));
        let args = args.collect::<Result<Vec<_>>>()?;
        if self.frame.is_whole_group() && self.function.groups_accumulator_supported() {
            return self.of_groups(chunk, &args);
        }
        self.of_frames(&self.frame.of_rows(chunk)?, &args, data_type)
    }

    /// One result for all rows of a group.
    fn of_groups(&self, chunk: &Chunk, args: &[ArrayRef]) -> Result<ArrayRef> {
        let groups = chunk.groups.iter().enumerate();
        let of_row: Vec<usize> = groups
            .flat_map(|(group, rows)| std::iter::repeat_n(group, rows.len()))
            .collect();
        let mut accumulator = self.function.create_groups_accumulator()?;
        accumulator.update_batch(args, &of_row, None, chunk.groups.len())?;
        let results = accumulator.evaluate(EmitTo::All)?;
        let indices = UInt32Array::from_iter_values(of_row.into_iter().map(|group| group as u32));
        Ok(take(&results, &indices, None)?)
    }

    /// Each frame that only grows goes on with what the one before it has seen. One that has lost rows starts anew, as Spark's does: so floats
    /// are added in the same order.
    fn of_frames(
        &self,
        frames: &[Range<usize>],
        args: &[ArrayRef],
        data_type: &DataType,
    ) -> Result<ArrayRef> {
        let mut values = Vec::with_capacity(frames.len());
        let mut running: Option<Running> = None;
        for frame in frames {
            let mut now = match running.take() {
                Some(before) if before.seen.start == frame.start && before.seen.end <= frame.end => before,
                _ => Running {
                    accumulator: self.function.create_accumulator()?,
                    seen: frame.start..frame.start,
                    value: None,
                },
            };
            let value = now.at(frame, args)?;
            values.push(value);
            running = Some(now);
        }
        match values.is_empty() {
            true => Ok(arrow::array::new_empty_array(data_type)),
            false => ScalarValue::iter_to_array(values),
        }
    }
}

/// An accumulator and what it has seen.
struct Running {
    accumulator: Box<dyn Accumulator>,
    seen: Range<usize>,
    /// Of `seen`, when it was asked for.
    value: Option<ScalarValue>,
}

impl Running {
    fn at(&mut self, frame: &Range<usize>, args: &[ArrayRef]) -> Result<ScalarValue> {
        if self.seen.end < frame.end {
            let (from, count) = (self.seen.end, frame.end - self.seen.end);
            let added: Vec<ArrayRef> = args.iter().map(|arg| arg.slice(from, count)).collect();
            self.accumulator.update_batch(&added)?;
            self.seen.end = frame.end;
            self.value = None;
        }
        let value = match self.value.take() {
            Some(value) => value,
            None => self.accumulator.evaluate()?,
        };
        self.value = Some(value.clone());
        Ok(value)
    }
}
