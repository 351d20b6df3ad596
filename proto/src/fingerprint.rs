//! The schema fingerprint: one hash over everything that gives Comet's bytes their meaning.

use std::{fmt::Write as _, sync::OnceLock};

use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto,
    field_descriptor_proto::{Label, Type},
};
use sha2::{Digest, Sha256};

use crate::schema::descriptors;

/// Lower-case hex SHA-256 over [`schema_lines`], each ended by a line feed.
///
/// The driver computes the same from the generated classes of the Comet jar that it runs with.
pub fn schema_fingerprint() -> &'static str {
    static FINGERPRINT: OnceLock<String> = OnceLock::new();
    FINGERPRINT.get_or_init(|| {
        let mut hash = Sha256::new();
        for line in schema_lines() {
            hash.update(line.as_bytes());
            hash.update(b"\n");
        }
        hex::encode(hash.finalize())
    })
}

/// One line per message, field, enum value and reservation of Comet's packages (`spark.*`), sorted bytewise.
///
/// File names, comments, JSON names and language options do not take part.
pub fn schema_lines() -> Vec<String> {
    let mut lines = Vec::new();
    for file in &descriptors().file {
        if !file.package().starts_with("spark.") {
            continue;
        }
        let scope = format!(".{}", file.package());
        file.enum_type
            .iter()
            .for_each(|e| enum_lines(&scope, e, &mut lines));
        file.message_type
            .iter()
            .for_each(|m| message_lines(&scope, m, &mut lines));
    }
    lines.sort_unstable();
    lines
}

fn enum_lines(scope: &str, item: &EnumDescriptorProto, lines: &mut Vec<String>) {
    for value in &item.value {
        lines.push(format!(
            "enum {scope}.{} {} {}",
            item.name(),
            value.number(),
            value.name()
        ));
    }
}

fn message_lines(scope: &str, message: &DescriptorProto, lines: &mut Vec<String>) {
    let name = format!("{scope}.{}", message.name());
    let is_map_entry = message.options.as_ref().is_some_and(|o| o.map_entry());
    lines.push(format!(
        "message {name}{}",
        if is_map_entry { " map_entry" } else { "" }
    ));
    lines.extend(
        message
            .field
            .iter()
            .map(|field| field_line(&name, message, field)),
    );
    for range in &message.reserved_range {
        lines.push(format!("reserved {name} {}-{}", range.start(), range.end() - 1));
    }
    lines.extend(
        message
            .reserved_name
            .iter()
            .map(|reserved| format!("reserved_name {name} {reserved}")),
    );
    message.enum_type.iter().for_each(|e| enum_lines(&name, e, lines));
    message
        .nested_type
        .iter()
        .for_each(|m| message_lines(&name, m, lines));
}

fn field_line(scope: &str, message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let label = match field.label() {
        _ if field.proto3_optional() => "optional",
        Label::Repeated => "repeated",
        _ => "singular",
    };
    let kind = match field.type_name() {
        "" => scalar_name(field.r#type()),
        reference => reference,
    };
    let mut line = format!(
        "field {scope} {:05} {} {label} {kind}",
        field.number(),
        field.name()
    );
    let oneof = field.oneof_index.filter(|_| !field.proto3_optional());
    if let Some(oneof) = oneof.and_then(|i| message.oneof_decl.get(usize::try_from(i).ok()?)) {
        // Writing to a String does not fail.
        let _ = write!(line, " oneof={}", oneof.name());
    }
    line
}

fn scalar_name(kind: Type) -> &'static str {
    match kind {
        Type::Double => "double",
        Type::Float => "float",
        Type::Int64 => "int64",
        Type::Uint64 => "uint64",
        Type::Int32 => "int32",
        Type::Fixed64 => "fixed64",
        Type::Fixed32 => "fixed32",
        Type::Bool => "bool",
        Type::String => "string",
        Type::Group => "group",
        Type::Message => "message",
        Type::Bytes => "bytes",
        Type::Uint32 => "uint32",
        Type::Enum => "enum",
        Type::Sfixed32 => "sfixed32",
        Type::Sfixed64 => "sfixed64",
        Type::Sint32 => "sint32",
        Type::Sint64 => "sint64",
    }
}

#[cfg(test)]
mod tests {
    /// Computed from the generated classes of comet-spark-spark4.1_2.13-1.2.0.jar.
    const COMET_1_2_0: &str = "f6ffd54cc144b7bbc9d1892db52506ecdb98365cb4ed9963c3fc728fdf720962";

    #[test]
    fn equals_the_released_jar() {
        assert_eq!(super::schema_lines().len(), 1083);
        assert_eq!(super::schema_fingerprint(), COMET_1_2_0);
    }
}
