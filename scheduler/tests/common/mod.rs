//! Requests made by hand.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::sync::Arc;

use bytes::Bytes;
use cne_proto::{
    spark_expression::{
        BinaryExpr, BoundReference, DataType as SparkType, Expr, Literal, SortDirection, SortOrder,
        data_type::DataTypeId, expr::ExprStruct, literal,
    },
    spark_operator::{
        Filter, HashJoin, NativeScan, NativeScanCommon, Operator, Projection, Scan, Sort, operator::OpStruct,
    },
    spark_partitioning::{
        HashPartition, Partitioning, RangePartition, RoundRobinPartition, SinglePartition,
        partitioning::PartitioningStruct,
    },
    v1::{
        Block, Broadcast, Coalesce, Forward, InlineData, QueryRequest, ScanData, Shuffle, ShuffleOrigin,
        Stage, StageInput, Union, stage::Kind, stage_input::Exchange,
    },
};
use datafusion::arrow::{
    array::{Int64Array, RecordBatch},
    datatypes::{DataType, Field, Schema},
    ipc::writer::StreamWriter,
};
use prost::Message;

pub fn long() -> SparkType {
    SparkType {
        type_id: DataTypeId::Int64.into(),
        ..Default::default()
    }
}

pub fn column(index: i32) -> Expr {
    let bound = BoundReference {
        index,
        datatype: Some(long()),
    };
    Expr {
        expr_struct: Some(ExprStruct::Bound(bound)),
        ..Default::default()
    }
}

pub fn operator(op: OpStruct, children: Vec<Operator>) -> Operator {
    Operator {
        children,
        op_struct: Some(op),
        ..Default::default()
    }
}

/// Reads one column of longs from the next input.
pub fn scan() -> Operator {
    operator(
        OpStruct::Scan(Scan {
            fields: vec![long()],
            source: "input".into(),
        }),
        vec![],
    )
}

pub fn request(stages: Vec<Stage>) -> QueryRequest {
    QueryRequest {
        query_id: uuid::Uuid::new_v4().to_string(),
        comet_version: cne_proto::COMET_VERSION.into(),
        schema_fingerprint: cne_proto::schema_fingerprint().into(),
        spark_version: cne_proto::SPARK_VERSIONS[0].into(),
        driver_session_id: "session".into(),
        stages,
        description: "test".into(),
        ..Default::default()
    }
}

pub fn bytes(request: &QueryRequest) -> Bytes {
    request.encode_to_vec().into()
}

/// One stream of one column of longs.
pub fn stream(values: Vec<i64>) -> Bytes {
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
    let mut writer = StreamWriter::try_new(vec![], &schema).unwrap();
    writer
        .write(&RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from(values))]).unwrap())
        .unwrap();
    writer.into_inner().unwrap().into()
}

fn stage(label: &str, inputs: Vec<StageInput>, kind: Kind) -> Stage {
    Stage {
        label: label.into(),
        inputs,
        kind: Some(kind),
    }
}

/// Ten longs in each partition.
pub fn rows(partitions: i64) -> Stage {
    let partitions = (0..partitions)
        .map(|p| stream((p * 10..p * 10 + 10).collect()))
        .collect();
    stage(
        "LocalTableScan",
        vec![],
        Kind::InlineData(InlineData { partitions }),
    )
}

/// A block that reads `inputs`: each its own scan, put together by `operator`.
pub fn block(operator: &Operator, inputs: Vec<StageInput>) -> Stage {
    let block = Block {
        operator: operator.encode_to_vec().into(),
        scans: vec![],
    };
    stage("CometNativeExec", inputs, Kind::Block(block))
}

pub fn project(child: Operator) -> Operator {
    operator(
        OpStruct::Projection(Projection {
            project_list: vec![column(0)],
        }),
        vec![child],
    )
}

/// An inner join of two inputs on their only column.
pub fn join() -> Operator {
    let join = HashJoin {
        left_join_keys: vec![column(0)],
        right_join_keys: vec![column(0)],
        ..Default::default()
    };
    operator(OpStruct::HashJoin(join), vec![scan(), scan()])
}

/// Rows whose column is greater than `value`.
pub fn greater_than(value: i64, child: Operator) -> Operator {
    let literal = Literal {
        value: Some(literal::Value::LongVal(value)),
        datatype: Some(long()),
        is_null: false,
    };
    let value = Expr {
        expr_struct: Some(ExprStruct::Literal(literal)),
        ..Default::default()
    };
    let both = BinaryExpr {
        left: Some(Box::new(column(0))),
        right: Some(Box::new(value)),
    };
    let predicate = Expr {
        expr_struct: Some(ExprStruct::Gt(Box::new(both))),
        ..Default::default()
    };
    operator(
        OpStruct::Filter(Filter {
            predicate: Some(predicate),
            ..Default::default()
        }),
        vec![child],
    )
}

pub fn union(inputs: Vec<StageInput>) -> Stage {
    stage("Union", inputs, Kind::Union(Union {}))
}

pub fn coalesce(num_partitions: u32, producer: u32) -> Stage {
    stage(
        "Coalesce",
        vec![forward(producer)],
        Kind::Coalesce(Coalesce { num_partitions }),
    )
}

/// A Parquet scan of one column; each partition reads one file.
pub fn files(options: &[(&str, &str)], paths: &[&str]) -> Stage {
    use cne_proto::spark_operator::{SparkFilePartition, SparkPartitionedFile, SparkStructField};
    let field = SparkStructField {
        name: "a".into(),
        data_type: Some(long()),
        nullable: true,
        metadata: Default::default(),
    };
    let common = NativeScanCommon {
        required_schema: vec![field.clone()],
        data_schema: vec![field],
        projection_vector: vec![0],
        session_timezone: "UTC".into(),
        fields: vec![long()],
        source: "CometScan parquet".into(),
        object_store_options: options
            .iter()
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .collect(),
        ..Default::default()
    };
    let partition = |path: &&str| {
        let file = SparkPartitionedFile {
            file_path: path.to_string(),
            length: 100 << 20,
            file_size: 100 << 20,
            ..Default::default()
        };
        let scan = NativeScan {
            file_partition: Some(SparkFilePartition {
                partitioned_file: vec![file],
            }),
            ..Default::default()
        };
        scan.encode_to_vec().into()
    };
    let partitions = paths.iter().map(partition).collect();
    let leaf = NativeScan {
        common: Some(common.clone()),
        ..Default::default()
    };
    let block = Block {
        operator: operator(OpStruct::NativeScan(leaf), vec![])
            .encode_to_vec()
            .into(),
        scans: vec![ScanData {
            common: common.encode_to_vec().into(),
            partitions,
        }],
    };
    stage("CometNativeScan", vec![], Kind::Block(block))
}

fn input(producer: u32, exchange: Exchange) -> StageInput {
    StageInput {
        producer,
        exchange: Some(exchange),
    }
}

pub fn forward(producer: u32) -> StageInput {
    input(producer, Exchange::Forward(Forward {}))
}

pub fn broadcast(producer: u32) -> StageInput {
    input(producer, Exchange::Broadcast(Broadcast {}))
}

fn shuffle(producer: u32, partitioning: PartitioningStruct, origin: ShuffleOrigin) -> StageInput {
    let partitioning = Partitioning {
        partitioning_struct: Some(partitioning),
    }
    .encode_to_vec()
    .into();
    input(
        producer,
        Exchange::Shuffle(Shuffle {
            partitioning,
            origin: origin.into(),
        }),
    )
}

pub fn hash(producer: u32, num_partitions: i32, origin: ShuffleOrigin) -> StageInput {
    let partition = HashPartition {
        hash_expression: vec![column(0)],
        num_partitions,
    };
    shuffle(producer, PartitioningStruct::HashPartition(partition), origin)
}

pub fn single(producer: u32) -> StageInput {
    shuffle(
        producer,
        PartitioningStruct::SinglePartition(SinglePartition {}),
        ShuffleOrigin::EnsureRequirements,
    )
}

/// By the only column.
fn order(direction: SortDirection) -> Expr {
    let order = SortOrder {
        child: Some(Box::new(column(0))),
        direction: direction.into(),
        ..Default::default()
    };
    Expr {
        expr_struct: Some(ExprStruct::SortOrder(Box::new(order))),
        ..Default::default()
    }
}

pub fn range(
    producer: u32,
    num_partitions: i32,
    direction: SortDirection,
    origin: ShuffleOrigin,
) -> StageInput {
    let partition = RangePartition {
        sort_orders: vec![order(direction)],
        num_partitions,
        boundary_rows: vec![],
    };
    shuffle(producer, PartitioningStruct::RangePartition(partition), origin)
}

pub fn sort(direction: SortDirection, child: Operator) -> Operator {
    let sort = Sort {
        sort_orders: vec![order(direction)],
        ..Default::default()
    };
    operator(OpStruct::Sort(sort), vec![child])
}

pub fn round_robin(producer: u32, num_partitions: i32) -> StageInput {
    let partition = RoundRobinPartition {
        num_partitions,
        ..Default::default()
    };
    shuffle(
        producer,
        PartitioningStruct::RoundRobinPartition(partition),
        ShuffleOrigin::RepartitionByNum,
    )
}
