//! Spark's errors as values: class, parameters, place in the query; and the JSON that the driver turns into Spark's exceptions.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use serde_json::{Value, json};

/// Something that this crate does not compute exactly as Spark does, and therefore refuses at planning time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not supported: {reason}")]
pub struct Unsupported {
    /// The function, cast or operation, e.g. `cast(STRING as TIMESTAMP)`.
    pub what: String,
    /// Why, in words for the person who wrote the query.
    pub reason: String,
}

impl Unsupported {
    /// An [`Unsupported`] of a subject and a reason.
    pub fn new(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            reason: reason.into(),
        }
    }
}

/// Where in the SQL text an expression stands: Spark's `SQLQueryContext`. Without a text it stands nowhere, as what Spark has made itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct QueryContext {
    /// The text of the statement.
    pub sql_text: String,
    /// First character of the fragment, counted from 0.
    pub start_index: i32,
    /// Last character of the fragment.
    pub stop_index: i32,
    /// Kind of the object that holds the text, e.g. `VIEW`.
    pub object_type: Option<String>,
    /// Name of that object.
    pub object_name: Option<String>,
    /// Line of the fragment, counted from 1.
    pub line: i32,
    /// Column of the fragment.
    pub start_position: i32,
}

/// The kinds of errors, named as Comet's `SparkErrorConverter` and the driver's `SparkErrors` name them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SparkErrorKind {
    DivideByZero,
    RemainderByZero,
    IntegralDivideOverflow,
    /// Of a function without a tolerant form. `from_type` is Spark's word in the message: `integer`, `long`, ...
    ArithmeticOverflow {
        from_type: String,
    },
    /// `message` is the whole of it, e.g. `long overflow`; `function_name` is the tolerant function of the hint, or empty.
    MathOverflow {
        message: String,
        function_name: String,
    },
    /// `function_name` is the tolerant function of the hint, e.g. `try_add`.
    BinaryArithmeticOverflow {
        value1: String,
        symbol: String,
        value2: String,
        function_name: String,
    },
    DecimalSumOverflow {
        function_name: String,
    },
    NumericValueOutOfRange {
        value: String,
        precision: u8,
        scale: i8,
    },
    NumericOutOfRange {
        value: String,
    },
    /// A decimal that was rounded to 34 digits, and then does not fit. `unscaled` and `unscaled_scale` are those digits.
    DecimalRounded {
        unscaled: String,
        unscaled_scale: i32,
        precision: u8,
        scale: i8,
    },
    CastInvalidValue {
        value: String,
        from_type: String,
        to_type: String,
    },
    InvalidInputInCastToDatetime {
        value: String,
        from_type: String,
        to_type: String,
    },
    /// `value` is a SQL literal of the source type, e.g. `300L` or `1.50BD`.
    CastOverFlow {
        value: String,
        from_type: String,
        to_type: String,
    },
    /// `range_message` is what Java's `DateTimeException` says.
    DatetimeFieldOutOfBounds {
        range_message: String,
    },
    /// `string` names no day of the week.
    IllegalDayOfWeek {
        string: String,
    },
    /// Of `array[i]`; the index counts from 0.
    InvalidArrayIndex {
        index: i32,
        size: i32,
    },
    /// Of `element_at`; the index counts from 1.
    InvalidElementAtIndex {
        index: i32,
        size: i32,
    },
    InvalidIndexOfZero,
    /// `INVALID_FORMAT.ESC_IN_THE_MIDDLE` or `.ESC_AT_THE_END` of a LIKE pattern.
    InvalidLikePattern {
        pattern: String,
        character: Option<String>,
    },
    /// A column of a Parquet file that is not read as the type of the table.
    ParquetSchemaConvert {
        file_path: String,
        /// Path in the file, e.g. `[s, x]`.
        column: String,
        physical_type: String,
        spark_type: String,
    },
    /// A date or timestamp of a Parquet file that may be of either calendar.
    ReadAncientDatetime {
        /// Of an INT96 timestamp.
        int96: bool,
    },
    /// Another error of reading a file.
    CannotReadFile {
        file_path: String,
        message: String,
    },
}

/// An error that Spark raises for this input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparkError {
    /// What happened.
    pub kind: SparkErrorKind,
    /// Where in the query, if the driver said so.
    pub context: Option<Arc<QueryContext>>,
}

const ANSI_HINT: &str = "If necessary set \"spark.sql.ansi.enabled\" to \"false\" to bypass this error.";

impl SparkErrorKind {
    /// The name that the driver dispatches on.
    #[must_use]
    pub fn error_type(&self) -> &'static str {
        match self {
            Self::DivideByZero => "DivideByZero",
            Self::RemainderByZero => "RemainderByZero",
            Self::IntegralDivideOverflow => "IntegralDivideOverflow",
            Self::ArithmeticOverflow { .. } => "ArithmeticOverflow",
            Self::MathOverflow { .. } => "MathOverflow",
            Self::BinaryArithmeticOverflow { .. } => "BinaryArithmeticOverflow",
            Self::DecimalSumOverflow { .. } => "DecimalSumOverflow",
            Self::NumericValueOutOfRange { .. } => "NumericValueOutOfRange",
            Self::NumericOutOfRange { .. } => "NumericOutOfRange",
            Self::DecimalRounded { .. } => "DecimalRounded",
            Self::CastInvalidValue { .. } => "CastInvalidValue",
            Self::InvalidInputInCastToDatetime { .. } => "InvalidInputInCastToDatetime",
            Self::CastOverFlow { .. } => "CastOverFlow",
            Self::DatetimeFieldOutOfBounds { .. } => "DatetimeFieldOutOfBounds",
            Self::IllegalDayOfWeek { .. } => "IllegalDayOfWeek",
            Self::InvalidArrayIndex { .. } => "InvalidArrayIndex",
            Self::InvalidElementAtIndex { .. } => "InvalidElementAtIndex",
            Self::InvalidIndexOfZero => "InvalidIndexOfZero",
            Self::InvalidLikePattern { .. } => "InvalidLikePattern",
            Self::ParquetSchemaConvert { .. } => "ParquetSchemaConvert",
            Self::ReadAncientDatetime { .. } => "ReadAncientDatetime",
            Self::CannotReadFile { .. } => "CannotReadFile",
        }
    }

    /// Spark's error class (error condition).
    #[must_use]
    pub fn error_class(&self) -> &'static str {
        match self {
            Self::DivideByZero => "DIVIDE_BY_ZERO",
            Self::RemainderByZero => "REMAINDER_BY_ZERO",
            Self::IntegralDivideOverflow
            | Self::ArithmeticOverflow { .. }
            | Self::MathOverflow { .. }
            | Self::DecimalSumOverflow { .. } => "ARITHMETIC_OVERFLOW",
            Self::BinaryArithmeticOverflow { .. } => "BINARY_ARITHMETIC_OVERFLOW",
            Self::NumericValueOutOfRange { .. } => "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
            Self::NumericOutOfRange { .. } => "NUMERIC_OUT_OF_SUPPORTED_RANGE",
            Self::DecimalRounded { .. } => "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION",
            Self::CastInvalidValue { .. } | Self::InvalidInputInCastToDatetime { .. } => "CAST_INVALID_INPUT",
            Self::CastOverFlow { .. } => "CAST_OVERFLOW",
            Self::DatetimeFieldOutOfBounds { .. } => "DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION",
            Self::IllegalDayOfWeek { .. } => "ILLEGAL_DAY_OF_WEEK",
            Self::InvalidArrayIndex { .. } => "INVALID_ARRAY_INDEX",
            Self::InvalidElementAtIndex { .. } => "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
            Self::InvalidIndexOfZero => "INVALID_INDEX_OF_ZERO",
            Self::InvalidLikePattern {
                character: Some(_), ..
            } => "INVALID_FORMAT.ESC_IN_THE_MIDDLE",
            Self::InvalidLikePattern { character: None, .. } => "INVALID_FORMAT.ESC_AT_THE_END",
            Self::ParquetSchemaConvert { .. } => "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
            Self::ReadAncientDatetime { .. } => "INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME",
            Self::CannotReadFile { .. } => "FAILED_READ_FILE.NO_HINT",
        }
    }

    fn params(&self) -> Value {
        match self {
            Self::DivideByZero
            | Self::RemainderByZero
            | Self::IntegralDivideOverflow
            | Self::InvalidIndexOfZero => json!({}),
            Self::InvalidArrayIndex { index, size } | Self::InvalidElementAtIndex { index, size } => {
                json!({ "indexValue": index, "arraySize": size })
            }
            Self::ArithmeticOverflow { from_type } => json!({ "fromType": from_type }),
            Self::MathOverflow {
                message,
                function_name,
            } => json!({ "message": message, "functionName": function_name }),
            Self::BinaryArithmeticOverflow {
                value1,
                symbol,
                value2,
                function_name,
            } => json!({
                "value1": value1, "symbol": symbol, "value2": value2, "functionName": function_name
            }),
            Self::DecimalSumOverflow { function_name } => json!({ "functionName": function_name }),
            Self::NumericValueOutOfRange {
                value,
                precision,
                scale,
            } => {
                json!({ "value": value, "precision": precision, "scale": scale })
            }
            Self::NumericOutOfRange { value } => json!({ "value": value }),
            Self::DecimalRounded {
                unscaled,
                unscaled_scale,
                precision,
                scale,
            } => {
                json!({ "unscaled": unscaled, "unscaledScale": unscaled_scale, "precision": precision, "scale": scale })
            }
            Self::CastInvalidValue {
                value,
                from_type,
                to_type,
            }
            | Self::InvalidInputInCastToDatetime {
                value,
                from_type,
                to_type,
            }
            | Self::CastOverFlow {
                value,
                from_type,
                to_type,
            } => {
                json!({ "value": value, "fromType": from_type, "toType": to_type })
            }
            Self::DatetimeFieldOutOfBounds { range_message } => json!({ "rangeMessage": range_message }),
            Self::IllegalDayOfWeek { string } => json!({ "string": string }),
            Self::InvalidLikePattern { pattern, character } => {
                json!({ "format": pattern, "char": character })
            }
            Self::ParquetSchemaConvert {
                file_path,
                column,
                physical_type,
                spark_type,
            } => json!({
                "filePath": file_path, "column": column, "physicalType": physical_type, "sparkType": spark_type
            }),
            Self::ReadAncientDatetime { int96 } => {
                json!({ "format": if *int96 { "Parquet INT96" } else { "Parquet" } })
            }
            Self::CannotReadFile { file_path, message } => {
                json!({ "filePath": file_path, "message": message })
            }
        }
    }

    /// Attaches the place in the query and makes it an error.
    #[must_use]
    pub fn at(self, context: Option<&Arc<QueryContext>>) -> SparkError {
        SparkError {
            kind: self,
            context: context.cloned(),
        }
    }
}

impl From<SparkErrorKind> for SparkError {
    fn from(kind: SparkErrorKind) -> Self {
        Self { kind, context: None }
    }
}

impl SparkError {
    /// The JSON that the driver parses, as Comet's does: `{"errorType", "errorClass", "params", "context"?, "summary"?}`.
    #[must_use]
    pub fn to_comet_json(&self) -> String {
        let mut object = json!({
            "errorType": self.kind.error_type(),
            "errorClass": self.kind.error_class(),
            "params": self.kind.params(),
        });
        if let Some(context) = &self.context {
            object["context"] = json!({
                "sqlText": context.sql_text,
                "startIndex": context.start_index,
                "stopIndex": context.stop_index,
                "objectType": context.object_type,
                "objectName": context.object_name,
                "line": context.line,
                "startPosition": context.start_position,
            });
            object["summary"] = Value::String(context.summary());
        }
        object.to_string()
    }
}

impl QueryContext {
    /// Spark's `SQLQueryContext.summary`: the line, the fragment and a marker below it; empty without a text.
    #[must_use]
    pub fn summary(&self) -> String {
        if self.sql_text.is_empty() {
            return String::new();
        }
        let characters: Vec<char> = self.sql_text.chars().collect();
        let start = usize::try_from(self.start_index).unwrap_or(0);
        let end = usize::try_from(self.stop_index)
            .unwrap_or(0)
            .saturating_add(1)
            .min(characters.len());
        let fragment: String = characters.get(start..end).unwrap_or_default().iter().collect();
        let mut of = String::new();
        if let (Some(kind), Some(name)) = (&self.object_type, &self.object_name) {
            of = format!(" of {kind} {name}");
        }
        let first_line = fragment.lines().next().unwrap_or_default().chars().count();
        format!(
            "== SQL{of} (line {}, position {}) ==\n{fragment}\n{}\n",
            self.line,
            self.start_position.saturating_add(1),
            "^".repeat(first_line)
        )
    }
}

impl fmt::Display for SparkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] ", self.kind.error_class())?;
        match &self.kind {
            SparkErrorKind::DivideByZero => write!(
                f,
                "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. {ANSI_HINT}"
            ),
            SparkErrorKind::RemainderByZero => write!(
                f,
                "Remainder by zero. Use `try_mod` to tolerate divisor being 0 and return NULL instead. {ANSI_HINT}"
            ),
            SparkErrorKind::IntegralDivideOverflow => write!(
                f,
                "Overflow in integral divide. Use 'try_divide' to tolerate overflow and return NULL instead. {ANSI_HINT}"
            ),
            SparkErrorKind::ArithmeticOverflow { from_type } => {
                write!(f, "{from_type} overflow. {ANSI_HINT}")
            }
            SparkErrorKind::MathOverflow {
                message,
                function_name,
            } => match function_name.as_str() {
                "" => write!(f, "{message}. {ANSI_HINT}"),
                name => write!(
                    f,
                    "{message}. Use '{name}' to tolerate overflow and return NULL instead. {ANSI_HINT}"
                ),
            },
            SparkErrorKind::BinaryArithmeticOverflow {
                value1,
                symbol,
                value2,
                function_name,
            } => write!(
                f,
                "{value1} {symbol} {value2} caused overflow. Use `{function_name}` to ignore overflow problem and return NULL."
            ),
            SparkErrorKind::DecimalSumOverflow { function_name } => write!(
                f,
                "Overflow in sum of decimals. Use `{function_name}` to tolerate overflow and return NULL instead. {ANSI_HINT}"
            ),
            SparkErrorKind::NumericValueOutOfRange {
                value,
                precision,
                scale,
            } => write!(
                f,
                "{value} cannot be represented as Decimal({precision}, {scale}). If necessary set \"spark.sql.ansi.enabled\" to \
                 \"false\" to bypass this error, and return NULL instead."
            ),
            SparkErrorKind::NumericOutOfRange { value } => {
                write!(
                    f,
                    "The value {value} cannot be interpreted as a numeric since it has more than 38 digits."
                )
            }
            SparkErrorKind::DecimalRounded {
                unscaled,
                unscaled_scale,
                precision,
                scale,
            } => write!(
                f,
                "The rounded value {unscaled}E{} cannot be represented as Decimal({precision}, {scale}).",
                unscaled_scale.wrapping_neg()
            ),
            SparkErrorKind::CastInvalidValue {
                value,
                from_type,
                to_type,
            }
            | SparkErrorKind::InvalidInputInCastToDatetime {
                value,
                from_type,
                to_type,
            } => write!(
                f,
                "The value '{value}' of the type \"{from_type}\" cannot be cast to \"{to_type}\" because it is malformed. Correct \
                 the value as per the syntax, or change its target type. Use `try_cast` to tolerate malformed input and return \
                 NULL instead."
            ),
            SparkErrorKind::CastOverFlow {
                value,
                from_type,
                to_type,
            } => write!(
                f,
                "The value {value} of the type \"{from_type}\" cannot be cast to \"{to_type}\" due to an overflow. Use `try_cast` to \
                 tolerate overflow and return NULL instead."
            ),
            SparkErrorKind::DatetimeFieldOutOfBounds { range_message } => {
                write!(f, "{range_message}. {ANSI_HINT}")
            }
            SparkErrorKind::IllegalDayOfWeek { string } => {
                write!(f, "Illegal input for day of week: {string}.")
            }
            SparkErrorKind::InvalidArrayIndex { index, size } => write!(
                f,
                "The index {index} is out of bounds. The array has {size} elements. Use the SQL function `get()` to tolerate accessing \
                 element at invalid index and return NULL instead. {ANSI_HINT}"
            ),
            SparkErrorKind::InvalidElementAtIndex { index, size } => write!(
                f,
                "The index {index} is out of bounds. The array has {size} elements. Use `try_element_at` to tolerate accessing element \
                 at invalid index and return NULL instead. {ANSI_HINT}"
            ),
            SparkErrorKind::InvalidIndexOfZero => write!(
                f,
                "The index 0 is invalid. An index shall be either < 0 or > 0 (the first element has index 1)."
            ),
            SparkErrorKind::InvalidLikePattern {
                pattern,
                character: Some(character),
            } => write!(
                f,
                "The format is invalid: '{pattern}'. The escape character is not allowed to precede '{character}'."
            ),
            SparkErrorKind::InvalidLikePattern {
                pattern,
                character: None,
            } => {
                write!(
                    f,
                    "The format is invalid: '{pattern}'. The escape character is not allowed to end with."
                )
            }
            SparkErrorKind::ParquetSchemaConvert {
                file_path,
                column,
                physical_type,
                spark_type,
            } => write!(
                f,
                "Encountered error while reading file {file_path}. Data type mismatches when reading Parquet column {column}. Expected \
                 Spark type {spark_type}, actual Parquet type {physical_type}."
            ),
            SparkErrorKind::ReadAncientDatetime { .. } => {
                write!(
                    f,
                    "A date or timestamp may be of the Julian or of the Gregorian calendar."
                )
            }
            SparkErrorKind::CannotReadFile { file_path, message } => {
                write!(f, "Encountered error while reading file {file_path}. {message}")
            }
        }
    }
}

impl Error for SparkError {}

impl From<SparkError> for DataFusionError {
    fn from(error: SparkError) -> Self {
        Self::External(Box::new(error))
    }
}

impl From<SparkErrorKind> for DataFusionError {
    fn from(kind: SparkErrorKind) -> Self {
        SparkError::from(kind).into()
    }
}

/// The [`SparkError`] inside an error, however deep DataFusion and Arrow wrapped it.
#[must_use]
pub fn find_spark_error(error: &DataFusionError) -> Option<&SparkError> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref::<SparkError>() {
            return Some(found);
        }
        next = if let Some(inner) = current.downcast_ref::<DataFusionError>() {
            match inner {
                DataFusionError::External(inner) => Some(inner.as_ref()),
                DataFusionError::Shared(inner) => Some(inner.as_ref()),
                DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                    Some(inner.as_ref())
                }
                DataFusionError::ArrowError(inner, _) => Some(inner.as_ref()),
                DataFusionError::Collection(all) => return all.iter().find_map(find_spark_error),
                other => other.source(),
            }
        } else if let Some(ArrowError::ExternalError(inner)) = current.downcast_ref::<ArrowError>() {
            Some(inner.as_ref())
        } else {
            current.source()
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_through_every_wrapper() {
        let error = SparkError::from(SparkErrorKind::DivideByZero);
        let plain: DataFusionError = error.clone().into();
        let arrow = ArrowError::ExternalError(Box::new(plain));
        let shared = DataFusionError::Shared(Arc::new(DataFusionError::ArrowError(Box::new(arrow), None)));
        let wrapped = shared.context("while projecting");
        assert_eq!(find_spark_error(&wrapped), Some(&error));
        assert_eq!(find_spark_error(&DataFusionError::Execution("x".into())), None);
    }

    #[test]
    fn json_carries_params_and_context() {
        let context = QueryContext {
            sql_text: "select a / b".into(),
            start_index: 7,
            stop_index: 11,
            line: 1,
            start_position: 7,
            ..QueryContext::default()
        };
        let error = SparkErrorKind::NumericValueOutOfRange {
            value: "100".into(),
            precision: 2,
            scale: 0,
        }
        .at(Some(&Arc::new(context)));
        let json: Value = serde_json::from_str(&error.to_comet_json()).unwrap();
        assert_eq!(json["errorType"], "NumericValueOutOfRange");
        assert_eq!(json["params"]["precision"], 2);
        assert_eq!(json["context"]["stopIndex"], 11);
        assert_eq!(json["summary"], "== SQL (line 1, position 8) ==\na / b\n^^^^^\n");
    }
}
