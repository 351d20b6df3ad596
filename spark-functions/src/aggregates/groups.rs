//! What every accumulator here shares: one implementation for groups, used with a single group when there are none.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

/// The states of all groups of one aggregate.
pub(crate) trait SparkGroups: Send + Sync + fmt::Debug {
    /// Makes room for `groups` groups in their initial state.
    fn resize(&mut self, groups: usize);
    /// Adds input rows; `rows` are the rows to use, each with its group.
    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()>;
    /// Adds state rows, each with its group.
    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()>;
    /// Results of the emitted groups.
    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef>;
    /// State columns of the emitted groups.
    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>>;
    /// Bytes held.
    fn size(&self) -> usize;
    /// The same states, independent.
    fn duplicate(&self) -> Box<dyn SparkGroups>;
    /// No groups, same function.
    fn fresh(&self) -> Box<dyn SparkGroups>;
}

/// Values that may differ from `data_type` in the nullability of their parts, which a plan declares and a column has, as exactly that type.
pub(crate) fn as_type(values: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    match values.data_type() == data_type {
        true => Ok(Arc::clone(values)),
        false => Ok(cast(values, data_type)?),
    }
}

/// Which group a row belongs to.
enum Groups<'a> {
    /// By index.
    Given(&'a [usize]),
    /// Group 0, for so many rows.
    One(usize),
    /// Each row its own group.
    Own(usize),
}

/// Input rows to use, each with its group.
pub(crate) struct Rows<'a> {
    groups: Groups<'a>,
    filter: Option<&'a BooleanArray>,
}

impl<'a> Rows<'a> {
    pub(crate) fn grouped(groups: &'a [usize], filter: Option<&'a BooleanArray>) -> Self {
        Self {
            groups: Groups::Given(groups),
            filter,
        }
    }

    /// Calls `f(row, group)` for each row.
    #[inline]
    pub(crate) fn each(&self, mut f: impl FnMut(usize, usize)) {
        let passes = |row: usize| {
            self.filter
                .is_none_or(|filter| filter.is_valid(row) && filter.value(row))
        };
        match self.groups {
            Groups::Given(groups) if self.filter.is_none() => {
                groups.iter().enumerate().for_each(|(row, &group)| f(row, group));
            }
            Groups::Given(groups) => {
                groups
                    .iter()
                    .enumerate()
                    .filter(|(row, _)| passes(*row))
                    .for_each(|(row, &group)| f(row, group));
            }
            Groups::One(rows) => (0..rows).filter(|row| passes(*row)).for_each(|row| f(row, 0)),
            Groups::Own(rows) => (0..rows).filter(|row| passes(*row)).for_each(|row| f(row, row)),
        }
    }

    /// Like [`Self::each`], up to the first error.
    #[inline]
    pub(crate) fn try_each(&self, mut f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        self.each(|row, group| {
            if outcome.is_ok() {
                outcome = f(row, group);
            }
        });
        outcome
    }
}

/// [`SparkGroups`] as DataFusion's grouped accumulator.
#[derive(Debug)]
pub(crate) struct Grouped(pub(crate) Box<dyn SparkGroups>);

impl GroupsAccumulator for Grouped {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.resize(total_num_groups);
        self.0.update(values, &Rows::grouped(group_indices, opt_filter))
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.0.evaluate(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.state(emit_to)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.resize(total_num_groups);
        self.0.merge(values, group_indices)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, Array::len);
        let mut each = self.0.fresh();
        each.resize(rows);
        each.update(
            values,
            &Rows {
                groups: Groups::Own(rows),
                filter: opt_filter,
            },
        )?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

/// [`SparkGroups`] with one group as DataFusion's plain accumulator; evaluating does not disturb the state (running windows do it).
#[derive(Debug)]
pub(crate) struct Ungrouped(Box<dyn SparkGroups>);

impl Ungrouped {
    pub(crate) fn new(mut inner: Box<dyn SparkGroups>) -> Self {
        inner.resize(1);
        Self(inner)
    }
}

impl Accumulator for Ungrouped {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, Array::len);
        self.0.update(
            values,
            &Rows {
                groups: Groups::One(rows),
                filter: None,
            },
        )
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.0.duplicate().evaluate(EmitTo::All)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let columns = self.0.duplicate().state(EmitTo::All)?;
        columns
            .iter()
            .map(|column| ScalarValue::try_from_array(column, 0))
            .collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, Array::len);
        self.0.merge(states, &vec![0; rows])
    }
}
