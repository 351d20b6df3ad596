//! Loops over primitive columns: nulls by bitmap, scalars not expanded, results that become NULL row by row.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanBufferBuilder, PrimitiveArray, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;

/// An argument as an array, and whether it stands for every row.
pub(crate) fn operand(value: &ColumnarValue) -> Result<(ArrayRef, bool)> {
    Ok(match value {
        ColumnarValue::Array(array) => (Arc::clone(array), false),
        ColumnarValue::Scalar(scalar) => (scalar.to_array_of_size(1)?, true),
    })
}

/// An argument as an array of `rows` rows.
pub(crate) fn array(value: &ColumnarValue, rows: usize) -> Result<ArrayRef> {
    value.to_array(rows)
}

/// `row(i)` for each row that `nulls` leaves valid; a row whose answer is `None` becomes NULL.
pub(crate) fn collect<O: ArrowPrimitiveType>(
    len: usize,
    nulls: Option<NullBuffer>,
    out_type: &DataType,
    mut row: impl FnMut(usize) -> Result<Option<O::Native>>,
) -> Result<PrimitiveArray<O>> {
    let mut values: Vec<O::Native> = Vec::with_capacity(len);
    let mut made: Option<BooleanBufferBuilder> = None;
    for i in 0..len {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(i)) {
            values.push(O::Native::default());
            continue;
        }
        if let Some(value) = row(i)? {
            values.push(value);
        } else {
            values.push(O::Native::default());
            made.get_or_insert_with(|| {
                let mut all = BooleanBufferBuilder::new(len);
                all.append_n(len, true);
                all
            })
            .set_bit(i, false);
        }
    }
    let made = made.map(|mut made| NullBuffer::new(made.finish()));
    let nulls = NullBuffer::union(nulls.as_ref(), made.as_ref());
    Ok(PrimitiveArray::<O>::new(values.into(), nulls).with_data_type(out_type.clone()))
}

/// `f(value)` of each valid row.
pub(crate) fn unary<I: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    input: &ColumnarValue,
    out_type: &DataType,
    f: impl Fn(I::Native) -> Result<Option<O::Native>>,
) -> Result<ColumnarValue> {
    let (input, _) = operand(input)?;
    let input = input.as_primitive::<I>();
    let values = input.values();
    let out = collect::<O>(values.len(), input.nulls().cloned(), out_type, |i| f(values[i]))?;
    Ok(ColumnarValue::Array(Arc::new(out)))
}

/// `f(left, right)` of each row in which both are valid.
pub(crate) fn binary<L: ArrowPrimitiveType, R: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    left: &ColumnarValue,
    right: &ColumnarValue,
    rows: usize,
    out_type: &DataType,
    f: impl Fn(L::Native, R::Native) -> Result<Option<O::Native>>,
) -> Result<ColumnarValue> {
    let ((left, left_scalar), (right, right_scalar)) = (operand(left)?, operand(right)?);
    if (left_scalar && left.is_null(0)) || (right_scalar && right.is_null(0)) {
        return Ok(ColumnarValue::Array(new_null_array(out_type, rows)));
    }
    let (l, r) = (
        left.as_primitive::<L>().values(),
        right.as_primitive::<R>().values(),
    );
    let out = match (left_scalar, right_scalar) {
        (true, true) => collect::<O>(rows, None, out_type, |_| f(l[0], r[0]))?,
        (true, false) => {
            let l = l[0];
            collect::<O>(r.len(), right.nulls().cloned(), out_type, |i| f(l, r[i]))?
        }
        (false, true) => {
            let r = r[0];
            collect::<O>(l.len(), left.nulls().cloned(), out_type, |i| f(l[i], r))?
        }
        (false, false) => {
            let nulls = NullBuffer::union(left.nulls(), right.nulls());
            collect::<O>(l.len(), nulls, out_type, |i| f(l[i], r[i]))?
        }
    };
    Ok(ColumnarValue::Array(Arc::new(out)))
}

/// Like [`binary`] for an `f` that has an answer for every pair of values, whatever a NULL row holds: no branch in the loop.
pub(crate) fn binary_total<L: ArrowPrimitiveType, R: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    left: &ColumnarValue,
    right: &ColumnarValue,
    rows: usize,
    out_type: &DataType,
    f: impl Fn(L::Native, R::Native) -> O::Native,
) -> Result<ColumnarValue> {
    let ((left, left_scalar), (right, right_scalar)) = (operand(left)?, operand(right)?);
    if (left_scalar && left.is_null(0)) || (right_scalar && right.is_null(0)) {
        return Ok(ColumnarValue::Array(new_null_array(out_type, rows)));
    }
    let (l, r) = (
        left.as_primitive::<L>().values(),
        right.as_primitive::<R>().values(),
    );
    let (values, nulls): (Vec<O::Native>, _) = match (left_scalar, right_scalar) {
        (true, true) => (vec![f(l[0], r[0]); rows], None),
        (true, false) => {
            let l = l[0];
            (r.iter().map(|r| f(l, *r)).collect(), right.nulls().cloned())
        }
        (false, true) => {
            let r = r[0];
            (l.iter().map(|l| f(*l, r)).collect(), left.nulls().cloned())
        }
        (false, false) => {
            let values = l.iter().zip(r.iter()).map(|(l, r)| f(*l, *r)).collect();
            (values, NullBuffer::union(left.nulls(), right.nulls()))
        }
    };
    let out = PrimitiveArray::<O>::new(values.into(), nulls).with_data_type(out_type.clone());
    Ok(ColumnarValue::Array(Arc::new(out)))
}
