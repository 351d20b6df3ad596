//! What the tasks of a job share: read once, the same rows, and nobody pays for the end of another.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arrow::record_batch::RecordBatch;
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{BroadcastNestedLoopJoin, BuildSide, HashJoin, JoinType, Operator};
use cne_proto::v1::{FragmentNode, PartitionPayload};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::future::join_all;
use futures::{StreamExt, TryStreamExt, stream};
use prost::Message;
use tokio::sync::Semaphore;

use super::build::*;
use crate::descriptor::descriptor_plan;
use crate::{CometFragmentExec, JobInputs, SharedInputs};

const TASKS: usize = 3;

/// A broadcast that counts how often it is read, waits for `gate`, and fails as long as `broken`.
#[derive(Debug)]
struct Broadcast {
    batch: RecordBatch,
    reads: AtomicUsize,
    gate: Arc<Semaphore>,
    broken: AtomicBool,
    properties: Arc<PlanProperties>,
}

impl Broadcast {
    fn of(batch: RecordBatch) -> Arc<Self> {
        let source = MemorySourceConfig::try_new_exec(&[vec![]], batch.schema(), None).unwrap();
        Arc::new(Self {
            batch,
            reads: AtomicUsize::new(0),
            gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            broken: AtomicBool::new(false),
            properties: Arc::clone(source.properties()),
        })
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

impl DisplayAs for Broadcast {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Broadcast")
    }
}

impl ExecutionPlan for Broadcast {
    fn name(&self) -> &str {
        "Broadcast"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let (gate, batch) = (Arc::clone(&self.gate), self.batch.clone());
        let broken = self.broken.load(Ordering::SeqCst);
        let rows = stream::once(async move {
            let _permit = gate.acquire().await;
            match broken {
                true => Err(DataFusionError::Execution("the store is away".into())),
                false => Ok(batch),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

fn column_of(rows: &[(Option<i64>, i64)]) -> RecordBatch {
    let keys: Vec<_> = rows.iter().map(|row| row.0).collect();
    let values: Vec<_> = rows.iter().map(|row| Some(row.1)).collect();
    longs(&[&keys, &values])
}

/// The fragment of a join of what each task has alone with a broadcast on the `broadcast_left` side.
fn fragment_of(block: &Operator, broadcast: &Arc<Broadcast>, broadcast_left: bool) -> CometFragmentExec {
    let own: Vec<Vec<RecordBatch>> = (0..TASKS as i64)
        .map(|task| {
            let rows = [(Some(1), task), (Some(2 + task), 10), (None, 5), (Some(9), task)];
            vec![column_of(&rows), column_of(&[(Some(task), 100)])]
        })
        .collect();
    let own = MemorySourceConfig::try_new_exec(&own, own[0][0].schema(), None).unwrap();
    let mut inputs: Vec<Arc<dyn ExecutionPlan>> = vec![own, Arc::clone(broadcast) as _];
    let mut broadcast_inputs = vec![false, true];
    if broadcast_left {
        inputs.reverse();
        broadcast_inputs.reverse();
    }
    inputs.insert(
        0,
        descriptor_plan(vec![PartitionPayload::default(); TASKS]).unwrap(),
    );
    let node = FragmentNode {
        operator: block.encode_to_vec().into(),
        broadcast_inputs,
        ..Default::default()
    };
    CometFragmentExec::try_new(node, inputs).unwrap()
}

fn sides() -> Vec<Operator> {
    vec![scan(vec![long(), long()]), scan(vec![long(), long()])]
}

fn hash_join(kind: JoinType, build: BuildSide, null_aware: bool) -> Operator {
    let join = HashJoin {
        left_join_keys: vec![column(0)],
        right_join_keys: vec![column(0)],
        join_type: kind.into(),
        build_side: build.into(),
        null_aware_anti_join: null_aware,
        ..Default::default()
    };
    op(OpStruct::HashJoin(join), sides())
}

fn nested_loop(kind: JoinType, build: BuildSide) -> Operator {
    let join = BroadcastNestedLoopJoin {
        join_type: kind.into(),
        build_side: build.into(),
        condition: None,
    };
    op(OpStruct::BroadcastNestedLoopJoin(join), sides())
}

/// A job with `bytes` for what its tasks share.
struct Job {
    inputs: Arc<JobInputs>,
    pool: Arc<dyn MemoryPool>,
    context: Arc<TaskContext>,
}

impl Job {
    fn new(bytes: usize) -> Self {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(bytes));
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::clone(&pool))
            .build_arc()
            .unwrap();
        let shared = SessionContext::new_with_config_rt(SessionConfig::new(), runtime).task_ctx();
        let inputs = Arc::new(JobInputs::default());
        let extension = SharedInputs::new(Arc::clone(&inputs), shared);
        let config = SessionConfig::new().with_extension(Arc::new(extension));
        Self {
            inputs,
            pool,
            context: SessionContext::new_with_config(config).task_ctx(),
        }
    }

    async fn run(&self, fragment: &CometFragmentExec, task: usize) -> Result<Vec<RecordBatch>> {
        let rows = fragment.execute(task, Arc::clone(&self.context))?;
        rows.try_collect().await
    }
}

/// Every join on every side, also those that mark the rows of their build side, against tasks that share nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_read_a_broadcast_once_and_give_the_rows_they_give_alone() {
    let batch = column_of(&[(Some(1), 7), (Some(1), 8), (Some(3), 9), (None, 1), (Some(0), 2)]);
    let without_null = column_of(&[(Some(1), 7), (Some(3), 9)]);
    let mut cases = vec![];
    for kind in [
        JoinType::Inner,
        JoinType::LeftOuter,
        JoinType::RightOuter,
        JoinType::FullOuter,
        JoinType::LeftSemi,
        JoinType::LeftAnti,
        JoinType::Existence,
    ] {
        for build in [BuildSide::BuildLeft, BuildSide::BuildRight] {
            cases.push((hash_join(kind, build, false), build, &batch));
            cases.push((nested_loop(kind, build), build, &batch));
        }
    }
    let not_in = hash_join(JoinType::LeftAnti, BuildSide::BuildRight, true);
    cases.push((not_in.clone(), BuildSide::BuildRight, &batch));
    cases.push((not_in, BuildSide::BuildRight, &without_null));
    for (block, build, batch) in cases {
        let broadcast = Broadcast::of(batch.clone());
        let fragment = fragment_of(&block, &broadcast, build == BuildSide::BuildLeft);
        let alone = SessionContext::new().task_ctx();
        let mut want = vec![];
        for task in 0..TASKS {
            let rows = fragment.execute(task, Arc::clone(&alone)).unwrap();
            want.push(sorted(&rows.try_collect::<Vec<_>>().await.unwrap()));
        }
        assert_eq!(broadcast.reads(), TASKS);
        let job = Job::new(1 << 20);
        // At the same time, and once more when the tables are there.
        for _ in 0..2 {
            let got = join_all((0..TASKS).map(|task| job.run(&fragment, task))).await;
            let got: Vec<_> = got.iter().map(|rows| sorted(rows.as_ref().unwrap())).collect();
            assert_eq!(got, want, "{block:?}");
        }
        assert_eq!(broadcast.reads(), TASKS + 1, "{block:?}");
        assert!(job.pool.reserved() > 0);
        assert!(job.inputs.release_idle());
        assert_eq!(job.pool.reserved(), 0, "{block:?}");
    }
}

/// Both the joins that share a table and those that share rows.
fn both() -> [Operator; 2] {
    [
        hash_join(JoinType::Inner, BuildSide::BuildRight, false),
        nested_loop(JoinType::Inner, BuildSide::BuildRight),
    ]
}

#[tokio::test]
async fn the_end_of_the_first_task_does_not_stop_the_load_for_the_second() {
    for block in both() {
        let broadcast = Broadcast::of(column_of(&[(Some(1), 7)]));
        let fragment = Arc::new(fragment_of(&block, &broadcast, false));
        let job = Arc::new(Job::new(1 << 20));
        broadcast.gate.forget_permits(Semaphore::MAX_PERMITS);
        let run = |task| {
            let (fragment, job) = (Arc::clone(&fragment), Arc::clone(&job));
            tokio::spawn(async move { job.run(&fragment, task).await })
        };
        let first = run(0);
        while broadcast.reads() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let second = run(1);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!job.inputs.release_idle(), "tasks wait for it");
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        broadcast.gate.add_permits(1);
        let rows = tokio::time::timeout(Duration::from_secs(10), second)
            .await
            .unwrap();
        assert!(!rows.unwrap().unwrap().is_empty());
        assert_eq!(broadcast.reads(), 1);
    }
}

#[tokio::test]
async fn a_failed_load_fails_those_who_wait_and_is_tried_again() {
    for block in both() {
        let broadcast = Broadcast::of(column_of(&[(Some(1), 7)]));
        let fragment = fragment_of(&block, &broadcast, false);
        let job = Job::new(1 << 20);
        broadcast.broken.store(true, Ordering::SeqCst);
        for ended in join_all((0..TASKS).map(|task| job.run(&fragment, task))).await {
            assert!(ended.unwrap_err().to_string().contains("the store is away"));
        }
        let failed = broadcast.reads();
        broadcast.broken.store(false, Ordering::SeqCst);
        for task in 0..TASKS {
            assert!(!job.run(&fragment, task).await.unwrap().is_empty());
        }
        assert_eq!(broadcast.reads(), failed + 1);
    }
}

#[tokio::test]
async fn what_does_not_fit_is_read_by_each_task_for_itself() {
    let keys: Vec<_> = (0..4000).map(|key| (Some(key), key)).collect();
    // Of a table that does not fit, the rows still might.
    for (block, tries) in both().into_iter().zip([2, 1]) {
        let broadcast = Broadcast::of(column_of(&keys));
        let fragment = fragment_of(&block, &broadcast, false);
        let job = Job::new(10_000);
        for task in 0..TASKS {
            assert!(!job.run(&fragment, task).await.unwrap().is_empty());
        }
        assert_eq!(broadcast.reads(), tries + TASKS, "only the first task tries");
        assert_eq!(job.pool.reserved(), 0);
    }
}

#[tokio::test]
async fn a_table_is_kept_while_a_task_reads_it() {
    let [block, _] = both();
    let broadcast = Broadcast::of(column_of(&[(Some(1), 7)]));
    let fragment = fragment_of(&block, &broadcast, false);
    let job = Job::new(1 << 20);
    let mut rows = fragment.execute(0, Arc::clone(&job.context)).unwrap();
    rows.next().await.unwrap().unwrap();
    assert!(!job.inputs.release_idle());
    assert!(job.pool.reserved() > 0);
    drop(rows);
    assert!(job.inputs.release_idle());
    assert_eq!(job.pool.reserved(), 0);
}
