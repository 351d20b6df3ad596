//! Plans every block dry, with the planner that the executors use.

use std::sync::Arc;

use cne_fragment::{ValidatedBlock, validate_block};
use cne_proto::v1::{QueryRequest, Rejection, stage::Kind, stage_input::Exchange};
use cne_task::codes;
use datafusion::arrow::{
    datatypes::{Field, Schema, SchemaRef},
    ipc::reader::StreamReader,
    record_batch::{RecordBatch, RecordBatchOptions},
};

use super::broken;
use crate::error::Failure;

/// What is known of a stage after its dry planning.
#[derive(Debug)]
pub(super) struct Validated {
    /// Schema of the rows it produces.
    pub schema: SchemaRef,
    /// Rows per partition, of inline data only.
    pub rows: Vec<Vec<RecordBatch>>,
}

/// Output schemas of all stages.
///
/// # Errors
/// Every rejection of every block whose inputs are known.
pub(super) fn validate(request: &QueryRequest) -> Result<Vec<Validated>, Failure> {
    let mut stages: Vec<Option<Validated>> = vec![];
    let mut rejections = vec![];
    for (index, stage) in request.stages.iter().enumerate() {
        let inputs: Option<Vec<SchemaRef>> = (stage.inputs.iter())
            .map(|input| {
                stages[input.producer as usize]
                    .as_ref()
                    .map(|s| SchemaRef::clone(&s.schema))
            })
            .collect();
        // A producer was rejected: nothing can be said about this one.
        let Some(inputs) = inputs else {
            stages.push(None);
            continue;
        };
        let validated = match &stage.kind {
            Some(Kind::Block(block)) => {
                let commons: Vec<_> = block.scans.iter().map(|scan| scan.common.clone()).collect();
                match validate_block(index as u32, &block.operator, &commons, &inputs) {
                    Ok(ValidatedBlock {
                        output_schema,
                        num_scans,
                        num_inputs,
                        ..
                    }) => {
                        let found = (block.scans.len(), stage.inputs.len());
                        if found != (num_scans, num_inputs) {
                            let text = format!(
                                "its block has {num_scans} scans and {num_inputs} inputs, the stage {found:?}"
                            );
                            return Err(broken(index, request, text));
                        }
                        Some(Validated {
                            schema: output_schema,
                            rows: vec![],
                        })
                    }
                    Err(rejected) => {
                        rejections.extend(rejected);
                        None
                    }
                }
            }
            Some(Kind::InlineData(data)) => Some(inline(request, index, &data.partitions)?),
            Some(Kind::Union(_)) => Some(union(request, index, &inputs)?),
            Some(Kind::Coalesce(_)) | None => {
                let schema = inputs
                    .first()
                    .ok_or_else(|| broken(index, request, "it has no input"))?;
                Some(Validated {
                    schema: SchemaRef::clone(schema),
                    rows: vec![],
                })
            }
        };
        keys(request, index, &inputs, &mut rejections);
        stages.push(validated);
    }
    match stages.into_iter().collect::<Option<Vec<_>>>() {
        Some(stages) if rejections.is_empty() => Ok(stages),
        _ => Err(Failure::rejected(codes::NOT_EXECUTED, rejections)),
    }
}

// Exchange keys must be plannable over the producer's output too.
fn keys(request: &QueryRequest, index: usize, inputs: &[SchemaRef], rejections: &mut Vec<Rejection>) {
    for (input, schema) in request.stages[index].inputs.iter().zip(inputs) {
        let Some(Exchange::Shuffle(shuffle)) = &input.exchange else {
            continue;
        };
        if let Err(mut refused) = cne_fragment::plan_partitioning(&shuffle.partitioning, schema) {
            for rejection in &mut refused {
                rejection.stage = input.producer;
            }
            rejections.extend(refused);
        }
    }
}

fn union(request: &QueryRequest, index: usize, inputs: &[SchemaRef]) -> Result<Validated, Failure> {
    let first = inputs
        .first()
        .ok_or_else(|| broken(index, request, "a union has at least one input"))?;
    for (at, other) in inputs.iter().enumerate() {
        let same = first.fields().len() == other.fields().len()
            && first
                .fields()
                .iter()
                .zip(other.fields())
                .all(|(a, b)| a.data_type() == b.data_type());
        if !same {
            let text =
                format!("columns of input {at} differ in type from input 0's: {other:?} and {first:?}");
            return Err(broken(index, request, text));
        }
    }
    Ok(Validated {
        schema: SchemaRef::clone(first),
        rows: vec![],
    })
}

fn inline(request: &QueryRequest, index: usize, partitions: &[bytes::Bytes]) -> Result<Validated, Failure> {
    let unreadable = |e: &dyn std::fmt::Display| {
        let mut failure = broken(index, request, format!("inline data: {e}"));
        failure.detail.code = codes::MALFORMED.code.to_string();
        failure
    };
    let mut schema: Option<SchemaRef> = None;
    let mut rows = vec![];
    for partition in partitions {
        let reader = StreamReader::try_new(partition.as_ref(), None).map_err(|e| unreadable(&e))?;
        match &schema {
            Some(schema) if *schema != reader.schema() => {
                return Err(unreadable(&"partitions with different schemas"));
            }
            _ => schema = Some(reader.schema()),
        }
        rows.push(
            reader
                .collect::<Result<Vec<_>, _>>()
                .map_err(|e| unreadable(&e))?,
        );
    }
    let schema = seam(&*schema.ok_or_else(|| unreadable(&"no partition"))?);
    let named = |batch: RecordBatch| {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(SchemaRef::clone(&schema), batch.columns().to_vec(), &options)
    };
    let rows = rows
        .into_iter()
        .map(|partition: Vec<_>| partition.into_iter().map(named).collect::<Result<Vec<_>, _>>());
    let rows = rows.collect::<Result<Vec<_>, _>>().map_err(|e| unreadable(&e))?;
    Ok(Validated { schema, rows })
}

// Columns are named as those of a block: a union of differently named inputs would get projections between its inputs and the stages they
// read, and Ballista would cut further stages there.
fn seam(schema: &Schema) -> SchemaRef {
    let field =
        |(at, field): (usize, &Arc<Field>)| Field::new(format!("col_{at}"), field.data_type().clone(), true);
    Arc::new(Schema::new(
        schema.fields().iter().enumerate().map(field).collect::<Vec<_>>(),
    ))
}
