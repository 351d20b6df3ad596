//! The columns of a file that have no parts, as Parquet sees them: they reach the adapter in the metadata of the file's Arrow schema.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::parquet::basic::Type as PhysicalType;
use datafusion::parquet::schema::types::SchemaDescriptor;

/// Key of the text below. No name in a file has its separators.
const KEY: &str = "cne.leaves";
const LEAF_END: char = '\u{1e}';
const TYPE_END: char = '\u{1f}';

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) physical: PhysicalType,
    /// As Spark shows it, e.g. `s, x`.
    pub(crate) path: String,
}

/// Key and text for the leaves of a file.
pub(crate) fn encode(schema: &SchemaDescriptor) -> (String, String) {
    let mut text = String::new();
    for column in schema.columns() {
        text.push_str(&column.physical_type().to_string());
        text.push(TYPE_END);
        text.push_str(&column.path().parts().join(", "));
        text.push(LEAF_END);
    }
    (KEY.to_string(), text)
}

/// The leaves in the metadata of a file's schema. What cannot be read is left out, so that its column is not read either.
pub(crate) fn decode(metadata: &HashMap<String, String>) -> Arc<[Leaf]> {
    let text = metadata.get(KEY).map(String::as_str).unwrap_or_default();
    let leaves = text.split_terminator(LEAF_END).map_while(|leaf| {
        let (physical, path) = leaf.split_once(TYPE_END)?;
        Some(Leaf {
            physical: physical.parse().ok()?,
            path: path.to_string(),
        })
    });
    leaves.collect()
}

/// How many leaves a column has.
pub(crate) fn count(column: &DataType) -> usize {
    match column {
        DataType::Struct(fields) => fields.iter().map(|field| count(field.data_type())).sum(),
        DataType::List(field) | DataType::Map(field, _) => count(field.data_type()),
        _ => 1,
    }
}
