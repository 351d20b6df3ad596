use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, new_empty_array};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use super::ScanError;
use super::align::{Alignment, Failure, Mismatch};

/// A column of a file as Spark's type. Opaque to pruning: statistics of the file are not used through it.
#[derive(Debug, Eq)]
pub(crate) struct AlignExpr {
    child: Arc<dyn PhysicalExpr>,
    alignment: Alignment,
    target: DataType,
    column: String,
    file: String,
}

// By hand: the derived one would move the child.
impl PartialEq for AlignExpr {
    fn eq(&self, other: &Self) -> bool {
        self.child.eq(&other.child)
            && (&self.alignment, &self.target) == (&other.alignment, &other.target)
            && (&self.column, &self.file) == (&other.column, &other.file)
    }
}

impl Hash for AlignExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (
            &self.child,
            &self.alignment,
            &self.target,
            &self.column,
            &self.file,
        )
            .hash(state);
    }
}

impl AlignExpr {
    pub(crate) fn new(
        child: Arc<dyn PhysicalExpr>,
        alignment: Alignment,
        target: DataType,
        column: &str,
        file: &str,
    ) -> Self {
        Self {
            child,
            alignment,
            target,
            column: column.to_string(),
            file: file.to_string(),
        }
    }

    fn error(&self, failure: Failure) -> ScanError {
        let (file, column) = (self.file.clone(), self.column.clone());
        match failure {
            Failure::Mismatch(Mismatch {
                column,
                physical,
                expected,
                kind,
            }) => ScanError::TypeMismatch {
                file,
                column,
                physical,
                expected,
                kind,
            },
            Failure::Zone(zone) => ScanError::Rebase { file, column, zone },
            Failure::Ancient { int96 } => ScanError::Ancient { file, column, int96 },
            Failure::NotText => ScanError::NotText {
                files: file,
                columns: column,
            },
            Failure::Value(source) => ScanError::Value { file, column, source },
        }
    }
}

impl fmt::Display for AlignExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "align({} AS {})", self.child, self.target)
    }
}

impl PhysicalExpr for AlignExpr {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(self.target.clone())
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        // Also where no alignment exists: Spark does not mind a type in a file without rows.
        if batch.num_rows() == 0 {
            return Ok(ColumnarValue::Array(new_empty_array(&self.target)));
        }
        let array = self.child.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(
            self.alignment
                .apply(&array)
                .map_err(|failure| self.error(failure))?,
        ))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.child]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let child = children
            .into_iter()
            .next()
            .unwrap_or_else(|| Arc::clone(&self.child));
        Ok(Arc::new(Self::new(
            child,
            self.alignment.clone(),
            self.target.clone(),
            &self.column,
            &self.file,
        )))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.child.fmt_sql(f)
    }
}
