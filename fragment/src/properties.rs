//! Properties of our own plan nodes: bounded, batches come one by one, rows of a partition wherever the producer put them.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::{Partitioning, PlanProperties};

/// Of a node whose rows are in no order.
pub fn unordered_properties(schema: SchemaRef, partitions: usize) -> Arc<PlanProperties> {
    of(EquivalenceProperties::new(schema), partitions)
}

/// Of a node whose partitions are in `ordering`.
pub fn sorted_properties(
    schema: SchemaRef,
    ordering: &LexOrdering,
    partitions: usize,
) -> Arc<PlanProperties> {
    let equivalence = EquivalenceProperties::new_with_orderings(schema, [ordering.clone()]);
    of(equivalence, partitions)
}

fn of(equivalence: EquivalenceProperties, partitions: usize) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        equivalence,
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}
