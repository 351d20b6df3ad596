//! The plan that Ballista cuts into stages.
//!
//! A stage is cut at `RepartitionExec(Hash(label, n))`, the only mark used here, also for single and broadcast edges (n = 1): the reader's
//! partition is then always the bucket, and no collapsing node is left in the consumer. Ballista numbers stages in post-order from 1, so the number
//! of each is known here, and a second consumer of the same exchange reads the first one's stage.

use std::{collections::HashMap, sync::Arc};

use ballista_core::{JobId, execution_plans::UnresolvedShuffleExec};
use ballista_scheduler::planner::{DefaultDistributedPlanner, DistributedPlanner};
use bytes::Bytes;
use cne_fragment::{CometFragmentExec, descriptor::descriptor_plan};
use cne_proto::{
    spark_operator::{NativeScan, Operator, SparkFilePartition, operator::OpStruct},
    v1::{
        Block, ExchangeNode, FragmentNode, PartitionPayload, QueryRequest, SortedMergeNode, StageInput,
        stage::Kind, stage_input::Exchange,
    },
};
use cne_task::{ExchangeExec, SortedMergeExec, blocks::block_digest, codes, session_config};
use datafusion::{
    arrow::datatypes::SchemaRef,
    datasource::memory::MemorySourceConfig,
    physical_expr::{
        PhysicalExpr,
        expressions::{Column, lit},
    },
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, Partitioning, repartition::RepartitionExec, union::UnionExec,
    },
};
use prost::Message;

use super::{
    Planned,
    blocks::Validated,
    broken,
    counts::Counts,
    exchange::{self, Distribution, Route},
    identity,
};
use crate::error::Failure;

type Plan = Arc<dyn ExecutionPlan>;

struct Builder<'a> {
    request: &'a QueryRequest,
    blocks: &'a [Validated],
    counts: &'a Counts,
    // Stages with equal content have the same one.
    identity: Vec<usize>,
    // By identity of the producer and exchange node: Ballista's stage and its schema.
    planned: HashMap<(usize, Vec<u8>), (usize, SchemaRef)>,
    stages: usize,
    nodes: usize,
}

/// A stage that is forwarded to several consumers is planned for each of them; chains of such stages would grow without bound.
const MAX_NODES: usize = 4000;

/// Builds the plan of a validated graph.
///
/// # Errors
/// When DataFusion or Ballista refuse what was built.
pub(super) fn build(
    request: &QueryRequest,
    blocks: &[Validated],
    counts: &Counts,
) -> Result<Planned, Failure> {
    let root = request.stages.len() - 1;
    let identity = identity::of_stages(request, Some(counts));
    let mut builder = Builder {
        request,
        blocks,
        counts,
        identity,
        planned: HashMap::new(),
        stages: 0,
        nodes: 0,
    };
    let body = builder.stage(root)?;
    let schema = body.schema();
    let partitions = body.properties().partitioning.partition_count() as u32;
    let plan: Plan = Arc::new(ExchangeExec::whole(body));
    let final_stage = builder.stages as u32 + 1;
    let tasks = cut(&plan, final_stage)?;
    Ok(Planned {
        plan,
        schema,
        partitions,
        final_stage,
        tasks,
    })
}

// Ballista must cut exactly the stages that were counted: a shared stage is named by its number. Gives the number of tasks.
fn cut(plan: &Plan, final_stage: u32) -> Result<u32, Failure> {
    let config = session_config();
    let stages = DefaultDistributedPlanner::new()
        .plan_query_stages(&JobId::new("check"), Arc::clone(plan), config.options())
        .map_err(|e| {
            Failure::new(
                codes::INTERNAL,
                format!("the plan cannot be cut into stages: {e}"),
            )
        })?;
    let numbered = stages
        .iter()
        .enumerate()
        .all(|(at, stage)| stage.stage_id() == at + 1);
    if stages.len() != final_stage as usize || !numbered {
        let text = format!("{} stages were planned, {} were cut", final_stage, stages.len());
        return Err(Failure::new(codes::INTERNAL, text));
    }
    let tasks = stages.iter().flat_map(|stage| stage.children());
    Ok(tasks
        .map(|body| body.output_partitioning().partition_count() as u32)
        .sum())
}

impl Builder<'_> {
    fn failed(&self, stage: usize, error: &dyn std::fmt::Display) -> Failure {
        let mut failure = broken(stage, self.request, error);
        failure.detail.code = codes::INTERNAL.code.into();
        failure
    }

    /// The rows of a stage, without what its consumers do to them.
    fn stage(&mut self, index: usize) -> Result<Plan, Failure> {
        let stage = &self.request.stages[index];
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let text = format!(
                "the plan has more than {MAX_NODES} nodes: forward edges from one stage to several multiply it"
            );
            return Err(Failure::new(codes::TOO_LARGE, text));
        }
        match &stage.kind {
            Some(Kind::Block(block)) => {
                let descriptor = descriptor_plan(payloads(block, self.counts.of(index)));
                let mut children = vec![descriptor.map_err(|e| self.failed(index, &e))?];
                for at in 0..stage.inputs.len() {
                    children.push(self.edge(index, at)?);
                }
                self.aligned(index, &children)?;
                let scan_commons: Vec<Bytes> = block.scans.iter().map(|scan| scan.common.clone()).collect();
                let node = FragmentNode {
                    operator: block.operator.clone(),
                    block_digest: block_digest(&block.operator, &scan_commons),
                    scan_commons,
                    broadcast_inputs: stage.inputs.iter().map(is_broadcast).collect(),
                    stage: index as u32,
                    any_order: self.any_order(index),
                    ansi: self.is_ansi(),
                };
                let fragment =
                    CometFragmentExec::try_new(node, children).map_err(|e| self.failed(index, &e))?;
                Ok(Arc::new(fragment))
            }
            Some(Kind::Union(_)) => {
                let inputs = (0..stage.inputs.len())
                    .map(|at| self.edge(index, at))
                    .collect::<Result<Vec<_>, _>>()?;
                match <[Plan; 1]>::try_from(inputs) {
                    Ok([only]) => Ok(only),
                    Err(inputs) => UnionExec::try_new(inputs).map_err(|e| self.failed(index, &e)),
                }
            }
            Some(Kind::Coalesce(_)) => {
                let producer = stage.inputs[0].producer as usize;
                let (from, to) = (self.counts.of(producer), self.counts.of(index));
                if from == to {
                    return self.stage(producer);
                }
                self.exchange(producer, exchange::coalesce(from, to))
            }
            Some(Kind::InlineData(_)) => {
                let rows = &self.blocks[index].rows;
                let schema = SchemaRef::clone(&self.blocks[index].schema);
                Ok(MemorySourceConfig::try_new_exec(rows, schema, None)
                    .map_err(|e| self.failed(index, &e))?)
            }
            None => Err(broken(index, self.request, "it has no kind")),
        }
    }

    fn is_ansi(&self) -> bool {
        let ansi = self.request.config.get("spark.sql.ansi.enabled");
        ansi.is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    // Exchanges mix the rows of their map tasks anyway; the result and most forward edges hand on the order as it is.
    fn any_order(&self, index: usize) -> bool {
        let stages = &self.request.stages;
        let consumers = stages.iter().enumerate().filter(|(_, stage)| {
            stage.inputs.iter().any(|input| {
                input.producer as usize == index && matches!(input.exchange, Some(Exchange::Forward(_)))
            })
        });
        index + 1 < stages.len() && consumers.map(|(at, _)| at).all(|at| self.reorders(at))
    }

    // Whether a block gives its rows an order of its own, whatever theirs was.
    fn reorders(&self, index: usize) -> bool {
        let Some(Kind::Block(block)) = &self.request.stages[index].kind else {
            return false;
        };
        let Ok(operator) = Operator::decode(block.operator.clone()) else {
            return false;
        };
        let mut at = &operator;
        loop {
            match (&at.op_struct, at.children.as_slice()) {
                (Some(OpStruct::Sort(_)), _) => return true,
                (Some(OpStruct::Projection(_) | OpStruct::Filter(_) | OpStruct::Limit(_)), [child]) => {
                    at = child
                }
                _ => return false,
            }
        }
    }

    // Task p of a block reads partition p of each input that is not read whole.
    fn aligned(&self, index: usize, children: &[Plan]) -> Result<(), Failure> {
        let count = self.counts.of(index) as usize;
        for (at, (child, input)) in children
            .iter()
            .skip(1)
            .zip(&self.request.stages[index].inputs)
            .enumerate()
        {
            let found = child.properties().partitioning.partition_count();
            if !is_broadcast(input) && found != count {
                return Err(broken(
                    index,
                    self.request,
                    format!("input {at} has {found} partitions, the stage {count}"),
                ));
            }
        }
        Ok(())
    }

    fn edge(&mut self, consumer: usize, at: usize) -> Result<Plan, Failure> {
        let input = &self.request.stages[consumer].inputs[at];
        let producer = input.producer as usize;
        match &input.exchange {
            Some(Exchange::Forward(_)) => self.stage(producer),
            Some(Exchange::Broadcast(_)) => self.exchange(producer, exchange::whole()),
            Some(Exchange::Shuffle(shuffle)) => {
                let broken_edge = |e| broken(consumer, self.request, e);
                let distribution = Distribution::of_shuffle(shuffle).map_err(broken_edge)?;
                let buckets = self.counts.of_edge(consumer, at);
                // Ballista cuts below a union whatever it cannot leave out for the tasks of other branches.
                let in_union = matches!(self.request.stages[consumer].kind, Some(Kind::Union(_)));
                match distribution.route(buckets, in_union) {
                    Route::Direct(node) => self.exchange(producer, node),
                    Route::Sorted(order, None) => self.sorted(producer, order),
                    Route::Sorted(order, Some(parts)) => {
                        self.exchanged(producer, parts, |builder| builder.sorted(producer, order))
                    }
                }
            }
            None => Err(broken(consumer, self.request, "an input has no kind of edge")),
        }
    }

    /// One partition with all rows of a stage in order: each of its tasks sorts its own, whoever reads merges.
    fn sorted(&mut self, producer: usize, order: Bytes) -> Result<Plan, Failure> {
        let runs = self.exchange(producer, exchange::sorted_run(order.clone()))?;
        let node = SortedMergeNode {
            partitioning: order.to_vec(),
        };
        let merge = SortedMergeExec::try_new(node, runs).map_err(|e| self.failed(producer, &e))?;
        Ok(Arc::new(merge))
    }

    fn exchange(&mut self, producer: usize, node: ExchangeNode) -> Result<Plan, Failure> {
        self.exchanged(producer, node, |builder| builder.stage(producer))
    }

    /// Distributes what `rows` makes of a stage by `node`; when that was planned before, its output is read again.
    fn exchanged(
        &mut self,
        producer: usize,
        node: ExchangeNode,
        rows: impl FnOnce(&mut Self) -> Result<Plan, Failure>,
    ) -> Result<Plan, Failure> {
        let buckets = node.num_buckets as usize;
        let key = (self.identity[producer], identity::of_exchange(&node));
        if let Some((stage, schema)) = self.planned.get(&key) {
            let reader = UnresolvedShuffleExec::new(*stage, SchemaRef::clone(schema), label(schema, buckets));
            return Ok(Arc::new(reader));
        }
        let body = rows(self)?;
        let schema = body.schema();
        self.stages += 1;
        self.planned.insert(key, (self.stages, SchemaRef::clone(&schema)));
        let mapped = Arc::new(ExchangeExec::new(node, body));
        let cut = RepartitionExec::try_new(mapped, label(&schema, buckets))
            .map_err(|e| self.failed(producer, &e))?;
        Ok(Arc::new(cut))
    }
}

fn is_broadcast(input: &StageInput) -> bool {
    matches!(input.exchange, Some(Exchange::Broadcast(_)))
}

// What Ballista sees of an exchange. Only the number counts.
fn label(schema: &SchemaRef, buckets: usize) -> Partitioning {
    let key: Arc<dyn PhysicalExpr> = match schema.fields().first() {
        Some(field) => Arc::new(Column::new(field.name(), 0)),
        None => lit(0i32),
    };
    Partitioning::Hash(vec![key], buckets)
}

fn payloads(block: &Block, count: u32) -> Vec<PartitionPayload> {
    let nothing = || {
        let empty = NativeScan {
            file_partition: Some(SparkFilePartition::default()),
            ..Default::default()
        };
        Bytes::from(empty.encode_to_vec())
    };
    let payload = |partition: usize| {
        let of =
            |scan: &cne_proto::v1::ScanData| scan.partitions.get(partition).cloned().unwrap_or_else(nothing);
        PartitionPayload {
            scans: block.scans.iter().map(of).collect(),
        }
    };
    (0..count as usize).map(payload).collect()
}
