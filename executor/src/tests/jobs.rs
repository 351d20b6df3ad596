//! What tasks of a job share, through the engine.

use std::time::Duration;

use cne_fragment::CometFragmentExec;
use cne_fragment::descriptor::descriptor_plan;
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{BuildSide, HashJoin, JoinType, Operator, RangeScan, Scan};
use cne_proto::v1::{FragmentNode, PartitionPayload};
use cne_task::failure;
use datafusion::execution::runtime_env::RuntimeEnv;

use super::*;
use crate::memory::Memory;
use crate::runtime;

/// `range(5000) JOIN broadcast USING (k)`, which has as many rows as the broadcast has keys.
fn join_with_broadcast(broadcast: Plan) -> Plan {
    let operator = |kind, children| Operator {
        children,
        op_struct: Some(kind),
        ..Default::default()
    };
    let text = spark::DataType {
        type_id: DataTypeId::String.into(),
        type_info: None,
    };
    let join = HashJoin {
        left_join_keys: vec![column(0)],
        right_join_keys: vec![column(0)],
        join_type: JoinType::Inner.into(),
        build_side: BuildSide::BuildRight.into(),
        ..Default::default()
    };
    let range = RangeScan {
        start: 0,
        step: 1,
        num_elements: 5000,
        num_slices: 1,
    };
    let input = Scan {
        fields: vec![long(), text],
        source: String::new(),
    };
    let block = operator(
        OpStruct::HashJoin(join),
        vec![
            operator(OpStruct::RangeScan(range), vec![]),
            operator(OpStruct::Scan(input), vec![]),
        ],
    );
    let node = FragmentNode {
        operator: block.encode_to_vec().into(),
        broadcast_inputs: vec![true],
        ..Default::default()
    };
    let descriptors = descriptor_plan(vec![PartitionPayload::default()]).unwrap();
    Arc::new(CometFragmentExec::try_new(node, vec![descriptors, broadcast]).unwrap())
}

#[tokio::test]
async fn the_second_task_needs_no_broadcast_until_the_job_is_removed() {
    let store = store();
    let memory = Memory::new(64 << 20);
    let jobs = runtime::jobs(&RuntimeEnv::default(), &memory).unwrap();
    let engine = Engine::new(
        store.clone(),
        "executor".into(),
        WriterOptions::default(),
        Arc::new(Totals::default()),
        Arc::clone(&jobs),
    );
    let whole = map_stage(
        "job",
        1,
        ExchangeExec::whole(memory_of(0)).node().clone(),
        memory_of(3000),
    );
    let written = run(&engine, "job", 1, 0, 0, whole).await.unwrap();
    let stage = || {
        let locations = written.iter().map(|part| location("job", 1, part)).collect();
        result_stage("job", 2, join_with_broadcast(reader(1, vec![locations])))
    };
    let first = run(&engine, "job", 2, 0, 0, stage()).await.unwrap();
    assert!(memory.used() > 0, "the table is kept");
    store.delete_stage("job", 1).await.unwrap();
    let second = run(&engine, "job", 2, 1, 0, stage()).await.unwrap();
    let rows = 3000 - 3000_u64.div_ceil(7);
    assert_eq!((first[0].num_rows, second[0].num_rows), (rows, rows));

    jobs.remove("job");
    assert_eq!(memory.used(), 0);
    let error = run(&engine, "job", 2, 2, 0, stage()).await.unwrap_err();
    assert_eq!(failure::decode(&error.to_string()).unwrap().code, "CNE-2008");
}

#[test]
fn a_job_is_forgotten_when_no_task_of_it_has_run_for_long() {
    let (jobs, now, later) = (jobs(), Duration::ZERO, Duration::from_secs(60));
    let blocks = Arc::downgrade(&jobs.blocks("job"));
    let running = jobs.enter("job");
    jobs.sweep(now, Duration::from_nanos(1));
    assert_eq!(blocks.strong_count(), 1, "a task runs");
    drop(running);
    jobs.sweep(now, later);
    assert_eq!(blocks.strong_count(), 1, "blocks are kept for longer");
    jobs.sweep(now, now);
    assert_eq!(blocks.strong_count(), 0);
}

fn memory_of(rows: i64) -> Plan {
    memory(vec![batch(0, rows)])
}
