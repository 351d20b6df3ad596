//! Replays captured `QueryRequest`s in one process, without scheduler and executors: `CNE_CAPTURES=<directory of .pb> cargo test -p
//! cne-fragment --test replay -- --ignored --nocapture`. Rows of each query go to `<name>.arrow` beside the capture.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::SchemaRef;
use cne_fragment::descriptor::descriptor_plan;
use cne_fragment::{
    CometFragmentExec, ExchangePartitioning, FragmentError, plan_partitioning, validate_block,
};
use cne_proto::decode::{Limits, decode_strict};
use cne_proto::v1::{FragmentNode, PartitionPayload, QueryRequest, Stage, stage, stage_input::Exchange};
use cne_spark_functions::hash::{PARTITION_SEED, murmur3_hash, pmod_partitions};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::TryStreamExt;

type Partitions = Vec<Vec<RecordBatch>>;

struct Output {
    schema: SchemaRef,
    partitions: Partitions,
}

fn exchange(output: &Output, bytes: &[u8]) -> Partitions {
    let all = || output.partitions.concat();
    match plan_partitioning(bytes, &output.schema).unwrap() {
        ExchangePartitioning::Hash(keys, n) => {
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

async fn run_block(
    index: u32,
    stage: &Stage,
    block: &cne_proto::v1::Block,
    done: &[Output],
) -> Result<Output, String> {
    let mut inputs: Vec<(SchemaRef, Partitions, bool)> = vec![];
    for input in &stage.inputs {
        let producer = &done[input.producer as usize];
        let (partitions, broadcast) = match input.exchange.as_ref().unwrap() {
            Exchange::Forward(_) => (producer.partitions.clone(), false),
            Exchange::Broadcast(_) => (vec![producer.partitions.concat()], true),
            Exchange::Shuffle(shuffle) => (exchange(producer, &shuffle.partitioning), false),
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
    let count = scanned.or(exchanged).unwrap_or(1);
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
        ..Default::default()
    };
    let fragment =
        CometFragmentExec::try_new(node, children).map_err(|error: FragmentError| error.to_string())?;
    let context = SessionContext::new_with_config(SessionConfig::new()).task_ctx();
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

async fn run(request: &QueryRequest) -> Result<Output, String> {
    let mut done: Vec<Output> = vec![];
    for (index, stage) in (0_u32..).zip(&request.stages) {
        let output = match stage.kind.as_ref().unwrap() {
            stage::Kind::Block(block) => run_block(index, stage, block, &done).await?,
            stage::Kind::Union(_) => Output {
                schema: Arc::clone(&done[stage.inputs[0].producer as usize].schema),
                partitions: stage
                    .inputs
                    .iter()
                    .flat_map(|i| done[i.producer as usize].partitions.clone())
                    .collect(),
            },
            stage::Kind::Coalesce(_) => {
                let producer = &done[stage.inputs[0].producer as usize];
                Output {
                    schema: Arc::clone(&producer.schema),
                    partitions: vec![producer.partitions.concat()],
                }
            }
            stage::Kind::InlineData(_) => return Err("inline data".into()),
        };
        done.push(output);
    }
    Ok(done.pop().unwrap())
}

fn write(path: &std::path::Path, output: &Output) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = arrow::ipc::writer::FileWriter::try_new(file, &output.schema).unwrap();
    for batch in output.partitions.iter().flatten() {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
}

#[tokio::test]
#[ignore = "needs captures of a driver and the files that they name"]
async fn captured_queries_run() {
    let directory = std::env::var("CNE_CAPTURES").expect("CNE_CAPTURES");
    let only = std::env::var("CNE_ONLY").unwrap_or_default();
    let mut names: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names
        .retain(|path| path.extension().is_some_and(|e| e == "pb") && path.to_string_lossy().contains(&only));
    names.sort();
    let mut failed = 0;
    for path in names {
        let bytes = std::fs::read(&path).unwrap();
        let request: QueryRequest = decode_strict(&bytes, "cne.v1.QueryRequest", &Limits::default()).unwrap();
        let start = Instant::now();
        match run(&request).await {
            Ok(output) => {
                let rows: usize = output
                    .partitions
                    .iter()
                    .flatten()
                    .map(RecordBatch::num_rows)
                    .sum();
                println!(
                    "{}: {} stages, {rows} rows, {:?}",
                    path.display(),
                    request.stages.len(),
                    start.elapsed()
                );
                write(&path.with_extension("arrow"), &output);
            }
            Err(error) => {
                failed += 1;
                println!("{}: FAILED\n{error}", path.display());
            }
        }
    }
    assert_eq!(failed, 0);
}
