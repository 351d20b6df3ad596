//! How much each stage reads, estimated from the request alone: the scheduler opens no file.

use cne_proto::{
    spark_expression::{
        DataType,
        data_type::{DataTypeId, data_type_info::DatatypeStruct},
    },
    spark_operator::{NativeScanCommon, SparkStructField},
    v1::{QueryRequest, ScanData, stage::Kind, stage_input::Exchange},
};
use prost::Message;

use crate::check::scan_bytes;

/// Compressed bytes of what each stage reads of files, by itself or through its inputs.
pub(super) fn bytes_read(request: &QueryRequest) -> Vec<u64> {
    let mut bytes = vec![0u64; request.stages.len()];
    for (index, stage) in request.stages.iter().enumerate() {
        let own = match &stage.kind {
            Some(Kind::Block(block)) => block.scans.iter().map(scanned).fold(0, u64::saturating_add),
            Some(Kind::InlineData(data)) => data.partitions.iter().map(|p| p.len() as u64).sum(),
            _ => 0,
        };
        // What is broadcast is read whole by each task: more tasks make no task smaller.
        let inputs = stage
            .inputs
            .iter()
            .filter(|input| !matches!(input.exchange, Some(Exchange::Broadcast(_))))
            .filter_map(|input| bytes.get(input.producer as usize).copied());
        bytes[index] = inputs.fold(own, u64::saturating_add);
    }
    bytes
}

// The files' bytes, reduced by the columns that are not read.
fn scanned(scan: &ScanData) -> u64 {
    let files = scan.partitions.iter();
    let files = files.fold(0u64, |sum, partition| scan_bytes(partition).saturating_add(sum));
    let Ok(common) = NativeScanCommon::decode(scan.common.clone()) else {
        return files;
    };
    let (read, all) = (row_bytes(&common.required_schema), row_bytes(&common.data_schema));
    let part = u128::from(files) * u128::from(read.min(all)) / u128::from(all);
    u64::try_from(part).unwrap_or(files)
}

// Estimated bytes of one row, as Spark estimates them (`EstimationUtils.getSizePerRow`): 8 and each column's default size.
fn row_bytes(columns: &[SparkStructField]) -> u64 {
    columns.iter().fold(8, |sum, column| {
        sum + column.data_type.as_ref().map_or(8, default_bytes)
    })
}

// `DataType.defaultSize`; nested values count like a string for each part.
fn default_bytes(data_type: &DataType) -> u64 {
    use DataTypeId as T;
    match data_type.type_id() {
        T::Bool | T::Int8 | T::Null => 1,
        T::Int16 => 2,
        T::Int32 | T::Float | T::Date | T::YearMonthInterval => 4,
        T::Decimal => match data_type
            .type_info
            .as_ref()
            .and_then(|info| info.datatype_struct.as_ref())
        {
            Some(DatatypeStruct::Decimal(decimal)) if decimal.precision > 18 => 16,
            _ => 8,
        },
        T::String => 20,
        T::Bytes | T::List | T::Map | T::Struct | T::Variant => 100,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use cne_proto::{
        spark_operator::{NativeScan, SparkFilePartition, SparkPartitionedFile},
        v1::{Block, Broadcast, Forward, Stage, StageInput},
    };

    use super::*;

    fn columns(types: &[DataTypeId]) -> Vec<SparkStructField> {
        let column = |type_id: &DataTypeId| SparkStructField {
            data_type: Some(DataType {
                type_id: (*type_id).into(),
                type_info: None,
            }),
            ..Default::default()
        };
        types.iter().map(column).collect()
    }

    // Two partitions of 60 bytes each, a row of which Spark takes for 8 + 8 + 4 + 20 bytes.
    fn scan(read: &[DataTypeId]) -> Stage {
        let file = SparkPartitionedFile {
            length: 60,
            ..Default::default()
        };
        let partition = NativeScan {
            file_partition: Some(SparkFilePartition {
                partitioned_file: vec![file],
            }),
            ..Default::default()
        };
        let common = NativeScanCommon {
            data_schema: columns(&[DataTypeId::Int64, DataTypeId::Int32, DataTypeId::String]),
            required_schema: columns(read),
            ..Default::default()
        };
        let scan = ScanData {
            common: common.encode_to_vec().into(),
            partitions: vec![partition.encode_to_vec().into(); 2],
        };
        stage(vec![scan], vec![])
    }

    fn stage(scans: Vec<ScanData>, inputs: Vec<Exchange>) -> Stage {
        let input = |(producer, exchange)| StageInput {
            producer: producer as u32,
            exchange: Some(exchange),
        };
        Stage {
            inputs: inputs.into_iter().enumerate().map(input).collect(),
            kind: Some(Kind::Block(Block {
                scans,
                ..Default::default()
            })),
            ..Default::default()
        }
    }

    #[test]
    fn columns_that_are_not_read_and_broadcasts_do_not_count() {
        let forward = || Exchange::Forward(Forward {});
        let request = QueryRequest {
            stages: vec![
                scan(&[DataTypeId::Int64, DataTypeId::Int32, DataTypeId::String]),
                scan(&[DataTypeId::Int32]),
                stage(vec![], vec![forward(), forward()]),
                stage(vec![], vec![Exchange::Broadcast(Broadcast {}), forward()]),
            ],
            ..Default::default()
        };
        assert_eq!(bytes_read(&request), [120, 36, 156, 36]);
    }
}
