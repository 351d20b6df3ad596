use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListArray, RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};

use crate::exec::unary;
use crate::properties::unordered_properties;

/// Spark's `explode` and `posexplode`, also the outer ones: each row once for each element of a list.
#[derive(Debug)]
pub(crate) struct ExplodeExec {
    work: Arc<Work>,
    child: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What a row becomes.
#[derive(Debug)]
pub(crate) struct Work {
    /// The columns that are repeated.
    pub(crate) columns: Vec<Arc<dyn PhysicalExpr>>,
    pub(crate) list: Arc<dyn PhysicalExpr>,
    /// A row whose list is NULL or empty stays, with NULL for the element.
    pub(crate) outer: bool,
    /// The position of the element, from 0 on, stands before it.
    pub(crate) position: bool,
    /// The columns, the position, the element.
    pub(crate) schema: SchemaRef,
}

impl ExplodeExec {
    pub(crate) fn new(work: Work, child: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            properties: unordered_properties(Arc::clone(&work.schema), 1),
            work: Arc::new(work),
            child,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn above(&self, child: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            work: Arc::clone(&self.work),
            child,
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.work.columns.iter().chain([&self.work.list]).collect()
    }
}

impl DisplayAs for ExplodeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ExplodeExec: outer={}, position={}",
            self.work.outer, self.work.position
        )
    }
}

#[allow(deprecated)] // with_new_children is required until its successor is
impl ExecutionPlan for ExplodeExec {
    unary!("ExplodeExec");

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let size = context.session_config().batch_size().max(1);
        let input = self.child.execute(partition, context)?;
        let work = Arc::clone(&self.work);
        let exploded = input
            .and_then(move |batch| std::future::ready(Exploding::start(Arc::clone(&work), &batch)))
            .map_ok(move |mut exploding| stream::iter(std::iter::from_fn(move || exploding.next(size))))
            .try_flatten()
            .inspect_ok(move |batch| metrics.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            exploded.boxed(),
        )))
    }
}

/// A batch on its way: one row of it may become any number.
struct Exploding {
    work: Arc<Work>,
    columns: Vec<ArrayRef>,
    lists: ListArray,
    row: usize,
    /// Elements of the row that are done.
    element: usize,
}

impl Exploding {
    fn start(work: Arc<Work>, batch: &RecordBatch) -> Result<Self> {
        let rows = batch.num_rows();
        let columns = work
            .columns
            .iter()
            .map(|column| column.evaluate(batch)?.into_array(rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let lists = work.list.evaluate(batch)?.into_array(rows)?;
        let Some(lists) = lists.as_list_opt::<i32>().cloned() else {
            return exec_err!("{} is exploded, which is no list", lists.data_type());
        };
        Ok(Self {
            work,
            columns,
            lists,
            row: 0,
            element: 0,
        })
    }

    /// The next rows, about `size`; `None` when all were given.
    fn next(&mut self, size: usize) -> Option<Result<RecordBatch>> {
        let (mut rows, mut positions, mut elements) = (vec![], vec![], vec![]);
        while self.row < self.lists.len() && rows.len() < size {
            let offsets = self.lists.value_offsets();
            let (start, end) = (offsets[self.row], offsets[self.row + 1]);
            let count = match self.lists.is_valid(self.row) {
                true => usize::try_from(end - start).unwrap_or(0),
                false => 0,
            };
            let row = self.row as u32;
            if count == 0 && self.work.outer {
                rows.push(row);
                positions.push(None);
                elements.push(None);
            }
            let until = count.min(self.element + (size - rows.len()));
            for element in self.element..until {
                let element = element as i32;
                rows.push(row);
                positions.push(Some(element));
                elements.push(Some((start + element) as u32));
            }
            self.element = until;
            if self.element >= count {
                (self.row, self.element) = (self.row + 1, 0);
            }
        }
        (!rows.is_empty()).then(|| self.batch(rows, positions, elements))
    }

    fn batch(
        &self,
        rows: Vec<u32>,
        positions: Vec<Option<i32>>,
        elements: Vec<Option<u32>>,
    ) -> Result<RecordBatch> {
        let rows = UInt32Array::from(rows);
        let repeated = self.columns.iter().map(|column| take(column, &rows, None));
        let mut arrays = repeated.collect::<std::result::Result<Vec<_>, _>>()?;
        if self.work.position {
            arrays.push(Arc::new(Int32Array::from(positions)));
        }
        arrays.push(take(self.lists.values(), &UInt32Array::from(elements), None)?);
        Ok(RecordBatch::try_new(Arc::clone(&self.work.schema), arrays)?)
    }
}
