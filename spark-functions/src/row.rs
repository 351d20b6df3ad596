//! The one physical expression of this crate: a kernel over evaluated arguments.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

/// A function over columns. Its `Debug` text is its identity: two kernels that print alike compute alike.
pub(crate) trait Kernel: fmt::Debug + Send + Sync + Any {
    /// Name for plans.
    fn name(&self) -> &str;
    /// Type of the result.
    fn return_type(&self) -> &DataType;
    /// Whether a row can become NULL although no argument is.
    fn makes_nulls(&self) -> bool;
    /// Whether a row can raise an error.
    fn fallible(&self) -> bool;
    /// The result; arguments are arrays of `rows` rows or scalars, at least one an array (or `rows == 1`).
    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue>;
}

type Body = dyn Fn(&[ColumnarValue], usize) -> Result<ArrayRef> + Send + Sync;

/// A kernel that is one closure over evaluated arguments. What the closure holds beside the arguments has to be in `detail`, which
/// is part of the kernel's identity.
pub(crate) struct Function {
    name: &'static str,
    detail: String,
    return_type: DataType,
    makes_nulls: bool,
    fallible: bool,
    body: Box<Body>,
}

impl Function {
    /// A function whose result is NULL only where an argument is, and which raises nothing.
    pub(crate) fn new(
        name: &'static str,
        return_type: DataType,
        body: impl Fn(&[ColumnarValue], usize) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            detail: String::new(),
            return_type,
            makes_nulls: false,
            fallible: false,
            body: Box::new(body),
        }
    }

    /// What the closure holds.
    pub(crate) fn with(mut self, detail: impl fmt::Debug) -> Self {
        self.detail = format!("{detail:?}");
        self
    }

    /// A row can become NULL although no argument is.
    pub(crate) fn nullable(mut self) -> Self {
        self.makes_nulls = true;
        self
    }

    /// A row can raise an error.
    pub(crate) fn fails(mut self) -> Self {
        self.fallible = true;
        self
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}>: {}", self.name, self.detail, self.return_type)
    }
}

impl Kernel for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        self.makes_nulls
    }

    fn fallible(&self) -> bool {
        self.fallible
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Array((self.body)(args, rows)?))
    }
}

/// A [`Kernel`] applied to argument expressions.
#[derive(Debug)]
pub(crate) struct SparkExpr {
    kernel: Arc<dyn Kernel>,
    identity: Arc<str>,
    args: Vec<Arc<dyn PhysicalExpr>>,
}

impl SparkExpr {
    pub(crate) fn create(kernel: impl Kernel, args: Vec<Arc<dyn PhysicalExpr>>) -> Arc<dyn PhysicalExpr> {
        let identity = format!("{kernel:?}").into();
        Arc::new(Self {
            kernel: Arc::new(kernel),
            identity,
            args,
        })
    }

    pub(crate) fn fallible(&self) -> bool {
        self.kernel.fallible()
    }
}

impl PartialEq for SparkExpr {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity && self.args == other.args
    }
}

impl Eq for SparkExpr {}

impl Hash for SparkExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
        self.args.hash(state);
    }
}

impl fmt::Display for SparkExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.kernel.name())?;
        for (i, arg) in self.args.iter().enumerate() {
            if i > 0 {
                write!(f, ", ")?;
            }
            write!(f, "{arg}")?;
        }
        write!(f, ")")
    }
}

impl PhysicalExpr for SparkExpr {
    fn data_type(&self, _input_schema: &Schema) -> Result<DataType> {
        Ok(self.kernel.return_type().clone())
    }

    fn nullable(&self, input_schema: &Schema) -> Result<bool> {
        if self.kernel.makes_nulls() {
            return Ok(true);
        }
        for arg in &self.args {
            if arg.nullable(input_schema)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let args = self
            .args
            .iter()
            .map(|arg| arg.evaluate(batch))
            .collect::<Result<Vec<_>>>()?;
        if !args.is_empty() && args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_))) {
            if batch.num_rows() == 0 {
                return Ok(ColumnarValue::Scalar(ScalarValue::try_from(
                    self.kernel.return_type(),
                )?));
            }
            return match self.kernel.invoke(&args, 1)? {
                ColumnarValue::Array(array) => {
                    Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
                }
                scalar => Ok(scalar),
            };
        }
        self.kernel.invoke(&args, batch.num_rows())
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.args.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self {
            kernel: Arc::clone(&self.kernel),
            identity: Arc::clone(&self.identity),
            args: children,
        }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
