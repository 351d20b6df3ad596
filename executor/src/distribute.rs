use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::row::{OwnedRow, RowConverter, SortField};
use cne_fragment::{ExchangePartitioning, FragmentError, plan_partitioning};
use cne_proto::v1::{ExchangeNode, exchange_node::Distribution};
use cne_spark_functions::hash::{murmur3_hash, pmod_partitions};
use cne_storage::ShuffleWriter;
use cne_task::merge::sort_order;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;

/// Spark's seed of `HashPartitioning`.
const SEED: i32 = 42;

/// Sends the rows of one map partition to their buckets.
pub(crate) enum Distributor {
    /// All rows into one bucket.
    One(u32),
    /// `pmod(murmur3(keys), buckets)`.
    Hash {
        keys: Vec<Arc<dyn PhysicalExpr>>,
        buckets: u32,
    },
    /// In turn. Where a map partition starts depends on its number alone, so that a retry sends each row to the same bucket.
    RoundRobin { next: u32, buckets: u32 },
    /// Sorted rows into parts of about equal length.
    Parts(Box<Parts>),
}

/// Where the next of `total` sorted rows goes. A bucket ends where its share of the rows is full and the key changes.
pub(crate) struct Parts {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    converter: RowConverter,
    last: Option<OwnedRow>,
    bucket: u32,
    seen: u64,
    total: u64,
    buckets: u32,
}

impl Parts {
    fn try_new(order: &[u8], child: &dyn ExecutionPlan, buckets: u32, total: u64) -> Result<Self> {
        let schema = child.schema();
        let keys: Vec<_> = sort_order(order, &schema)?
            .iter()
            .map(|key| Arc::clone(&key.expr))
            .collect();
        let fields = keys.iter().map(|key| Ok(SortField::new(key.data_type(&schema)?)));
        let converter = RowConverter::new(fields.collect::<Result<_>>()?)?;
        Ok(Self {
            keys,
            converter,
            last: None,
            bucket: 0,
            seen: 0,
            total: total.max(1),
            buckets,
        })
    }

    fn assign(&mut self, batch: &RecordBatch, ids: &mut Vec<u32>) -> Result<()> {
        ids.clear();
        let keys = self.converter.convert_columns(&evaluate(&self.keys, batch)?)?;
        for at in 0..batch.num_rows() {
            let key = keys.row(at);
            let same = match at.checked_sub(1) {
                Some(before) => keys.row(before) == key,
                None => self.last.as_ref().is_some_and(|last| last.row() == key),
            };
            if !same {
                let share = u128::from(self.seen) * u128::from(self.buckets) / u128::from(self.total);
                let share = u32::try_from(share).unwrap_or(u32::MAX).min(self.buckets - 1);
                self.bucket = self.bucket.max(share);
            }
            ids.push(self.bucket);
            self.seen += 1;
        }
        if let Some(last) = batch.num_rows().checked_sub(1) {
            self.last = Some(keys.row(last).owned());
        }
        Ok(())
    }
}

fn evaluate(keys: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let one = |key: &Arc<dyn PhysicalExpr>| key.evaluate(batch)?.into_array(batch.num_rows());
    keys.iter().map(one).collect()
}

impl Distributor {
    /// The distribution that `node` asks for, of map partition `map_partition` of `child`, which has `rows` rows where it merges sorted runs.
    pub(crate) fn plan(
        node: &ExchangeNode,
        child: &dyn ExecutionPlan,
        map_partition: u32,
        rows: Option<u64>,
    ) -> Result<Self> {
        let malformed = |what: &str| DataFusionError::from(FragmentError::Malformed(what.to_string()));
        match &node.distribution {
            _ if node.num_buckets <= 1 => Ok(Self::One(0)),
            Some(Distribution::Whole(_)) => Ok(Self::One(0)),
            Some(Distribution::SortedRun(_)) => Err(malformed("a sorted run with several buckets")),
            Some(Distribution::SortedParts(order)) => {
                let rows = rows.ok_or_else(|| malformed("sorted parts of rows that are not merged"))?;
                let parts = Parts::try_new(order, child, node.num_buckets, rows)?;
                Ok(Self::Parts(Box::new(parts)))
            }
            Some(Distribution::Coalesce(groups)) => {
                let group = groups.group_of_map_partition.get(map_partition as usize);
                group
                    .map(|group| Self::One(*group))
                    .ok_or_else(|| malformed("a map partition without a group"))
            }
            Some(Distribution::Partitioning(bytes)) => {
                let planned = plan_partitioning(bytes, &child.schema()).map_err(FragmentError::Rejected)?;
                Ok(match planned {
                    ExchangePartitioning::Hash(keys, _) => Self::Hash {
                        keys,
                        buckets: node.num_buckets,
                    },
                    ExchangePartitioning::RoundRobin(_) => {
                        let buckets = node.num_buckets.max(1);
                        Self::RoundRobin {
                            next: map_partition % buckets,
                            buckets,
                        }
                    }
                    ExchangePartitioning::Single => Self::One(0),
                    ExchangePartitioning::Range(_, _) => {
                        return Err(malformed("a range exchange whose rows are not sorted"));
                    }
                })
            }
            None => Err(malformed("an exchange without a distribution")),
        }
    }

    /// Writes a batch. `ids` is scratch space.
    pub(crate) async fn write(
        &mut self,
        writer: &mut ShuffleWriter,
        batch: RecordBatch,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let rows = batch.num_rows();
        match self {
            Self::One(bucket) => return Ok(writer.write(*bucket, batch).await?),
            Self::Hash { keys, buckets } => {
                let mut hashes = vec![0; rows];
                murmur3_hash(&evaluate(keys, &batch)?, SEED, &mut hashes)?;
                pmod_partitions(&hashes, *buckets, ids);
            }
            Self::Parts(parts) => parts.assign(&batch, ids)?,
            Self::RoundRobin { next, buckets } => {
                ids.clear();
                ids.extend((0..rows).map(|_| {
                    let bucket = *next;
                    *next = (*next + 1) % *buckets;
                    bucket
                }));
            }
        }
        Ok(writer.write_rows(batch, ids).await?)
    }
}
