use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Decimal128Type};
use cne_proto::spark_expression::literal::Value;
use cne_proto::spark_expression::{ListLiteral, Literal, SortDirection};
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{BroadcastNestedLoopJoin, BuildSide, JoinType};
use cne_proto::spark_partitioning::partitioning::PartitioningStruct;
use cne_proto::spark_partitioning::{HashPartition, Partitioning, RangePartition, SinglePartition};
use datafusion::physical_expr::Distribution;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::TryStreamExt;
use prost::Message;
use tokio_util::sync::CancellationToken;

use super::build::*;
use crate::{ExchangePartitioning, TaskCancellation, plan_partitioning, types};

/// Partition i reads partition i of one input and the whole of the other.
#[tokio::test]
async fn partitions_of_inputs() {
    let join = BroadcastNestedLoopJoin {
        join_type: JoinType::Inner.into(),
        build_side: BuildSide::BuildRight.into(),
        condition: None,
    };
    let block = op(
        OpStruct::BroadcastNestedLoopJoin(join),
        vec![scan(vec![long()]), scan(vec![long()])],
    );
    let batch = |value| vec![longs(&[&[Some(value)]])];
    let schema = batch(0)[0].schema();
    let inputs = [
        Input(Arc::clone(&schema), vec![batch(1), batch(2)], false),
        Input(schema, vec![batch(10), batch(20)], true),
    ];
    let got = run_all(&block, &inputs, 2).await.unwrap();
    assert_eq!(
        sorted(&got[0]),
        vec![vec![Some(1), Some(10)], vec![Some(1), Some(20)]]
    );
    assert_eq!(
        sorted(&got[1]),
        vec![vec![Some(2), Some(10)], vec![Some(2), Some(20)]]
    );

    let exec = fragment(&block, &inputs, 2).unwrap();
    assert_eq!(exec.properties().output_partitioning().partition_count(), 2);
    assert_eq!(exec.benefits_from_input_partitioning(), vec![false; 3]);
    let requirements = exec.input_distribution_requirements();
    let single: Vec<bool> = requirements
        .per_child_distributions()
        .map(|d| matches!(d, Distribution::SinglePartition))
        .collect();
    assert_eq!(single, [false, false, true]);
    let names: Vec<_> = exec
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["col_0", "col_1"]);
}

#[tokio::test]
async fn a_cancelled_task_fails() {
    let block = scan(vec![long()]);
    let exec = fragment(&block, &[input(longs(&[&[Some(1)]]))], 1).unwrap();
    let token = CancellationToken::new();
    let config = SessionConfig::new().with_extension(Arc::new(TaskCancellation(token.clone())));
    let context = SessionContext::new_with_config(config).task_ctx();
    let stream = exec.execute(0, context).unwrap();
    token.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.try_collect::<Vec<_>>())
        .await
        .unwrap();
    assert!(ended.unwrap_err().to_string().contains("cancelled"));
}

#[test]
fn literals() {
    let literal = |value, datatype| Literal {
        value: Some(value),
        datatype: Some(datatype),
        is_null: false,
    };
    let value = types::literal(&literal(Value::DecimalVal(vec![0xff, 0x38]), decimal(5, 2))).unwrap();
    assert_eq!(
        value,
        datafusion::common::ScalarValue::Decimal128(Some(-200), 5, 2)
    );
    let list = ListLiteral {
        decimal_values: vec![vec![1], vec![0xfe]],
        null_mask: vec![false, true],
        ..Default::default()
    };
    let element = decimal(5, 2);
    let info = cne_proto::spark_expression::data_type::ListInfo {
        element_type: Some(Box::new(element)),
        contains_null: true,
        element_field_id: None,
    };
    let mut list_type = spark(cne_proto::spark_expression::data_type::DataTypeId::List);
    list_type.type_info = Some(Box::new(cne_proto::spark_expression::data_type::DataTypeInfo {
        datatype_struct: Some(
            cne_proto::spark_expression::data_type::data_type_info::DatatypeStruct::List(Box::new(info)),
        ),
    }));
    let value = types::literal(&literal(Value::ListVal(list), list_type))
        .unwrap()
        .to_array()
        .unwrap();
    let elements = value.as_list::<i32>().value(0);
    let elements = elements.as_primitive::<Decimal128Type>();
    assert!(elements.is_null(0));
    assert_eq!(elements.value(1), -2);
    assert_eq!(elements.data_type(), &DataType::Decimal128(5, 2));
    let short = literal(
        Value::ByteVal(300),
        spark(cne_proto::spark_expression::data_type::DataTypeId::Int8),
    );
    assert!(types::literal(&short).is_err());
}

#[test]
fn partitionings() {
    let schema = longs(&[&[], &[]]).schema();
    let plan = |kind| {
        let bytes = Partitioning {
            partitioning_struct: Some(kind),
        }
        .encode_to_vec();
        plan_partitioning(&bytes, &schema)
    };
    let hash = |key| HashPartition {
        hash_expression: vec![key],
        num_partitions: 4,
    };
    match plan(PartitioningStruct::HashPartition(hash(column(1)))).unwrap() {
        ExchangePartitioning::Hash(keys, 4) => assert_eq!(keys.len(), 1),
        other => panic!("{other:?}"),
    }
    let single = plan(PartitioningStruct::SinglePartition(SinglePartition {})).unwrap();
    assert!(matches!(single, ExchangePartitioning::Single));
    let range = RangePartition {
        sort_orders: vec![order(column(0), SortDirection::Descending)],
        num_partitions: 2,
        boundary_rows: vec![],
    };
    match plan(PartitioningStruct::RangePartition(range)).unwrap() {
        ExchangePartitioning::Range(order, 2) => assert!(order.first().options.descending),
        other => panic!("{other:?}"),
    }
    let found = plan(PartitioningStruct::HashPartition(hash(column(2)))).unwrap_err();
    assert!(found[0].reason.contains("column 2 of 2"), "{found:?}");
}
