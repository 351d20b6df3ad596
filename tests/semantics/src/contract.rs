//! The parts of Comet's contract: from its descriptors, and, for functions, which travel by name, from a list.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// A field of a message of Comet's packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// The full name of its message, e.g. `spark.spark_expression.Expr`; `None` for a scalar.
    pub message: Option<String>,
    /// Whether its value is a text.
    pub text: bool,
    /// Whether it is one of several kinds.
    pub kind: bool,
}

/// Fields by message and number.
pub fn fields() -> &'static HashMap<String, Vec<Field>> {
    static FIELDS: OnceLock<HashMap<String, Vec<Field>>> = OnceLock::new();
    FIELDS.get_or_init(|| {
        let lines = cne_proto::schema_lines();
        let messages = lines.iter().filter_map(|line| line.strip_prefix("message "));
        // A field's type may also be an enum.
        let messages: HashSet<&str> = messages.map(|line| line.split(' ').next().unwrap()).collect();
        let mut all: HashMap<String, Vec<Field>> = HashMap::new();
        for line in &lines {
            let words: Vec<&str> = line.split(' ').collect();
            let ["field", message, number, name, _, kind, rest @ ..] = &words[..] else {
                continue;
            };
            all.entry(message.trim_start_matches('.').to_owned())
                .or_default()
                .push(Field {
                    name: (*name).to_owned(),
                    number: number.parse().unwrap(),
                    message: messages
                        .contains(kind)
                        .then(|| kind.trim_start_matches('.').to_owned()),
                    text: *kind == "string",
                    kind: rest.iter().any(|word| word.starts_with("oneof=")),
                });
        }
        all
    })
}

/// The kinds of a message that is one of several, in the order of their numbers.
pub fn kinds(message: &str) -> Vec<Field> {
    let mut kinds: Vec<Field> = fields()[message].iter().filter(|f| f.kind).cloned().collect();
    kinds.sort_by_key(|field| field.number);
    kinds
}

/// Names of scalar functions that Comet 1.2.0 sends for Spark 4.1.
pub fn functions() -> Vec<&'static str> {
    include_str!("../contract/functions.txt")
        .split_whitespace()
        .collect()
}

/// Aggregate functions that Comet sends over a window: fields of `AggExpr`.
pub fn window_aggregates() -> Vec<Field> {
    let sent = ["count", "sum", "min", "max", "avg", "first", "last"];
    let kinds = kinds("spark.spark_expression.AggExpr").into_iter();
    kinds.filter(|kind| sent.contains(&kind.name.as_str())).collect()
}

/// Names of window functions.
pub fn window_functions() -> Vec<&'static str> {
    include_str!("../contract/window_functions.txt")
        .split_whitespace()
        .collect()
}
