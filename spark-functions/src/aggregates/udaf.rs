//! The one UDAF type behind all aggregates of this crate.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};

use super::groups::{Grouped, Ungrouped};
use super::pairs::{PairKind, PairOptions};
use super::variance::VarianceKind;
use crate::{EvalMode, QueryContext};

/// Which aggregate, with everything that changes its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    SumDecimal {
        precision: u8,
        scale: i8,
        in_rows: bool,
        mode: EvalMode,
        context: Option<Arc<QueryContext>>,
    },
    SumInt {
        mode: EvalMode,
        context: Option<Arc<QueryContext>>,
    },
    SumFloat,
    AvgDecimal {
        sum: (u8, i8),
        out: (u8, i8),
        in_rows: bool,
        mode: EvalMode,
        context: Option<Arc<QueryContext>>,
    },
    AvgFloat,
    Extremum {
        greatest: bool,
    },
    Edge {
        last: bool,
        ignore_nulls: bool,
    },
    Variance {
        kind: VarianceKind,
        null_on_divide_by_zero: bool,
    },
    Pairs {
        kind: PairKind,
        options: PairOptions,
    },
    Collect {
        element: DataType,
        distinct: bool,
    },
    ListAgg {
        delimiter: String,
    },
    Percentile {
        element: DataType,
        /// The bits of the place.
        at: u64,
    },
    By {
        greatest: bool,
        order_type: DataType,
    },
    Pivot {
        value_type: DataType,
        columns: Vec<ScalarValue>,
    },
}

/// A column of the aggregation buffer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct StateColumn {
    name: Cow<'static, str>,
    data_type: DataType,
    nullable: bool,
}

impl StateColumn {
    pub(crate) fn nullable(name: impl Into<Cow<'static, str>>, data_type: DataType) -> Self {
        Self {
            name: name.into(),
            data_type,
            nullable: true,
        }
    }

    pub(crate) fn required(name: &'static str, data_type: DataType) -> Self {
        Self {
            name: name.into(),
            data_type,
            nullable: false,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct SparkAggregate {
    name: &'static str,
    kind: Kind,
    signature: Signature,
    result: DataType,
    states: Vec<StateColumn>,
}

impl SparkAggregate {
    pub(crate) fn create(
        name: &'static str,
        kind: Kind,
        arguments: usize,
        result: DataType,
        states: Vec<StateColumn>,
    ) -> Arc<AggregateUDF> {
        let signature = Signature::any(arguments, Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(Self {
            name,
            kind,
            signature,
            result,
            states,
        }))
    }
}

impl AggregateUDFImpl for SparkAggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.result.clone())
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Ungrouped::new(self.kind.accumulator(&self.result)?)))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |column: &StateColumn| {
            Arc::new(Field::new(
                format_state_name(args.name, &column.name),
                column.data_type.clone(),
                column.nullable,
            ))
        };
        Ok(self.states.iter().map(field).collect())
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Grouped(self.kind.accumulator(&self.result)?)))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}
