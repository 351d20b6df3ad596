//! Spark's hashes of columns: `Murmur3Hash`, which `HashPartitioning` uses too, and `XxHash64`.

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

/// XXH64 of bytes, which is also what Spark has for an INT and a BIGINT by their little-endian bytes.
fn xx_bytes(bytes: &[u8], seed: u64) -> u64 {
    const P1: u64 = 0x9e37_79b1_85eb_ca87;
    const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
    const P3: u64 = 0x1656_67b1_9e37_79f9;
    const P4: u64 = 0x85eb_ca77_c2b2_ae63;
    const P5: u64 = 0x27d4_eb2f_1656_67c5;
    let word = |at: &[u8]| at.first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk));
    let round = |sum: u64, input: u64| {
        sum.wrapping_add(input.wrapping_mul(P2))
            .rotate_left(31)
            .wrapping_mul(P1)
    };
    let mut stripes = bytes.chunks_exact(32);
    let mut hash = if bytes.len() >= 32 {
        let mut lanes = [
            seed.wrapping_add(P1).wrapping_add(P2),
            seed.wrapping_add(P2),
            seed,
            seed.wrapping_sub(P1),
        ];
        for stripe in &mut stripes {
            for (lane, input) in lanes.iter_mut().zip(stripe.chunks_exact(8)) {
                *lane = round(*lane, word(input));
            }
        }
        let turned = lanes.iter().zip([1, 7, 12, 18]);
        let sum = turned.fold(0_u64, |sum, (lane, by)| sum.wrapping_add(lane.rotate_left(by)));
        lanes.iter().fold(sum, |hash, lane| {
            (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4)
        })
    } else {
        seed.wrapping_add(P5)
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    let mut rest = stripes.remainder();
    while let Some((input, more)) = rest.split_first_chunk::<8>() {
        hash = (hash ^ round(0, word(input)))
            .rotate_left(27)
            .wrapping_mul(P1)
            .wrapping_add(P4);
        rest = more;
    }
    if let Some((input, more)) = rest.split_first_chunk::<4>() {
        let input = u64::from(u32::from_le_bytes(*input));
        hash = (hash ^ input.wrapping_mul(P1))
            .rotate_left(23)
            .wrapping_mul(P2)
            .wrapping_add(P3);
        rest = more;
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(P5))
            .rotate_left(11)
            .wrapping_mul(P1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
}

/// A hash of Spark's: each value is hashed with the hash of what came before it as seed.
trait Hasher {
    type Hash: Copy;
    fn int(value: i32, seed: Self::Hash) -> Self::Hash;
    fn long(value: i64, seed: Self::Hash) -> Self::Hash;
    fn bytes(value: &[u8], seed: Self::Hash) -> Self::Hash;
}

struct Murmur;

impl Hasher for Murmur {
    type Hash = i32;

    fn int(value: i32, seed: i32) -> i32 {
        hash_int(value, seed.cast_unsigned()).cast_signed()
    }

    fn long(value: i64, seed: i32) -> i32 {
        hash_long(value, seed.cast_unsigned()).cast_signed()
    }

    fn bytes(value: &[u8], seed: i32) -> i32 {
        hash_bytes(value, seed.cast_unsigned()).cast_signed()
    }
}

struct Xx;

impl Hasher for Xx {
    type Hash = i64;

    fn int(value: i32, seed: i64) -> i64 {
        xx_bytes(&value.to_le_bytes(), seed.cast_unsigned()).cast_signed()
    }

    fn long(value: i64, seed: i64) -> i64 {
        xx_bytes(&value.to_le_bytes(), seed.cast_unsigned()).cast_signed()
    }

    fn bytes(value: &[u8], seed: i64) -> i64 {
        xx_bytes(value, seed.cast_unsigned()).cast_signed()
    }
}

fn primitive<T: ArrowPrimitiveType, H: Copy>(
    column: &ArrayRef,
    hashes: &mut [H],
    f: impl Fn(T::Native, H) -> H,
) {
    let column = column.as_primitive::<T>();
    let values = column.values();
    match column.nulls() {
        None => {
            for (hash, value) in hashes.iter_mut().zip(values) {
                *hash = f(*value, *hash);
            }
        }
        Some(nulls) => {
            for (row, hash) in hashes.iter_mut().enumerate() {
                if nulls.is_valid(row) {
                    *hash = f(values[row], *hash);
                }
            }
        }
    }
}

fn each<T, H: Copy>(values: impl Iterator<Item = Option<T>>, hashes: &mut [H], f: impl Fn(T, H) -> H) {
    for (hash, value) in hashes.iter_mut().zip(values) {
        if let Some(value) = value {
            *hash = f(value, *hash);
        }
    }
}

/// Whether values of a type are hashed here.
#[must_use]
pub fn is_hashable(data_type: &DataType) -> bool {
    match data_type {
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
        | DataType::Binary => true,
        DataType::List(item) => is_hashable(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_hashable(field.data_type())),
        _ => false,
    }
}

/// Spark's `Murmur3Hash` of the columns, row by row, into `hashes` (one per row; overwritten). A NULL leaves the hash as it is.
///
/// # Errors
/// A column of a type for which [`is_hashable`] is false.
pub fn murmur3_hash(columns: &[ArrayRef], seed: i32, hashes: &mut [i32]) -> Result<()> {
    hashes.fill(seed);
    columns
        .iter()
        .try_for_each(|column| hash_column::<Murmur>(column, hashes))
}

/// Spark's `XxHash64` of the columns, as [`murmur3_hash`].
///
/// # Errors
/// A column of a type for which [`is_hashable`] is false.
pub fn xxhash64(columns: &[ArrayRef], seed: i64, hashes: &mut [i64]) -> Result<()> {
    hashes.fill(seed);
    columns
        .iter()
        .try_for_each(|column| hash_column::<Xx>(column, hashes))
}

fn hash_column<H: Hasher>(column: &ArrayRef, hashes: &mut [H::Hash]) -> Result<()> {
    match column.data_type() {
        DataType::Null => {}
        DataType::Boolean => each(column.as_boolean().iter(), hashes, |value, seed| {
            H::int(i32::from(value), seed)
        }),
        DataType::Int8 => primitive::<Int8Type, _>(column, hashes, |value, seed| H::int(value.into(), seed)),
        DataType::Int16 => {
            primitive::<Int16Type, _>(column, hashes, |value, seed| H::int(value.into(), seed))
        }
        DataType::Int32 => primitive::<Int32Type, _>(column, hashes, H::int),
        DataType::Date32 => primitive::<Date32Type, _>(column, hashes, H::int),
        DataType::Int64 => primitive::<Int64Type, _>(column, hashes, H::long),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType, _>(column, hashes, H::long);
        }
        // Spark hashes -0.0 as 0, and Java's floatToIntBits has one NaN.
        DataType::Float32 => primitive::<Float32Type, _>(column, hashes, |value, seed| {
            let value = match value {
                0.0 => 0.0,
                value if value.is_nan() => f32::NAN,
                value => value,
            };
            H::int(value.to_bits().cast_signed(), seed)
        }),
        DataType::Float64 => primitive::<Float64Type, _>(column, hashes, |value, seed| {
            let value = match value {
                0.0 => 0.0,
                value if value.is_nan() => f64::NAN,
                value => value,
            };
            H::long(value.to_bits().cast_signed(), seed)
        }),
        #[allow(clippy::cast_possible_truncation)] // 18 digits fit
        DataType::Decimal128(precision, _) if *precision <= 18 => {
            primitive::<Decimal128Type, _>(column, hashes, |value, seed| H::long(value as i64, seed));
        }
        DataType::Decimal128(..) => primitive::<Decimal128Type, _>(column, hashes, |value, seed| {
            let (bytes, start) = minimal_bytes(value);
            H::bytes(&bytes[start..], seed)
        }),
        DataType::Utf8 => each(column.as_string::<i32>().iter(), hashes, |value, seed| {
            H::bytes(value.as_bytes(), seed)
        }),
        DataType::Binary => each(column.as_binary::<i32>().iter(), hashes, H::bytes),
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            for (row, hash) in hashes
                .iter_mut()
                .enumerate()
                .filter(|(row, _)| lists.is_valid(*row))
            {
                let items = lists.value(row);
                for item in 0..items.len() {
                    hash_column::<H>(&items.slice(item, 1), std::slice::from_mut(hash))?;
                }
            }
        }
        DataType::Struct(_) => {
            let structs = column.as_struct();
            for (row, hash) in hashes
                .iter_mut()
                .enumerate()
                .filter(|(row, _)| structs.is_valid(*row))
            {
                for field in structs.columns() {
                    hash_column::<H>(&field.slice(row, 1), std::slice::from_mut(hash))?;
                }
            }
        }
        other => return exec_err!("a hash of {other} is not supported"),
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
