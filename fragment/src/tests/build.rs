//! Short names for messages, and a runner.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use bytes::Bytes;
use cne_proto::spark_expression::data_type::{
    DataTypeId, DataTypeInfo, DecimalInfo, data_type_info::DatatypeStruct,
};
use cne_proto::spark_expression::expr::ExprStruct as E;
use cne_proto::spark_expression::literal::Value;
use cne_proto::spark_expression::{
    AggExpr, BinaryExpr, BoundReference, Count, DataType as SparkType, EvalMode, Expr, Literal, NullOrdering,
    SortDirection, SortOrder, Sum, UnboundReference, agg_expr,
};
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{AggregateMode, HashAggregate, Operator, Scan};
use cne_proto::v1::{FragmentNode, PartitionPayload, Rejection};
use datafusion::common::Result;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::TryStreamExt;
use prost::Message;

use crate::descriptor::descriptor_plan;
use crate::{CometFragmentExec, FragmentError, HashJoinBudget};

pub(super) fn spark(id: DataTypeId) -> SparkType {
    SparkType {
        type_id: id.into(),
        type_info: None,
    }
}

pub(super) fn long() -> SparkType {
    spark(DataTypeId::Int64)
}

pub(super) fn text() -> SparkType {
    spark(DataTypeId::String)
}

pub(super) fn decimal(precision: i32, scale: i32) -> SparkType {
    let info = DatatypeStruct::Decimal(DecimalInfo { precision, scale });
    SparkType {
        type_id: DataTypeId::Decimal.into(),
        type_info: Some(Box::new(DataTypeInfo {
            datatype_struct: Some(info),
        })),
    }
}

pub(super) fn expr(kind: E) -> Expr {
    Expr {
        expr_struct: Some(kind),
        query_context: None,
        expr_id: None,
    }
}

pub(super) fn bound(index: i32, datatype: SparkType) -> Expr {
    expr(E::Bound(BoundReference {
        index,
        datatype: Some(datatype),
    }))
}

/// Column `index`, a BIGINT.
pub(super) fn column(index: i32) -> Expr {
    bound(index, long())
}

pub(super) fn unbound(datatype: SparkType) -> Expr {
    expr(E::Unbound(UnboundReference {
        name: "x".into(),
        datatype: Some(datatype),
    }))
}

pub(super) fn number(value: i64) -> Expr {
    expr(E::Literal(Literal {
        value: Some(Value::LongVal(value)),
        datatype: Some(long()),
        is_null: false,
    }))
}

pub(super) fn null(datatype: SparkType) -> Expr {
    expr(E::Literal(Literal {
        value: None,
        datatype: Some(datatype),
        is_null: true,
    }))
}

pub(super) fn binary(left: Expr, right: Expr) -> Box<BinaryExpr> {
    Box::new(BinaryExpr {
        left: Some(Box::new(left)),
        right: Some(Box::new(right)),
    })
}

pub(super) fn order(child: Expr, direction: SortDirection) -> Expr {
    let nulls = match direction {
        SortDirection::Ascending => NullOrdering::NullsFirst,
        SortDirection::Descending => NullOrdering::NullsLast,
    };
    expr(E::SortOrder(Box::new(SortOrder {
        child: Some(Box::new(child)),
        direction: direction.into(),
        null_ordering: nulls.into(),
    })))
}

pub(super) fn op(kind: OpStruct, children: Vec<Operator>) -> Operator {
    Operator {
        children,
        plan_id: 0,
        sql_text_pool: vec![],
        op_struct: Some(kind),
    }
}

pub(super) fn scan(fields: Vec<SparkType>) -> Operator {
    op(
        OpStruct::Scan(Scan {
            fields,
            source: "input".into(),
        }),
        vec![],
    )
}

pub(super) fn sum(child: Expr, datatype: SparkType) -> AggExpr {
    let sum = Sum {
        child: Some(child),
        datatype: Some(datatype),
        eval_mode: EvalMode::Ansi.into(),
    };
    AggExpr {
        expr_struct: Some(agg_expr::ExprStruct::Sum(sum)),
        ..Default::default()
    }
}

pub(super) fn count(child: Expr) -> AggExpr {
    AggExpr {
        expr_struct: Some(agg_expr::ExprStruct::Count(Count {
            children: vec![child],
        })),
        ..Default::default()
    }
}

pub(super) fn aggregate(
    grouping_exprs: Vec<Expr>,
    agg_exprs: Vec<AggExpr>,
    mode: AggregateMode,
    child: Operator,
) -> Operator {
    let aggregate = HashAggregate {
        grouping_exprs,
        agg_exprs,
        mode: mode.into(),
        ..Default::default()
    };
    op(OpStruct::HashAgg(aggregate), vec![child])
}

/// A batch of nullable BIGINT columns named like any producer's.
pub(super) fn longs(columns: &[&[Option<i64>]]) -> RecordBatch {
    let fields: Vec<Field> = (0..columns.len())
        .map(|i| Field::new(format!("col_{i}"), DataType::Int64, true))
        .collect();
    let columns = columns
        .iter()
        .map(|column| Arc::new(Int64Array::from(column.to_vec())) as ArrayRef);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).unwrap()
}

pub(super) fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// The rows of BIGINT columns, in order.
pub(super) fn rows(batches: &[RecordBatch]) -> Vec<Vec<Option<i64>>> {
    let row = |batch: &RecordBatch, i: usize| {
        let value = |column: &ArrayRef| {
            let column = arrow::compute::cast(column, &DataType::Int64).unwrap();
            column
                .is_valid(i)
                .then(|| column.as_primitive::<Int64Type>().value(i))
        };
        batch.columns().iter().map(value).collect()
    };
    batches
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(|i| row(batch, i)))
        .collect()
}

pub(super) fn sorted(batches: &[RecordBatch]) -> Vec<Vec<Option<i64>>> {
    let mut rows = rows(batches);
    rows.sort();
    rows
}

/// An input: its schema, its partitions, whether it is a broadcast.
pub(super) struct Input(
    pub(super) SchemaRef,
    pub(super) Vec<Vec<RecordBatch>>,
    pub(super) bool,
);

pub(super) fn input(batch: RecordBatch) -> Input {
    Input(batch.schema(), vec![vec![batch]], false)
}

pub(super) fn fragment(
    block: &Operator,
    inputs: &[Input],
    partitions: usize,
) -> Result<CometFragmentExec, FragmentError> {
    let mut children = vec![descriptor_plan(vec![PartitionPayload::default(); partitions]).unwrap()];
    for Input(schema, partitions, _) in inputs {
        children.push(MemorySourceConfig::try_new_exec(partitions, Arc::clone(schema), None).unwrap());
    }
    let node = FragmentNode {
        operator: Bytes::from(block.encode_to_vec()).to_vec().into(),
        broadcast_inputs: inputs.iter().map(|input| input.2).collect(),
        ..Default::default()
    };
    CometFragmentExec::try_new(node, children)
}

/// The fragment's partitions.
pub(super) async fn run_all(
    block: &Operator,
    inputs: &[Input],
    partitions: usize,
) -> Result<Vec<Vec<RecordBatch>>> {
    let fragment = fragment(block, inputs, partitions)?;
    let context = SessionContext::new_with_config(SessionConfig::new().with_batch_size(3)).task_ctx();
    let mut all = vec![];
    for partition in 0..partitions {
        all.push(
            fragment
                .execute(partition, Arc::clone(&context))?
                .try_collect()
                .await?,
        );
    }
    Ok(all)
}

/// The only partition of a fragment whose rows may come in any order, with memory for hash joins.
pub(super) async fn run_in_any_order(block: &Operator, inputs: &[Input]) -> Vec<RecordBatch> {
    let fragment = fragment(block, inputs, 1).unwrap();
    let node = FragmentNode {
        any_order: true,
        ..fragment.node().clone()
    };
    let children = fragment.children().into_iter().cloned().collect();
    let fragment = CometFragmentExec::try_new(node, children).unwrap();
    let budget = HashJoinBudget { bytes: 1 << 20 };
    let config = SessionConfig::new()
        .with_batch_size(3)
        .with_extension(Arc::new(budget));
    let context = SessionContext::new_with_config(config).task_ctx();
    fragment.execute(0, context).unwrap().try_collect().await.unwrap()
}

/// The only partition of a fragment.
pub(super) async fn run(block: &Operator, inputs: &[Input]) -> Vec<RecordBatch> {
    run_all(block, inputs, 1).await.unwrap().remove(0)
}

pub(super) fn refused(block: &Operator, inputs: &[Input]) -> Vec<Rejection> {
    match fragment(block, inputs, 1) {
        Err(FragmentError::Rejected(found)) => found,
        other => panic!("not refused: {other:?}"),
    }
}
