//! What one task of a fragment gets: a row `(partition, num_partitions, payload)` per partition, as the fragment's first child.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Int32Array};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use cne_proto::v1::PartitionPayload;
use datafusion::common::Result;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::physical_plan::ExecutionPlan;
use prost::Message;

use crate::FragmentError;

/// A partition's row, decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Descriptor {
    /// Index of the partition in the fragment, whatever slice of it the task has.
    pub partition: i32,
    /// Number of the fragment's partitions.
    pub num_partitions: i32,
    /// The scans' data.
    pub payload: PartitionPayload,
}

/// The schema of descriptor rows.
#[must_use]
pub fn descriptor_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("partition", DataType::Int32, false),
        Field::new("num_partitions", DataType::Int32, false),
        Field::new("payload", DataType::Binary, false),
    ]))
}

/// One single-row batch per partition, in a source that Ballista slices when it restricts a task's plan.
pub fn descriptor_plan(payloads: Vec<PartitionPayload>) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = descriptor_schema();
    let count =
        i32::try_from(payloads.len()).map_err(|_| FragmentError::Malformed("too many partitions".into()))?;
    let batches = (0..count).zip(payloads).map(|(partition, payload)| {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(vec![partition])),
            Arc::new(Int32Array::from(vec![count])),
            Arc::new(BinaryArray::from(vec![payload.encode_to_vec().as_slice()])),
        ];
        Ok(vec![RecordBatch::try_new(Arc::clone(&schema), columns)?])
    });
    let batches = batches.collect::<Result<Vec<_>>>()?;
    Ok(MemorySourceConfig::try_new_exec(&batches, schema, None)?)
}

/// Reads a descriptor batch: exactly one row.
pub fn read_descriptor(batch: &RecordBatch) -> Result<Descriptor, FragmentError> {
    let malformed =
        || FragmentError::Malformed("a partition descriptor has one row of (Int32, Int32, Binary)".into());
    if batch.num_rows() != 1 || batch.num_columns() != 3 {
        return Err(malformed());
    }
    let int = |i: usize| Some(batch.column(i).as_primitive_opt::<Int32Type>()?.value(0));
    let payload = batch
        .column(2)
        .as_binary_opt::<i32>()
        .filter(|array| array.is_valid(0))
        .ok_or_else(malformed)?;
    let payload =
        cne_proto::decode::decode_strict(payload.value(0), "cne.v1.PartitionPayload", &Default::default())?;
    Ok(Descriptor {
        partition: int(0).ok_or_else(malformed)?,
        num_partitions: int(1).ok_or_else(malformed)?,
        payload,
    })
}
