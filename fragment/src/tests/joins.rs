use cne_proto::spark_expression::expr::ExprStruct as E;
use cne_proto::spark_expression::{Expr, SortDirection};
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{
    AggregateMode, BroadcastNestedLoopJoin, BuildSide, HashJoin, JoinType, Operator, Sort, SortMergeJoin,
};

use super::build::*;

type Row = Vec<Option<i64>>;
const KINDS: [JoinType; 7] = [
    JoinType::Inner,
    JoinType::LeftOuter,
    JoinType::RightOuter,
    JoinType::FullOuter,
    JoinType::LeftSemi,
    JoinType::LeftAnti,
    JoinType::Existence,
];

/// The join by its definition, sorted.
fn expected(kind: JoinType, left: &[Row], right: &[Row], matches: impl Fn(&Row, &Row) -> bool) -> Vec<Row> {
    let none = |row: &[Row]| vec![None; row.first().map_or(2, Vec::len)];
    let mut out = vec![];
    for l in left {
        let partners: Vec<&Row> = right.iter().filter(|r| matches(l, r)).collect();
        match kind {
            JoinType::LeftSemi if !partners.is_empty() => out.push(l.clone()),
            JoinType::LeftAnti if partners.is_empty() => out.push(l.clone()),
            JoinType::LeftSemi | JoinType::LeftAnti => {}
            JoinType::Existence => {
                out.push([l.clone(), vec![Some(i64::from(!partners.is_empty()))]].concat())
            }
            _ => {
                out.extend(partners.iter().map(|r| [l.clone(), (*r).clone()].concat()));
                if partners.is_empty() && matches!(kind, JoinType::LeftOuter | JoinType::FullOuter) {
                    out.push([l.clone(), none(right)].concat());
                }
            }
        }
    }
    if matches!(kind, JoinType::RightOuter | JoinType::FullOuter) {
        let lonely = right.iter().filter(|r| !left.iter().any(|l| matches(l, r)));
        out.extend(lonely.map(|r| [none(left), r.clone()].concat()));
    }
    out.sort();
    out
}

fn table(rows: &[Row]) -> Input {
    let column = |c: usize| rows.iter().map(|row| row[c]).collect::<Vec<_>>();
    input(longs(&[&column(0), &column(1)]))
}

fn sides() -> (Vec<Row>, Vec<Row>) {
    let row = |k: Option<i64>, v: i64| vec![k, Some(v)];
    let left = vec![
        row(Some(1), 10),
        row(Some(1), 30),
        row(Some(2), 20),
        row(None, 40),
        row(Some(5), 50),
    ];
    let right = vec![
        row(Some(1), 15),
        row(Some(1), 5),
        row(Some(2), 25),
        row(None, 45),
        row(Some(7), 70),
    ];
    (left, right)
}

fn keys_equal(l: &Row, r: &Row) -> bool {
    l[0].is_some() && l[0] == r[0]
}

/// `left.v < right.v`, bound to both sides.
fn condition() -> Expr {
    expr(E::Lt(binary(column(1), column(3))))
}

fn two() -> Vec<Operator> {
    vec![scan(vec![long(), long()]), scan(vec![long(), long()])]
}

fn hash_join(kind: JoinType, build: BuildSide, condition: Option<Expr>, null_aware: bool) -> Operator {
    let join = HashJoin {
        left_join_keys: vec![column(0)],
        right_join_keys: vec![column(0)],
        join_type: kind.into(),
        build_side: build.into(),
        condition,
        null_aware_anti_join: null_aware,
        ..Default::default()
    };
    op(OpStruct::HashJoin(join), two())
}

#[tokio::test]
async fn hash_joins_of_every_kind_and_side() {
    let (left, right) = sides();
    let none: Vec<Row> = vec![];
    for kind in KINDS {
        for build in [BuildSide::BuildLeft, BuildSide::BuildRight] {
            for (l, r) in [(&left, &right), (&none, &right), (&left, &none), (&none, &none)] {
                let inputs = [table(l), table(r)];
                let got = sorted(&run(&hash_join(kind, build, None, false), &inputs).await);
                assert_eq!(got, expected(kind, l, r, keys_equal), "{kind:?} {build:?}");
                let got = sorted(&run(&hash_join(kind, build, Some(condition()), false), &inputs).await);
                let want = expected(kind, l, r, |l, r| keys_equal(l, r) && l[1] < r[1]);
                assert_eq!(got, want, "{kind:?} {build:?} with a condition");
            }
        }
    }
}

#[tokio::test]
async fn merge_joins_of_every_kind() {
    let (left, right) = sides();
    for kind in KINDS {
        for with in [false, true] {
            let by_key = || vec![order(column(0), SortDirection::Ascending)];
            let sorted_side = || {
                let sort = Sort {
                    sort_orders: by_key(),
                    ..Default::default()
                };
                op(OpStruct::Sort(sort), vec![scan(vec![long(), long()])])
            };
            let join = SortMergeJoin {
                left_join_keys: vec![column(0)],
                right_join_keys: vec![column(0)],
                join_type: kind.into(),
                sort_options: by_key(),
                condition: with.then(condition),
            };
            let block = op(OpStruct::SortMergeJoin(join), vec![sorted_side(), sorted_side()]);
            let got = sorted(&run(&block, &[table(&left), table(&right)]).await);
            let want = expected(kind, &left, &right, |l, r| {
                keys_equal(l, r) && (!with || l[1] < r[1])
            });
            assert_eq!(got, want, "{kind:?} with condition: {with}");
            let got = sorted(&run_in_any_order(&block, &[table(&left), table(&right)]).await);
            assert_eq!(got, want, "{kind:?} with condition: {with}, as a hash join");
        }
    }
}

#[tokio::test]
async fn nested_loop_joins_also_of_nothing() {
    let (left, right) = sides();
    let none: Vec<Row> = vec![];
    for kind in KINDS {
        for build in [BuildSide::BuildLeft, BuildSide::BuildRight] {
            for (l, r) in [(&left, &right), (&none, &right), (&left, &none), (&none, &none)] {
                for with in [false, true] {
                    let join = BroadcastNestedLoopJoin {
                        join_type: kind.into(),
                        build_side: build.into(),
                        condition: with.then(condition),
                    };
                    let block = op(OpStruct::BroadcastNestedLoopJoin(join), two());
                    let got = sorted(&run(&block, &[table(l), table(r)]).await);
                    let want = expected(kind, l, r, |l, r| !with || l[1] < r[1]);
                    assert_eq!(got, want, "{kind:?} {build:?} with condition: {with}");
                }
            }
        }
    }
}

/// `WHERE k NOT IN (SELECT k FROM right)`.
#[tokio::test]
async fn null_aware_anti_join_is_not_in() {
    let (left, right) = sides();
    let without_null: Vec<Row> = right.iter().filter(|row| row[0].is_some()).cloned().collect();
    let none: Vec<Row> = vec![];
    let block = hash_join(JoinType::LeftAnti, BuildSide::BuildRight, None, true);
    for (r, want) in [
        (&right, none.clone()),
        (&without_null, vec![left[4].clone()]),
        (&none, expected(JoinType::LeftAnti, &left, &none, keys_equal)),
    ] {
        assert_eq!(sorted(&run(&block, &[table(&left), table(r)]).await), want);
    }
}

/// Both sides of a join, and the same table twice, have columns of one name.
#[tokio::test]
async fn joins_of_joins_keep_columns_apart() {
    let (left, right) = sides();
    let inner = hash_join(JoinType::Inner, BuildSide::BuildRight, None, false);
    let mut outer = hash_join(JoinType::Inner, BuildSide::BuildLeft, None, false);
    outer.children = vec![inner, scan(vec![long(), long()])];
    let got = sorted(&run(&outer, &[table(&left), table(&right), table(&left)]).await);
    let once = expected(JoinType::Inner, &left, &right, keys_equal);
    assert_eq!(got, expected(JoinType::Inner, &once, &left, keys_equal));
}

/// Of a join that gives far more rows than it reads, under an aggregate that gives one: without a pause nothing could stop it.
#[tokio::test]
async fn a_join_of_many_matches_can_be_stopped() {
    let rows: Vec<Row> = (0..30_000).map(|v| vec![Some(1), Some(v)]).collect();
    let (left, right) = (rows[..15_000].to_vec(), rows[15_000..].to_vec());
    let counted = |join| aggregate(vec![], vec![count(column(1))], AggregateMode::Partial, join);
    for join in [
        hash_join(JoinType::Inner, BuildSide::BuildLeft, None, false),
        hash_join(JoinType::Inner, BuildSide::BuildLeft, Some(condition()), false),
    ] {
        let begun = std::time::Instant::now();
        let block = counted(join);
        let inputs = [table(&left), table(&right)];
        let whole = run(&block, &inputs);
        let stopped = tokio::time::timeout(std::time::Duration::from_millis(300), whole).await;
        assert!(stopped.is_err(), "it ended before it could be stopped");
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
    }
}
