//! Aggregates whose update merges: Comet's mixed Partial/PartialMerge plans of `count(DISTINCT x), sum(y)`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::filter;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;

/// An aggregate whose *update* merges state columns of `inner`: for Comet's mixed Partial/PartialMerge plans. Its arguments are the
/// state columns; its state and result are `inner`'s. `inner_inputs` are the argument types of `inner`.
#[must_use]
pub fn merge_as_partial(inner: Arc<AggregateUDF>, inner_inputs: Vec<DataType>) -> Arc<AggregateUDF> {
    let name = format!("merge_{}", inner.name());
    let fields = inner_inputs.iter().enumerate();
    let inputs = fields
        .map(|(i, kind)| Arc::new(Field::new(format!("input_{i}"), kind.clone(), true)))
        .collect();
    let signature = Signature::variadic_any(Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(MergeAsPartial {
        name,
        inner,
        inputs,
        signature,
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MergeAsPartial {
    name: String,
    inner: Arc<AggregateUDF>,
    inputs: Vec<FieldRef>,
    signature: Signature,
}

impl MergeAsPartial {
    /// Calls `f` with the arguments that `inner` would see when it reads its own input.
    fn as_inner<R>(&self, args: &AccumulatorArgs, f: impl FnOnce(AccumulatorArgs) -> R) -> R {
        let schema = Schema::new(self.inputs.clone());
        let column =
            |(i, field): (usize, &FieldRef)| Arc::new(Column::new(field.name(), i)) as Arc<dyn PhysicalExpr>;
        let exprs: Vec<_> = self.inputs.iter().enumerate().map(column).collect();
        f(AccumulatorArgs {
            return_field: Arc::clone(&args.return_field),
            schema: &schema,
            ignore_nulls: args.ignore_nulls,
            order_bys: &[],
            is_reversed: false,
            name: args.name,
            is_distinct: false,
            exprs: &exprs,
            expr_fields: &self.inputs,
        })
    }
}

impl AggregateUDFImpl for MergeAsPartial {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        let inputs: Vec<DataType> = self
            .inputs
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        self.inner.return_type(&inputs)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let inner = self.as_inner(&args, |args| self.inner.accumulator(args))?;
        Ok(Box::new(MergeOne(inner)))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(StateFieldsArgs {
            name: args.name,
            input_fields: &self.inputs,
            return_field: args.return_field,
            ordering_fields: &[],
            is_distinct: false,
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.as_inner(&args, |args| self.inner.groups_accumulator_supported(args))
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let inner = self.as_inner(&args, |args| self.inner.create_groups_accumulator(args))?;
        Ok(Box::new(MergeGroups(inner)))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }
}

#[derive(Debug)]
struct MergeOne(Box<dyn Accumulator>);

impl Accumulator for MergeOne {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }
}

struct MergeGroups(Box<dyn GroupsAccumulator>);

impl GroupsAccumulator for MergeGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let Some(wanted) = opt_filter else {
            return self.0.merge_batch(values, group_indices, total_num_groups);
        };
        let kept = values
            .iter()
            .map(|column| filter(column, wanted))
            .collect::<Result<Vec<_>, _>>()?;
        let rows = group_indices.iter().enumerate();
        let groups: Vec<usize> = rows
            .filter(|(row, _)| wanted.is_valid(*row) && wanted.value(*row))
            .map(|(_, group)| *group)
            .collect();
        self.0.merge_batch(&kept, &groups, total_num_groups)
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
        self.0.merge_batch(values, group_indices, total_num_groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        if opt_filter.is_some() {
            return internal_err!("a merging aggregate has no FILTER");
        }
        Ok(values.to_vec())
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}
