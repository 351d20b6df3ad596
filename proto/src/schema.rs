//! The descriptors written by build.rs, and the lookup table that the walker reads.

use std::{collections::HashMap, sync::OnceLock};

use prost::Message as _;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

/// The descriptors of every .proto file of this crate.
pub(crate) fn descriptors() -> &'static FileDescriptorSet {
    static SET: OnceLock<FileDescriptorSet> = OnceLock::new();
    // Written by our build script and read back by our tests: they always decode.
    SET.get_or_init(|| {
        FileDescriptorSet::decode(&include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"))[..])
            .unwrap_or_default()
    })
}

/// Every message by index, with its fields.
#[derive(Default)]
pub(crate) struct Schema {
    pub(crate) messages: Vec<MessageSchema>,
    enums: Vec<Vec<i32>>,
    message_index: HashMap<String, usize>,
}

pub(crate) struct MessageSchema {
    /// Full name without a leading dot, e.g. "cne.v1.Block".
    pub(crate) name: String,
    /// Sorted by number.
    fields: Vec<FieldSchema>,
}

pub(crate) struct FieldSchema {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) repeated: bool,
    /// Index of the oneof within the message; a synthetic one (`optional`) does not count.
    pub(crate) oneof: Option<u32>,
}

/// How a field's value is encoded and checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int32,
    /// `uint32` and `sint32`: any varint of at most 32 bits.
    Bits32,
    /// Any varint.
    Bits64,
    Enum(usize),
    Fixed32,
    Fixed64,
    String,
    Bytes,
    Message(usize),
    /// Groups do not exist in proto3: such a field is refused.
    Group,
}

impl MessageSchema {
    pub(crate) fn field(&self, number: u32) -> Option<&FieldSchema> {
        let at = self.fields.binary_search_by_key(&number, |f| f.number).ok()?;
        self.fields.get(at)
    }
}

impl Schema {
    /// The table of this crate's messages.
    pub(crate) fn get() -> &'static Self {
        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        SCHEMA.get_or_init(|| Self::build(descriptors()))
    }

    /// Index of a message by its full name.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.message_index.get(name).copied()
    }

    pub(crate) fn is_enum_value(&self, index: usize, value: i32) -> bool {
        self.enums
            .get(index)
            .is_some_and(|values| values.contains(&value))
    }

    fn build(set: &FileDescriptorSet) -> Self {
        let mut schema = Self::default();
        let mut enum_index = HashMap::new();
        let mut found = Vec::new();
        for file in &set.file {
            file.enum_type
                .iter()
                .for_each(|e| schema.add_enum(file.package(), e, &mut enum_index));
            for message in &file.message_type {
                schema.add_message(file.package(), message, &mut enum_index, &mut found);
            }
        }
        for (index, message) in found.into_iter().enumerate() {
            let fields = schema.fields_of(message, &enum_index);
            if let Some(entry) = schema.messages.get_mut(index) {
                entry.fields = fields;
            }
        }
        schema
    }

    fn add_enum(&mut self, scope: &str, item: &EnumDescriptorProto, index: &mut HashMap<String, usize>) {
        index.insert(format!("{scope}.{}", item.name()), self.enums.len());
        self.enums.push(item.value.iter().map(|v| v.number()).collect());
    }

    fn add_message<'a>(
        &mut self,
        scope: &str,
        message: &'a DescriptorProto,
        enum_index: &mut HashMap<String, usize>,
        found: &mut Vec<&'a DescriptorProto>,
    ) {
        let name = format!("{scope}.{}", message.name());
        self.message_index.insert(name.clone(), self.messages.len());
        found.push(message);
        message
            .enum_type
            .iter()
            .for_each(|e| self.add_enum(&name, e, enum_index));
        self.messages.push(MessageSchema {
            name: name.clone(),
            fields: Vec::new(),
        });
        message
            .nested_type
            .iter()
            .for_each(|m| self.add_message(&name, m, enum_index, found));
    }

    fn fields_of(&self, message: &DescriptorProto, enums: &HashMap<String, usize>) -> Vec<FieldSchema> {
        let mut fields = Vec::with_capacity(message.field.len());
        for field in &message.field {
            let reference = field.type_name().trim_start_matches('.');
            let kind = match field.r#type() {
                Type::Bool => Some(Kind::Bool),
                Type::Int32 => Some(Kind::Int32),
                Type::Uint32 | Type::Sint32 => Some(Kind::Bits32),
                Type::Int64 | Type::Uint64 | Type::Sint64 => Some(Kind::Bits64),
                Type::Fixed32 | Type::Sfixed32 | Type::Float => Some(Kind::Fixed32),
                Type::Fixed64 | Type::Sfixed64 | Type::Double => Some(Kind::Fixed64),
                Type::String => Some(Kind::String),
                Type::Bytes => Some(Kind::Bytes),
                Type::Enum => enums.get(reference).copied().map(Kind::Enum),
                Type::Message => self.index_of(reference).map(Kind::Message),
                Type::Group => Some(Kind::Group),
            };
            // A reference that resolves to nothing is left out: its use is then an unknown field, which is refused.
            let (Some(kind), Ok(number)) = (kind, u32::try_from(field.number())) else {
                continue;
            };
            let oneof = field.oneof_index.filter(|_| !field.proto3_optional());
            fields.push(FieldSchema {
                number,
                name: field.name().to_owned(),
                kind,
                repeated: field.label() == Label::Repeated,
                oneof: oneof.and_then(|i| u32::try_from(i).ok()),
            });
        }
        fields.sort_unstable_by_key(|f| f.number);
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_resolves() {
        let schema = Schema::get();
        let declared: usize = descriptors()
            .file
            .iter()
            .flat_map(|f| &f.message_type)
            .map(count)
            .sum();
        let resolved: usize = schema.messages.iter().map(|m| m.fields.len()).sum();
        assert_eq!(resolved, declared);
        assert!(
            schema
                .messages
                .iter()
                .all(|m| m.fields.iter().all(|f| f.kind != Kind::Group))
        );
    }

    fn count(message: &DescriptorProto) -> usize {
        message.field.len() + message.nested_type.iter().map(count).sum::<usize>()
    }
}
