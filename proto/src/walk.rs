//! A walk over the bytes of a message, driven by the descriptors. Nesting lives on a heap-allocated stack of frames.

use crate::{
    decode::{DecodeError, Limits},
    schema::{FieldSchema, Kind, MessageSchema, Schema},
};

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const LENGTH: u8 = 2;
const FIXED32: u8 = 5;

/// Segments of a path that are shown at each end; what lies between is left out.
const PATH_HEAD: usize = 12;
const PATH_TAIL: usize = 4;

/// A message that is being read.
struct Frame<'s> {
    message: &'s MessageSchema,
    /// Name of the field that holds it; empty for the root.
    field: &'s str,
    /// Offset behind its last byte.
    end: usize,
    /// Where its singular fields start in `Walker::seen`.
    seen: usize,
}

/// A singular field that was read: it, and its oneof, may not come again.
struct Seen {
    number: u32,
    oneof: Option<u32>,
}

struct Walker<'s, 'b> {
    schema: &'s Schema,
    limits: &'b Limits,
    bytes: &'b [u8],
    at: usize,
    frames: Vec<Frame<'s>>,
    seen: Vec<Seen>,
    values: usize,
    deepest: usize,
}

/// Checks `bytes` against message `root`; gives the deepest nesting found, 1 for a flat message.
pub(crate) fn walk(
    schema: &Schema,
    root: usize,
    bytes: &[u8],
    limits: &Limits,
) -> Result<usize, DecodeError> {
    if bytes.len() > limits.bytes {
        return Err(DecodeError::TooLarge {
            size: bytes.len(),
            limit: limits.bytes,
        });
    }
    let mut walker = Walker {
        schema,
        limits,
        bytes,
        at: 0,
        frames: Vec::new(),
        seen: Vec::new(),
        values: 0,
        deepest: 0,
    };
    walker.enter(root, "", bytes.len())?;
    walker.run()?;
    Ok(walker.deepest)
}

impl<'s> Walker<'s, '_> {
    fn run(&mut self) -> Result<(), DecodeError> {
        while let Some(frame) = self.frames.last() {
            if self.at >= frame.end {
                self.seen.truncate(frame.seen);
                self.frames.pop();
                continue;
            }
            let (message, end, seen) = (frame.message, frame.end, frame.seen);
            let key = self.varint(end)?;
            let wire_type = (key & 7) as u8;
            let number = u32::try_from(key >> 3).ok().filter(|n| (1..1 << 29).contains(n));
            let number = number.ok_or_else(|| self.malformed())?;
            let field = message.field(number).ok_or_else(|| DecodeError::UnknownField {
                message: message.name.clone(),
                number,
                path: self.path(None),
            })?;
            if !field.repeated {
                self.note(field, seen)?;
            }
            self.value(field, wire_type, end)?;
        }
        Ok(())
    }

    fn enter(&mut self, message: usize, field: &'s str, end: usize) -> Result<(), DecodeError> {
        if self.frames.len() >= self.limits.depth {
            return Err(DecodeError::TooDeep {
                limit: self.limits.depth,
                path: self.path(Some(field)),
            });
        }
        let message = self
            .schema
            .messages
            .get(message)
            .ok_or_else(|| self.malformed())?;
        self.frames.push(Frame {
            message,
            field,
            end,
            seen: self.seen.len(),
        });
        self.deepest = self.deepest.max(self.frames.len());
        Ok(())
    }

    /// prost takes the last of two values and merges two messages: either way something that was sent gets lost.
    fn note(&mut self, field: &'s FieldSchema, since: usize) -> Result<(), DecodeError> {
        let before = self.seen.get(since..).unwrap_or_default();
        if before
            .iter()
            .any(|s| s.number == field.number || (s.oneof.is_some() && s.oneof == field.oneof))
        {
            return Err(
                self.at_field(field, |message, field, path| DecodeError::Conflict {
                    message,
                    field,
                    path,
                }),
            );
        }
        self.seen.push(Seen {
            number: field.number,
            oneof: field.oneof,
        });
        Ok(())
    }

    fn value(&mut self, field: &'s FieldSchema, wire_type: u8, end: usize) -> Result<(), DecodeError> {
        let expected = match field.kind {
            Kind::Bool | Kind::Int32 | Kind::Bits32 | Kind::Bits64 | Kind::Enum(_) => VARINT,
            Kind::Fixed32 => FIXED32,
            Kind::Fixed64 => FIXED64,
            Kind::String | Kind::Bytes | Kind::Message(_) => LENGTH,
            Kind::Group => return Err(self.wrong_wire_type(field, wire_type)),
        };
        if wire_type == expected {
            return if wire_type == LENGTH {
                self.length_delimited(field, end)
            } else {
                self.scalar(field, end)
            };
        }
        // Repeated numbers come packed or one by one: a reader has to take both.
        if wire_type == LENGTH && field.repeated {
            let packed_end = self.length(end)?;
            while self.at < packed_end {
                self.scalar(field, packed_end)?;
            }
            return Ok(());
        }
        Err(self.wrong_wire_type(field, wire_type))
    }

    fn length_delimited(&mut self, field: &'s FieldSchema, end: usize) -> Result<(), DecodeError> {
        self.values += 1;
        if self.values > self.limits.values {
            return Err(DecodeError::TooManyValues {
                limit: self.limits.values,
            });
        }
        let end = self.length(end)?;
        if let Kind::Message(message) = field.kind {
            return self.enter(message, &field.name, end);
        }
        let content = self.bytes.get(self.at..end).unwrap_or_default();
        if field.kind == Kind::String && std::str::from_utf8(content).is_err() {
            return Err(
                self.at_field(field, |message, field, path| DecodeError::InvalidUtf8 {
                    message,
                    field,
                    path,
                }),
            );
        }
        self.at = end;
        Ok(())
    }

    fn scalar(&mut self, field: &'s FieldSchema, end: usize) -> Result<(), DecodeError> {
        let size = match field.kind {
            Kind::Fixed32 => 4,
            Kind::Fixed64 => 8,
            _ => return self.number(field, end),
        };
        if end - self.at < size {
            return Err(self.malformed());
        }
        self.at += size;
        Ok(())
    }

    fn number(&mut self, field: &'s FieldSchema, end: usize) -> Result<(), DecodeError> {
        let raw = self.varint(end)?;
        // Negative 32-bit numbers travel sign-extended to 64 bits.
        let signed = raw.cast_signed();
        let in_range = match field.kind {
            Kind::Bool => raw <= 1,
            Kind::Bits32 => u32::try_from(raw).is_ok(),
            Kind::Int32 => i32::try_from(signed).is_ok(),
            Kind::Enum(index) => {
                let known = i32::try_from(signed).is_ok_and(|v| self.schema.is_enum_value(index, v));
                if !known {
                    return Err(
                        self.at_field(field, |message, field, path| DecodeError::UnknownEnumValue {
                            message,
                            field,
                            value: signed,
                            path,
                        }),
                    );
                }
                true
            }
            _ => true,
        };
        if in_range {
            return Ok(());
        }
        Err(
            self.at_field(field, |message, field, path| DecodeError::OutOfRange {
                message,
                field,
                path,
            }),
        )
    }

    /// Reads a length and gives the offset behind the value, which lies within `end`.
    fn length(&mut self, end: usize) -> Result<usize, DecodeError> {
        let length = self.varint(end)?;
        match usize::try_from(length) {
            Ok(length) if length <= end - self.at => Ok(self.at + length),
            _ => Err(self.malformed()),
        }
    }

    /// Reads up to ten bytes before `end`; more than 64 bits are malformed.
    fn varint(&mut self, end: usize) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = match self.bytes.get(self.at) {
                Some(byte) if self.at < end => *byte,
                _ => return Err(self.malformed()),
            };
            if shift == 63 && byte > 1 {
                return Err(self.malformed());
            }
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.malformed())
    }

    fn malformed(&self) -> DecodeError {
        let message = self
            .frames
            .last()
            .map(|f| f.message.name.clone())
            .unwrap_or_default();
        DecodeError::Malformed {
            message,
            offset: self.at,
            path: self.path(None),
        }
    }

    fn wrong_wire_type(&self, field: &FieldSchema, found: u8) -> DecodeError {
        self.at_field(field, |message, field, path| DecodeError::WrongWireType {
            message,
            field,
            found,
            path,
        })
    }

    fn at_field(
        &self,
        field: &FieldSchema,
        error: impl FnOnce(String, String, String) -> DecodeError,
    ) -> DecodeError {
        let message = self
            .frames
            .last()
            .map(|f| f.message.name.clone())
            .unwrap_or_default();
        error(message, field.name.clone(), self.path(Some(&field.name)))
    }

    /// Field names from the root to here; the middle of a long path is left out.
    fn path(&self, last: Option<&str>) -> String {
        let root = self.frames.first().map(|f| f.message.name.as_str());
        let fields = self.frames.iter().skip(1).map(|f| f.field);
        let mut names: Vec<&str> = root.into_iter().chain(fields).chain(last).collect();
        if names.len() > PATH_HEAD + PATH_TAIL {
            names.splice(PATH_HEAD..names.len() - PATH_TAIL, ["..."]);
        }
        names.join("/")
    }
}
