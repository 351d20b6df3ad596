use std::collections::HashSet;

use cne_proto::spark_expression::{NullOrdering, SortDirection, SortOrder};
use cne_proto::spark_partitioning::RangePartition;
use cne_proto::v1::SortedMergeNode;
use cne_storage::{MapOutputId, OutputVersion};
use cne_task::SortedMergeExec;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use futures::TryStreamExt;

use super::*;

/// By the first column, descending, NULL first.
fn order() -> Vec<u8> {
    let order = SortOrder {
        child: Some(Box::new(column(0))),
        direction: SortDirection::Descending.into(),
        null_ordering: NullOrdering::NullsFirst.into(),
    };
    let range = RangePartition {
        sort_orders: vec![Expr {
            expr_struct: Some(ExprStruct::SortOrder(Box::new(order))),
            ..Default::default()
        }],
        num_partitions: 4,
        boundary_rows: vec![],
    };
    let message = Message {
        partitioning_struct: Some(PartitioningStruct::RangePartition(range)),
    };
    message.encode_to_vec()
}

fn node(num_buckets: u32, distribution: Distribution) -> ExchangeNode {
    ExchangeNode {
        num_buckets,
        distribution: Some(distribution),
    }
}

/// A stage of sorted runs, a task per `rows`.
async fn runs(store: &ShuffleStore, rows: Vec<Vec<RecordBatch>>) -> Plan {
    let engine = engine(store);
    let mut locations = vec![];
    for (partition, rows) in rows.into_iter().enumerate() {
        let node = node(1, Distribution::SortedRun(order().into()));
        let stage = map_stage("job", 1, node, memory(rows));
        let written = run(&engine, "job", 1, partition, 0, stage).await.unwrap();
        locations.extend(written.iter().map(|part| location("job", 1, part)));
    }
    let node = SortedMergeNode {
        partitioning: order(),
    };
    Arc::new(SortedMergeExec::try_new(node, reader(1, vec![locations])).unwrap())
}

async fn bucket(store: &ShuffleStore, stage: u32, bucket: u32) -> Vec<RecordBatch> {
    let id = MapOutputId::new("job", stage, 0);
    let found = store.find(&id, 0).await.unwrap().unwrap();
    let version = OutputVersion {
        generation: 0,
        attempt: found.record.attempt,
    };
    store
        .read(&id.written_by(version), bucket)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap()
}

/// Three tasks with overlapping keys.
fn rows_of_three(each: i64) -> Vec<Vec<RecordBatch>> {
    (0..3)
        .map(|task| vec![batch(task * 7, task * 7 + each), batch(1, each / 2)])
        .collect()
}

fn descending(keys: &[Option<i64>]) -> bool {
    keys.is_sorted_by_key(|key| std::cmp::Reverse(key.unwrap_or(i64::MAX)))
}

#[tokio::test]
async fn sorted_runs_are_merged_and_equal_keys_keep_the_order_of_the_map_partitions() {
    let store = store();
    let merge = runs(&store, rows_of_three(500)).await;
    run(&engine(&store), "job", 2, 0, 0, result_stage("job", 2, merge))
        .await
        .unwrap();
    let merged = bucket(&store, 2, 0).await;
    let (keys, texts) = (keys(&merged), rows(&merged));
    assert_eq!(keys.len(), 3 * (500 + 249));
    assert!(descending(&keys));
    let record = store
        .record(&MapOutputId::new("job", 2, 0).written_by(OutputVersion::default()))
        .await
        .unwrap();
    assert_eq!(record.record.inputs.len(), 3, "what was read is recorded");
    // Another attempt gives the same rows in the same order.
    store.delete_stage("job", 2).await.unwrap();
    let merge = runs(&store, rows_of_three(500)).await;
    run(&engine(&store), "job", 2, 0, 1, result_stage("job", 2, merge))
        .await
        .unwrap();
    assert_eq!(rows(&bucket(&store, 2, 0).await), texts);
}

#[tokio::test]
async fn too_little_memory_for_all_runs_at_once_gives_the_same_rows() {
    let store = store();
    let merge = runs(&store, rows_of_three(30_000)).await;
    let pool = Arc::new(FairSpillPool::new(3 << 20));
    let little = RuntimeEnvBuilder::new()
        .with_memory_pool(pool)
        .build_arc()
        .unwrap();
    let stage = result_stage("job", 2, merge);
    run_in(little, &engine(&store), "job", 2, 0, 0, stage)
        .await
        .unwrap();
    let keys = keys(&bucket(&store, 2, 0).await);
    assert_eq!(keys.len(), 3 * (30_000 + 14_999));
    assert!(descending(&keys));
}

#[tokio::test]
async fn parts_are_about_equal_in_order_and_share_no_key() {
    let store = store();
    let merge = runs(&store, rows_of_three(1000)).await;
    let parts = node(4, Distribution::SortedParts(order().into()));
    let written = run(&engine(&store), "job", 2, 0, 0, map_stage("job", 2, parts, merge))
        .await
        .unwrap();
    let total = 3 * (1000 + 499);
    assert_eq!(written.iter().map(|part| part.num_rows).sum::<u64>(), total);
    let mut seen = HashSet::new();
    let mut all = vec![];
    for number in 0..4 {
        let keys = keys(&bucket(&store, 2, number).await);
        // A seventh of the rows is NULL, all of it in the first part; no other key has more than six rows.
        let off = (keys.len() as u64).abs_diff(total / 4);
        assert!(off <= 12, "part {number} has {} rows of {total}", keys.len());
        let distinct: HashSet<_> = keys.iter().copied().collect();
        assert!(
            distinct.iter().all(|key| seen.insert(*key)),
            "a key is in two parts"
        );
        all.extend(keys);
    }
    assert!(descending(&all));
}

#[tokio::test]
async fn one_key_fills_one_part_and_no_rows_fill_none() {
    let store = store();
    let same = |from| memory_batch(from, 100);
    let merge = runs(&store, vec![vec![same(0)], vec![same(100)], vec![]]).await;
    let parts = node(3, Distribution::SortedParts(order().into()));
    let written = run(
        &engine(&store),
        "job",
        2,
        0,
        0,
        map_stage("job", 2, parts.clone(), merge),
    )
    .await
    .unwrap();
    let sizes: Vec<_> = written
        .iter()
        .map(|part| (part.partition_id, part.num_rows))
        .collect();
    assert_eq!(sizes, [(0, 200)]);
    let store = super::store();
    let empty = runs(&store, vec![vec![]]).await;
    assert!(
        empty.children()[0]
            .downcast_ref::<ShuffleReaderExec>()
            .unwrap()
            .partition[0]
            .is_empty()
    );
    let written = run(&engine(&store), "job", 3, 0, 0, map_stage("job", 3, parts, empty))
        .await
        .unwrap();
    assert!(written.is_empty());
}

/// Rows with the key 5.
fn memory_batch(from: i64, rows: i64) -> RecordBatch {
    let text = Arc::clone(batch(from, from + rows).column(1));
    let keys = Int64Array::from(vec![5; rows as usize]);
    RecordBatch::try_new(schema(), vec![Arc::new(keys), text]).unwrap()
}
