//! Functions of the bits of integers.

use arrow::array::{ArrayRef, AsArray, Int32Array};
use arrow::compute::unary as map;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Int8Type, Int16Type, Int32Type, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;
use std::sync::Arc;

use crate::functions::{Built, FunctionCall};
use crate::row::{Function, SparkExpr};
use crate::vector;

/// The functions of this module; `None` for a name that is not one of them.
pub(crate) fn build(call: &FunctionCall<'_>) -> Option<Built> {
    let kind = call.kind(0);
    let integer = crate::types::is_integer(kind);
    let kernel = match (call.name, call.args.len()) {
        ("bit_count", 1) if integer || kind == &DataType::Boolean => {
            Function::new("bit_count", DataType::Int32, |args, _| count(&args[0]))
        }
        ("bitwise_not", 1) if integer => {
            Function::new("bitwise_not", kind.clone(), |args, _| invert(&args[0]))
        }
        ("shiftrightunsigned", 2) if call.kinds(&[DataType::Int32, DataType::Int32]) => {
            Function::new("shiftrightunsigned", DataType::Int32, |args, rows| {
                let (int, shift) = (&DataType::Int32, |value: i32, by: i32| {
                    (value.cast_unsigned() >> (by & 31)).cast_signed()
                });
                vector::binary_total::<Int32Type, Int32Type, Int32Type>(&args[0], &args[1], rows, int, shift)?
                    .into_array(rows)
            })
        }
        ("shiftrightunsigned", 2) if call.kinds(&[DataType::Int64, DataType::Int32]) => {
            Function::new("shiftrightunsigned", DataType::Int64, |args, rows| {
                let (long, shift) = (&DataType::Int64, |value: i64, by: i32| {
                    (value.cast_unsigned() >> (by & 63)).cast_signed()
                });
                vector::binary_total::<Int64Type, Int32Type, Int64Type>(
                    &args[0], &args[1], rows, long, shift,
                )?
                .into_array(rows)
            })
        }
        ("bit_count" | "bitwise_not" | "shiftrightunsigned", _) => return Some(None),
        _ => return None,
    };
    Some(Some(SparkExpr::create(kernel, call.args.clone())))
}

fn ones<T: ArrowPrimitiveType>(array: &ArrayRef) -> Int32Array
where
    T::Native: Into<i64>,
{
    map(array.as_primitive::<T>(), |value| {
        value.into().count_ones().cast_signed()
    })
}

/// `BitwiseCount`: of the value as a long, so that a negative number has the ones of its sign.
fn count(value: &ColumnarValue) -> Result<ArrayRef> {
    let (array, _) = vector::operand(value)?;
    Ok(Arc::new(match array.data_type() {
        DataType::Boolean => array.as_boolean().iter().map(|v| v.map(i32::from)).collect(),
        DataType::Int8 => ones::<Int8Type>(&array),
        DataType::Int16 => ones::<Int16Type>(&array),
        DataType::Int32 => ones::<Int32Type>(&array),
        DataType::Int64 => ones::<Int64Type>(&array),
        other => return exec_err!("no bits of {other}"),
    }))
}

fn invert(value: &ColumnarValue) -> Result<ArrayRef> {
    let (array, _) = vector::operand(value)?;
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef) -> ArrayRef
    where
        T::Native: std::ops::Not<Output = T::Native>,
    {
        Arc::new(map::<_, _, T>(array.as_primitive::<T>(), |value: T::Native| {
            !value
        }))
    }
    Ok(match array.data_type() {
        DataType::Int8 => of::<Int8Type>(&array),
        DataType::Int16 => of::<Int16Type>(&array),
        DataType::Int32 => of::<Int32Type>(&array),
        DataType::Int64 => of::<Int64Type>(&array),
        other => return exec_err!("no bits of {other}"),
    })
}
