//! One task of a stage: reads committed map outputs, runs the stage's plan, distributes the rows, commits.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use ballista_core::JobId;
use ballista_core::execution_plans::{ShuffleWriterExec, SortShuffleWriterExec};
use ballista_core::serde::protobuf::ShuffleWritePartition;
use ballista_executor::execution_engine::{ExecutionEngine, QueryStageExecutor};
use cne_fragment::{Cancellable, FragmentError, HashJoinBudget, SharedInputs, TaskCancellation};
use cne_proto::v1::{ExchangeNode, Whole, exchange_node::Distribution};
use cne_storage::{
    Committed, Durability, MapOutputId, OutputVersion, ShuffleStore, TaskAttempt, WriterOptions,
};
use cne_task::merge::sort_order;
use cne_task::{ExchangeExec, LaunchedTask, OutputLocation, QueryOptions, TaskIdentity, TaskScope};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::prelude::SessionConfig;
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::distribute::Distributor;
use crate::jobs::Jobs;
use crate::merge::MergeExec;
use crate::reader::{inputs_read, replace_readers, same_inputs};
use crate::{Totals, failure};

/// Runs the stages of Ballista's plans with our own readers and writers. What Ballista's writer nodes say about the distribution of rows is
/// only the mark by which it cuts stages; the [`ExchangeExec`] below says what happens.
#[derive(Debug)]
pub struct Engine {
    store: ShuffleStore,
    executor_id: String,
    writer: WriterOptions,
    totals: Arc<Totals>,
    jobs: Arc<Jobs>,
}

impl Engine {
    /// Reads and commits map outputs in `store`; commit records name `executor_id`. `writer` holds the upper limits of a writer's memory.
    /// `jobs` keeps what the tasks of a job share.
    pub(crate) fn new(
        store: ShuffleStore,
        executor_id: String,
        writer: WriterOptions,
        totals: Arc<Totals>,
        jobs: Arc<Jobs>,
    ) -> Self {
        Self {
            store,
            executor_id,
            writer,
            totals,
            jobs,
        }
    }
}

impl ExecutionEngine for Engine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        _task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        _work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let malformed = |what: String| DataFusionError::from(FragmentError::Malformed(what));
        let passes_through = if plan.is::<ShuffleWriterExec>() {
            true
        } else if plan.is::<SortShuffleWriterExec>() {
            false
        } else {
            return Err(malformed(format!("a stage whose root is {}", plan.name())));
        };
        let top = plan.children().first().map(|child| Arc::clone(child));
        let top = top.ok_or_else(|| malformed("a stage without a plan".into()))?;
        let (node, body) = match top.downcast_ref::<ExchangeExec>() {
            Some(exchange) => (exchange.node().clone(), Arc::clone(exchange.child())),
            None if passes_through => (whole(), top),
            None => {
                return Err(malformed(
                    "a stage that does not say how its rows are distributed".into(),
                ));
            }
        };
        if passes_through && node.num_buckets != 1 {
            return Err(malformed(format!("a result with {} buckets", node.num_buckets)));
        }
        // As our launcher sets them: Ballista's own numbers are those of the buckets where a stage distributes by hash.
        let partitions = global_output_partition_ids
            .into_iter()
            .map(narrow)
            .collect::<Result<Vec<_>>>()?;
        let planned = body.properties().partitioning.partition_count();
        if partitions.len() != planned {
            return Err(malformed(format!(
                "a task of {} partitions whose plan has {planned}",
                partitions.len()
            )));
        }
        let query = QueryOptions::of(config);
        let launched = config.get_extension::<LaunchedTask>();
        let launched =
            *launched.ok_or_else(|| malformed("a task without the number of its attempt".into()))?;
        Ok(Arc::new(Stage {
            store: self.store.clone(),
            executor_id: self.executor_id.clone(),
            writer: self.writer,
            totals: Arc::clone(&self.totals),
            jobs: Arc::clone(&self.jobs),
            job_id: job_id.to_string(),
            launched,
            stage_id: narrow(stage_id)?,
            partitions,
            passes_through,
            body: in_order(&node, replace_readers(body, &self.store, &query)?)?,
            node,
            query,
        }))
    }
}

fn whole() -> ExchangeNode {
    ExchangeNode {
        num_buckets: 1,
        distribution: Some(Distribution::Whole(Whole {})),
    }
}

/// The rows of a sorted run are sorted here, in each task.
fn in_order(node: &ExchangeNode, body: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(Distribution::SortedRun(order)) = &node.distribution else {
        return Ok(body);
    };
    let order = sort_order(order, &body.schema())?;
    Ok(Arc::new(
        SortExec::new(order, body).with_preserve_partitioning(true),
    ))
}

fn narrow(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|error| DataFusionError::External(Box::new(error)))
}

/// The task's part of a stage: usually one partition.
struct Stage {
    store: ShuffleStore,
    executor_id: String,
    writer: WriterOptions,
    totals: Arc<Totals>,
    jobs: Arc<Jobs>,
    job_id: String,
    query: QueryOptions,
    launched: LaunchedTask,
    stage_id: u32,
    /// Partition i of `body` is this partition of the stage.
    partitions: Vec<u32>,
    passes_through: bool,
    node: ExchangeNode,
    body: Arc<dyn ExecutionPlan>,
}

impl Stage {
    fn id(&self, partition: u32) -> MapOutputId {
        MapOutputId::new(self.query.namespace.as_str(), self.stage_id, partition)
    }

    fn looks_first(&self) -> bool {
        self.launched.look_first || self.query.look_first
    }

    /// What an earlier attempt has committed of this partition, if it counts: it was made from what would be read now, and is not lost.
    async fn committed_before(&self, partition: u32) -> Result<Option<Committed>> {
        if !self.looks_first() || self.query.lost.contains(&(self.stage_id, partition)) {
            return Ok(None);
        }
        let generation = self.query.generation;
        let Some(stored) = self.store.find(&self.id(partition), generation).await? else {
            return Ok(None);
        };
        // After a restart, what was lost shows in its data alone: the record stays.
        let counts = same_inputs(&self.body, &stored.record.inputs)?
            && (generation == 0 || self.store.has_data(&stored.record).await?);
        Ok(counts.then_some(Committed { won: false, stored }))
    }

    /// Takes what was committed before, or runs one partition and commits its rows. Says whether it ran.
    async fn take_or_run(
        &self,
        local: usize,
        partition: u32,
        context: &Arc<TaskContext>,
        task: &TaskIdentity,
    ) -> Result<(Committed, bool)> {
        if let Some(found) = self.committed_before(partition).await? {
            return Ok((found, false));
        }
        let (stage, generation, attempt) = (self.stage_id, self.query.generation, self.launched.attempt);
        let query = self.query.query_id.as_str();
        tracing::info!(query, stage, partition, generation, attempt, "task started");
        Ok((self.run(local, partition, context, task).await?, true))
    }

    /// Runs one partition and commits its rows.
    async fn run(
        &self,
        local: usize,
        partition: u32,
        context: &Arc<TaskContext>,
        task: &TaskIdentity,
    ) -> Result<Committed> {
        let cancel = CancellationToken::new();
        // Dropping this future (Ballista's way to abort a task) stops whatever was spawned for it.
        let _guard = cancel.clone().drop_guard();
        let running = self.jobs.enter(&self.job_id);
        let context = scoped(context, &cancel, task, partition, running.shared(context));
        let rows = self.body.execute(local, Arc::clone(&context))?;
        // Rows that are always there must not keep this loop from noticing an abort.
        let mut rows = Cancellable::wrap(make_cooperative(rows), cancel);
        let merged = match self.body.downcast_ref::<MergeExec>() {
            Some(merge) => Some(merge.rows().await?),
            None => None,
        };
        let mut distributor = Distributor::plan(&self.node, self.body.as_ref(), partition, merged)?;
        let attempt = TaskAttempt {
            version: OutputVersion {
                generation: self.query.generation,
                attempt: self.launched.attempt,
            },
            executor_id: self.executor_id.clone(),
        };
        let id = self.id(partition);
        let buckets = self.node.num_buckets.max(1) as usize;
        let options = self.options(&context);
        let mut writer = self
            .store
            .writer(id, attempt, self.body.schema(), buckets, &context, options)?;
        let mut scratch = vec![];
        while let Some(batch) = rows.next().await {
            distributor.write(&mut writer, batch?, &mut scratch).await?;
        }
        drop(rows);
        Ok(writer.finish(inputs_read(&self.body).await?).await?)
    }

    fn options(&self, context: &TaskContext) -> WriterOptions {
        let most = self.writer;
        let (gather_bytes, encoded_bytes) = match context.runtime_env().memory_pool.memory_limit() {
            MemoryLimit::Finite(limit) => (
                most.gather_bytes.min(limit / 8),
                most.encoded_bytes.min(limit / 2),
            ),
            _ => (most.gather_bytes, most.encoded_bytes),
        };
        WriterOptions {
            batch_size: context.session_config().batch_size(),
            gather_bytes,
            encoded_bytes,
            durability: match self.query.durability {
                cne_task::Durability::Local => Durability::Local,
                cne_task::Durability::WriteBehind => Durability::WriteBehind,
                cne_task::Durability::Store => Durability::Store,
            },
            settles: self.looks_first(),
            ..most
        }
    }

    /// What Ballista is told of a committed output: the winner's, whoever that is.
    fn written(&self, committed: &Committed, partition: u32, into: &mut Vec<ShuffleWritePartition>) {
        let record = &committed.stored.record;
        let location = OutputLocation {
            map_partition: partition,
            generation: record.generation,
            attempt: record.attempt,
        };
        for (bucket, range) in record.buckets.iter().enumerate() {
            // A reader needs no location to read nothing, but a result partition has to be there.
            if range.rows == 0 && !self.passes_through {
                continue;
            }
            into.push(ShuffleWritePartition {
                partition_id: if self.passes_through {
                    u64::from(partition)
                } else {
                    bucket as u64
                },
                num_batches: u64::from(range.batches),
                num_rows: range.rows,
                num_bytes: range.length.max(1),
                file_id: Some(location.file_id()),
                is_sort_shuffle: !self.passes_through,
            });
        }
    }
}

/// A quarter of the task's memory. None after a failure, which may have been for lack of memory: a merge join spills.
fn hash_join_budget(context: &TaskContext, task: &TaskIdentity) -> Option<HashJoinBudget> {
    if task.task_attempt > 0 || task.stage_attempt > 0 {
        return None;
    }
    match context.runtime_env().memory_pool.memory_limit() {
        MemoryLimit::Finite(limit) => Some(HashJoinBudget {
            bytes: limit as u64 / 4,
        }),
        _ => None,
    }
}

/// The task's context with what its operators need to stop in time.
fn scoped(
    context: &TaskContext,
    cancel: &CancellationToken,
    task: &TaskIdentity,
    partition: u32,
    shared: SharedInputs,
) -> Arc<TaskContext> {
    let scope = TaskScope {
        cancel: cancel.clone(),
        identity: task.clone(),
        partition,
    };
    let config = context.session_config().clone();
    let config = match hash_join_budget(context, task) {
        Some(budget) => config.with_extension(Arc::new(budget)),
        None => config,
    };
    let config = config
        .with_extension(Arc::new(scope))
        .with_extension(Arc::new(TaskCancellation(cancel.clone())))
        .with_extension(Arc::new(shared));
    Arc::new(TaskContext::new(
        context.task_id(),
        context.session_id(),
        config,
        context.scalar_functions().clone(),
        context.higher_order_functions().clone(),
        context.aggregate_functions().clone(),
        context.window_functions().clone(),
        context.runtime_env(),
    ))
}

#[async_trait::async_trait]
impl QueryStageExecutor for Stage {
    async fn execute_query_stage(
        &self,
        _task_id: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        let task = TaskIdentity::of(&context)
            .ok_or_else(|| DataFusionError::from(FragmentError::Malformed("a task without a name".into())))?;
        let _running = self.totals.task();
        let mut written = vec![];
        for (local, partition) in self.partitions.iter().copied().enumerate() {
            let started = Instant::now();
            let span = tracing::info_span!(
                "task",
                query = self.query.query_id,
                stage = self.stage_id,
                partition,
                generation = self.query.generation,
                attempt = self.launched.attempt
            );
            let run = AssertUnwindSafe(self.take_or_run(local, partition, &context, &task))
                .catch_unwind()
                .instrument(span)
                .await;
            let (query, stage, generation) =
                (self.query.query_id.as_str(), self.stage_id, self.query.generation);
            let attempt = self.launched.attempt;
            let ms = started.elapsed().as_millis() as u64;
            let error = match run {
                Ok(Ok((committed, ran))) => {
                    let record = &committed.stored.record;
                    let (rows, bytes, of) = (record.rows, record.bytes, record.attempt);
                    if ran {
                        let won = committed.won;
                        tracing::info!(
                            query,
                            stage,
                            partition,
                            generation,
                            attempt,
                            rows,
                            bytes,
                            ms,
                            won,
                            "task done"
                        );
                        self.totals.succeeded(rows, bytes);
                    } else {
                        let since = record.generation;
                        tracing::info!(
                            query,
                            stage,
                            partition,
                            generation,
                            attempt,
                            rows,
                            bytes,
                            since,
                            of,
                            "task found committed"
                        );
                        self.totals.found();
                    }
                    self.written(&committed, partition, &mut written);
                    continue;
                }
                Ok(Err(error)) => {
                    tracing::warn!(query, stage, partition, generation, attempt, ms, %error, "task failed");
                    failure::to_ballista(&error, &task, partition)
                }
                Err(panic) => {
                    tracing::error!(query, stage, partition, generation, attempt, ms, "task panicked");
                    failure::of_panic(panic.as_ref(), &task, partition)
                }
            };
            self.totals.failed();
            return Err(error);
        }
        Ok(written)
    }

    /// None: vectors of different length in one stage would make Ballista drop a whole batch of statuses.
    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        vec![]
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage")
            .field("job_id", &self.job_id)
            .field("stage_id", &self.stage_id)
            .field("partitions", &self.partitions)
            .field("node", &self.node)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "job {}, stage {}, partitions {:?}",
            self.job_id, self.stage_id, self.partitions
        )
    }
}
