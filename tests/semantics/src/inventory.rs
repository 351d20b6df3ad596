//! What the blocks of a request use, by the names of `evidence.txt`.

use std::collections::BTreeSet;

use cne_proto::decode::{Limits, decode_strict};
use cne_proto::v1::{QueryRequest, stage::Kind};

use crate::message::{Message, Value};

/// Everything that the blocks of a request use: `operator filter`, `expression add`, `function substring`, `aggregate sum`, `window rank`,
/// `window aggregate sum`, `cast STRING INT32`. A function counts when a column is among its arguments, so that it was not computed from
/// constants alone.
pub fn of_request(bytes: &[u8]) -> BTreeSet<String> {
    let request: QueryRequest = decode_strict(bytes, "cne.v1.QueryRequest", &Limits::default()).unwrap();
    let mut found = BTreeSet::new();
    for stage in &request.stages {
        let Some(Kind::Block(block)) = &stage.kind else {
            continue;
        };
        let operator = Message::read("spark.spark_operator.Operator", &block.operator).unwrap();
        collect(&operator, &mut found);
        for scan in &block.scans {
            let common = Message::read("spark.spark_operator.NativeScanCommon", &scan.common).unwrap();
            collect(&common, &mut found);
        }
    }
    found
}

fn collect(message: &Message, found: &mut BTreeSet<String>) {
    let kind = message.kind().map(|(kind, _)| kind);
    match (message.short_name(), kind) {
        ("Operator", Some(kind)) => _ = found.insert(format!("operator {kind}")),
        ("Expr", Some(kind)) => _ = found.insert(format!("expression {kind}")),
        ("AggExpr", Some(kind)) => _ = found.insert(format!("aggregate {kind}")),
        ("ScalarFunc", _) if has_column(message) => {
            _ = found.insert(format!("function {}", function(message)))
        }
        ("Cast", _) => _ = cast(message).map(|cast| found.insert(cast)),
        ("WindowExpr", _) => return window(message, found),
        _ => {}
    }
    message.messages().for_each(|part| collect(part, found));
}

// Its function has a name of its own kind; what is inside counts as everywhere.
fn window(message: &Message, found: &mut BTreeSet<String>) {
    for part in message.messages() {
        let called = part.kind().and_then(|(_, value)| match value {
            Value::Message(call) if call.short_name() == "ScalarFunc" => Some(call),
            _ => None,
        });
        if let Some(call) = called {
            found.insert(format!("window {}", function(call)));
            call.messages().for_each(|part| collect(part, found));
        } else if let ("AggExpr", Some((kind, _))) = (part.short_name(), part.kind()) {
            found.insert(format!("window aggregate {kind}"));
            part.messages().for_each(|part| collect(part, found));
        } else {
            collect(part, found);
        }
    }
}

fn function(call: &Message) -> &str {
    match call.of("func") {
        Some(Value::Text(name)) => name,
        _ => "",
    }
}

fn has_column(message: &Message) -> bool {
    let is_column = |kind: Option<(&str, &Value)>| matches!(kind, Some(("bound" | "unbound", _)));
    is_column(message.kind()) || message.messages().any(has_column)
}

// From what it casts is known where its child says its own type.
fn cast(message: &Message) -> Option<String> {
    let (_, child) = message.message("child")?.kind()?;
    let Value::Message(child) = child else { return None };
    let from = child
        .message("datatype")
        .or_else(|| child.message("return_type"))?;
    Some(format!(
        "cast {} {}",
        type_name(from),
        type_name(message.message("datatype")?)
    ))
}

/// The contract's name of a type.
fn type_name(data_type: &Message) -> &'static str {
    use cne_proto::spark_expression::data_type::DataTypeId;
    let id = match data_type.of("type_id") {
        Some(Value::Number(id)) => *id,
        _ => 0,
    };
    let id = i32::try_from(id)
        .ok()
        .and_then(|id| DataTypeId::try_from(id).ok());
    id.map_or("?", |id| id.as_str_name())
}
