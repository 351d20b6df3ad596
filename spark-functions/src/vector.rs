//! Loops over primitive columns: nulls by bitmap, scalars not expanded, results that become NULL row by row.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BooleanBufferBuilder, NullBufferBuilder,
    PrimitiveArray, StringArray, new_null_array,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
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

/// An argument read by row number; a scalar is not expanded.
pub(crate) struct Arg {
    array: ArrayRef,
    step: usize,
}

impl Arg {
    pub(crate) fn new(value: &ColumnarValue) -> Result<Self> {
        let (array, scalar) = operand(value)?;
        let step = usize::from(!scalar);
        Ok(Self { array, step })
    }

    pub(crate) fn all(values: &[ColumnarValue]) -> Result<Vec<Self>> {
        values.iter().map(Self::new).collect()
    }

    pub(crate) fn array(&self) -> &ArrayRef {
        &self.array
    }

    /// Where the value of a row stands in [`Self::array`].
    pub(crate) fn at(&self, row: usize) -> usize {
        row * self.step
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.array.is_null(self.at(row))
    }

    pub(crate) fn text(&self, row: usize) -> Option<&str> {
        let strings = self.array.as_string_opt::<i32>()?;
        let at = self.at(row);
        strings.is_valid(at).then(|| strings.value(at))
    }

    /// The bytes of a string or binary value.
    pub(crate) fn bytes(&self, row: usize) -> Option<&[u8]> {
        if let Some(bytes) = self.array.as_binary_opt::<i32>() {
            let at = self.at(row);
            return bytes.is_valid(at).then(|| bytes.value(at));
        }
        self.text(row).map(str::as_bytes)
    }

    pub(crate) fn number<T: ArrowPrimitiveType>(&self, row: usize) -> Option<T::Native> {
        let numbers = self.array.as_primitive_opt::<T>()?;
        let at = self.at(row);
        numbers.is_valid(at).then(|| numbers.value(at))
    }
}

/// Strings or bytes of a column being made; more than Arrow's offsets can count is an error instead of a panic.
pub(crate) struct Bytes {
    offsets: Vec<i32>,
    values: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl Bytes {
    pub(crate) fn new(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self {
            offsets,
            values: Vec::new(),
            nulls: NullBufferBuilder::new(rows),
        }
    }

    /// Makes sure that `more` bytes fit; call it before a large value is made.
    pub(crate) fn room(&self, more: u64) -> Result<()> {
        let total = (self.values.len() as u64).saturating_add(more);
        if total > i32::MAX as u64 {
            return exec_err!(
                "a batch of strings grows to {total} bytes, more than the {} of a column",
                i32::MAX
            );
        }
        Ok(())
    }

    pub(crate) fn push(&mut self, value: Option<&[u8]>) -> Result<()> {
        if let Some(value) = value {
            self.room(value.len() as u64)?;
            self.values.extend_from_slice(value);
        }
        self.end(value.is_some())
    }

    /// Where the value of the current row is written; [`Self::end`] closes it.
    pub(crate) fn open(&mut self) -> &mut Vec<u8> {
        &mut self.values
    }

    pub(crate) fn end(&mut self, valid: bool) -> Result<()> {
        self.room(0)?;
        self.offsets
            .push(i32::try_from(self.values.len()).unwrap_or(i32::MAX));
        self.nulls.append(valid);
        Ok(())
    }

    fn parts(mut self) -> (OffsetBuffer<i32>, Buffer, Option<NullBuffer>) {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        (offsets, Buffer::from_vec(self.values), self.nulls.finish())
    }

    pub(crate) fn binary(self) -> Result<ArrayRef> {
        let (offsets, values, nulls) = self.parts();
        Ok(Arc::new(BinaryArray::try_new(offsets, values, nulls)?))
    }

    /// The column of strings; bytes that are no UTF-8 are an error.
    pub(crate) fn strings(self) -> Result<ArrayRef> {
        let (offsets, values, nulls) = self.parts();
        Ok(Arc::new(StringArray::try_new(offsets, values, nulls)?))
    }
}

/// The text that `row(i)` gives for each row; `None` is NULL.
pub(crate) fn texts<'a>(
    rows: usize,
    mut row: impl FnMut(usize) -> Result<Option<Cow<'a, str>>>,
) -> Result<ArrayRef> {
    let mut out = Bytes::new(rows);
    for i in 0..rows {
        let text = row(i)?;
        out.push(text.as_ref().map(|text| text.as_bytes()))?;
    }
    out.strings()
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
