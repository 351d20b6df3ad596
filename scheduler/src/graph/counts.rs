//! How many partitions each stage has.
//!
//! Stages whose partitions are the same ones (forward edges into a block) and the shuffles into them form one group with one number. It is given
//! by a scan, inline data, a single edge or the user's own number; else it is chosen by the size of what the group reads. Groups that read the
//! same rows by the same shuffle have the same number then, so that it is made once.

use std::collections::HashMap;

use cne_proto::{
    spark_operator::{Operator, operator::OpStruct},
    v1::{QueryRequest, Shuffle, ShuffleOrigin, stage::Kind, stage_input::Exchange},
};
use prost::Message;

use super::{Sizing, broken, exchange::Distribution, identity, sizes::bytes_read};
use crate::error::Failure;

/// Each partition is a task and a row of a descriptor.
const MAX_PARTITIONS: u32 = 100_000;

/// Partitions of each stage.
#[derive(Debug)]
pub(super) struct Counts {
    of_stage: Vec<u32>,
    // Of edges into unions, which have no group: by consumer and input.
    of_edge: HashMap<(usize, usize), u32>,
}

impl Counts {
    pub(super) fn of(&self, stage: usize) -> u32 {
        self.of_stage.get(stage).copied().unwrap_or(1)
    }

    /// Partitions of a shuffle edge.
    pub(super) fn of_edge(&self, consumer: usize, input: usize) -> u32 {
        self.of_edge
            .get(&(consumer, input))
            .copied()
            .unwrap_or_else(|| self.of(consumer))
    }
}

struct Groups<'a> {
    request: &'a QueryRequest,
    parent: Vec<usize>,
    given: Vec<Option<(u32, &'static str)>>,
    // What the group's shuffles read, and Spark's own number as the upper bound.
    bytes: Vec<u64>,
    limit: Vec<u32>,
}

impl Groups<'_> {
    fn root(&self, mut stage: usize) -> usize {
        while self.parent[stage] != stage {
            stage = self.parent[stage];
        }
        stage
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }

    // Equal shuffles of equal stages are executed once only when they have the same number of partitions: so where it is open, they get it.
    fn unite_reused(&mut self) {
        let stages = &self.request.stages;
        let identity = identity::of_stages(self.request, None);
        // Their numbers are known when those of their inputs are.
        let late: Vec<usize> = (0..stages.len())
            .filter(|at| matches!(stages[*at].kind, Some(Kind::Union(_) | Kind::Coalesce(_))))
            .collect();
        let mut first: HashMap<(usize, Vec<u8>), usize> = HashMap::new();
        for (index, stage) in stages.iter().enumerate() {
            for input in &stage.inputs {
                let Some(Exchange::Shuffle(shuffle)) = &input.exchange else {
                    continue;
                };
                let root = self.root(index);
                let settled = self.given[root].is_some() || late.iter().any(|at| self.root(*at) == root);
                if settled || keeps(shuffle.origin()) {
                    continue;
                }
                let key = (identity[input.producer as usize], identity::of_shuffle(shuffle));
                let other = self.root(*first.entry(key).or_insert(index));
                if other != root {
                    // Both read it.
                    let bytes = self.bytes[root].max(self.bytes[other]);
                    let limit = self.limit[root].max(self.limit[other]);
                    self.unite(root, other);
                    let root = self.root(root);
                    (self.bytes[root], self.limit[root]) = (bytes, limit);
                }
            }
        }
    }

    fn give(&mut self, stage: usize, count: u32, why: &'static str) -> Result<(), Failure> {
        let root = self.root(stage);
        match self.given[root] {
            Some((other, reason)) if other != count => {
                let text = format!("it has {count} partitions by {why}, but {other} by {reason}");
                Err(broken(stage, self.request, text))
            }
            _ => {
                self.given[root] = Some((count, why));
                Ok(())
            }
        }
    }
}

/// Chooses the partitions of every stage of a graph that [`super::shape`] accepted.
///
/// # Errors
/// Inputs of one stage that cannot have the same number of partitions.
pub(super) fn choose(request: &QueryRequest, sizing: &Sizing) -> Result<Counts, Failure> {
    let stages = &request.stages;
    let mut groups = Groups {
        request,
        parent: (0..stages.len()).collect(),
        given: vec![None; stages.len()],
        bytes: vec![0; stages.len()],
        limit: vec![0; stages.len()],
    };
    let is_block = |stage: usize| matches!(stages[stage].kind, Some(Kind::Block(_)));
    for (index, stage) in stages.iter().enumerate() {
        for input in &stage.inputs {
            if is_block(index) && matches!(input.exchange, Some(Exchange::Forward(_))) {
                groups.unite(index, input.producer as usize);
            }
        }
    }
    let read = bytes_read(request);
    for (index, stage) in stages.iter().enumerate() {
        match &stage.kind {
            Some(Kind::InlineData(data)) => groups.give(index, data.partitions.len() as u32, "its rows")?,
            Some(Kind::Block(block)) => {
                for scan in &block.scans {
                    groups.give(index, scan.partitions.len().max(1) as u32, "its scan")?;
                }
                let operator = Operator::decode(block.operator.clone())
                    .map_err(|e| broken(index, request, format!("operator: {e}")))?;
                for slices in range_slices(&operator) {
                    groups.give(index, slices, "its range")?;
                }
                for input in &stage.inputs {
                    let Some(Exchange::Shuffle(shuffle)) = &input.exchange else {
                        continue;
                    };
                    let distribution =
                        Distribution::of_shuffle(shuffle).map_err(|e| broken(index, request, e))?;
                    let root = groups.root(index);
                    match distribution {
                        Distribution::Whole | Distribution::Sorted(_) => {
                            groups.give(index, 1, "a single edge")?;
                        }
                        Distribution::Spread { wanted, .. } if keeps(shuffle.origin()) => {
                            groups.give(index, wanted.max(1), "the user's number")?;
                        }
                        Distribution::Spread { wanted, .. } => {
                            groups.bytes[root] =
                                groups.bytes[root].saturating_add(read[input.producer as usize]);
                            groups.limit[root] = groups.limit[root].max(wanted);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    groups.unite_reused();
    resolve(request, groups, &read, sizing)
}

// Producers first: a union's number is known when its inputs' numbers are.
fn resolve(
    request: &QueryRequest,
    mut groups: Groups<'_>,
    read: &[u64],
    sizing: &Sizing,
) -> Result<Counts, Failure> {
    let mut of_stage = vec![0; request.stages.len()];
    let mut of_edge = HashMap::new();
    for (index, stage) in request.stages.iter().enumerate() {
        match &stage.kind {
            Some(Kind::Union(_)) => {
                let mut sum = 0u32;
                for (at, input) in stage.inputs.iter().enumerate() {
                    let producer = input.producer as usize;
                    let count = match &input.exchange {
                        Some(Exchange::Shuffle(shuffle)) => {
                            let count = edge_partitions(shuffle, read[producer], sizing);
                            let count = count.map_err(|e| broken(index, request, e))?;
                            of_edge.insert((index, at), count);
                            count
                        }
                        _ => of_stage[producer],
                    };
                    sum = sum.saturating_add(count);
                }
                groups.give(index, sum, "its inputs together")?;
            }
            Some(Kind::Coalesce(coalesce)) => {
                let from = stage
                    .inputs
                    .first()
                    .map_or(1, |input| of_stage[input.producer as usize]);
                let count = from.min(coalesce.num_partitions).max(1);
                groups.give(index, count, "its own number")?;
            }
            _ => {}
        }
        let root = groups.root(index);
        let count = match groups.given[root] {
            Some((count, _)) => count,
            None if groups.limit[root] > 0 => {
                let count = by_size(groups.bytes[root], groups.limit[root], sizing);
                groups.given[root] = Some((count, "its size"));
                count
            }
            // Only broadcast inputs, or none.
            None => 1,
        };
        if count > MAX_PARTITIONS {
            let text = format!(
                "stage {index} ({}) has {count} partitions, the limit is {MAX_PARTITIONS}",
                stage.label
            );
            return Err(Failure::new(cne_task::codes::TOO_LARGE, text));
        }
        of_stage[index] = count;
    }
    Ok(Counts { of_stage, of_edge })
}

// A range makes the rows of one slice per task: with another number of tasks some would be missing.
fn range_slices(operator: &Operator) -> Vec<u32> {
    let own = match &operator.op_struct {
        Some(OpStruct::RangeScan(range)) => u32::try_from(range.num_slices.max(1)).ok(),
        _ => None,
    };
    own.into_iter()
        .chain(operator.children.iter().flat_map(range_slices))
        .collect()
}

fn edge_partitions(shuffle: &Shuffle, bytes: u64, sizing: &Sizing) -> Result<u32, String> {
    Ok(match Distribution::of_shuffle(shuffle)? {
        Distribution::Whole | Distribution::Sorted(_) => 1,
        Distribution::Spread { wanted, .. } if keeps(shuffle.origin()) => wanted,
        Distribution::Spread { wanted, .. } => by_size(bytes, wanted, sizing),
    })
}

fn keeps(origin: ShuffleOrigin) -> bool {
    matches!(
        origin,
        ShuffleOrigin::RepartitionByNum | ShuffleOrigin::Unspecified
    )
}

fn by_size(bytes: u64, limit: u32, sizing: &Sizing) -> u32 {
    let slots = u64::from(sizing.slots.max(1));
    let fine = bytes.div_ceil(sizing.smallest_bytes.max(1));
    let coarse = bytes.div_ceil(sizing.target_bytes.max(1));
    let count = fine.min(slots).max(coarse);
    u32::try_from(count).unwrap_or(u32::MAX).clamp(1, limit.max(1))
}
