//! Plans by hand, and stages run as Ballista would run them.

mod engine;
mod flight;
mod jobs;
mod peers;
mod service;
mod sorted;

use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use ballista_core::execution_plans::{ShuffleReaderExec, ShuffleWriterExec, SortShuffleWriterExec};
use ballista_core::serde::protobuf::ShuffleWritePartition;
use ballista_core::serde::scheduler::{
    ExecutorMetadata, ExecutorSpecification, PartitionId, PartitionLocation, PartitionStats,
};
use ballista_executor::execution_engine::ExecutionEngine;
use cne_proto::spark_expression::data_type::DataTypeId;
use cne_proto::spark_expression::{self as spark, BoundReference, Expr, expr::ExprStruct};
use cne_proto::spark_partitioning::{
    HashPartition, Partitioning as Message, partitioning::PartitioningStruct,
};
use cne_proto::v1::{ExchangeNode, exchange_node::Distribution};
use cne_storage::{ShuffleStore, WriterOptions};
use cne_task::{ExchangeExec, LaunchedTask, QueryOptions, session_config};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use object_store::memory::InMemory;
use prost::Message as _;

use crate::Totals;
use crate::engine::Engine;
use crate::jobs::Jobs;

pub(super) type Plan = Arc<dyn ExecutionPlan>;

pub(super) fn store() -> ShuffleStore {
    ShuffleStore::new(Arc::new(InMemory::new()), object_store::path::Path::default())
}

pub(super) fn engine(store: &ShuffleStore) -> Engine {
    Engine::new(
        store.clone(),
        "executor".into(),
        WriterOptions::default(),
        Arc::new(Totals::default()),
        jobs(),
    )
}

pub(super) fn jobs() -> Arc<Jobs> {
    Jobs::new(TaskContext::default().runtime_env())
}

pub(super) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
    ]))
}

/// Keys `from..to`, every seventh of them NULL.
pub(super) fn batch(from: i64, to: i64) -> RecordBatch {
    let keys: Int64Array = (from..to).map(|key| (key % 7 != 0).then_some(key)).collect();
    let text: StringArray = (from..to).map(|key| Some(format!("row {key}"))).collect();
    RecordBatch::try_new(schema(), vec![Arc::new(keys), Arc::new(text)]).unwrap()
}

pub(super) fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let text = |batch: &RecordBatch| {
        batch
            .column(1)
            .as_string::<i32>()
            .iter()
            .flatten()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(text).collect()
}

pub(super) fn keys(batches: &[RecordBatch]) -> Vec<Option<i64>> {
    let of = |batch: &RecordBatch| {
        batch
            .column(0)
            .as_primitive::<Int64Type>()
            .iter()
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

pub(super) fn memory(batches: Vec<RecordBatch>) -> Plan {
    MemorySourceConfig::try_new_exec(&[batches], schema(), None).unwrap()
}

pub(super) fn long() -> spark::DataType {
    spark::DataType {
        type_id: DataTypeId::Int64.into(),
        type_info: None,
    }
}

pub(super) fn column(index: i32) -> Expr {
    let bound = BoundReference {
        index,
        datatype: Some(long()),
    };
    Expr {
        expr_struct: Some(ExprStruct::Bound(bound)),
        ..Default::default()
    }
}

/// By hash of the first column.
pub(super) fn by_key(buckets: u32) -> ExchangeNode {
    let hash = HashPartition {
        hash_expression: vec![column(0)],
        num_partitions: buckets as i32,
    };
    let message = Message {
        partitioning_struct: Some(PartitioningStruct::HashPartition(hash)),
    };
    ExchangeNode {
        num_buckets: buckets,
        distribution: Some(Distribution::Partitioning(message.encode_to_vec().into())),
    }
}

/// A map stage as Ballista's planner makes it.
pub(super) fn map_stage(job: &str, stage: usize, node: ExchangeNode, body: Plan) -> Plan {
    let label: Arc<dyn PhysicalExpr> = Arc::new(Column::new("k", 0));
    let label = Partitioning::Hash(vec![label], node.num_buckets as usize);
    let body = Arc::new(ExchangeExec::new(node, body));
    Arc::new(
        SortShuffleWriterExec::try_new(job.into(), stage, body, String::new(), label, Default::default())
            .unwrap(),
    )
}

/// The last stage of a job.
pub(super) fn result_stage(job: &str, stage: usize, body: Plan) -> Plan {
    let body = Arc::new(ExchangeExec::whole(body));
    Arc::new(ShuffleWriterExec::try_new(job.into(), stage, body, String::new()).unwrap())
}

/// Runs the task of one partition.
pub(super) async fn run(
    engine: &Engine,
    job: &str,
    stage: usize,
    partition: usize,
    attempt: u32,
    plan: Plan,
) -> Result<Vec<ShuffleWritePartition>> {
    let runtime = TaskContext::default().runtime_env();
    run_in(runtime, engine, job, stage, partition, attempt, plan).await
}

/// The same with the memory and spill files of `runtime`.
pub(super) async fn run_in(
    runtime: Arc<RuntimeEnv>,
    engine: &Engine,
    job: &str,
    stage: usize,
    partition: usize,
    attempt: u32,
    plan: Plan,
) -> Result<Vec<ShuffleWritePartition>> {
    run_as(
        runtime,
        engine,
        query(job),
        false,
        stage,
        partition,
        attempt,
        plan,
    )
    .await
}

/// The options of the query `job`, which stores in a namespace of that name.
pub(super) fn query(job: &str) -> QueryOptions {
    QueryOptions {
        query_id: job.into(),
        namespace: job.into(),
        ..Default::default()
    }
}

/// The same as a task of `query` whose launch says whether to look for an earlier commit.
#[expect(clippy::too_many_arguments)]
pub(super) async fn run_as(
    runtime: Arc<RuntimeEnv>,
    engine: &Engine,
    query: QueryOptions,
    look_first: bool,
    stage: usize,
    partition: usize,
    attempt: u32,
    plan: Plan,
) -> Result<Vec<ShuffleWritePartition>> {
    let job = query.query_id.clone();
    let launched = LaunchedTask { attempt, look_first };
    let mut config = query
        .apply_to(session_config())
        .with_extension(Arc::new(launched));
    // Small pools of tests.
    config.options_mut().execution.sort_spill_reservation_bytes = 64 << 10;
    let exec =
        engine.create_query_stage_exec(job.as_str().into(), stage, 0, vec![partition], plan, "", &config)?;
    let name = Some(format!("TID {job}/{stage}.0/{partition}.{attempt}"));
    let functions = TaskContext::default();
    let context = TaskContext::new(
        name,
        "session".into(),
        config,
        functions.scalar_functions().clone(),
        functions.higher_order_functions().clone(),
        functions.aggregate_functions().clone(),
        functions.window_functions().clone(),
        runtime,
    );
    exec.execute_query_stage(0, Arc::new(context)).await
}

/// What Ballista makes of a written partition.
pub(super) fn location(job: &str, stage: usize, written: &ShuffleWritePartition) -> PartitionLocation {
    PartitionLocation {
        map_partition_id: 99,
        partition_id: PartitionId {
            job_id: job.into(),
            stage_id: stage,
            partition_id: written.partition_id as usize,
        },
        executor_meta: ExecutorMetadata {
            id: "gone".into(),
            host: "nowhere".into(),
            port: 1,
            grpc_port: 1,
            specification: ExecutorSpecification::default(),
            os_info: Default::default(),
        },
        partition_stats: PartitionStats::new(Some(written.num_rows), None, Some(written.num_bytes)),
        file_id: written.file_id,
        is_sort_shuffle: written.is_sort_shuffle,
    }
}

pub(super) fn reader(stage: usize, locations: Vec<Vec<PartitionLocation>>) -> Plan {
    let partitioning = Partitioning::UnknownPartitioning(locations.len());
    Arc::new(ShuffleReaderExec::try_new(stage, locations, schema(), partitioning).unwrap())
}
