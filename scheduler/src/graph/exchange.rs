//! The distribution of an edge: what Spark asked for, and the node that tells a map task.

use bytes::Bytes;
use cne_proto::{
    decode::{Limits, decode_strict},
    spark_partitioning::{Partitioning, partitioning::PartitioningStruct},
    v1::{CoalesceGroups, ExchangeNode, Shuffle, ShuffleOrigin, Whole, exchange_node},
};
use prost::Message;

/// How a shuffle edge distributes rows.
#[derive(Debug)]
pub(super) enum Distribution {
    /// All rows into one partition.
    Whole,
    /// All rows into one partition in the order of this message: the range edge of an ORDER BY.
    Sorted(Bytes),
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
            Some(PartitioningStruct::SinglePartition(_)) => return Ok(Self::Whole),
            // The bounds are not known before the rows are: more partitions would mean one more pass over the rows, and Spark asks for none.
            Some(PartitioningStruct::RangePartition(range))
                if range.num_partitions == 1 || shuffle.origin() == ShuffleOrigin::EnsureRequirements =>
            {
                return Ok(Self::Sorted(shuffle.partitioning.clone()));
            }
            Some(PartitioningStruct::RangePartition(range)) => range.num_partitions,
            Some(PartitioningStruct::HashPartition(hash)) => hash.num_partitions,
            Some(PartitioningStruct::RoundRobinPartition(round)) => round.num_partitions,
        };
        let wanted = u32::try_from(wanted).ok().filter(|n| (1..=100_000).contains(n));
        let wanted = wanted.ok_or("a shuffle edge has between 1 and 100000 partitions")?;
        Ok(Self::Spread { partitioning, wanted })
    }

    /// The edge to `buckets` partitions; `behind_cut` for a consumer that can only read what a stage has written.
    pub(super) fn route(self, buckets: u32, behind_cut: bool) -> Route {
        let parts = |order: &Bytes| node(buckets, exchange_node::Distribution::SortedParts(order.clone()));
        let count = i32::try_from(buckets).unwrap_or(i32::MAX);
        match self {
            Self::Whole => Route::Direct(whole()),
            Self::Sorted(order) => {
                let parts = behind_cut.then(|| parts(&order));
                Route::Sorted(order, parts)
            }
            Self::Spread { mut partitioning, .. } => {
                match &mut partitioning.partitioning_struct {
                    Some(PartitioningStruct::HashPartition(hash)) => hash.num_partitions = count,
                    Some(PartitioningStruct::RoundRobinPartition(round)) => round.num_partitions = count,
                    Some(PartitioningStruct::RangePartition(range)) => {
                        range.num_partitions = count;
                        let order = Bytes::from(partitioning.encode_to_vec());
                        let parts = (buckets > 1 || behind_cut).then(|| parts(&order));
                        return Route::Sorted(order, parts);
                    }
                    _ => {}
                }
                let bytes = Bytes::from(partitioning.encode_to_vec());
                Route::Direct(node(buckets, exchange_node::Distribution::Partitioning(bytes)))
            }
        }
    }
}

/// How an edge is executed.
#[derive(Debug)]
pub(super) enum Route {
    /// Each task distributes its rows.
    Direct(ExchangeNode),
    /// Each task sorts its rows in this order, and one task merges them; with a node, that one distributes them once more.
    Sorted(Bytes, Option<ExchangeNode>),
}

fn node(num_buckets: u32, distribution: exchange_node::Distribution) -> ExchangeNode {
    ExchangeNode {
        num_buckets,
        distribution: Some(distribution),
    }
}

/// One bucket with all rows of a map task in the order of a serialized range partitioning.
pub(super) fn sorted_run(order: Bytes) -> ExchangeNode {
    node(1, exchange_node::Distribution::SortedRun(order))
}

/// One bucket with all rows.
pub(super) fn whole() -> ExchangeNode {
    node(1, exchange_node::Distribution::Whole(Whole {}))
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
    let groups_of = CoalesceGroups {
        group_of_map_partition,
    };
    node(groups, exchange_node::Distribution::Coalesce(groups_of))
}
