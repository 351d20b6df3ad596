//! A request in one process, without scheduler and executors: stage by stage, each partition one after the other, all rows in memory. What the
//! planner and the operators do is what the pool's do; exchanges are made here.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamReader;
use cne_fragment::descriptor::descriptor_plan;
use cne_fragment::{
    CometFragmentExec, ExchangePartitioning, FragmentError, plan_partitioning, validate_block,
};
use cne_proto::spark_operator::{Operator, operator::OpStruct};
use cne_proto::v1::{
    Block, FragmentNode, InlineData, PartitionPayload, QueryRequest, Shuffle, ShuffleOrigin, Stage, stage,
    stage_input::Exchange,
};
use cne_spark_functions::hash::{PARTITION_SEED, murmur3_hash, pmod_partitions};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::TryStreamExt;
use prost::Message;

/// Batches by partition.
pub type Partitions = Vec<Vec<RecordBatch>>;

/// The rows of a stage.
#[derive(Debug)]
pub struct Output {
    /// Their types; names are `col_<i>`.
    pub schema: SchemaRef,
    /// Batches by partition.
    pub partitions: Partitions,
}

fn exchange(output: &Output, shuffle: &Shuffle, most: usize) -> Partitions {
    let all = || output.partitions.concat();
    match plan_partitioning(&shuffle.partitioning, &output.schema).unwrap() {
        ExchangePartitioning::Hash(keys, n) => {
            let n = n.min(most);
            let mut buckets: Partitions = vec![vec![]; n];
            for batch in all() {
                let columns: Vec<ArrayRef> = keys
                    .iter()
                    .map(|key| {
                        key.evaluate(&batch)
                            .unwrap()
                            .into_array(batch.num_rows())
                            .unwrap()
                    })
                    .collect();
                let (mut hashes, mut ids) = (vec![0; batch.num_rows()], vec![]);
                murmur3_hash(&columns, PARTITION_SEED, &mut hashes).unwrap();
                pmod_partitions(&hashes, u32::try_from(n).unwrap(), &mut ids);
                for (bucket, rows) in buckets.iter_mut().enumerate() {
                    let at = (0_u32..)
                        .zip(&ids)
                        .filter(|(_, id)| **id as usize == bucket)
                        .map(|(row, _)| row);
                    let at = UInt32Array::from_iter_values(at);
                    rows.push(arrow::compute::take_record_batch(&batch, &at).unwrap());
                }
            }
            buckets
        }
        _ => vec![all()],
    }
}

/// Partitions of a range of numbers in a block.
fn slices(operator: &Operator) -> Option<usize> {
    match &operator.op_struct {
        Some(OpStruct::RangeScan(range)) => usize::try_from(range.num_slices).ok(),
        _ => operator.children.iter().find_map(slices),
    }
}

async fn run_block(
    index: u32,
    stage: &Stage,
    block: &Block,
    done: &[Output],
    options: &Options,
) -> Result<Output, String> {
    let mut inputs: Vec<(SchemaRef, Partitions, bool)> = vec![];
    for input in &stage.inputs {
        let producer = &done[input.producer as usize];
        let (partitions, broadcast) = match input.exchange.as_ref().unwrap() {
            Exchange::Forward(_) => (producer.partitions.clone(), false),
            Exchange::Broadcast(_) => (vec![producer.partitions.concat()], true),
            Exchange::Shuffle(shuffle) => (exchange(producer, shuffle, options.most_partitions), false),
        };
        inputs.push((Arc::clone(&producer.schema), partitions, broadcast));
    }
    let commons: Vec<_> = block.scans.iter().map(|scan| scan.common.clone()).collect();
    let schemas: Vec<_> = inputs.iter().map(|(schema, _, _)| Arc::clone(schema)).collect();
    let commons_bytes: Vec<bytes::Bytes> = commons.iter().map(|c| bytes::Bytes::from(c.to_vec())).collect();
    let valid = validate_block(index, &block.operator, &commons_bytes, &schemas).map_err(|found| {
        found
            .iter()
            .map(|r| format!("  stage {} {}: {}: {}\n", r.stage, r.path, r.what, r.reason))
            .collect::<String>()
    })?;
    if std::env::var("CNE_EXPLAIN").is_ok() {
        println!("stage {index}\n{}", valid.plan);
    }
    let scanned = block.scans.iter().map(|scan| scan.partitions.len()).max();
    let exchanged = inputs
        .iter()
        .filter(|(_, _, broadcast)| !broadcast)
        .map(|(_, partitions, _)| partitions.len())
        .max();
    let operator = Operator::decode(&block.operator[..]).unwrap();
    let count = scanned.or(exchanged).or(slices(&operator)).unwrap_or(1);
    let payloads = (0..count).map(|p| PartitionPayload {
        scans: block
            .scans
            .iter()
            .map(|scan| scan.partitions[p].clone())
            .collect(),
    });
    let mut children = vec![descriptor_plan(payloads.collect()).unwrap()];
    for (schema, partitions, _) in &inputs {
        children.push(MemorySourceConfig::try_new_exec(partitions, Arc::clone(schema), None).unwrap());
    }
    let node = FragmentNode {
        operator: block.operator.clone(),
        scan_commons: commons,
        broadcast_inputs: inputs.iter().map(|(_, _, broadcast)| *broadcast).collect(),
        stage: index,
        ansi: options.ansi,
        ..Default::default()
    };
    let fragment =
        CometFragmentExec::try_new(node, children).map_err(|error: FragmentError| error.to_string())?;
    let context =
        SessionContext::new_with_config(SessionConfig::new().with_batch_size(options.batch_size)).task_ctx();
    let mut partitions = vec![];
    for p in 0..count {
        let rows = fragment
            .execute(p, Arc::clone(&context))
            .map_err(|error| error.to_string())?;
        partitions.push(rows.try_collect().await.map_err(|error| error.to_string())?);
    }
    Ok(Output {
        schema: fragment.schema(),
        partitions,
    })
}

fn inline(data: &InlineData) -> Output {
    let mut schema = None;
    let mut partitions = vec![];
    for bytes in &data.partitions {
        let reader = StreamReader::try_new(&bytes[..], None).unwrap();
        schema = Some(reader.schema());
        partitions.push(reader.map(Result::unwrap).collect());
    }
    Output {
        schema: schema.expect("a partition"),
        partitions,
    }
}

struct Options {
    batch_size: usize,
    ansi: bool,
    most_partitions: usize,
}

/// The number of a shuffle's partitions is the pool's choice, unless the query asks for one: then all of it keeps to it.
fn most_partitions(request: &QueryRequest) -> usize {
    let inputs = request.stages.iter().flat_map(|stage| &stage.inputs);
    let asked = inputs.filter_map(|input| match &input.exchange {
        Some(Exchange::Shuffle(shuffle)) => Some(shuffle.origin()),
        _ => None,
    });
    if asked
        .into_iter()
        .all(|origin| origin == ShuffleOrigin::EnsureRequirements)
    {
        3
    } else {
        usize::MAX
    }
}

/// Runs a request with batches of at most `batch_size` rows. The error is what the planner refuses, or the text of what failed.
pub async fn run(request: &QueryRequest, batch_size: usize) -> Result<Output, String> {
    let options = Options {
        batch_size,
        ansi: request
            .config
            .get("spark.sql.ansi.enabled")
            .is_some_and(|value| value == "true"),
        most_partitions: most_partitions(request),
    };
    let mut done: Vec<Output> = vec![];
    for (index, stage) in (0_u32..).zip(&request.stages) {
        let producer = |at: usize| &done[stage.inputs[at].producer as usize];
        let output = match stage.kind.as_ref().unwrap() {
            stage::Kind::Block(block) => run_block(index, stage, block, &done, &options).await?,
            stage::Kind::Union(_) => Output {
                schema: Arc::clone(&producer(0).schema),
                partitions: (0..stage.inputs.len())
                    .flat_map(|at| producer(at).partitions.clone())
                    .collect(),
            },
            stage::Kind::Coalesce(_) => Output {
                schema: Arc::clone(&producer(0).schema),
                partitions: vec![producer(0).partitions.concat()],
            },
            stage::Kind::InlineData(data) => inline(data),
        };
        done.push(output);
    }
    Ok(done.pop().unwrap())
}
