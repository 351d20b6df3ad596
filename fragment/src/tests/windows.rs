use cne_proto::spark_expression::SortDirection::Ascending;
use cne_proto::spark_expression::data_type::DataTypeId;
use cne_proto::spark_expression::expr::ExprStruct as E;
use cne_proto::spark_expression::{DataType as SparkType, Expr, ScalarFunc};
use cne_proto::spark_operator::lower_window_frame_bound::LowerFrameBoundStruct as Lower;
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::upper_window_frame_bound::UpperFrameBoundStruct as Upper;
use cne_proto::spark_operator::{
    CurrentRow, Following, LowerWindowFrameBound, Operator, Preceding, RankLikeFunction, UnboundedFollowing,
    UnboundedPreceding, UpperWindowFrameBound, Window, WindowExpr, WindowFrame, WindowFrameType,
    WindowGroupLimit, WindowSpecDefinition,
};

use super::build::*;

fn rows_frame(lower: Lower, upper: Upper) -> WindowSpecDefinition {
    let frame = WindowFrame {
        frame_type: WindowFrameType::Rows.into(),
        lower_bound: Some(LowerWindowFrameBound {
            lower_frame_bound_struct: Some(lower),
        }),
        upper_bound: Some(UpperWindowFrameBound {
            upper_frame_bound_struct: Some(upper),
        }),
    };
    WindowSpecDefinition {
        frame_specification: Some(frame),
        ..Default::default()
    }
}

fn running() -> WindowSpecDefinition {
    rows_frame(
        Lower::UnboundedPreceding(UnboundedPreceding {}),
        Upper::CurrentRow(CurrentRow {}),
    )
}

fn whole() -> WindowSpecDefinition {
    rows_frame(
        Lower::UnboundedPreceding(UnboundedPreceding {}),
        Upper::UnboundedFollowing(UnboundedFollowing {}),
    )
}

fn sliding(from: i64, to: i64) -> WindowSpecDefinition {
    let lower = Preceding {
        offset: from,
        range_offset: None,
    };
    let upper = Following {
        offset: to,
        range_offset: None,
    };
    rows_frame(Lower::Preceding(lower), Upper::Following(upper))
}

fn call(name: &str, args: Vec<Expr>, result: SparkType) -> WindowExpr {
    let function = ScalarFunc {
        func: name.into(),
        args,
        ..Default::default()
    };
    WindowExpr {
        built_in_window_function: Some(expr(E::ScalarFunc(function))),
        spec: Some(running()),
        result_type: Some(result),
        ..Default::default()
    }
}

fn total(spec: WindowSpecDefinition) -> WindowExpr {
    WindowExpr {
        agg_func: Some(sum(column(2), long())),
        spec: Some(spec),
        result_type: Some(long()),
        ..Default::default()
    }
}

/// Partitioned by column 0, ordered by column 1.
fn window(functions: Vec<WindowExpr>) -> Operator {
    let window = Window {
        window_expr: functions,
        order_by_list: vec![order(column(1), Ascending)],
        partition_by_list: vec![column(0)],
        child: None,
    };
    op(OpStruct::Window(Box::new(window)), vec![scan(vec![long(); 3])])
}

/// Sorted rows of two groups, in batches of `size`.
fn table(size: usize) -> Vec<Input> {
    let all = longs(&[
        &[Some(1), Some(1), Some(1), Some(1), Some(2), Some(2)],
        &[Some(5), Some(5), Some(6), Some(8), None, Some(1)],
        &[Some(10), Some(20), None, Some(40), Some(50), Some(60)],
    ]);
    let starts = (0..all.num_rows()).step_by(size);
    let batches = starts.map(|from| all.slice(from, size.min(all.num_rows() - from)));
    vec![Input(all.schema(), vec![batches.collect()], false)]
}

async fn columns(functions: Vec<WindowExpr>, size: usize) -> Vec<Vec<Option<i64>>> {
    let rows = rows(&run(&window(functions), &table(size)).await);
    (3..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column]).collect())
        .collect()
}

fn some(values: &[i64]) -> Vec<Option<i64>> {
    values.iter().copied().map(Some).collect()
}

#[tokio::test]
async fn functions_see_their_group_however_it_comes() {
    let int = || spark(DataTypeId::Int32);
    let functions = || {
        vec![
            call("row_number", vec![], int()),
            call("rank", vec![column(1)], int()),
            call("dense_rank", vec![column(1)], int()),
            call("ntile", vec![number(3)], int()),
            call("lag", vec![column(2), number(1), null(long())], long()),
            call("lead", vec![column(2), number(2), number(-1)], long()),
            call("nth_value", vec![column(2), number(2)], long()),
            total(running()),
            total(whole()),
            total(sliding(-1, 1)),
            total(sliding(1, 2)),
        ]
    };
    for size in 1..=6 {
        let found = columns(functions(), size).await;
        assert_eq!(
            found[0],
            some(&[1, 2, 3, 4, 1, 2]),
            "row_number, batches of {size}"
        );
        assert_eq!(found[1], some(&[1, 1, 3, 4, 1, 2]), "rank");
        assert_eq!(found[2], some(&[1, 1, 2, 3, 1, 2]), "dense_rank");
        assert_eq!(found[3], some(&[1, 1, 2, 3, 1, 2]), "ntile");
        assert_eq!(found[4], [None, Some(10), Some(20), None, None, Some(50)], "lag");
        assert_eq!(
            found[5],
            [None, Some(40), Some(-1), Some(-1), Some(-1), Some(-1)],
            "lead"
        );
        assert_eq!(
            found[6],
            [None, Some(20), Some(20), Some(20), None, Some(60)],
            "nth_value"
        );
        assert_eq!(found[7], some(&[10, 30, 30, 70, 50, 110]), "running sum");
        assert_eq!(found[8], some(&[70, 70, 70, 70, 110, 110]), "sum of the group");
        assert_eq!(found[9], some(&[30, 30, 60, 40, 110, 110]), "sliding sum");
        assert_eq!(
            found[10],
            [Some(20), Some(40), Some(40), None, Some(60), None],
            "sum of rows behind"
        );
    }
}

#[tokio::test]
async fn nulls_can_be_left_out() {
    let ignoring = |mut call: WindowExpr| {
        call.ignore_nulls = true;
        call
    };
    let functions = vec![
        ignoring(call("lag", vec![column(2), number(1), null(long())], long())),
        ignoring(call("lead", vec![column(2), number(1), null(long())], long())),
        ignoring(call("nth_value", vec![column(2), number(3)], long())),
    ];
    let found = columns(functions, 2).await;
    assert_eq!(
        found[0],
        [None, Some(10), Some(20), Some(20), None, Some(50)],
        "lag"
    );
    assert_eq!(
        found[1],
        [Some(20), Some(40), Some(40), None, Some(60), None],
        "lead"
    );
    assert_eq!(
        found[2],
        [None, None, None, Some(40), None, None],
        "the third one that is there"
    );
}

#[tokio::test]
async fn the_first_rows_of_each_group_are_kept() {
    for (kind, kept) in [
        (RankLikeFunction::RowNumber, vec![10, 20, 50, 60]),
        (RankLikeFunction::Rank, vec![10, 20, 50, 60]),
        (RankLikeFunction::DenseRank, vec![10, 20, -1, 50, 60]),
    ] {
        let limit = WindowGroupLimit {
            partition_by_list: vec![column(0)],
            order_by_list: vec![order(column(1), Ascending)],
            limit: 2,
            rank_like_function: kind.into(),
        };
        let block = op(OpStruct::WindowGroupLimit(limit), vec![scan(vec![long(); 3])]);
        for size in 1..=6 {
            let found = rows(&run(&block, &table(size)).await);
            let found: Vec<i64> = found.iter().map(|row| row[2].unwrap_or(-1)).collect();
            assert_eq!(found, kept, "{kind:?}, batches of {size}");
        }
    }
}

#[test]
fn what_a_window_does_not_do_is_named() {
    let refusal = |function: WindowExpr| {
        let found = refused(&window(vec![function]), &table(6));
        assert_eq!(found.len(), 1, "{found:?}");
        format!("{}: {}", found[0].what, found[0].reason)
    };
    let default = call("lag", vec![column(2), number(1), column(1)], long());
    assert!(refusal(default).contains("lag: its default is not a literal"));
    let by_value = WindowFrame {
        frame_type: WindowFrameType::Range.into(),
        ..sliding(-1, 1).frame_specification.unwrap()
    };
    let spec = WindowSpecDefinition {
        frame_specification: Some(by_value),
        ..Default::default()
    };
    assert!(refusal(total(spec)).contains("its unit and its offset do not fit"));
    assert!(refusal(call("ntile", vec![number(0)], spark(DataTypeId::Int32))).contains("positive"));
    assert!(refusal(call("mystery", vec![], long())).contains("mystery"));
    assert!(refusal(call("rank", vec![], long())).contains("the plan says Int64"));
}
