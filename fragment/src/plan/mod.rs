//! Comet's operators as one-partition plans.

mod aggregate;
mod frame;
mod join;
mod node;
mod window;

use std::collections::VecDeque;
use std::sync::Arc;

use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{NativeScan, NativeScanCommon, Operator};
use cne_proto::v1::Rejection;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use crate::error::{Fail, Issue};
use crate::expr::{ExprPlanner, Findings};
use crate::scan::ScanContext;

/// Operators inside each other. Streams are polled recursively on a worker's stack.
const MAX_DEPTH: usize = 200;

pub(crate) type Plan = Arc<dyn ExecutionPlan>;

/// What a block is planned for.
#[derive(Clone, Copy)]
pub(crate) struct Environment<'a> {
    pub(crate) stage: u32,
    pub(crate) scans: &'a [NativeScanCommon],
    /// The files of each scan; `None` in dry planning.
    pub(crate) files: Option<&'a [NativeScan]>,
    pub(crate) scan_context: ScanContext<'a>,
    /// Index of the partition in the fragment.
    pub(crate) partition: i32,
    /// Whether the session's arithmetic is ANSI's, for what the block does not say it of.
    pub(crate) ansi: bool,
}

/// A planned block.
#[derive(Debug)]
pub(crate) struct PlannedBlock {
    pub(crate) plan: Plan,
    /// Whether a limit is in it.
    pub(crate) has_limit: bool,
}

/// Plans one block, once.
pub(crate) struct Planner<'a> {
    environment: Environment<'a>,
    inputs: VecDeque<Plan>,
    inputs_total: usize,
    next_scan: usize,
    next_node: usize,
    sql_pool: &'a [String],
    findings: Findings,
    has_limit: bool,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(environment: Environment<'a>, inputs: VecDeque<Plan>) -> Self {
        Self {
            inputs_total: inputs.len(),
            inputs,
            next_scan: 0,
            next_node: 0,
            sql_pool: &[],
            findings: Findings::new(environment.stage, String::new()),
            has_limit: false,
            environment,
        }
    }

    /// Plans the whole block; the error is every reason for which it is refused.
    pub(crate) fn plan(mut self, root: &'a Operator) -> Result<PlannedBlock, Vec<Rejection>> {
        self.sql_pool = &root.sql_text_pool;
        let plan = self.operator(root, "", 0);
        let (inputs, scans) = (self.inputs_total, self.environment.scans.len());
        self.findings.path = String::new();
        if !self.inputs.is_empty() {
            let reason = format!(
                "the block reads {} of {inputs} inputs",
                inputs - self.inputs.len()
            );
            self.findings.record(Issue::new("inputs", reason));
        }
        if self.next_scan < scans {
            let reason = format!(
                "the block has {} native scans, the request has data for {scans}",
                self.next_scan
            );
            self.findings.record(Issue::new("scans", reason));
        }
        match plan {
            Some(plan) if self.findings.is_empty() => Ok(PlannedBlock {
                plan,
                has_limit: self.has_limit,
            }),
            _ => Err(self.findings.take()),
        }
    }

    /// Plans an operator after its children; `None` if something in it was refused, which is recorded.
    fn operator(&mut self, operator: &'a Operator, parent: &str, depth: usize) -> Option<Plan> {
        let name = name(operator.op_struct.as_ref());
        let path = if parent.is_empty() {
            name.to_string()
        } else {
            format!("{parent}/{name}")
        };
        if depth >= MAX_DEPTH {
            self.findings.path.clone_from(&path);
            self.findings.record(Issue::new(
                "plan",
                format!("operators are nested deeper than {MAX_DEPTH} levels"),
            ));
            return None;
        }
        stacker::maybe_grow(128 << 10, 2 << 20, || {
            let children: Vec<_> = operator
                .children
                .iter()
                .map(|child| self.operator(child, &path, depth + 1))
                .collect();
            self.findings.path.clone_from(&path);
            // Without its children an operator has no schema to be checked against; what it is can be refused all the same.
            let children: Option<Vec<Plan>> = children.into_iter().collect();
            let planned = match (children, operator.op_struct.as_ref()) {
                (_, None) => Err(Issue::new("operator", "the plan leaves out its kind").into()),
                (None, Some(kind)) => Err(node::refusal(kind).map_or(Fail::Recorded, Fail::Issue)),
                (Some(children), Some(kind)) => self.node(kind, children, &operator.children),
            };
            planned.map_err(|fail| self.findings.fail(fail)).ok()
        })
    }

    fn node(&mut self, kind: &'a OpStruct, children: Vec<Plan>, below: &'a [Operator]) -> Result<Plan, Fail> {
        let id = self.next_node;
        self.next_node += 1;
        let expected = node::arity(kind);
        if expected.is_some_and(|expected| expected != children.len()) {
            return Err(Issue::new("operator", format!("it has {} children", children.len())).into());
        }
        let mut children = children.into_iter();
        let mut child = || {
            children
                .next()
                .ok_or_else(|| Fail::from(Issue::new("operator", "a child is missing")))
        };
        match kind {
            OpStruct::Scan(scan) => self.input(id, &scan.fields, &scan.source),
            OpStruct::NativeScan(_) => self.native_scan(id),
            OpStruct::RangeScan(range) => node::range(id, range, self.environment.partition),
            OpStruct::Projection(projection) => self.projection(id, projection, child()?),
            OpStruct::Filter(filter) => self.filter(filter, child()?),
            OpStruct::Sort(sort) => self.sort(sort, child()?),
            OpStruct::Limit(limit) => self.limit(limit, child()?),
            OpStruct::Expand(expand) => self.expand(id, expand, child()?),
            OpStruct::Explode(explode) => self.explode(id, explode, child()?),
            OpStruct::Sample(sample) => self.sample(sample, child()?, below),
            OpStruct::Window(window) => self.window(id, window, child()?),
            OpStruct::WindowGroupLimit(limit) => self.group_limit(limit, child()?),
            OpStruct::HashAgg(aggregate) => self.aggregate(id, aggregate, child()?),
            OpStruct::HashJoin(join) => self.hash_join(id, join, child()?, child()?),
            OpStruct::SortMergeJoin(join) => self.sort_merge_join(id, join, child()?, child()?),
            OpStruct::BroadcastNestedLoopJoin(join) => self.nested_loop_join(id, join, child()?, child()?),
            other => Err(node::refusal(other)
                .unwrap_or_else(|| Issue::new("operator", "it is not executed"))
                .into()),
        }
    }

    /// A planner of expressions over `schema`.
    fn exprs<'s>(&'s mut self, schema: &'s arrow::datatypes::Schema) -> ExprPlanner<'s> {
        ExprPlanner::new(
            schema,
            self.sql_pool,
            self.environment.partition,
            &mut self.findings,
        )
    }
}

/// The node's name of a column, unique in the block.
fn column_name(node: usize, column: usize) -> String {
    format!("n{node}_{column}")
}

/// The same columns under names of this node.
fn rename(id: usize, plan: Plan) -> Result<Plan, Fail> {
    let schema = plan.schema();
    let columns = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(i, field)| ProjectionExpr {
            expr: Arc::new(datafusion::physical_expr::expressions::Column::new(
                field.name(),
                i,
            )),
            alias: column_name(id, i),
        });
    Ok(Arc::new(ProjectionExec::try_new(columns, plan)?))
}

fn name(kind: Option<&OpStruct>) -> &'static str {
    use OpStruct as O;
    match kind {
        Some(O::Scan(_)) => "scan",
        Some(O::Projection(_)) => "projection",
        Some(O::Filter(_)) => "filter",
        Some(O::Sort(_)) => "sort",
        Some(O::HashAgg(_)) => "hash_agg",
        Some(O::Limit(_)) => "limit",
        Some(O::ShuffleWriter(_)) => "shuffle_writer",
        Some(O::Expand(_)) => "expand",
        Some(O::SortMergeJoin(_)) => "sort_merge_join",
        Some(O::HashJoin(_)) => "hash_join",
        Some(O::Window(_)) => "window",
        Some(O::NativeScan(_)) => "native_scan",
        Some(O::IcebergScan(_)) => "iceberg_scan",
        Some(O::ParquetWriter(_)) => "parquet_writer",
        Some(O::Explode(_)) => "explode",
        Some(O::CsvScan(_)) => "csv_scan",
        Some(O::ShuffleScan(_)) => "shuffle_scan",
        Some(O::BroadcastNestedLoopJoin(_)) => "broadcast_nested_loop_join",
        Some(O::Sample(_)) => "sample",
        Some(O::WindowGroupLimit(_)) => "window_group_limit",
        Some(O::IcebergWrite(_)) => "iceberg_write",
        Some(O::RangeScan(_)) => "range_scan",
        Some(O::MergeRows(_)) => "merge_rows",
        Some(O::ArrowPythonUdf(_)) => "arrow_python_udf",
        Some(O::ContribScan(_)) => "contrib_scan",
        None => "?",
    }
}
