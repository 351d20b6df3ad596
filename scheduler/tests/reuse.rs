//! What counts as the same stage: faults J06 and J07.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use bytes::Bytes;
use cne_proto::{
    spark_expression::QueryContext,
    spark_operator::{NativeScanCommon, Operator, operator::OpStruct},
    v1::{ShuffleOrigin, Stage, stage::Kind},
};
use cne_scheduler::graph::{self, Sizing};
use common::*;
use prost::Message;

const NUM: ShuffleOrigin = ShuffleOrigin::RepartitionByNum;

/// Ballista stages of a join of two plans, each shuffled by hash into as many buckets as given.
fn stages(left: Vec<Stage>, right: Vec<Stage>, buckets: [i32; 2]) -> u32 {
    let (a, b) = (left.len() as u32 - 1, (left.len() + right.len()) as u32 - 1);
    let offset = left.len() as u32;
    let mut all = left;
    all.extend(right.into_iter().map(|mut stage| {
        for input in &mut stage.inputs {
            input.producer += offset;
        }
        stage
    }));
    let sides = [hash(a, buckets[0], NUM), hash(b, buckets[1], NUM)];
    let sides: Vec<_> = sides
        .into_iter()
        .map(|side| block(&project(scan()), vec![side]))
        .collect();
    all.extend(sides);
    let last = all.len() as u32;
    all.push(union(vec![forward(last - 2), forward(last - 1)]));
    let sizing = Sizing {
        slots: 2,
        smallest_bytes: 4 << 20,
        target_bytes: 64 << 20,
    };
    graph::plan(&request(all), &sizing).unwrap().final_stage
}

fn edit(mut stage: Stage, change: impl FnOnce(&mut Operator)) -> Stage {
    let Some(Kind::Block(block)) = &mut stage.kind else {
        panic!()
    };
    let mut operator = Operator::decode(block.operator.clone()).unwrap();
    change(&mut operator);
    block.operator = operator.encode_to_vec().into();
    stage
}

fn edit_scan(mut stage: Stage, change: impl FnOnce(&mut NativeScanCommon)) -> Stage {
    let Some(Kind::Block(block)) = &mut stage.kind else {
        panic!()
    };
    let mut common = NativeScanCommon::decode(block.scans[0].common.clone()).unwrap();
    change(&mut common);
    block.scans[0].common = Bytes::from(common.encode_to_vec());
    stage
}

/// As another reference to the same table in one query gets them.
fn with_ids(stage: Stage, id: u32) -> Stage {
    edit(stage, |operator| {
        operator.plan_id = id;
        operator.sql_text_pool = vec!["select".into()];
        if let Some(OpStruct::Filter(filter)) = &mut operator.op_struct {
            let predicate = filter.predicate.as_mut().unwrap();
            predicate.expr_id = Some(u64::from(id));
            predicate.query_context = Some(QueryContext {
                start_index: id as i32,
                ..Default::default()
            });
        }
    })
}

#[test]
fn stages_that_differ_in_ids_and_contexts_only_run_once() {
    let filtered = |value| vec![rows(3), block(&greater_than(value, scan()), vec![single(0)])];
    // An exchange of three maps, one of the filter, the result.
    let alone = stages(filtered(5), filtered(5), [2, 2]);
    let mut other = filtered(5);
    other[1] = with_ids(other[1].clone(), 77);
    other[1].label = "another reference".into();
    assert_eq!(alone, stages(filtered(5), other, [2, 2]));
    assert_eq!(alone, 3);
    // Another predicate: its own filter stage over the same rows.
    assert_eq!(stages(filtered(5), filtered(6), [2, 2]), 4);
    // Another number of buckets: the same filter, written twice.
    assert_eq!(stages(filtered(5), filtered(5), [2, 3]), 4);
}

#[test]
fn shuffles_of_equal_stages_get_the_same_number_of_buckets() {
    let table = || files(&[], &["file:///data/t/a", "file:///data/t/b"]);
    let ensure = |producer| hash(producer, 200, ShuffleOrigin::EnsureRequirements);
    // The join reads twice as much as the block beside it, so it would be given more partitions.
    let joined = |other| {
        vec![
            table(),
            other,
            block(&project(scan()), vec![ensure(1)]),
            block(&join(), vec![ensure(0), ensure(2)]),
        ]
    };
    let sizing = Sizing {
        slots: 2,
        smallest_bytes: 4 << 20,
        target_bytes: 64 << 20,
    };
    let plan = |stages| graph::plan(&request(stages), &sizing).unwrap();
    let shared = plan(joined(table()));
    assert_eq!(shared.final_stage, 3);
    assert!(shared.partitions > 4, "{}", shared.partitions);
    let apart = plan(joined(files(&[], &["file:///data/t/c", "file:///data/t/d"])));
    assert_eq!((apart.final_stage, apart.partitions), (4, shared.partitions));
}

#[test]
fn scans_of_one_table_with_other_filters_or_files_stay_apart() {
    let table = || files(&[], &["file:///data/t/a", "file:///data/t/b"]);
    let once = stages(vec![table()], vec![table()], [2, 2]);
    assert_eq!(once, 2);
    let renamed = edit_scan(table(), |common| {
        common.source = "CometScan parquet [a#12L]".into()
    });
    let renamed = edit(renamed, |operator| {
        if let Some(OpStruct::NativeScan(scan)) = &mut operator.op_struct {
            scan.source_key_hash = Some(-7);
        }
    });
    assert_eq!(stages(vec![table()], vec![renamed], [2, 2]), once);
    let Some(OpStruct::Filter(filter)) = greater_than(5, scan()).op_struct else {
        panic!()
    };
    let pushed = edit_scan(table(), |common| {
        common.data_filters = filter.predicate.into_iter().collect()
    });
    assert_eq!(stages(vec![table()], vec![pushed], [2, 2]), once + 1);
    let fewer = files(&[], &["file:///data/t/a", "file:///data/t/c"]);
    assert_eq!(stages(vec![table()], vec![fewer], [2, 2]), once + 1);
    // Equal but for what is made of the columns.
    let twice = |stage: Stage, columns: usize| {
        edit(stage, |operator| {
            let child = std::mem::take(operator);
            *operator = project(child);
            if let Some(OpStruct::Projection(projection)) = &mut operator.op_struct {
                projection.project_list = vec![column(0); columns];
            }
        })
    };
    let (one, two) = (twice(table(), 1), twice(table(), 2));
    let plan = |left: Stage, right: Stage, columns: usize| {
        let all = vec![
            left,
            right,
            block(&project(wide(1)), vec![single(0)]),
            block(&project(wide(columns)), vec![single(1)]),
            union(vec![forward(2), forward(3)]),
        ];
        let sizing = Sizing {
            slots: 2,
            smallest_bytes: 1,
            target_bytes: 1,
        };
        graph::plan(&request(all), &sizing).unwrap().final_stage
    };
    assert_eq!(plan(one.clone(), one.clone(), 1), 2);
    assert_eq!(plan(one, two, 2), 3);
}

fn wide(columns: usize) -> Operator {
    let mut operator = scan();
    if let Some(OpStruct::Scan(scan)) = &mut operator.op_struct {
        scan.fields = vec![long(); columns];
    }
    operator
}
