//! Which stages are the same: what Spark's reuse of exchanges finds in a plan, found in what is executed.
//!
//! The key is the serialized producer with its scan data, its inputs and its number of partitions, not a canonical form of Spark's plan, which
//! takes different filters or result expressions for equal. Ids and query contexts are left out. Random functions carry their seeds, so that
//! two of them are the same only where Spark takes them for the same; what depends on the partition's number gives the same in the same partition.

use std::collections::HashMap;

use cne_proto::{
    append_content,
    v1::{ExchangeNode, QueryRequest, Shuffle, exchange_node, stage::Kind, stage_input::Exchange},
};
use prost::Message;

use super::counts::Counts;

const PARTITIONING: &str = "spark.spark_partitioning.Partitioning";

/// Per stage the first one with the same content. Without `counts`, the numbers of partitions that are not chosen yet do not count.
pub(super) fn of_stages(request: &QueryRequest, counts: Option<&Counts>) -> Vec<usize> {
    let mut first: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut identity: Vec<usize> = vec![];
    for index in 0..request.stages.len() {
        let key = key(request, counts, index, &identity);
        identity.push(*first.entry(key).or_insert(index));
    }
    identity
}

/// Equal for exchanges that distribute equal rows equally.
pub(super) fn of_exchange(node: &ExchangeNode) -> Vec<u8> {
    use exchange_node::Distribution as D;
    let (kind, bytes) = match &node.distribution {
        Some(D::Partitioning(bytes)) => (1, bytes),
        Some(D::SortedRun(bytes)) => (2, bytes),
        Some(D::SortedParts(bytes)) => (3, bytes),
        Some(D::Whole(_) | D::Coalesce(_)) | None => return node.encode_to_vec(),
    };
    let mut key = Key::default();
    key.number(kind);
    key.number(u64::from(node.num_buckets));
    key.message(bytes, PARTITIONING);
    key.0
}

/// Equal for shuffles that distribute equal rows equally, when they get the same number of partitions.
pub(super) fn of_shuffle(shuffle: &Shuffle) -> Vec<u8> {
    let mut key = Key::default();
    key.message(&shuffle.partitioning, PARTITIONING);
    key.0
}

fn key(request: &QueryRequest, counts: Option<&Counts>, index: usize, identity: &[usize]) -> Vec<u8> {
    let stage = &request.stages[index];
    let mut key = Key::default();
    key.number(counts.map_or(0, |counts| u64::from(counts.of(index))));
    for (at, input) in stage.inputs.iter().enumerate() {
        key.number(identity[input.producer as usize] as u64);
        match &input.exchange {
            Some(Exchange::Forward(_)) => key.number(1),
            Some(Exchange::Broadcast(_)) => key.number(2),
            Some(Exchange::Shuffle(shuffle)) => {
                key.number(3);
                key.number(counts.map_or(0, |counts| u64::from(counts.of_edge(index, at))));
                key.message(&shuffle.partitioning, PARTITIONING);
            }
            None => key.number(4),
        }
    }
    // No edge has this number.
    key.number(u64::MAX);
    match &stage.kind {
        Some(Kind::Block(block)) => {
            key.number(1);
            key.message(&block.operator, "spark.spark_operator.Operator");
            for scan in &block.scans {
                key.message(&scan.common, "spark.spark_operator.NativeScanCommon");
                key.number(scan.partitions.len() as u64);
                scan.partitions.iter().for_each(|partition| key.bytes(partition));
            }
        }
        Some(Kind::Union(_)) => key.number(2),
        Some(Kind::Coalesce(coalesce)) => {
            key.number(3);
            key.number(u64::from(coalesce.num_partitions));
        }
        Some(Kind::InlineData(data)) => {
            key.number(4);
            data.partitions.iter().for_each(|partition| key.bytes(partition));
        }
        None => key.number(5),
    }
    key.0
}

#[derive(Default)]
struct Key(Vec<u8>);

impl Key {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, bytes: &[u8], name: &str) {
        let start = self.0.len();
        if append_content(bytes, name, &mut self.0).is_none() {
            // Not after the checks of a request. Then nothing is left out of it.
            self.0.truncate(start);
            self.bytes(bytes);
        }
    }
}
