//! Spark's aggregates over pairs of doubles: covariance, correlation and linear regression.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::Float64Type;
use datafusion::common::Result;
use datafusion::logical_expr::EmitTo;

use super::groups::{Rows, SparkGroups};
use crate::{EvalMode, QueryContext, SparkErrorKind};

/// Which aggregate over pairs `(x, y)`, where regressions take `(dependent, independent)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PairKind {
    /// `CovPopulation`.
    CovarPop,
    /// `CovSample`.
    CovarSamp,
    /// `Corr`.
    Corr,
    /// `RegrSlope`.
    RegrSlope,
    /// `RegrIntercept`.
    RegrIntercept,
    /// `RegrR2`.
    RegrR2,
    /// `RegrSXY`.
    RegrSxy,
}

/// What an aggregate over pairs answers at the edges.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PairOptions {
    /// A single pair has no sample covariance and no correlation: NULL, or NaN where `spark.sql.legacy.statisticalAggregate` says so.
    pub null_on_divide_by_zero: bool,
    /// Of slope and intercept: only rows with both values count for the variance of the independent one.
    pub variance_of_pairs: bool,
    /// Of `RegrR2`: 1.0 where the dependent value is constant and NULL where the independent one is; else the other way round.
    pub constant_dependent_fits: bool,
    /// Of the last division of correlations.
    pub mode: EvalMode,
    /// For its error.
    pub context: Option<Arc<QueryContext>>,
}

const N: usize = 0;
const X_MEAN: usize = 1;
const Y_MEAN: usize = 2;
const CO_MOMENT: usize = 3;
// Of correlations.
const X_MOMENT: usize = 4;
const Y_MOMENT: usize = 5;
// Of slope and intercept: the variance of x.
const VAR_N: usize = 4;
const VAR_MEAN: usize = 5;
const VAR_MOMENT: usize = 6;

type State = [f64; 7];

impl PairKind {
    /// The columns of the buffer, by Spark's names.
    pub(crate) fn columns(self) -> &'static [&'static str] {
        match self {
            Self::CovarPop | Self::CovarSamp | Self::RegrSxy => &["n", "xAvg", "yAvg", "ck"],
            Self::Corr | Self::RegrR2 => &["n", "xAvg", "yAvg", "ck", "xMk", "yMk"],
            Self::RegrSlope | Self::RegrIntercept => &["n", "xAvg", "yAvg", "ck", "n2", "avg", "m2"],
        }
    }

    fn correlates(self) -> bool {
        matches!(self, Self::Corr | Self::RegrR2)
    }

    /// Whether its covariance is that of `(independent, dependent)`, beside the variance of the independent value.
    fn fits_line(self) -> bool {
        matches!(self, Self::RegrSlope | Self::RegrIntercept)
    }

    fn update(self, state: &mut State, x: f64, y: f64) {
        let count = state[N] + 1.0;
        let (dx, dy) = (x - state[X_MEAN], y - state[Y_MEAN]);
        let (x_mean, y_mean) = (state[X_MEAN] + dx / count, state[Y_MEAN] + dy / count);
        state[CO_MOMENT] += dx * (y - y_mean);
        if self.correlates() {
            state[X_MOMENT] += dx * (x - x_mean);
            state[Y_MOMENT] += dy * (y - y_mean);
        }
        (state[N], state[X_MEAN], state[Y_MEAN]) = (count, x_mean, y_mean);
    }

    fn merge(self, left: &mut State, right: &State) {
        let (n1, n2) = (left[N], right[N]);
        let count = n1 + n2;
        let part = |delta: f64| if count == 0.0 { 0.0 } else { delta / count };
        let (dx, dy) = (right[X_MEAN] - left[X_MEAN], right[Y_MEAN] - left[Y_MEAN]);
        left[CO_MOMENT] = left[CO_MOMENT] + right[CO_MOMENT] + dx * part(dy) * n1 * n2;
        if self.correlates() {
            left[X_MOMENT] = left[X_MOMENT] + right[X_MOMENT] + dx * part(dx) * n1 * n2;
            left[Y_MOMENT] = left[Y_MOMENT] + right[Y_MOMENT] + dy * part(dy) * n1 * n2;
        }
        left[N] = count;
        left[X_MEAN] += part(dx) * n2;
        left[Y_MEAN] += part(dy) * n2;
        if self.fits_line() {
            let (n1, n2) = (left[VAR_N], right[VAR_N]);
            let count = n1 + n2;
            let delta = right[VAR_MEAN] - left[VAR_MEAN];
            let step = if count == 0.0 { 0.0 } else { delta / count };
            left[VAR_MOMENT] = left[VAR_MOMENT] + right[VAR_MOMENT] + delta * step * n1 * n2;
            left[VAR_MEAN] += step * n2;
            left[VAR_N] = count;
        }
    }
}

fn add_to_variance(state: &mut State, value: f64) {
    let count = state[VAR_N] + 1.0;
    let delta = value - state[VAR_MEAN];
    let step = delta / count;
    state[VAR_N] = count;
    state[VAR_MEAN] += step;
    state[VAR_MOMENT] += delta * (delta - step);
}

/// Counts, means and moments by Spark's formulas for updates and merges.
#[derive(Debug, Clone)]
pub(crate) struct Pairs {
    kind: PairKind,
    options: PairOptions,
    states: Vec<State>,
}

impl Pairs {
    pub(crate) fn new(kind: PairKind, options: PairOptions) -> Self {
        Self {
            kind,
            options,
            states: vec![],
        }
    }

    fn result(&self, state: &State) -> Result<Option<f64>> {
        let nothing = state[N] == 0.0;
        let single = (!self.options.null_on_divide_by_zero).then_some(f64::NAN);
        Ok(match self.kind {
            PairKind::RegrSlope if state[VAR_MOMENT] == 0.0 => None,
            PairKind::RegrSlope => Some(state[CO_MOMENT] / state[VAR_MOMENT]),
            PairKind::RegrIntercept if state[VAR_MOMENT] == 0.0 => None,
            PairKind::RegrIntercept => {
                Some(state[Y_MEAN] - state[CO_MOMENT] / state[VAR_MOMENT] * state[X_MEAN])
            }
            PairKind::RegrR2 => {
                let (void, fits) = match self.options.constant_dependent_fits {
                    true => (state[Y_MOMENT], state[X_MOMENT]),
                    false => (state[X_MOMENT], state[Y_MOMENT]),
                };
                match () {
                    () if void == 0.0 => None,
                    () if fits == 0.0 => Some(1.0),
                    () => self.correlation(state)?.map(|value| value * value),
                }
            }
            _ if nothing => None,
            PairKind::CovarPop => Some(state[CO_MOMENT] / state[N]),
            PairKind::CovarSamp if state[N] == 1.0 => single,
            PairKind::CovarSamp => Some(state[CO_MOMENT] / (state[N] - 1.0)),
            PairKind::Corr if state[N] == 1.0 => single,
            PairKind::Corr => self.correlation(state)?,
            PairKind::RegrSxy => Some(state[CO_MOMENT]),
        })
    }

    /// Spark's own `Divide` is in it: zero is an error or NULL.
    fn correlation(&self, state: &State) -> Result<Option<f64>> {
        let divisor = (state[X_MOMENT] * state[Y_MOMENT]).sqrt();
        if divisor != 0.0 {
            return Ok(Some(state[CO_MOMENT] / divisor));
        }
        match self.options.mode.fails() {
            true => Err(SparkErrorKind::DivideByZero
                .at(self.options.context.as_ref())
                .into()),
            false => Ok(None),
        }
    }
}

impl SparkGroups for Pairs {
    fn resize(&mut self, groups: usize) {
        self.states.resize(groups, [0.0; 7]);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let (xs, ys) = (
            values[0].as_primitive::<Float64Type>(),
            values[1].as_primitive::<Float64Type>(),
        );
        let line = self.kind.fits_line();
        rows.each(|row, group| {
            let state = &mut self.states[group];
            let pair = xs.is_valid(row) && ys.is_valid(row);
            if pair {
                let (x, y) = (xs.value(row), ys.value(row));
                match line {
                    true => self.kind.update(state, y, x),
                    false => self.kind.update(state, x, y),
                }
            }
            if line && (pair || (!self.options.variance_of_pairs && ys.is_valid(row))) {
                add_to_variance(state, ys.value(row));
            }
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let columns: Vec<_> = states
            .iter()
            .map(|state| state.as_primitive::<Float64Type>())
            .collect();
        for (row, &group) in groups.iter().enumerate() {
            let mut right = [0.0; 7];
            for (value, column) in right.iter_mut().zip(&columns) {
                *value = column.value(row);
            }
            self.kind.merge(&mut self.states[group], &right);
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let states = emit.take_needed(&mut self.states);
        let results = states.iter().map(|state| self.result(state));
        Ok(Arc::new(results.collect::<Result<Float64Array>>()?))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let states = emit.take_needed(&mut self.states);
        let column = |at: usize| states.iter().map(|state| state[at]).collect::<Vec<f64>>();
        Ok((0..self.kind.columns().len())
            .map(|at| Arc::new(Float64Array::from(column(at))) as ArrayRef)
            .collect())
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<State>()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self::new(self.kind, self.options.clone()))
    }
}
