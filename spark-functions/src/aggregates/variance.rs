//! Spark's `CentralMomentAgg` of the second order.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::Float64Type;
use datafusion::common::Result;
use datafusion::logical_expr::EmitTo;

use super::groups::{Rows, SparkGroups};

/// Which moment to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum VarianceKind {
    VarPop,
    VarSamp,
    StddevPop,
    StddevSamp,
    /// The second moment itself: `RegrReplacement`.
    Moment,
}

/// `VariancePop`, `VarianceSamp`, `StddevPop`, `StddevSamp`: count, mean and second moment, updated and merged by Spark's formulas.
#[derive(Debug, Clone)]
pub(crate) struct Variance {
    kind: VarianceKind,
    null_on_divide_by_zero: bool,
    counts: Vec<f64>,
    means: Vec<f64>,
    moments: Vec<f64>,
}

impl Variance {
    pub(crate) fn new(kind: VarianceKind, null_on_divide_by_zero: bool) -> Self {
        Self {
            kind,
            null_on_divide_by_zero,
            counts: vec![],
            means: vec![],
            moments: vec![],
        }
    }

    fn result(&self, count: f64, moment: f64) -> Option<f64> {
        let sample = matches!(self.kind, VarianceKind::VarSamp | VarianceKind::StddevSamp);
        if count == 0.0 {
            return None;
        }
        if self.kind == VarianceKind::Moment {
            return Some(moment);
        }
        if sample && count == 1.0 {
            return (!self.null_on_divide_by_zero).then_some(f64::NAN);
        }
        let variance = moment / if sample { count - 1.0 } else { count };
        let root = matches!(self.kind, VarianceKind::StddevPop | VarianceKind::StddevSamp);
        Some(if root { variance.sqrt() } else { variance })
    }
}

impl SparkGroups for Variance {
    fn resize(&mut self, groups: usize) {
        for column in [&mut self.counts, &mut self.means, &mut self.moments] {
            column.resize(groups, 0.0);
        }
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let values = values[0].as_primitive::<Float64Type>();
        rows.each(|row, group| {
            if values.is_valid(row) {
                let count = self.counts[group] + 1.0;
                let delta = values.value(row) - self.means[group];
                let step = delta / count;
                self.counts[group] = count;
                self.means[group] += step;
                self.moments[group] += delta * (delta - step);
            }
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [counts, means, moments] = [0, 1, 2].map(|column| states[column].as_primitive::<Float64Type>());
        for (row, &group) in groups.iter().enumerate() {
            let (left, right) = (self.counts[group], counts.value(row));
            let count = left + right;
            let delta = means.value(row) - self.means[group];
            let step = if count == 0.0 { 0.0 } else { delta / count };
            self.counts[group] = count;
            self.means[group] += step * right;
            self.moments[group] = self.moments[group] + moments.value(row) + delta * step * left * right;
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let counts = emit.take_needed(&mut self.counts);
        let moments = emit.take_needed(&mut self.moments);
        drop(emit.take_needed(&mut self.means));
        let results = counts
            .into_iter()
            .zip(moments)
            .map(|(count, moment)| self.result(count, moment));
        Ok(Arc::new(results.collect::<Float64Array>()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let columns = [&mut self.counts, &mut self.means, &mut self.moments];
        Ok(columns
            .map(|column| Arc::new(Float64Array::from(emit.take_needed(column))) as ArrayRef)
            .to_vec())
    }

    fn size(&self) -> usize {
        (self.counts.capacity() + self.means.capacity() + self.moments.capacity()) * 8
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self::new(self.kind, self.null_on_divide_by_zero))
    }
}
