use cne_proto::spark_expression::SortDirection;
use cne_proto::spark_expression::expr::ExprStruct as E;
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{Expand, Filter, Limit, Operator, Projection, RangeScan, Sort};

use super::build::*;

fn project(exprs: Vec<cne_proto::spark_expression::Expr>, child: Operator) -> Operator {
    op(
        OpStruct::Projection(Projection { project_list: exprs }),
        vec![child],
    )
}

fn limit(limit: i32, offset: i32, child: Operator) -> Operator {
    op(OpStruct::Limit(Limit { limit, offset }), vec![child])
}

fn one_column(values: &[Option<i64>]) -> Vec<Vec<Option<i64>>> {
    values.iter().map(|value| vec![*value]).collect()
}

#[tokio::test]
async fn filters_and_projections() {
    let filter = Filter {
        predicate: Some(expr(E::Gt(binary(column(0), number(1))))),
        ..Default::default()
    };
    let block = project(
        vec![number(7), column(0)],
        op(OpStruct::Filter(filter), vec![scan(vec![long()])]),
    );
    let got = rows(&run(&block, &[input(longs(&[&[Some(1), None, Some(2), Some(3)]]))]).await);
    assert_eq!(got, vec![vec![Some(7), Some(2)], vec![Some(7), Some(3)]]);
}

#[tokio::test]
async fn sort_fetch_counts_skipped_rows() {
    let values = longs(&[&[Some(3), None, Some(1), Some(2), Some(5), Some(4)]]);
    let sort = |direction, fetch, skip| {
        let sort = Sort {
            sort_orders: vec![order(column(0), direction)],
            fetch,
            skip,
            ..Default::default()
        };
        op(OpStruct::Sort(sort), vec![scan(vec![long()])])
    };
    for (block, want) in [
        (
            sort(SortDirection::Ascending, None, None),
            vec![None, Some(1), Some(2), Some(3), Some(4), Some(5)],
        ),
        (
            sort(SortDirection::Descending, Some(2), None),
            vec![Some(5), Some(4)],
        ),
        (
            sort(SortDirection::Descending, Some(3), Some(1)),
            vec![Some(4), Some(3)],
        ),
    ] {
        assert_eq!(
            rows(&run(&block, &[input(values.clone())]).await),
            one_column(&want)
        );
    }
}

#[tokio::test]
async fn limit_counts_the_offset() {
    let values = || input(longs(&[&[Some(0), Some(1), Some(2), Some(3), Some(4)]]));
    for (limits, want) in [
        ((2, 0), vec![Some(0), Some(1)]),
        ((3, 1), vec![Some(1), Some(2)]),
        ((-1, 3), vec![Some(3), Some(4)]),
        ((0, 0), vec![]),
    ] {
        let block = limit(limits.0, limits.1, project(vec![column(0)], scan(vec![long()])));
        assert_eq!(
            rows(&run(&block, &[values()]).await),
            one_column(&want),
            "{limits:?}"
        );
    }
}

#[tokio::test]
async fn expand_repeats_rows_per_projection() {
    let expand = Expand {
        project_list: vec![column(0), number(0), null(long()), number(1)],
        num_expr_per_project: 2,
    };
    let block = op(OpStruct::Expand(expand), vec![scan(vec![long()])]);
    let got = sorted(&run(&block, &[input(longs(&[&[Some(8), Some(9)]]))]).await);
    let want = vec![
        vec![None, Some(1)],
        vec![None, Some(1)],
        vec![Some(8), Some(0)],
        vec![Some(9), Some(0)],
    ];
    assert_eq!(got, want);
}

#[tokio::test]
async fn range_slices_and_partition_ids() {
    let range = RangeScan {
        start: 10,
        step: -3,
        num_elements: 7,
        num_slices: 3,
    };
    let id = cne_proto::spark_expression::EmptyExpr {};
    let block = project(
        vec![column(0), expr(E::SparkPartitionId(id))],
        op(OpStruct::RangeScan(range), vec![]),
    );
    let got = run_all(&block, &[], 3).await.unwrap();
    let slice = |values: &[i64], id: i64| {
        values
            .iter()
            .map(|v| vec![Some(*v), Some(id)])
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(&got[0]), slice(&[10, 7], 0));
    assert_eq!(rows(&got[1]), slice(&[4, 1], 1));
    assert_eq!(rows(&got[2]), slice(&[-2, -5, -8], 2));
}
