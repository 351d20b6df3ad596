use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use cne_fragment::{ExchangePartitioning, FragmentError, plan_partitioning};
use cne_proto::v1::{ExchangeNode, exchange_node::Distribution};
use cne_spark_functions::hash::{murmur3_hash, pmod_partitions};
use cne_storage::ShuffleWriter;
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
}

impl Distributor {
    /// The distribution that `node` asks for, of map partition `map_partition` of `child`.
    pub(crate) fn plan(node: &ExchangeNode, child: &dyn ExecutionPlan, map_partition: u32) -> Result<Self> {
        let malformed = |what: &str| DataFusionError::from(FragmentError::Malformed(what.to_string()));
        match &node.distribution {
            _ if node.num_buckets <= 1 => Ok(Self::One(0)),
            Some(Distribution::Whole(_)) => Ok(Self::One(0)),
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
                        return Err(malformed("a range exchange without bounds"));
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
                let columns: Vec<ArrayRef> = keys
                    .iter()
                    .map(|key| key.evaluate(&batch)?.into_array(rows))
                    .collect::<Result<_>>()?;
                let mut hashes = vec![0; rows];
                murmur3_hash(&columns, SEED, &mut hashes)?;
                pmod_partitions(&hashes, *buckets, ids);
            }
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
