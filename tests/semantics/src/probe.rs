//! What the planner says of a part of the contract when it stands alone in a block.

use arrow::datatypes::{Field, Schema};
use cne_fragment::{arrow_type, validate_block};
use cne_proto::spark_expression::data_type::{
    DataTypeId, DataTypeInfo, DecimalInfo, ListInfo, MapInfo, StructInfo, data_type_info::DatatypeStruct,
};
use cne_proto::spark_expression::expr::ExprStruct;
use cne_proto::spark_expression::{
    AggExpr, BoundReference, Cast, DataType as SparkType, EvalMode, Expr, ScalarFunc,
};
use cne_proto::spark_operator::lower_window_frame_bound::LowerFrameBoundStruct as Lower;
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::upper_window_frame_bound::UpperFrameBoundStruct as Upper;
use cne_proto::spark_operator::{
    AggregateMode, HashAggregate, LowerWindowFrameBound, Operator, Projection, Scan, UnboundedFollowing,
    UnboundedPreceding, UpperWindowFrameBound, Window, WindowExpr, WindowFrame, WindowFrameType,
    WindowSpecDefinition,
};
use prost::Message;
use std::sync::Arc;

use crate::contract;

fn spark(id: DataTypeId) -> SparkType {
    SparkType {
        type_id: id.into(),
        type_info: None,
    }
}

fn with_info(id: DataTypeId, info: DatatypeStruct) -> SparkType {
    SparkType {
        type_info: Some(Box::new(DataTypeInfo {
            datatype_struct: Some(info),
        })),
        ..spark(id)
    }
}

fn leaf(data_type: SparkType) -> Operator {
    Operator {
        op_struct: Some(OpStruct::Scan(Scan {
            fields: vec![data_type],
            ..Default::default()
        })),
        ..Default::default()
    }
}

fn long_leaf() -> Operator {
    leaf(spark(DataTypeId::Int64))
}

/// A message with one field, which is an empty message.
fn empty_kind<M: Message + Default>(number: u32) -> M {
    let mut bytes = vec![];
    prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut bytes);
    bytes.push(0);
    M::decode(&bytes[..]).unwrap()
}

/// Why a block over one column is refused; `None` when it is not, or only because the probe leaves parts of it out.
fn refusal(operator: &Operator, data_type: &SparkType) -> Option<String> {
    let column = Field::new("c", arrow_type(data_type)?, true);
    let schema = Arc::new(Schema::new(vec![column]));
    let found = validate_block(0, &operator.encode_to_vec(), &[], &[schema]).err()?;
    let first = found.first()?;
    let incomplete = ["leaves out", "for these arguments", "is missing", "children"];
    if incomplete.iter().any(|text| first.reason.contains(text)) {
        return None;
    }
    let hint = if first.hint.is_empty() {
        String::new()
    } else {
        format!(" ({})", first.hint)
    };
    Some(format!("{}{hint}", first.reason))
}

fn over_long(op_struct: OpStruct) -> Option<String> {
    let operator = Operator {
        op_struct: Some(op_struct),
        children: vec![long_leaf()],
        ..Default::default()
    };
    refusal(&operator, &spark(DataTypeId::Int64))
}

fn projected(expr: Expr) -> Option<String> {
    over_long(OpStruct::Projection(Projection {
        project_list: vec![expr],
    }))
}

/// Of a kind of operator.
pub fn operator(kind: &contract::Field) -> Option<String> {
    let mut operator: Operator = empty_kind(kind.number);
    operator.children.push(long_leaf());
    refusal(&operator, &spark(DataTypeId::Int64))
}

/// Of a kind of expression.
pub fn expression(kind: &contract::Field) -> Option<String> {
    projected(empty_kind(kind.number))
}

/// Of a function by name.
pub fn function(name: &str) -> Option<String> {
    projected(Expr {
        expr_struct: Some(ExprStruct::ScalarFunc(call(name))),
        ..Default::default()
    })
}

fn call(name: &str) -> ScalarFunc {
    ScalarFunc {
        func: name.into(),
        return_type: Some(spark(DataTypeId::Int64)),
        ..Default::default()
    }
}

/// Of a kind of aggregate function.
pub fn aggregate(kind: &contract::Field) -> Option<String> {
    over_long(OpStruct::HashAgg(HashAggregate {
        agg_exprs: vec![empty_kind::<AggExpr>(kind.number)],
        mode: AggregateMode::Partial.into(),
        ..Default::default()
    }))
}

fn windowed(mut expr: WindowExpr) -> Option<String> {
    let from_the_first = Lower::UnboundedPreceding(UnboundedPreceding {});
    let to_the_last = Upper::UnboundedFollowing(UnboundedFollowing {});
    expr.spec = Some(WindowSpecDefinition {
        frame_specification: Some(WindowFrame {
            frame_type: WindowFrameType::Rows.into(),
            lower_bound: Some(LowerWindowFrameBound {
                lower_frame_bound_struct: Some(from_the_first),
            }),
            upper_bound: Some(UpperWindowFrameBound {
                upper_frame_bound_struct: Some(to_the_last),
            }),
        }),
        ..Default::default()
    });
    expr.result_type = Some(spark(DataTypeId::Int64));
    over_long(OpStruct::Window(Box::new(Window {
        window_expr: vec![expr],
        ..Default::default()
    })))
}

/// Of a window function by name.
pub fn window_function(name: &str) -> Option<String> {
    windowed(WindowExpr {
        built_in_window_function: Some(Expr {
            expr_struct: Some(ExprStruct::ScalarFunc(call(name))),
            ..Default::default()
        }),
        ..Default::default()
    })
}

/// Of an aggregate function over a window.
pub fn window_aggregate(kind: &contract::Field) -> Option<String> {
    windowed(WindowExpr {
        agg_func: Some(empty_kind(kind.number)),
        ..Default::default()
    })
}

/// Types that are cast, by Spark's name: one of each kind.
#[must_use]
pub fn cast_types() -> Vec<(&'static str, SparkType)> {
    use DataTypeId as T;
    let decimal = DatatypeStruct::Decimal(DecimalInfo {
        precision: 10,
        scale: 2,
    });
    let part = || Some(Box::new(spark(T::Int32)));
    let list = DatatypeStruct::List(Box::new(ListInfo {
        element_type: part(),
        contains_null: true,
        ..Default::default()
    }));
    let map = DatatypeStruct::Map(Box::new(MapInfo {
        key_type: part(),
        value_type: part(),
        value_contains_null: true,
        ..Default::default()
    }));
    let fields = DatatypeStruct::Struct(StructInfo {
        field_names: vec!["a".into()],
        field_datatypes: vec![spark(T::Int32)],
        field_nullable: vec![true],
        field_metadata: vec![],
    });
    vec![
        ("BOOLEAN", spark(T::Bool)),
        ("TINYINT", spark(T::Int8)),
        ("SMALLINT", spark(T::Int16)),
        ("INT", spark(T::Int32)),
        ("BIGINT", spark(T::Int64)),
        ("FLOAT", spark(T::Float)),
        ("DOUBLE", spark(T::Double)),
        ("DECIMAL", with_info(T::Decimal, decimal)),
        ("STRING", spark(T::String)),
        ("BINARY", spark(T::Bytes)),
        ("DATE", spark(T::Date)),
        ("TIMESTAMP", spark(T::Timestamp)),
        ("TIMESTAMP_NTZ", spark(T::TimestampNtz)),
        ("TIME", spark(T::Time)),
        ("INTERVAL YEAR", spark(T::YearMonthInterval)),
        ("INTERVAL DAY", spark(T::DayTimeInterval)),
        ("ARRAY", with_info(T::List, list)),
        ("MAP", with_info(T::Map, map)),
        ("STRUCT", with_info(T::Struct, fields)),
    ]
}

/// The modes in which a cast is executed: some of `L`, `A` and `T`.
#[must_use]
pub fn cast_modes(from: &SparkType, to: &SparkType) -> String {
    let modes = [
        ("L", EvalMode::Legacy),
        ("A", EvalMode::Ansi),
        ("T", EvalMode::Try),
    ];
    let executed = modes.iter().filter(|(_, mode)| {
        let cast = Cast {
            child: Some(Box::new(Expr {
                expr_struct: Some(ExprStruct::Bound(BoundReference {
                    index: 0,
                    datatype: Some(from.clone()),
                })),
                ..Default::default()
            })),
            datatype: Some(to.clone()),
            timezone: "UTC".into(),
            eval_mode: (*mode).into(),
            is_spark4_plus: true,
            ..Default::default()
        };
        let expr = Expr {
            expr_struct: Some(ExprStruct::Cast(Box::new(cast))),
            ..Default::default()
        };
        let operator = Operator {
            op_struct: Some(OpStruct::Projection(Projection {
                project_list: vec![expr],
            })),
            children: vec![leaf(from.clone())],
            ..Default::default()
        };
        let Some(data_type) = arrow_type(from) else {
            return false;
        };
        let schema = Arc::new(Schema::new(vec![Field::new("c", data_type, true)]));
        validate_block(0, &operator.encode_to_vec(), &[], &[schema]).is_ok()
    });
    executed.map(|(name, _)| *name).collect()
}
