use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Decimal128Array, RecordBatch};
use arrow::datatypes::{DataType, Decimal128Type, Field, Schema};
use cne_proto::spark_expression::expr::ExprStruct as E;
use cne_proto::spark_expression::{AggExpr, Avg, Expr, agg_expr};
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{AggregateMode, HashAggregate, Operator, Projection};

use super::build::*;

fn avg(child: Expr) -> AggExpr {
    let avg = Avg {
        child: Some(child),
        datatype: Some(decimal(16, 6)),
        sum_datatype: Some(decimal(22, 2)),
        eval_mode: cne_proto::spark_expression::EvalMode::Ansi.into(),
    };
    AggExpr {
        expr_struct: Some(agg_expr::ExprStruct::Avg(avg)),
        ..Default::default()
    }
}

/// `SELECT flag, sum(price), avg(price), count(price) GROUP BY flag` over two partitions.
#[tokio::test]
async fn partial_and_final_over_decimals() {
    let price = || decimal(12, 2);
    let functions =
        |child: fn(i32) -> Expr| vec![sum(child(1), decimal(22, 2)), avg(child(1)), count(child(1))];
    let schema = Arc::new(Schema::new(vec![
        Field::new("flag", DataType::Utf8, true),
        Field::new("price", DataType::Decimal128(12, 2), true),
    ]));
    let batch = |flags: &[&str], prices: Vec<Option<i128>>| {
        let prices = Decimal128Array::from(prices)
            .with_precision_and_scale(12, 2)
            .unwrap();
        RecordBatch::try_new(
            Arc::clone(&schema),
            vec![texts(flags), Arc::new(prices) as ArrayRef],
        )
        .unwrap()
    };
    let partitions = vec![
        vec![
            batch(&["A", "N", "A"], vec![Some(100), Some(250), None]),
            batch(&["A"], vec![Some(201)]),
        ],
        vec![batch(&["N", "R"], vec![Some(1), None])],
    ];
    let partial = aggregate(
        vec![bound(0, text())],
        functions(|i| bound(i, decimal(12, 2))),
        AggregateMode::Partial,
        scan(vec![text(), price()]),
    );
    let states = run_all(&partial, &[Input(schema, partitions, false)], 2)
        .await
        .unwrap();
    let width = states[0][0].num_columns();
    assert_eq!(width, 6, "key, sum, is_empty, sum, count, count");
    let state_schema = states[0][0].schema();
    let merged = aggregate(
        vec![bound(0, text())],
        functions(|_| unbound(decimal(12, 2))),
        AggregateMode::Final,
        // The driver's types of state columns are not ours; only their number counts.
        scan(vec![text(), long(), long(), long(), long(), long()]),
    );
    let block = op(
        OpStruct::Projection(Projection {
            project_list: vec![
                bound(3, long()),
                bound(1, decimal(22, 2)),
                bound(2, decimal(16, 6)),
                bound(0, text()),
            ],
        }),
        vec![merged],
    );
    let result = run(&block, &[Input(state_schema, vec![states.concat()], false)]).await;
    let mut got = vec![];
    for batch in &result {
        for i in 0..batch.num_rows() {
            let decimal = |c: usize| {
                let column = batch.column(c).as_primitive::<Decimal128Type>();
                arrow::array::Array::is_valid(column, i).then(|| column.value(i))
            };
            let flag = batch.column(3).as_string::<i32>().value(i).to_string();
            got.push((
                flag,
                rows(std::slice::from_ref(batch))[i][0],
                decimal(1),
                decimal(2),
            ));
        }
    }
    got.sort();
    let want = [
        ("A".to_string(), Some(2), Some(301), Some(1_505_000)),
        ("N".to_string(), Some(2), Some(251), Some(1_255_000)),
        ("R".to_string(), Some(0), None, None),
    ];
    assert_eq!(got, want);
}

fn with_modes(
    grouping: Vec<Expr>,
    functions: Vec<AggExpr>,
    modes: &[AggregateMode],
    offset: i32,
    child: Operator,
) -> Operator {
    let aggregate = HashAggregate {
        grouping_exprs: grouping,
        agg_exprs: functions,
        expr_modes: modes.iter().map(|mode| (*mode).into()).collect(),
        initial_input_buffer_offset: offset,
        ..Default::default()
    };
    op(OpStruct::HashAgg(aggregate), vec![child])
}

/// `SELECT k, sum(v), count(DISTINCT d) GROUP BY k` as Spark plans it: partial by (k, d), merged by (k, d), mixed by k, final by k.
#[tokio::test]
async fn one_distinct_beside_another_function() {
    use AggregateMode::{Final, Partial, PartialMerge};
    let rows_in = longs(&[
        &[Some(1), Some(1), Some(1), Some(2), Some(2), Some(1)],
        &[Some(7), Some(7), Some(8), Some(9), None, Some(7)],
        &[Some(10), Some(20), Some(30), Some(40), Some(50), None],
    ]);
    let by_both = || vec![column(0), column(1)];
    let first = with_modes(
        by_both(),
        vec![sum(column(2), long())],
        &[Partial],
        0,
        scan(vec![long(), long(), long()]),
    );
    let merge = with_modes(
        by_both(),
        vec![sum(unbound(long()), long())],
        &[PartialMerge],
        2,
        first,
    );
    let mixed = with_modes(
        vec![column(0)],
        vec![sum(unbound(long()), long()), count(column(1))],
        &[PartialMerge, Partial],
        2,
        merge,
    );
    let last = with_modes(
        vec![column(0)],
        vec![sum(unbound(long()), long()), count(unbound(long()))],
        &[Final, Final],
        1,
        mixed,
    );
    let got = sorted(&run(&last, &[input(rows_in)]).await);
    assert_eq!(
        got,
        vec![vec![Some(1), Some(60), Some(2)], vec![Some(2), Some(90), Some(1)]]
    );
}

/// The state columns stand behind a column that is no key of the merging node.
#[tokio::test]
async fn state_behind_other_columns_is_moved() {
    let rows_in = longs(&[&[Some(1), Some(1)], &[Some(5), Some(6)], &[Some(10), Some(20)]]);
    let block = with_modes(
        vec![column(0)],
        vec![sum(unbound(long()), long())],
        &[AggregateMode::PartialMerge],
        2,
        scan(vec![long(), long(), long()]),
    );
    assert_eq!(
        rows(&run(&block, &[input(rows_in)]).await),
        vec![vec![Some(1), Some(30)]]
    );
}

#[tokio::test]
async fn ungrouped_functions_give_a_row_for_no_rows() {
    let empty = || input(longs(&[&[]]));
    let functions = |child: Expr| vec![sum(child.clone(), long()), count(child)];
    let partial = aggregate(
        vec![],
        functions(column(0)),
        AggregateMode::Partial,
        scan(vec![long()]),
    );
    let merged = aggregate(
        vec![],
        functions(unbound(long())),
        AggregateMode::PartialMerge,
        partial,
    );
    let last = aggregate(vec![], functions(unbound(long())), AggregateMode::Final, merged);
    assert_eq!(rows(&run(&last, &[empty()]).await), vec![vec![None, Some(0)]]);
}

/// Spark marks a DISTINCT as Partial on both sides; each side must give a group once.
#[tokio::test]
async fn keys_alone_are_deduplicated_and_floats_are_canonical() {
    use cne_proto::spark_expression::data_type::DataTypeId;
    let double = || spark(DataTypeId::Double);
    let values = arrow::array::Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN, 1.0, 1.0]);
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Float64, true)]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(values)]).unwrap();
    let block = aggregate(
        vec![bound(0, double())],
        vec![],
        AggregateMode::Partial,
        scan(vec![double()]),
    );
    let got: usize = run(&block, &[input(batch)])
        .await
        .iter()
        .map(RecordBatch::num_rows)
        .sum();
    assert_eq!(got, 3);
}

#[test]
fn state_of_another_type_is_refused() {
    let rows_in = longs(&[&[Some(1)], &[Some(5)]]);
    let function = sum(unbound(decimal(12, 2)), decimal(22, 2));
    let block = aggregate(
        vec![column(0)],
        vec![function],
        AggregateMode::Final,
        scan(vec![long(), long()]),
    );
    let found = refused(&block, &[input(rows_in)]);
    assert_eq!(found.len(), 1);
    assert!(found[0].reason.contains("column 1 is Int64"), "{found:?}");
}

#[tokio::test]
async fn filter_of_a_function() {
    let rows_in = longs(&[&[Some(1), Some(2), Some(3), None]]);
    let mut filtered = count(column(0));
    filtered.filter = Some(expr(E::Gt(binary(column(0), number(1)))));
    let block = aggregate(vec![], vec![filtered], AggregateMode::Partial, scan(vec![long()]));
    assert_eq!(rows(&run(&block, &[input(rows_in)]).await), vec![vec![Some(2)]]);
}
