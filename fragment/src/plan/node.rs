use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use cne_proto::spark_expression::DataType as SparkType;
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{
    Expand, Explode, Filter, Limit, NativeScan, Operator, Projection, RangeScan, Sample, Sort,
};
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;

use super::{Plan, Planner, column_name, rename};
use crate::error::{Fail, Issue};
use crate::exec::{Draw, ExpandExec, ExplodeExec, Explosion, InputExec, RangeExec, SampleExec};
use crate::expr::order;
use crate::scan::{check_scan, plan_scan};
use crate::types::{self, same_values};

/// How many children an operator has.
pub(super) fn arity(kind: &OpStruct) -> Option<usize> {
    use OpStruct as O;
    match kind {
        O::Scan(_) | O::NativeScan(_) | O::RangeScan(_) => Some(0),
        O::Projection(_)
        | O::Filter(_)
        | O::Sort(_)
        | O::Limit(_)
        | O::Expand(_)
        | O::Explode(_)
        | O::HashAgg(_)
        | O::Sample(_)
        | O::Window(_)
        | O::WindowGroupLimit(_) => Some(1),
        O::HashJoin(_) | O::SortMergeJoin(_) | O::BroadcastNestedLoopJoin(_) => Some(2),
        _ => None,
    }
}

/// Why an operator is refused whatever is in it.
pub(super) fn refusal(kind: &OpStruct) -> Option<Issue> {
    use OpStruct as O;
    let writes = "executors only read; the driver writes";
    let parquet = "read a table in Parquet files";
    Some(match kind {
        O::ShuffleWriter(_) => Issue::new("shuffle_writer", "exchanges travel beside blocks, not in them"),
        O::ShuffleScan(_) => Issue::new(
            "shuffle_scan",
            "the input of a block is a scan, whatever exchange it comes from",
        ),
        O::IcebergScan(_) => Issue::new("iceberg_scan", "Iceberg tables are not read").hint(parquet),
        // Null values, modes, formats and encodings are options of Spark's that the message has no field for.
        O::CsvScan(_) => Issue::new(
            "csv_scan",
            "the plan does not carry the options that say what the fields of a CSV file mean",
        )
        .hint(parquet),
        O::ContribScan(scan) => Issue::new(
            format!("contrib_scan {}", scan.type_url),
            "this source is not read",
        )
        .hint(parquet),
        O::ParquetWriter(_) => Issue::new("parquet_writer", writes),
        O::IcebergWrite(_) => Issue::new("iceberg_write", writes),
        O::MergeRows(_) => Issue::new("merge_rows", writes),
        O::ArrowPythonUdf(_) => {
            Issue::new("arrow_python_udf", "executors have no Python").hint("use built-in functions")
        }
        _ => return None,
    })
}

impl<'a> Planner<'a> {
    /// The next input, in pre-order. The number of columns must agree with `fields`. Types are the producer's: state of aggregates differs
    /// from what Spark declares, and [`Planner::aggregate`] checks it; elsewhere every reference to a column checks its type.
    pub(super) fn input(&mut self, id: usize, fields: &[SparkType], source: &str) -> Result<Plan, Fail> {
        let missing = || Issue::new(format!("scan {source}"), "the stage has no input for it");
        let input = self.inputs.pop_front().ok_or_else(missing)?;
        let schema = input.schema();
        if schema.fields().len() != fields.len() {
            let reason = format!(
                "its producer gives {} columns, the plan says {}",
                schema.fields().len(),
                fields.len()
            );
            return Err(Issue::new(format!("scan {source}"), reason).into());
        }
        let columns = schema
            .fields()
            .iter()
            .zip(fields)
            .enumerate()
            .map(|(i, (field, declared))| {
                let column = Arc::new(Column::new(field.name(), i));
                let alias = column_name(id, i);
                Ok(match types::to_arrow(declared) {
                    Ok(to) if relabelled(field.data_type(), &to) => ProjectionExpr {
                        expr: Arc::new(CastExpr::new(column, to, None)),
                        alias,
                    },
                    _ => ProjectionExpr { expr: column, alias },
                })
            });
        let columns = columns.collect::<Result<Vec<_>, Fail>>()?;
        Ok(Arc::new(ProjectionExec::try_new(columns, input)?))
    }

    pub(super) fn native_scan(&mut self, id: usize) -> Result<Plan, Fail> {
        let index = self.next_scan;
        self.next_scan += 1;
        let common = self.environment.scans.get(index);
        let common = common.ok_or_else(|| Issue::new("native_scan", "the request has no data for it"))?;
        for found in check_scan(common) {
            self.findings
                .record(Issue::new(found.what, found.reason).hint(&found.hint));
        }
        let files: Option<&NativeScan> = match self.environment.files {
            Some(files) => {
                let missing = || Issue::new("native_scan", "the partition has no files for it");
                Some(files.get(index).ok_or_else(missing)?)
            }
            None => None,
        };
        let issue = |e: datafusion::error::DataFusionError| Issue::new("native_scan", e.strip_backtrace());
        rename(
            id,
            plan_scan(common, files, &self.environment.scan_context).map_err(issue)?,
        )
    }

    pub(super) fn projection(
        &mut self,
        id: usize,
        projection: &Projection,
        child: Plan,
    ) -> Result<Plan, Fail> {
        let planned = self.exprs(&child.schema()).plan_all(&projection.project_list)?;
        let exprs = planned.into_iter().enumerate();
        let exprs = exprs.map(|(i, planned)| ProjectionExpr {
            expr: planned.expr,
            alias: column_name(id, i),
        });
        Ok(Arc::new(ProjectionExec::try_new(exprs, child)?))
    }

    pub(super) fn filter(&mut self, filter: &Filter, child: Plan) -> Result<Plan, Fail> {
        let predicate = self
            .exprs(&child.schema())
            .plan_predicate(filter.predicate.as_ref())?;
        Ok(Arc::new(FilterExec::try_new(predicate, child)?))
    }

    /// `fetch` counts the skipped rows too.
    pub(super) fn sort(&mut self, sort: &Sort, child: Plan) -> Result<Plan, Fail> {
        let ordering = order(&mut self.exprs(&child.schema()), &sort.sort_orders)?;
        let fetch = sort.fetch.map(|fetch| number(fetch, "fetch")).transpose()?;
        let is_sorted = keeps_order_of_input(&child)
            && child
                .output_ordering()
                .is_some_and(|found| found.starts_with(&ordering));
        let sorted: Plan = match fetch {
            None if is_sorted => child,
            Some(fetch) if is_sorted => Arc::new(GlobalLimitExec::new(child, 0, Some(fetch))),
            _ => Arc::new(SortExec::new(ordering, child).with_fetch(fetch)),
        };
        match sort.skip.map(|skip| number(skip, "skip")).transpose()? {
            None | Some(0) => Ok(sorted),
            Some(skip) => Ok(Arc::new(GlobalLimitExec::new(sorted, skip, None))),
        }
    }

    /// `limit` counts the rows of `offset` too; -1 is no limit.
    pub(super) fn limit(&mut self, limit: &Limit, child: Plan) -> Result<Plan, Fail> {
        self.has_limit = true;
        let offset = number(limit.offset, "offset")?;
        let fetch = match limit.limit {
            -1 => None,
            limit => Some(number(limit, "limit")?.saturating_sub(offset)),
        };
        Ok(Arc::new(GlobalLimitExec::new(child, offset, fetch)))
    }

    /// The rows of a partition are numbered as they come, so they have to come in Spark's order, every time.
    pub(super) fn sample(&mut self, sample: &Sample, child: Plan, below: &[Operator]) -> Result<Plan, Fail> {
        if !below.iter().all(keeps_order_of_files) {
            let reason =
                "which rows are drawn depends on their order, which only scans and what keeps it give";
            return Err(Issue::new("sample", reason)
                .hint("take the sample of a table, before joins and groups")
                .into());
        }
        let draw = Draw {
            lower: sample.lower_bound,
            upper: sample.upper_bound,
            seed: sample.seed.wrapping_add(self.environment.partition.into()),
        };
        Ok(Arc::new(SampleExec::new(draw, child)))
    }

    /// `project_list` holds the projections one after the other.
    pub(super) fn expand(&mut self, id: usize, expand: &Expand, child: Plan) -> Result<Plan, Fail> {
        let width = number(expand.num_expr_per_project, "num_expr_per_project")?;
        if width == 0 || expand.project_list.is_empty() || !expand.project_list.len().is_multiple_of(width) {
            return Err(Issue::new("expand", "its projections differ in length").into());
        }
        let schema = child.schema();
        let planned = self.exprs(&schema).plan_all(&expand.project_list)?;
        let mut fields: Vec<Field> = vec![];
        for column in 0..width {
            let same = planned.iter().skip(column).step_by(width);
            let types: Vec<&DataType> = same.map(|planned| &planned.data_type).collect();
            if let Some(odd) = types.iter().find(|t| !same_values(t, types[0])) {
                return Err(
                    Issue::new("expand", format!("column {column} is {} and {odd}", types[0])).into(),
                );
            }
            fields.push(Field::new(column_name(id, column), types[0].clone(), true));
        }
        let exprs: Vec<_> = planned.into_iter().map(|planned| planned.expr).collect();
        let projections = exprs.chunks(width).map(<[_]>::to_vec).collect();
        Ok(Arc::new(ExpandExec::new(
            projections,
            Arc::new(Schema::new(fields)),
            child,
        )))
    }

    /// The columns of `project_list`, the position where it is asked for, the element.
    pub(super) fn explode(&mut self, id: usize, explode: &Explode, child: Plan) -> Result<Plan, Fail> {
        let schema = child.schema();
        let columns = self.exprs(&schema).plan_all(&explode.project_list);
        let list = self.exprs(&schema).plan_opt(explode.child.as_ref())?;
        let columns = columns?;
        let DataType::List(element) = &list.data_type else {
            return Err(Issue::new(
                "explode",
                format!("{} is not exploded, only arrays are", list.data_type),
            )
            .into());
        };
        let mut types: Vec<DataType> = columns.iter().map(|column| column.data_type.clone()).collect();
        if explode.position {
            types.push(DataType::Int32);
        }
        types.push(element.data_type().clone());
        let fields = types.into_iter().enumerate();
        let fields = fields.map(|(i, data_type)| Field::new(column_name(id, i), data_type, true));
        let explosion = Explosion {
            columns: columns.into_iter().map(|column| column.expr).collect(),
            list: list.expr,
            outer: explode.outer,
            position: explode.position,
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
        };
        Ok(Arc::new(ExplodeExec::new(explosion, child)))
    }
}

/// Spark's `range`: the slice of this partition.
pub(super) fn range(id: usize, range: &RangeScan, partition: i32) -> Result<Plan, Fail> {
    if range.num_slices < 1 || range.num_elements < 0 || range.step == 0 {
        return Err(Issue::new("range_scan", "its numbers make no range").into());
    }
    let schema = Schema::new(vec![Field::new(column_name(id, 0), DataType::Int64, false)]);
    Ok(Arc::new(RangeExec::new(Arc::new(schema), range, partition)))
}

fn number(value: i32, what: &str) -> Result<usize, Issue> {
    usize::try_from(value).map_err(|_| Issue::new(what, format!("it is {value}")))
}

/// Whether a cast only changes how the same values are held or labelled.
fn relabelled(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        _ if from == to => false,
        (D::Timestamp(f, Some(_)), D::Timestamp(t, Some(_))) => f == t,
        (D::Utf8View | D::LargeUtf8, D::Utf8) | (D::BinaryView | D::LargeBinary, D::Binary) => true,
        (D::Dictionary(_, value), to) => value.as_ref() == to || relabelled(value, to),
        (D::Null, _) => true,
        _ => false,
    }
}

/// Whether an operator gives rows in the order in which a task of Spark's reads them, too.
fn keeps_order_of_files(operator: &Operator) -> bool {
    use OpStruct as O;
    let keeps = matches!(
        operator.op_struct,
        Some(
            O::NativeScan(_)
                | O::RangeScan(_)
                | O::Projection(_)
                | O::Filter(_)
                | O::Expand(_)
                | O::Explode(_)
                | O::Sample(_)
        )
    );
    keeps && operator.children.iter().all(keeps_order_of_files)
}

/// Whether rows come in the order of an input: what other operators say of their order is not relied on.
fn keeps_order_of_input(plan: &Plan) -> bool {
    if plan.is::<ProjectionExec>() || plan.is::<FilterExec>() {
        return plan.children().into_iter().all(keeps_order_of_input);
    }
    plan.is::<InputExec>()
}
