use std::fmt;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::row::OwnedRow;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::TryStreamExt;

use super::keys::Keys;
use crate::exec::unary;
use crate::properties::unordered_properties;

/// By which number the rows of a group are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankKind {
    RowNumber,
    Rank,
    DenseRank,
}

/// Spark's `WindowGroupLimit`: of sorted rows, those of each PARTITION BY group whose rank is at most a limit.
#[derive(Debug)]
pub(crate) struct GroupLimitExec {
    partition_by: Vec<Arc<dyn PhysicalExpr>>,
    order_by: Vec<Arc<dyn PhysicalExpr>>,
    most: u64,
    kind: RankKind,
    child: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl GroupLimitExec {
    pub(crate) fn new(
        partition_by: Vec<Arc<dyn PhysicalExpr>>,
        order_by: Vec<Arc<dyn PhysicalExpr>>,
        most: u64,
        kind: RankKind,
        child: Arc<dyn ExecutionPlan>,
    ) -> Self {
        Self {
            properties: unordered_properties(child.schema(), 1),
            partition_by,
            order_by,
            most,
            kind,
            child,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn above(&self, child: Arc<dyn ExecutionPlan>) -> Self {
        let (partition_by, order_by) = (self.partition_by.clone(), self.order_by.clone());
        Self::new(partition_by, order_by, self.most, self.kind, child)
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.partition_by.iter().chain(&self.order_by).collect()
    }
}

impl DisplayAs for GroupLimitExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupLimitExec: {:?} <= {}", self.kind, self.most)
    }
}

#[allow(deprecated)] // with_new_children is required until its successor is
impl ExecutionPlan for GroupLimitExec {
    unary!("GroupLimitExec");

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let input = self.child.execute(partition, context)?;
        let schema = self.child.schema();
        let all = self.partition_by.iter().chain(&self.order_by).cloned().collect();
        let mut ranks = Ranks {
            groups: Keys::try_new(self.partition_by.clone(), &schema)?,
            peers: Keys::try_new(all, &schema)?,
            kind: self.kind,
            last: None,
            rows: 0,
            rank: 0,
        };
        let most = self.most;
        let limited = input
            .and_then(move |batch| std::future::ready(ranks.first(&batch, most)))
            .inspect_ok(move |batch| metrics.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, limited)))
    }
}

/// The rank of the last row that was seen.
struct Ranks {
    groups: Keys,
    peers: Keys,
    kind: RankKind,
    /// Its keys: of its group, and with those of its order. `None` where there are no such keys.
    last: Option<(Option<OwnedRow>, Option<OwnedRow>)>,
    /// Rows of its group so far.
    rows: u64,
    rank: u64,
}

impl Ranks {
    /// The rows whose rank is at most `most`.
    fn first(&mut self, batch: &RecordBatch, most: u64) -> Result<RecordBatch> {
        let count = batch.num_rows();
        if count == 0 {
            return Ok(batch.clone());
        }
        let (groups, peers) = (self.groups.rows(batch)?, self.peers.rows(batch)?);
        let mut kept = Vec::with_capacity(count);
        for row in 0..count {
            let (same_group, same_peers) = match (row, &self.last) {
                (0, None) => (false, false),
                (0, Some((group, peer))) => {
                    let same = |last: &Option<OwnedRow>, now: &Option<arrow::row::Rows>| match (last, now) {
                        (Some(last), Some(now)) => last.row() == now.row(0),
                        _ => true,
                    };
                    (same(group, &groups), same(peer, &peers))
                }
                _ => {
                    let same = |rows: &Option<arrow::row::Rows>| {
                        rows.as_ref()
                            .is_none_or(|rows| rows.row(row) == rows.row(row - 1))
                    };
                    (same(&groups), same(&peers))
                }
            };
            self.next(same_group, same_peers);
            kept.push(self.rank <= most);
        }
        let last = |rows: Option<arrow::row::Rows>| rows.map(|rows| rows.row(count - 1).owned());
        self.last = Some((last(groups), last(peers)));
        Ok(filter_record_batch(batch, &BooleanArray::from(kept))?)
    }

    fn next(&mut self, same_group: bool, same_peers: bool) {
        if !same_group {
            self.rows = 0;
            self.rank = 0;
        }
        self.rows += 1;
        self.rank = match self.kind {
            RankKind::RowNumber => self.rows,
            _ if same_group && same_peers => self.rank,
            RankKind::Rank => self.rows,
            RankKind::DenseRank => self.rank + 1,
        };
    }
}
