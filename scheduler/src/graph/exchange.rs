//! The distribution of an edge: what Spark asked for, and the node that tells a map task.

use bytes::Bytes;
use cne_proto::{
    decode::{Limits, decode_strict},
    spark_partitioning::{Partitioning, partitioning::PartitioningStruct},
    v1::{CoalesceGroups, ExchangeNode, Shuffle, Whole, exchange_node},
};
use prost::Message;

/// How a shuffle edge distributes rows.
#[derive(Debug)]
pub(super) enum Distribution {
    /// All rows into one partition. Also a range edge: its one consumer partition sorts everything. (Sampled range bounds would make it a
    /// `Spread`.)
    Whole,
    /// Into `wanted` partitions by the message, or another number where Spark leaves it open.
    Spread { partitioning: Partitioning, wanted: u32 },
}

impl Distribution {
    /// Reads a shuffle edge; the error is a text for the stage's failure.
    pub(super) fn of_shuffle(shuffle: &Shuffle) -> Result<Self, String> {
        let name = "spark.spark_partitioning.Partitioning";
        let partitioning: Partitioning = decode_strict(&shuffle.partitioning, name, &Limits::default())
            .map_err(|e| format!("partitioning: {e}"))?;
        let wanted = match &partitioning.partitioning_struct {
            None => return Err("a shuffle edge has no partitioning".into()),
            Some(PartitioningStruct::SinglePartition(_) | PartitioningStruct::RangePartition(_)) => {
                return Ok(Self::Whole);
            }
            Some(PartitioningStruct::HashPartition(hash)) => hash.num_partitions,
            Some(PartitioningStruct::RoundRobinPartition(round)) => round.num_partitions,
        };
        let wanted = u32::try_from(wanted).ok().filter(|n| (1..=100_000).contains(n));
        let wanted = wanted.ok_or("a shuffle edge has between 1 and 100000 partitions")?;
        Ok(Self::Spread { partitioning, wanted })
    }

    /// The node for `buckets` partitions.
    pub(super) fn node(self, buckets: u32) -> ExchangeNode {
        match self {
            Self::Whole => whole(),
            Self::Spread { mut partitioning, .. } => {
                let count = i32::try_from(buckets).unwrap_or(i32::MAX);
                match &mut partitioning.partitioning_struct {
                    Some(PartitioningStruct::HashPartition(hash)) => hash.num_partitions = count,
                    Some(PartitioningStruct::RoundRobinPartition(round)) => round.num_partitions = count,
                    _ => {}
                }
                let bytes = Bytes::from(partitioning.encode_to_vec());
                let distribution = Some(exchange_node::Distribution::Partitioning(bytes));
                ExchangeNode {
                    num_buckets: buckets,
                    distribution,
                }
            }
        }
    }
}

/// One bucket with all rows.
pub(super) fn whole() -> ExchangeNode {
    ExchangeNode {
        num_buckets: 1,
        distribution: Some(exchange_node::Distribution::Whole(Whole {})),
    }
}

/// `partitions` map partitions in `groups` contiguous groups, sizes differing by at most one, as Spark's DefaultPartitionCoalescer without
/// locality.
pub(super) fn coalesce(partitions: u32, groups: u32) -> ExchangeNode {
    let groups = groups.clamp(1, partitions.max(1));
    let (partitions, count) = (u64::from(partitions), u64::from(groups));
    let group_of = |partition: u64| {
        (0..count)
            .rfind(|g| g * partitions / count <= partition)
            .unwrap_or(0)
    };
    let group_of_map_partition = (0..partitions).map(|p| group_of(p) as u32).collect();
    let distribution = Some(exchange_node::Distribution::Coalesce(CoalesceGroups {
        group_of_map_partition,
    }));
    ExchangeNode {
        num_buckets: groups,
        distribution,
    }
}
