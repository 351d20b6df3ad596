use std::sync::Arc;

use cne_proto::spark_expression::DataType as SparkType;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr_adapter::{PhysicalExprAdapter, PhysicalExprAdapterFactory};

use super::ScanError;
use super::align::{Alignment, Rules, physical_field_id};
use super::align_expr::AlignExpr;
use super::reader::{DEPRECATED_STATISTICS_KEY, FILE_KEY, INT96_KEY};

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
    /// Of the scan; the parts that concern a file or a column are filled in per file.
    pub(crate) rules: Rules,
    pub(crate) require_field_ids: bool,
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
        let by_id = self.rules.use_field_id && self.columns.iter().any(|column| column.field_id.is_some());
        let missing_ids = by_id
            && self.require_field_ids
            && !physical
                .fields()
                .iter()
                .any(|field| physical_field_id(field).is_some());
        let rules = Rules {
            file,
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
        let Some(index) = self
            .rules
            .find(fields, &declared.name, declared.field_id, &declared.name)?
        else {
            return Ok(Arc::new(Literal::new(match &declared.default {
                Some(default) => default.clone(),
                None => ScalarValue::try_new_null(&declared.arrow).map_err(|_| {
                    ScanError::unsupported(format!("column {}", declared.name), "no NULL of its type")
                })?,
            })));
        };
        let field = &fields[index];
        let int96 = listed(&self.physical, INT96_KEY, field.name());
        let rules = Rules {
            int96,
            legacy: self.legacy(int96),
            ..self.rules.clone()
        };
        let alignment = rules.align(field.data_type(), &declared.spark, &declared.name)?;
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), index));
        // INT96 has no usable order in statistics, and the deprecated statistics have another order than Spark's strings.
        let prunable = !int96 && !listed(&self.physical, DEPRECATED_STATISTICS_KEY, field.name());
        Ok(match alignment {
            Alignment::Same if prunable => column,
            Alignment::Cast(target) if prunable && always_fits(field.data_type(), &target) => {
                Arc::new(CastExpr::new(column, target, None))
            }
            alignment => Arc::new(AlignExpr::new(
                column,
                alignment,
                declared.arrow.clone(),
                &declared.name,
                &self.rules.file,
            )),
        })
    }

    /// Whether dates and timestamps of the file are of the hybrid Julian calendar, by the rule of Spark's `DataSourceUtils`.
    fn legacy(&self, int96: bool) -> bool {
        let metadata = self.physical.metadata();
        let (since, key) = match int96 {
            true => ("3.1.0", "org.apache.spark.legacyINT96"),
            false => ("3.0.0", "org.apache.spark.legacyDateTime"),
        };
        metadata.contains_key(key)
            || metadata
                .get("org.apache.spark.version")
                .is_some_and(|version| older(version, since))
    }
}

/// Compares the numbers of two versions.
fn older(version: &str, than: &str) -> bool {
    let numbers = |version: &str| -> Vec<u32> {
        let leading = |part: &str| {
            part.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
                .parse()
                .unwrap_or(0)
        };
        version.split('.').take(3).map(leading).collect()
    };
    numbers(version) < numbers(than)
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
