use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};

use crate::exec::unary;
use crate::properties::unordered_properties;

type Projection = Arc<[Arc<dyn PhysicalExpr>]>;

/// Spark's `Expand`: each row once per projection (grouping sets, several DISTINCTs).
#[derive(Debug)]
pub(crate) struct ExpandExec {
    projections: Vec<Projection>,
    child: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ExpandExec {
    pub(crate) fn new(
        projections: Vec<Vec<Arc<dyn PhysicalExpr>>>,
        schema: SchemaRef,
        child: Arc<dyn ExecutionPlan>,
    ) -> Self {
        Self {
            projections: projections.into_iter().map(Into::into).collect(),
            child,
            properties: unordered_properties(schema, 1),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn above(&self, child: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            projections: self.projections.clone(),
            child,
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.projections
            .iter()
            .flat_map(|projection| projection.iter())
            .collect()
    }
}

impl DisplayAs for ExpandExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExpandExec: projections={}", self.projections.len())
    }
}

#[allow(deprecated)] // with_new_children is required until its successor is
impl ExecutionPlan for ExpandExec {
    unary!("ExpandExec");

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let input = self.child.execute(partition, context)?;
        let (schema, projections) = (self.schema(), self.projections.clone());
        let expanded = input
            .map_ok({
                let schema = Arc::clone(&schema);
                move |batch| {
                    let (schema, projections) = (Arc::clone(&schema), projections.clone());
                    stream::iter(projections).map(move |projection| project(&projection, &batch, &schema))
                }
            })
            .try_flatten()
            .inspect_ok(move |batch| metrics.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, expanded)))
    }
}

fn project(projection: &Projection, batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let columns = projection
        .iter()
        .map(|expr| expr.evaluate(batch)?.into_array(rows));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}
