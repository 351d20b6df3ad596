//! A sort over rows that come in its order is left out, and no other.

use std::sync::Arc;

use cne_proto::spark_expression::SortDirection::{self, Ascending, Descending};
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{Operator, Projection, Sort};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};

use super::build::*;
use crate::exec::InputExec;
use crate::optimize::optimize;
use crate::plan::{Environment, Plan, Planner};
use crate::scan::ScanContext;

/// Two columns of longs that say they are sorted by the first one, descending, NULL last.
fn input() -> Plan {
    let values = longs(&[
        &[Some(3), Some(3), Some(1), None],
        &[Some(9), Some(2), Some(5), Some(1)],
    ]);
    let schema = values.schema();
    let rows = MemorySourceConfig::try_new_exec(&[vec![values]], schema, None).unwrap();
    let key = Arc::new(Column::new(rows.schema().field(0).name(), 0));
    let options = arrow::compute::SortOptions {
        descending: true,
        nulls_first: false,
    };
    let order = LexOrdering::new([PhysicalSortExpr::new(key, options)]).unwrap();
    Arc::new(InputExec::one(Arc::new(SortExec::new(order, rows)), 0))
}

fn planned(block: &Operator) -> (Plan, String) {
    let runtime = RuntimeEnv::default();
    let environment = Environment {
        stage: 0,
        scans: &[],
        files: None,
        scan_context: ScanContext {
            runtime: &runtime,
            late_materialisation: false,
        },
        partition: 0,
        ansi: false,
    };
    let planned = Planner::new(environment, [input()].into()).plan(block).unwrap();
    let plan = optimize(planned.plan, planned.has_limit, &Default::default()).unwrap();
    let text = displayable(plan.as_ref()).indent(false).to_string();
    (plan, text)
}

fn sort(keys: &[(i32, SortDirection)], fetch: Option<i32>, skip: Option<i32>, child: Operator) -> Operator {
    let sort = Sort {
        sort_orders: keys
            .iter()
            .map(|(index, direction)| order(column(*index), *direction))
            .collect(),
        fetch,
        skip,
        ..Default::default()
    };
    op(OpStruct::Sort(sort), vec![child])
}

fn two() -> Operator {
    scan(vec![long(), long()])
}

#[tokio::test]
async fn a_sort_in_the_order_of_its_input_is_left_out() {
    let swapped = Projection {
        project_list: vec![column(1), column(0)],
    };
    let swapped = op(OpStruct::Projection(swapped), vec![two()]);
    type Rows = Vec<Vec<Option<i64>>>;
    let whole = |rows: &Rows| rows.clone();
    let middle = |rows: &Rows| rows[1..3].to_vec();
    let turned = |rows: &Rows| rows.iter().map(|row| vec![row[1], row[0]]).collect();
    type Take<'t> = &'t dyn Fn(&Rows) -> Rows;
    let cases: [(Operator, Take<'_>); 3] = [
        (sort(&[(0, Descending)], None, None, two()), &whole),
        (sort(&[(0, Descending)], Some(3), Some(1), two()), &middle),
        (sort(&[(1, Descending)], None, None, swapped.clone()), &turned),
    ];
    for (block, take) in cases {
        let (plan, text) = planned(&block);
        assert!(!text.contains("SortExec"), "{text}");
        let found = rows(&collect(plan, Arc::new(TaskContext::default())).await.unwrap());
        let all = [
            (Some(3), Some(9)),
            (Some(3), Some(2)),
            (Some(1), Some(5)),
            (None, Some(1)),
        ];
        let expected: Vec<_> = all.iter().map(|(a, b)| vec![*a, *b]).collect();
        assert_eq!(found, take(&expected));
    }
    for block in [
        sort(&[(0, Ascending)], None, None, two()),
        sort(&[(1, Descending)], None, None, two()),
        sort(&[(0, Descending), (1, Ascending)], None, None, two()),
        sort(&[(0, Descending)], None, None, swapped),
    ] {
        let (_, text) = planned(&block);
        assert!(text.contains("SortExec"), "{text}");
    }
}
