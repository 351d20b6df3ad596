//! Spark's Murmur3 hash of columns (`Murmur3Hash`, `HashPartitioning`).

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, exec_err};

/// Spark's seed for hash partitioning.
pub const PARTITION_SEED: i32 = 42;

fn mix_key(key: u32) -> u32 {
    key.wrapping_mul(0xcc9e_2d51)
        .rotate_left(15)
        .wrapping_mul(0x1b87_3593)
}

fn mix(hash: u32, key: u32) -> u32 {
    (hash ^ mix_key(key))
        .rotate_left(13)
        .wrapping_mul(5)
        .wrapping_add(0xe654_6b64)
}

fn finish(hash: u32, length: u32) -> u32 {
    let hash = hash ^ length;
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

fn hash_int(value: i32, seed: u32) -> u32 {
    finish(mix(seed, value.cast_unsigned()), 4)
}

#[allow(clippy::cast_possible_truncation)]
fn hash_long(value: i64, seed: u32) -> u32 {
    let value = value.cast_unsigned();
    finish(mix(mix(seed, value as u32), (value >> 32) as u32), 8)
}

/// `Murmur3_x86_32.hashUnsafeBytes`: little-endian words, then each byte of the tail as a signed word of its own.
#[allow(clippy::cast_possible_truncation)]
fn hash_bytes(bytes: &[u8], seed: u32) -> u32 {
    let mut words = bytes.chunks_exact(4);
    let mut hash = seed;
    for word in &mut words {
        hash = mix(hash, u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    }
    for byte in words.remainder() {
        hash = mix(hash, i32::from(byte.cast_signed()).cast_unsigned());
    }
    finish(hash, bytes.len() as u32)
}

/// Java's `BigInteger.toByteArray`: the shortest big-endian two's complement.
fn minimal_bytes(value: i128) -> ([u8; 16], usize) {
    let bytes = value.to_be_bytes();
    let filler = if value < 0 { 0xff } else { 0 };
    let mut start = 0;
    while start < 15 && bytes[start] == filler && (bytes[start + 1] & 0x80) == (filler & 0x80) {
        start += 1;
    }
    (bytes, start)
}

fn primitive<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    hashes: &mut [i32],
    f: impl Fn(T::Native, u32) -> u32,
) {
    let column = column.as_primitive::<T>();
    let values = column.values();
    match column.nulls() {
        None => {
            for (hash, value) in hashes.iter_mut().zip(values) {
                *hash = f(*value, hash.cast_unsigned()).cast_signed();
            }
        }
        Some(nulls) => {
            for (row, hash) in hashes.iter_mut().enumerate() {
                if nulls.is_valid(row) {
                    *hash = f(values[row], hash.cast_unsigned()).cast_signed();
                }
            }
        }
    }
}

fn bytes<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, hashes: &mut [i32]) {
    for (hash, value) in hashes.iter_mut().zip(values) {
        if let Some(value) = value {
            *hash = hash_bytes(value, hash.cast_unsigned()).cast_signed();
        }
    }
}

/// Whether [`murmur3_hash`] knows a type.
#[must_use]
pub fn is_hashable(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Null
            | DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Float32
            | DataType::Float64
            | DataType::Date32
            | DataType::Timestamp(TimeUnit::Microsecond, _)
            | DataType::Decimal128(..)
            | DataType::Utf8
            | DataType::Binary
    )
}

/// Spark's `Murmur3Hash` of the columns, row by row, into `hashes` (one per row; overwritten). A NULL leaves the hash as it is.
///
/// # Errors
/// A column of a type for which [`is_hashable`] is false.
pub fn murmur3_hash(columns: &[ArrayRef], seed: i32, hashes: &mut [i32]) -> Result<()> {
    hashes.fill(seed);
    for column in columns {
        match column.data_type() {
            DataType::Null => {}
            DataType::Boolean => {
                for (hash, value) in hashes.iter_mut().zip(column.as_boolean()) {
                    if let Some(value) = value {
                        *hash = hash_int(i32::from(value), hash.cast_unsigned()).cast_signed();
                    }
                }
            }
            DataType::Int8 => {
                primitive::<Int8Type>(column, hashes, |value, seed| hash_int(value.into(), seed))
            }
            DataType::Int16 => {
                primitive::<Int16Type>(column, hashes, |value, seed| hash_int(value.into(), seed))
            }
            DataType::Int32 => primitive::<Int32Type>(column, hashes, hash_int),
            DataType::Date32 => primitive::<Date32Type>(column, hashes, hash_int),
            DataType::Int64 => primitive::<Int64Type>(column, hashes, hash_long),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                primitive::<TimestampMicrosecondType>(column, hashes, hash_long);
            }
            // Spark hashes -0.0 as 0, and Java's floatToIntBits has one NaN.
            DataType::Float32 => primitive::<Float32Type>(column, hashes, |value, seed| {
                let value = if value == 0.0 {
                    0.0
                } else if value.is_nan() {
                    f32::NAN
                } else {
                    value
                };
                hash_int(value.to_bits().cast_signed(), seed)
            }),
            DataType::Float64 => primitive::<Float64Type>(column, hashes, |value, seed| {
                let value = if value == 0.0 {
                    0.0
                } else if value.is_nan() {
                    f64::NAN
                } else {
                    value
                };
                hash_long(value.to_bits().cast_signed(), seed)
            }),
            #[allow(clippy::cast_possible_truncation)] // 18 digits fit
            DataType::Decimal128(precision, _) if *precision <= 18 => {
                primitive::<Decimal128Type>(column, hashes, |value, seed| hash_long(value as i64, seed));
            }
            DataType::Decimal128(..) => primitive::<Decimal128Type>(column, hashes, |value, seed| {
                let (bytes, start) = minimal_bytes(value);
                hash_bytes(&bytes[start..], seed)
            }),
            DataType::Utf8 => bytes(
                column.as_string::<i32>().iter().map(|s| s.map(str::as_bytes)),
                hashes,
            ),
            DataType::Binary => bytes(column.as_binary::<i32>().iter(), hashes),
            other => return exec_err!("Murmur3 hash of {other} is not supported"),
        }
    }
    Ok(())
}

/// `pmod(hash, partitions)` for each hash: Spark's `HashPartitioning.partitionIdExpression`.
pub fn pmod_partitions(hashes: &[i32], partitions: u32, ids: &mut Vec<u32>) {
    ids.clear();
    let n = i64::from(partitions.max(1));
    ids.extend(
        hashes
            .iter()
            .map(|hash| u32::try_from(i64::from(*hash).rem_euclid(n)).unwrap_or(0)),
    );
}
