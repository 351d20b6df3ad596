//! Result columns as types that Spark's Arrow reader takes.
//!
//! Spark's `ArrowColumnVector` knows no views, dictionaries, unsigned numbers or decimals other than 128 bits wide; it would fail at the first
//! value with an error that names neither the column nor its type.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

/// The schema that a client gets for rows of `schema`; the error names the column whose type cannot be sent.
pub(crate) fn client_schema(schema: &SchemaRef) -> Result<SchemaRef, String> {
    let fields = schema
        .fields()
        .iter()
        .map(client_field)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Schema::new_with_metadata(
        fields,
        schema.metadata().clone(),
    )))
}

/// The batch with the types of `schema`, which [`client_schema`] gave.
pub(crate) fn client_batch(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.schema_ref() == schema {
        return Ok(batch);
    }
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .map(|(column, field)| match column.data_type() == field.data_type() {
            true => Ok(Arc::clone(column)),
            false => cast(column, field.data_type()),
        });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_, _>>()?, &options)
}

fn client_field(field: &FieldRef) -> Result<FieldRef, String> {
    let data_type = client_type(field.data_type())
        .map_err(|found| format!("column {:?} has the type {found}", field.name()))?;
    Ok(Arc::new(Field::clone(field).with_data_type(data_type)))
}

fn client_type(data_type: &DataType) -> Result<DataType, String> {
    let child = |field: &FieldRef| {
        client_type(field.data_type()).map(|found| Arc::new(Field::clone(field).with_data_type(found)))
    };
    Ok(match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView | DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::Dictionary(_, values) => client_type(values)?,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::FixedSizeList(item, _) => DataType::List(child(item)?),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect::<Result<_, _>>()?),
        DataType::Map(entries, sorted) => DataType::Map(child(entries)?, *sorted),
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(_, _)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::Date32
        | DataType::Timestamp(TimeUnit::Microsecond, _)
        | DataType::Time64(TimeUnit::Nanosecond)
        | DataType::Duration(TimeUnit::Microsecond)
        | DataType::Interval(_) => data_type.clone(),
        other => return Err(other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        Array, AsArray, DictionaryArray, Int32Array, ListArray, StringViewArray, UInt64Array,
    };
    use arrow::datatypes::{Int8Type, Int32Type};

    use super::*;

    #[test]
    fn views_and_dictionaries_become_plain_also_inside_of_lists() {
        let views = StringViewArray::from(vec![Some("a"), None]);
        let item = Arc::new(Field::new_list_field(DataType::Utf8View, true));
        let lists = ListArray::new(
            item,
            arrow::buffer::OffsetBuffer::from_lengths([1, 1]),
            Arc::new(views.clone()),
            None,
        );
        let words: DictionaryArray<Int8Type> = vec!["x", "x"].into_iter().collect();
        let batch = RecordBatch::try_from_iter([
            ("v", Arc::new(views) as _),
            ("l", Arc::new(lists) as _),
            ("d", Arc::new(words) as _),
            ("i", Arc::new(Int32Array::from(vec![1, 2])) as Arc<dyn Array>),
        ]);
        let batch = batch.unwrap();
        let schema = client_schema(&batch.schema()).unwrap();
        let sent = client_batch(batch, &schema).unwrap();
        let types: Vec<_> = sent
            .columns()
            .iter()
            .map(|column| column.data_type().clone())
            .collect();
        let list = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)));
        assert_eq!(types, [DataType::Utf8, list, DataType::Utf8, DataType::Int32]);
        assert_eq!(
            sent.column(0).as_string::<i32>().iter().collect::<Vec<_>>(),
            [Some("a"), None]
        );
        assert_eq!(sent.column(2).as_string::<i32>().value(1), "x");
        assert_eq!(sent.column(3).as_primitive::<Int32Type>().values(), &[1, 2]);
    }

    #[test]
    fn what_spark_has_no_type_for_is_named() {
        let batch =
            RecordBatch::try_from_iter([("u", Arc::new(UInt64Array::from(vec![1])) as Arc<dyn Array>)])
                .unwrap();
        assert_eq!(
            client_schema(&batch.schema()),
            Err("column \"u\" has the type UInt64".into())
        );
    }
}
