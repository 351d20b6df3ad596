use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch};
use ballista_core::serde::protobuf::ShuffleWritePartition;
use cne_proto::v1::{CoalesceGroups, ExchangeNode, commit_input::Input, exchange_node::Distribution};
use cne_spark_functions::hash::{murmur3_hash, pmod_partitions};
use cne_storage::{MapOutput, MapOutputId, OutputVersion, ShuffleStore};
use cne_task::{OutputLocation, TaskScope, failure};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::TryStreamExt;

use super::*;

/// Runs a map stage of three tasks, the last one first, and gives the locations of each bucket.
async fn mapped(store: &ShuffleStore, node: ExchangeNode) -> Vec<Vec<PartitionLocation>> {
    let engine = engine(store);
    let mut locations = vec![vec![]; node.num_buckets as usize];
    for partition in [2, 0, 1] {
        let from = partition as i64 * 1000;
        let body = memory(vec![batch(from, from + 500), batch(from + 500, from + 1000)]);
        let written = run(
            &engine,
            "job",
            1,
            partition,
            0,
            map_stage("job", 1, node.clone(), body),
        )
        .await
        .unwrap();
        for part in &written {
            let output = part.file_id.map(OutputLocation::of_file_id).unwrap();
            assert_eq!((output.map_partition, output.attempt), (partition as u32, 0));
            locations[part.partition_id as usize].push(location("job", 1, part));
        }
    }
    locations
}

/// What attempt 0 wrote.
fn first(job: &str, stage: u32, partition: u32) -> MapOutput {
    MapOutputId::new(job, stage, partition).written_by(OutputVersion::default())
}

async fn result(store: &ShuffleStore, stage: u32, partition: u32) -> Vec<RecordBatch> {
    let id = MapOutputId::new("job", stage, partition);
    store
        .read(&id.written_by(OutputVersion::default()), 0)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap()
}

fn spark_bucket(batch: &RecordBatch, buckets: u32) -> Vec<u32> {
    let key: ArrayRef = Arc::clone(batch.column(0));
    let (mut hashes, mut ids) = (vec![42; batch.num_rows()], vec![]);
    murmur3_hash(&[key], 42, &mut hashes).unwrap();
    pmod_partitions(&hashes, buckets, &mut ids);
    ids
}

#[tokio::test]
async fn two_stages_give_each_row_once_in_sparks_bucket_and_in_the_order_of_the_map_partitions() {
    let store = store();
    let mut locations = mapped(&store, by_key(4)).await;
    // As after a retry of which Ballista heard twice.
    let twice = locations[0][0].clone();
    locations[0].push(twice);
    let engine = engine(&store);
    let mut all = vec![];
    for (bucket, of_bucket) in locations.into_iter().enumerate() {
        let plan = result_stage("job", 2, reader(1, vec![of_bucket]));
        let written = run(&engine, "job", 2, bucket, 0, plan).await.unwrap();
        let [
            ShuffleWritePartition {
                partition_id,
                num_rows,
                is_sort_shuffle: false,
                ..
            },
        ] = written[..]
        else {
            panic!("{written:?}")
        };
        assert_eq!(partition_id, bucket as u64);
        let batches = result(&store, 2, bucket as u32).await;
        for batch in &batches {
            assert!(spark_bucket(batch, 4).iter().all(|found| *found == bucket as u32));
        }
        let rows = rows(&batches);
        assert_eq!(rows.len() as u64, num_rows);
        let number = |row: &String| row["row ".len()..].parse::<u32>().unwrap();
        assert!(rows.is_sorted_by_key(number), "bucket {bucket} is not in order");
        all.extend(rows.iter().map(number));
        let record = store.record(&first("job", 2, bucket as u32)).await.unwrap();
        let read: Vec<_> = record
            .record
            .inputs
            .iter()
            .map(|input| match &input.input {
                Some(Input::MapOutput(output)) => {
                    (output.stage_id, output.map_partition, output.commit_checksum != 0)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(read, [(1, 0, true), (1, 1, true), (1, 2, true)]);
    }
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..3000), "{} rows", all.len());
}

#[tokio::test]
async fn one_bucket_is_read_in_order_also_through_a_merge() {
    let store = store();
    let node = ExchangeNode {
        num_buckets: 2,
        distribution: Some(Distribution::Coalesce(CoalesceGroups {
            group_of_map_partition: vec![0, 0, 1],
        })),
    };
    let locations = mapped(&store, node).await;
    assert_eq!(locations.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    let merge: Plan = Arc::new(CoalescePartitionsExec::new(reader(1, locations)));
    run(&engine(&store), "job", 2, 0, 0, result_stage("job", 2, merge))
        .await
        .unwrap();
    let expected: Vec<_> = (0..3000).map(|row| format!("row {row}")).collect();
    assert_eq!(rows(&result(&store, 2, 0).await), expected);
}

#[tokio::test]
async fn a_result_without_rows_is_there_and_empty_buckets_need_no_location() {
    let store = store();
    let engine = engine(&store);
    let nothing = || Arc::new(EmptyExec::new(schema())) as Plan;
    let written = run(&engine, "job", 1, 0, 0, map_stage("job", 1, by_key(3), nothing()))
        .await
        .unwrap();
    assert_eq!(written, []);
    let written = run(
        &engine,
        "job",
        2,
        0,
        0,
        result_stage("job", 2, reader(1, vec![vec![]])),
    )
    .await
    .unwrap();
    assert!(
        matches!(
            written[..],
            [ShuffleWritePartition {
                num_rows: 0,
                num_bytes: 1,
                ..
            }]
        ),
        "{written:?}"
    );
    assert_eq!(result(&store, 2, 0).await.len(), 0);
}

#[tokio::test]
async fn a_later_attempt_reports_what_the_first_has_committed() {
    let store = store();
    let engine = engine(&store);
    let first = run(
        &engine,
        "job",
        1,
        5,
        0,
        map_stage("job", 1, by_key(2), memory(vec![batch(0, 100)])),
    )
    .await
    .unwrap();
    let later = run(
        &engine,
        "job",
        1,
        5,
        1,
        map_stage("job", 1, by_key(2), memory(vec![batch(0, 33)])),
    )
    .await
    .unwrap();
    assert_eq!(first, later);
    assert_eq!(later.iter().map(|part| part.num_rows).sum::<u64>(), 100);
}

#[tokio::test]
async fn a_task_must_have_as_many_partitions_as_its_plan() {
    let engine = engine(&store());
    let plan = map_stage("job", 1, by_key(4), memory(vec![]));
    // Ballista's own numbers for such a stage.
    let error = engine
        .create_query_stage_exec("job".into(), 1, 0, vec![0, 1, 2, 3], plan, "", &session_config())
        .unwrap_err();
    assert!(error.to_string().contains("4 partitions"), "{error}");
}

/// Gives a batch every ten milliseconds from a task of its own, until the scope is cancelled; or panics.
#[derive(Debug)]
struct Slow {
    properties: Arc<PlanProperties>,
    given: Arc<AtomicUsize>,
    panics: bool,
}

impl Slow {
    fn plan(panics: bool) -> (Plan, Arc<AtomicUsize>) {
        let given = Arc::new(AtomicUsize::new(0));
        let properties = Arc::clone(memory(vec![]).properties());
        (
            Arc::new(Self {
                properties,
                given: Arc::clone(&given),
                panics,
            }),
            given,
        )
    }
}

impl DisplayAs for Slow {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slow")
    }
}

impl ExecutionPlan for Slow {
    fn name(&self) -> &str {
        "Slow"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Plan> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Plan>) -> Result<Plan> {
        Ok(self)
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        assert!(!self.panics, "on purpose");
        let scope = TaskScope::of(context.session_config()).unwrap();
        let given = Arc::clone(&self.given);
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        // Detached, as Ballista's and some of DataFusion's operators do it: only the token can reach it.
        tokio::spawn(async move {
            while !scope.cancel.is_cancelled() {
                tokio::time::sleep(Duration::from_millis(10)).await;
                given.fetch_add(1, Ordering::SeqCst);
                let _ = sender.send(Ok::<_, DataFusionError>(batch(0, 1)));
            }
        });
        let rows = futures::stream::unfold(receiver, |mut receiver| async move {
            Some((receiver.recv().await?, receiver))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema(), rows)))
    }
}

#[tokio::test]
async fn an_aborted_task_stops_what_it_has_spawned() {
    let store = store();
    let (plan, given) = Slow::plan(false);
    let running = async { run(&engine(&store), "job", 1, 0, 0, result_stage("job", 1, plan)).await };
    // Ballista aborts a task by dropping its future.
    assert!(
        tokio::time::timeout(Duration::from_millis(300), running)
            .await
            .is_err()
    );
    assert!(given.load(Ordering::SeqCst) > 3);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let after = given.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(given.load(Ordering::SeqCst), after);
    let committed = store.record(&first("job", 1, 0)).await;
    assert!(committed.unwrap_err().is_lost_output());
}

#[tokio::test]
async fn failures_are_typed() {
    let store = store();
    let engine = engine(&store);
    let (plan, _) = Slow::plan(true);
    let error = run(&engine, "job", 1, 3, 0, result_stage("job", 1, plan))
        .await
        .unwrap_err();
    let found = failure::decode(&error.to_string()).unwrap();
    assert_eq!(
        (found.code.as_str(), found.stage, found.partition),
        ("CNE-2002", 1, 3)
    );
    assert!(found.message.contains("on purpose"), "{found:?}");
    // A location whose output nobody has committed: no other attempt of this task would find it.
    let missing = ShuffleWritePartition {
        file_id: Some(0),
        num_bytes: 1,
        ..Default::default()
    };
    let plan = result_stage("job", 2, reader(1, vec![vec![location("job", 1, &missing)]]));
    let error = run(&engine, "job", 2, 0, 0, plan).await.unwrap_err();
    assert!(matches!(error, DataFusionError::Execution(_)), "{error:?}");
    assert_eq!(failure::decode(&error.to_string()).unwrap().code, "CNE-2008");
}

#[tokio::test]
async fn a_committed_output_is_taken_when_it_was_made_from_what_would_be_read_now() {
    let store = store();
    let engine = engine(&store);
    let runtime = TaskContext::default().runtime_env();
    let maps = mapped(&store, by_key(2)).await;
    let plan = |locations: &[PartitionLocation]| result_stage("job", 2, reader(1, vec![locations.to_vec()]));
    let took =
        |written: &[ShuffleWritePartition]| OutputLocation::of_file_id(written[0].file_id.unwrap()).attempt;
    let again = |query: QueryOptions, attempt: u32, plan: Plan| {
        let (engine, runtime) = (&engine, Arc::clone(&runtime));
        async move {
            let written = run_as(runtime, engine, query, true, 2, 0, attempt, plan)
                .await
                .unwrap();
            OutputLocation::of_file_id(written[0].file_id.unwrap())
        }
    };
    let first = run(&engine, "job", 2, 0, 5, plan(&maps[0])).await.unwrap();
    assert_eq!(took(&first), 5);
    // Another attempt finds it, in this generation and in the next.
    let next = QueryOptions {
        generation: 1,
        ..query("job")
    };
    for options in [query("job"), next.clone()] {
        let found = again(options, 6, plan(&maps[0])).await;
        assert_eq!((found.generation, found.attempt), (0, 5));
    }
    // One of its inputs was lost and made again: its rows may be others.
    let mut newer = maps[0].clone();
    let body = memory(vec![batch(0, 500), batch(500, 1000)]);
    let lost = QueryOptions {
        lost: [(1, 0)].into(),
        ..next.clone()
    };
    let map = map_stage("job", 1, by_key(2), body);
    let remade = run_as(Arc::clone(&runtime), &engine, lost.clone(), true, 1, 0, 3, map)
        .await
        .unwrap();
    let of_bucket = remade.iter().find(|part| part.partition_id == 0).unwrap();
    let new = location("job", 1, of_bucket);
    let output = OutputLocation::of_file_id(new.file_id.unwrap());
    assert_eq!(
        (output.generation, output.attempt),
        (1, 3),
        "a lost output is not looked for"
    );
    let replaced = newer
        .iter_mut()
        .find(|old| OutputLocation::of_file_id(old.file_id.unwrap()).map_partition == 0)
        .unwrap();
    *replaced = new;
    let made = again(lost.clone(), 7, plan(&newer)).await;
    assert_eq!((made.generation, made.attempt), (1, 7));
    let found = again(lost, 8, plan(&newer)).await;
    assert_eq!((found.generation, found.attempt), (1, 7));
    let stored = store
        .find(&MapOutputId::new("job", 2, 0), 1)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        rows(&result_of(&store, 2, stored.record.attempt).await).len() as u64,
        stored.record.rows
    );
}

/// The rows of what attempt `attempt` wrote in generation 1.
async fn result_of(store: &ShuffleStore, stage: u32, attempt: u32) -> Vec<RecordBatch> {
    let version = OutputVersion {
        generation: 1,
        attempt,
    };
    let output = MapOutputId::new("job", stage, 0).written_by(version);
    store.read(&output, 0).await.unwrap().try_collect().await.unwrap()
}
