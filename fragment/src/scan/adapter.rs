use std::collections::HashMap;
use std::sync::Arc;

use cne_proto::spark_expression::DataType as SparkType;
use datafusion::arrow::datatypes::{DataType, Fields, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr_adapter::{PhysicalExprAdapter, PhysicalExprAdapterFactory};

use super::ScanError;
use super::align::{Alignment, Rules, physical_field_id};
use super::align_expr::AlignExpr;
use super::leaf::{LeafRules, Rebase, Step};
use super::leaves::{count, decode};
use super::reader::{FILE_KEY, UNORDERED_KEY};

/// A column of the table, as Spark declares it.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) spark: SparkType,
    pub(crate) arrow: DataType,
    pub(crate) field_id: Option<i32>,
    /// Of files that do not have the column; NULL otherwise.
    pub(crate) default: Option<ScalarValue>,
}

/// Matches each file of a scan to the table's columns.
#[derive(Debug)]
pub(crate) struct ScanAdapterFactory {
    pub(crate) columns: Arc<Vec<TableColumn>>,
    /// Of the scan; the parts that concern a file are filled in per file.
    pub(crate) rules: Rules,
    pub(crate) require_field_ids: bool,
    pub(crate) calendars: Calendars,
}

/// What the session (or the read) says of dates and timestamps in files that do not say by themselves which calendar they are of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calendars {
    pub(crate) datetime: RebaseMode,
    pub(crate) int96: RebaseMode,
}

/// A value of Spark's `spark.sql.parquet.datetimeRebaseModeInRead`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum RebaseMode {
    #[default]
    Corrected,
    Legacy,
    Exception,
}

impl RebaseMode {
    /// The mode of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "CORRECTED" => Self::Corrected,
            "LEGACY" => Self::Legacy,
            "EXCEPTION" => Self::Exception,
            _ => return None,
        })
    }
}

#[derive(Debug)]
struct ScanAdapter {
    columns: Arc<Vec<TableColumn>>,
    physical: SchemaRef,
    rules: Rules,
    missing_ids: bool,
}

impl PhysicalExprAdapterFactory for ScanAdapterFactory {
    fn create(&self, _: SchemaRef, physical: SchemaRef) -> Result<Arc<dyn PhysicalExprAdapter>> {
        let file = physical.metadata().get(FILE_KEY).cloned().unwrap_or_default();
        // Of the whole read schema, whether or not ids are used: so does Spark.
        let missing_ids = self.require_field_ids && !has_field_ids(physical.fields());
        let metadata = physical.metadata();
        let rules = Rules {
            file,
            leaves: decode(metadata),
            leaf: LeafRules {
                datetime: rebase(metadata, &DATETIME, self.calendars.datetime),
                int96: rebase(metadata, &INT96, self.calendars.int96),
                ..self.rules.leaf.clone()
            },
            ..self.rules.clone()
        };
        Ok(Arc::new(ScanAdapter {
            columns: Arc::clone(&self.columns),
            physical,
            rules,
            missing_ids,
        }))
    }
}

impl PhysicalExprAdapter for ScanAdapter {
    fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        expr.transform(|expr| match expr.downcast_ref::<Column>() {
            Some(column) => match self.columns.get(column.index()) {
                Some(declared) => Ok(Transformed::yes(self.column(declared)?)),
                None => Ok(Transformed::no(expr)),
            },
            None => Ok(Transformed::no(expr)),
        })
        .data()
    }
}

fn listed(physical: &Schema, key: &str, name: &str) -> bool {
    physical
        .metadata()
        .get(key)
        .is_some_and(|lines| lines.lines().any(|line| line == name))
}

impl ScanAdapter {
    fn column(&self, declared: &TableColumn) -> Result<Arc<dyn PhysicalExpr>, ScanError> {
        if self.missing_ids {
            return Err(ScanError::NoFieldIds {
                file: self.rules.file.clone(),
            });
        }
        let fields = self.physical.fields();
        let Some(index) = self.rules.find(fields, &declared.name, declared.field_id)? else {
            return Ok(Arc::new(Literal::new(match &declared.default {
                Some(default) => default.clone(),
                None => ScalarValue::try_new_null(&declared.arrow).map_err(|_| {
                    ScanError::unsupported(format!("column {}", declared.name), "no NULL of its type")
                })?,
            })));
        };
        let field = &fields[index];
        let leaf: usize = fields[..index].iter().map(|field| count(field.data_type())).sum();
        let alignment = self.rules.align(field.data_type(), leaf, &declared.spark)?;
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), index));
        // Statistics see through a plain column and through a cast.
        if !listed(&self.physical, UNORDERED_KEY, field.name())
            && let Alignment::Leaf(steps) = &alignment
        {
            match steps.as_slice() {
                [] => return Ok(column),
                [Step::Cast(target)] if always_fits(field.data_type(), target) => {
                    return Ok(Arc::new(CastExpr::new(column, target.clone(), None)));
                }
                _ => {}
            }
        }
        Ok(Arc::new(AlignExpr::new(
            column,
            alignment,
            declared.arrow.clone(),
            &declared.name,
            &self.rules.file,
        )))
    }
}

fn has_field_ids(fields: &Fields) -> bool {
    fields.iter().any(|field| {
        physical_field_id(field).is_some()
            || match field.data_type() {
                DataType::Struct(parts) => has_field_ids(parts),
                DataType::List(part) | DataType::Map(part, _) => has_field_ids(&[Arc::clone(part)].into()),
                _ => false,
            }
    })
}

/// Until when Spark wrote the hybrid calendar, and by which key a later file says that it has it.
struct Since {
    version: &'static str,
    key: &'static str,
    int96: bool,
}

const DATETIME: Since = Since {
    version: "3.0.0",
    key: "org.apache.spark.legacyDateTime",
    int96: false,
};
const INT96: Since = Since {
    version: "3.1.0",
    key: "org.apache.spark.legacyINT96",
    int96: true,
};

/// How the dates and timestamps of a file are read: Spark's `DataSourceUtils`.
fn rebase(metadata: &HashMap<String, String>, since: &Since, mode: RebaseMode) -> Option<Rebase> {
    let legacy = || {
        let zone = metadata.get("org.apache.spark.timeZone").cloned();
        Some(Rebase::Legacy { zone })
    };
    match metadata.get("org.apache.spark.version") {
        // Compared as texts, as Spark does.
        Some(version) if version.as_str() < since.version || metadata.contains_key(since.key) => legacy(),
        Some(_) => None,
        None => match mode {
            RebaseMode::Corrected => None,
            RebaseMode::Legacy => legacy(),
            RebaseMode::Exception => Some(Rebase::Exception { int96: since.int96 }),
        },
    }
}

/// Casts that cannot fail, which DataFusion sees through when it prunes.
fn always_fits(from: &DataType, to: &DataType) -> bool {
    use DataType::{Decimal128, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32};
    matches!(
        (from, to),
        (Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32, Int64)
            | (Int8 | Int16 | UInt8 | UInt16, Int32)
            | (Int8 | UInt8, Int16)
            | (Int8 | Int16 | Int32, Float64)
            | (Float32, Float64)
            | (Decimal128(_, _), Decimal128(_, _))
    )
}
