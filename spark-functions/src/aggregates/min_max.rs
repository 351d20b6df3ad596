//! Spark's `Min` and `Max` of floats: NaN equals NaN and is the greatest, 0.0 equals -0.0, the first of equals stays.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::common::Result;
use datafusion::logical_expr::EmitTo;

use super::groups::{Rows, SparkGroups};

#[derive(Debug)]
pub(crate) struct Extremum<T: ArrowPrimitiveType> {
    greatest: bool,
    best: Vec<Option<T::Native>>,
}

impl<T: ArrowPrimitiveType> Extremum<T> {
    pub(crate) fn new(greatest: bool) -> Self {
        Self {
            greatest,
            best: vec![],
        }
    }
}

/// Whether `a` comes before `b` in Spark's order of floats.
#[allow(clippy::eq_op)] // NaN is what differs from itself
fn less<N: PartialOrd + Copy>(a: N, b: N) -> bool {
    let nan = |value: N| value != value;
    a < b || (nan(b) && !nan(a))
}

impl<T> SparkGroups for Extremum<T>
where
    T: ArrowPrimitiveType + std::fmt::Debug,
    T::Native: PartialOrd,
{
    fn resize(&mut self, groups: usize) {
        self.best.resize(groups, None);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let values = values[0].as_primitive::<T>();
        rows.each(|row, group| {
            if values.is_valid(row) {
                let value = values.value(row);
                let better = self.best[group].is_none_or(|best| {
                    if self.greatest {
                        less(best, value)
                    } else {
                        less(value, best)
                    }
                });
                if better {
                    self.best[group] = Some(value);
                }
            }
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        self.update(states, &Rows::grouped(groups, None))
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let best = emit.take_needed(&mut self.best);
        Ok(Arc::new(best.into_iter().collect::<PrimitiveArray<T>>()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<T::Native>>()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(Self {
            greatest: self.greatest,
            best: self.best.clone(),
        })
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self::new(self.greatest))
    }
}
