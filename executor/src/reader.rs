use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use ballista_core::execution_plans::ShuffleReaderExec;
use ballista_core::serde::protobuf;
use cne_fragment::{Cancellable, sorted_properties, unordered_properties};
use cne_proto::v1::{BucketRange, CommitInput, MapOutputInput, commit_input::Input};
use cne_storage::{MapOutput, MapOutputId, OutputVersion, ShuffleStore};
use cne_task::{Durability, OutputLocation, QueryOptions, SortedMergeExec, TaskScope};
use datafusion::common::Statistics;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

use crate::merge::MergeExec;

/// One bucket of the outputs of one stage.
#[derive(Debug, Clone)]
struct Source {
    bucket: u32,
    outputs: Vec<MapOutput>,
    /// Rows of all outputs together, where they are known.
    rows: Option<u64>,
}

/// Reads committed map outputs, in ascending order of their map partitions, each once: a retry sees its input in the same order.
#[derive(Debug)]
pub(crate) struct MapOutputsExec {
    store: ShuffleStore,
    /// Per partition of this node.
    sources: Vec<Source>,
    /// Whether partition 0 is all of them, one after the other.
    joined: bool,
    broadcast: bool,
    properties: Arc<PlanProperties>,
}

impl MapOutputsExec {
    /// Reads outputs of `query`.
    pub(crate) fn of(reader: &ShuffleReaderExec, store: &ShuffleStore, query: &QueryOptions) -> Result<Self> {
        let namespace = query.namespace.as_str();
        let mut holders = HashMap::<String, Arc<str>>::new();
        let sources = reader.partition.iter().map(|locations| {
            let mut bucket = 0;
            let mut outputs = Vec::with_capacity(locations.len());
            let mut rows = HashMap::new();
            for location in locations {
                let id = &location.partition_id;
                let output = location.file_id.map(OutputLocation::of_file_id);
                let (Some(output), Ok(stage)) = (output, u32::try_from(id.stage_id)) else {
                    return Err(DataFusionError::Internal(format!(
                        "a location without a map partition: {location:?}"
                    )));
                };
                bucket = u32::try_from(id.partition_id).unwrap_or(u32::MAX);
                let statistics: protobuf::PartitionStats = location.partition_stats.into();
                rows.insert(
                    output.map_partition,
                    u64::try_from(statistics.num_rows).unwrap_or(0),
                );
                let version = OutputVersion {
                    generation: output.generation,
                    attempt: output.attempt,
                };
                let output = MapOutputId::new(namespace, stage, output.map_partition).written_by(version);
                // What is in the store for sure is nobody's to keep.
                if query.durability != Durability::Store {
                    let executor = &location.executor_meta;
                    let holder = format!("{}:{}", executor.host, executor.port);
                    let holder = holders
                        .entry(holder)
                        .or_insert_with_key(|name| name.as_str().into());
                    store.note_holder(output.clone(), holder);
                }
                outputs.push(output);
            }
            outputs.sort_unstable();
            outputs.dedup();
            let rows = Some(rows.values().sum());
            Ok(Source {
                bucket,
                outputs,
                rows,
            })
        });
        Ok(Self {
            store: store.clone(),
            sources: sources.collect::<Result<_>>()?,
            joined: false,
            broadcast: reader.broadcast,
            properties: Arc::clone(reader.properties()),
        })
    }

    /// Each map output as a partition of its own, in `ordering`.
    pub(crate) fn runs(&self, ordering: &LexOrdering) -> Self {
        let of = |source: &Source| {
            let bucket = source.bucket;
            let one = |output: &MapOutput| Source {
                bucket,
                outputs: vec![output.clone()],
                rows: None,
            };
            source.outputs.iter().map(one).collect::<Vec<_>>()
        };
        let sources: Vec<_> = self.sources.iter().flat_map(of).collect();
        Self {
            store: self.store.clone(),
            properties: sorted_properties(self.schema(), ordering, sources.len()),
            sources,
            joined: false,
            broadcast: false,
        }
    }

    /// All partitions as one, one after the other.
    pub(crate) fn joined(&self) -> Self {
        Self {
            store: self.store.clone(),
            sources: self.sources.clone(),
            joined: true,
            broadcast: false,
            properties: unordered_properties(self.schema(), 1),
        }
    }

    /// Where everything lies that is read, from the commit records.
    pub(crate) async fn ranges(&self) -> Result<Vec<BucketRange>> {
        let mut ranges = vec![];
        for source in &self.sources {
            for output in &source.outputs {
                let stored = self.store.record(output).await?;
                ranges.extend(stored.record.buckets.get(source.bucket as usize).cloned());
            }
        }
        Ok(ranges)
    }
}

impl MapOutputsExec {
    fn sources_of(&self, partition: usize) -> &[Source] {
        match (self.joined, self.broadcast) {
            (true, _) => &self.sources,
            (false, true) => self.sources.get(..1).unwrap_or_default(),
            // An input that has no rows at all has no locations either.
            (false, false) => self.sources.get(partition..=partition).unwrap_or_default(),
        }
    }
}

/// Replaces every reader of Ballista's in `plan` by one of ours.
pub(crate) fn replace_readers(
    plan: Arc<dyn ExecutionPlan>,
    store: &ShuffleStore,
    query: &QueryOptions,
) -> Result<Arc<dyn ExecutionPlan>> {
    let replaced = plan.transform_down(|node| {
        let ours: Arc<dyn ExecutionPlan> = if let Some(reader) = node.downcast_ref::<ShuffleReaderExec>() {
            Arc::new(MapOutputsExec::of(reader, store, query)?)
        } else if let Some(merge) = node.downcast_ref::<CoalescePartitionsExec>()
            && let Some(reader) = merge.input().downcast_ref::<ShuffleReaderExec>()
        {
            // Theirs takes batches as they come.
            let reader = MapOutputsExec::of(reader, store, query)?;
            Arc::new(MapOutputsExec {
                joined: true,
                properties: Arc::clone(merge.properties()),
                ..reader
            })
        } else if let Some(merge) = node.downcast_ref::<SortedMergeExec>()
            && let Some(reader) = merge.child().downcast_ref::<ShuffleReaderExec>()
        {
            Arc::new(MergeExec::new(
                merge.ordering().clone(),
                &MapOutputsExec::of(reader, store, query)?,
            ))
        } else {
            return Ok(Transformed::no(node));
        };
        Ok(Transformed::yes(ours))
    })?;
    Ok(replaced.data)
}

/// What the readers in `plan` read, each once, in order; and from where.
fn outputs_read(plan: &Arc<dyn ExecutionPlan>) -> Result<(Vec<MapOutput>, Option<ShuffleStore>)> {
    let mut outputs = vec![];
    let mut store = None;
    plan.apply(|node| {
        if let Some(reader) = node.downcast_ref::<MapOutputsExec>() {
            store = Some(reader.store.clone());
            outputs.extend(
                reader
                    .sources
                    .iter()
                    .flat_map(|source| source.outputs.iter().cloned()),
            );
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    outputs.sort_unstable();
    outputs.dedup();
    Ok((outputs, store))
}

/// What the readers in `plan` read, for the commit record. The records are cached: the rows were read through them.
pub(crate) async fn inputs_read(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<CommitInput>> {
    let (outputs, store) = outputs_read(plan)?;
    let Some(store) = store else { return Ok(vec![]) };
    let mut inputs = Vec::with_capacity(outputs.len());
    for output in &outputs {
        // One that is gone was not read: a limit was reached before.
        let Ok(stored) = store.record(output).await else {
            continue;
        };
        let record = &stored.record;
        inputs.push(CommitInput {
            input: Some(Input::MapOutput(MapOutputInput {
                stage_id: record.stage_id,
                map_partition: record.map_partition,
                generation: record.generation,
                attempt: record.attempt,
                commit_checksum: stored.checksum,
            })),
        });
    }
    Ok(inputs)
}

/// Whether an output with `inputs` was made from exactly what the readers in `plan` would read now.
pub(crate) fn same_inputs(plan: &Arc<dyn ExecutionPlan>, inputs: &[CommitInput]) -> Result<bool> {
    let (outputs, _) = outputs_read(plan)?;
    let mut found = Vec::with_capacity(inputs.len());
    for input in inputs {
        match &input.input {
            Some(Input::MapOutput(input)) => found.push((
                input.stage_id,
                input.map_partition,
                input.generation,
                input.attempt,
            )),
            // Of files, the plan says which.
            Some(Input::File(_)) => {}
            None => return Ok(false),
        }
    }
    found.sort_unstable();
    let now = outputs.iter().map(|output| {
        let version = output.version;
        (
            output.id.stage_id,
            output.id.map_partition,
            version.generation,
            version.attempt,
        )
    });
    Ok(now.eq(found))
}

impl DisplayAs for MapOutputsExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs: usize = self.sources.iter().map(|source| source.outputs.len()).sum();
        write!(
            f,
            "MapOutputsExec: partitions={}, outputs={outputs}",
            self.sources.len()
        )
    }
}

impl ExecutionPlan for MapOutputsExec {
    fn name(&self) -> &str {
        "MapOutputsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    /// Rows are counted when they are committed.
    fn statistics_from_inputs(
        &self,
        _input_stats: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let sources = match args.partition() {
            Some(partition) => self.sources_of(partition),
            None => &self.sources,
        };
        let rows: Option<u64> = sources.iter().map(|source| source.rows).sum();
        let rows = rows.and_then(|rows| usize::try_from(rows).ok());
        let rows = rows.map_or(Precision::Absent, Precision::Exact);
        Ok(Arc::new(
            Statistics::new_unknown(&self.schema()).with_num_rows(rows),
        ))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let sources = self.sources_of(partition).to_vec();
        let (store, schema) = (self.store.clone(), self.schema());
        let rows = futures::stream::iter(sources)
            .flat_map(move |source| store.read_ordered(source.outputs, source.bucket, Arc::clone(&schema)));
        let rows = Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows));
        Ok(match TaskScope::of(context.session_config()) {
            Some(scope) => Cancellable::wrap(rows, scope.cancel.clone()),
            None => rows,
        })
    }
}
