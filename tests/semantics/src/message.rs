//! A message of Comet's as a tree, read by the descriptors: for looking into plans without naming each of their 180 messages.

use crate::contract::{Field, fields};

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number or an enum's.
    Number(u64),
    /// A text.
    Text(String),
    /// Other bytes, also packed numbers.
    Bytes(Vec<u8>),
    /// A message.
    Message(Message),
}

/// A message: its full name, and its fields in the order of the bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// E.g. `spark.spark_operator.Operator`.
    pub name: String,
    /// Fields that are set.
    pub fields: Vec<(Field, Value)>,
}

impl Message {
    /// Reads a message of a known name; `None` when the bytes are not one.
    pub fn read(name: &str, bytes: &[u8]) -> Option<Self> {
        let none = vec![];
        let known = fields().get(name).unwrap_or(&none);
        let (mut at, mut found) = (0, vec![]);
        while at < bytes.len() {
            let key = varint(bytes, &mut at)?;
            let field = known.iter().find(|field| u64::from(field.number) == key >> 3)?;
            let value = match key & 7 {
                0 => Value::Number(varint(bytes, &mut at)?),
                1 => Value::Number(u64::from_le_bytes(take(bytes, &mut at, 8)?.try_into().ok()?)),
                5 => Value::Number(u32::from_le_bytes(take(bytes, &mut at, 4)?.try_into().ok()?).into()),
                2 => {
                    let length = varint(bytes, &mut at)?;
                    let content = take(bytes, &mut at, usize::try_from(length).ok()?)?;
                    match &field.message {
                        Some(message) => Value::Message(Self::read(message, content)?),
                        None if field.text => Value::Text(String::from_utf8(content.to_vec()).ok()?),
                        None => Value::Bytes(content.to_vec()),
                    }
                }
                _ => return None,
            };
            found.push((field.clone(), value));
        }
        Some(Self {
            name: name.to_owned(),
            fields: found,
        })
    }

    /// Name without its package.
    pub fn short_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// The field that says which of several kinds it is, and its value.
    pub fn kind(&self) -> Option<(&str, &Value)> {
        let kind = self.fields.iter().find(|(field, _)| field.kind);
        kind.map(|(field, value)| (field.name.as_str(), value))
    }

    /// The first value of a field.
    pub fn of(&self, field: &str) -> Option<&Value> {
        let found = self.fields.iter().find(|(f, _)| f.name == field);
        found.map(|(_, value)| value)
    }

    /// The message in a field.
    pub fn message(&self, field: &str) -> Option<&Self> {
        match self.of(field)? {
            Value::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The messages in it.
    pub fn messages(&self) -> impl Iterator<Item = &Self> {
        self.fields.iter().filter_map(|(_, value)| match value {
            Value::Message(message) => Some(message),
            _ => None,
        })
    }
}

fn take<'b>(bytes: &'b [u8], at: &mut usize, length: usize) -> Option<&'b [u8]> {
    let taken = bytes.get(*at..at.checked_add(length)?)?;
    *at += length;
    Some(taken)
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let byte = take(bytes, at, 1)?[0];
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
