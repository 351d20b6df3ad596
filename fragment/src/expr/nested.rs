//! Expressions that have messages of their own and are functions of arrays and structs.

use std::sync::Arc;

use arrow::datatypes::DataType;
use cne_proto::spark_expression::{CreateNamedStruct, ListExtract};
use cne_spark_functions::QueryContext;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::lit;

use super::{ExprPlanner, Planned};
use crate::error::{Fail, Issue};

/// A value that the plan gives to a function.
pub(super) fn literal(value: impl Into<ScalarValue>) -> Planned {
    let value = value.into();
    let data_type = value.data_type();
    let expr = lit(value);
    Planned { expr, data_type }
}

impl ExprPlanner<'_> {
    /// `array[i]` and `element_at`.
    pub(super) fn list_extract(
        &mut self,
        extract: &ListExtract,
        context: Option<Arc<QueryContext>>,
    ) -> Result<Planned, Fail> {
        let child = self.plan_opt(extract.child.as_deref())?;
        let ordinal = self.plan_opt(extract.ordinal.as_deref())?;
        let mut args = vec![child, ordinal, literal(extract.one_based)];
        if let Some(default) = extract.default_value.as_deref() {
            args.push(self.plan(default)?);
        }
        self.call("list_extract", args, extract.fail_on_error, context)
    }

    /// `named_struct` and `struct`.
    pub(super) fn named_struct(
        &mut self,
        named: &CreateNamedStruct,
        context: Option<Arc<QueryContext>>,
    ) -> Result<Planned, Fail> {
        let values = self.plan_all(&named.values)?;
        if values.len() != named.names.len() || values.iter().any(|value| value.data_type == DataType::Null) {
            return Err(Issue::new("named_struct", "its values are not all named and typed").into());
        }
        let names = named.names.iter().map(|name| literal(name.as_str()));
        let args = names
            .zip(values)
            .flat_map(|(name, value)| [name, value])
            .collect();
        self.call("named_struct", args, false, context)
    }
}
