//! From the stage graph of a request to one plan for Ballista.
//!
//! 1. `shape`: edges and kinds make sense. 2. `blocks`: every block is planned dry; gives schemas or everything that is not executed.
//! 3. `counts`: how many partitions each stage has. 4. `plan`: the plan, with each exchange executed once.

mod blocks;
mod counts;
mod exchange;
mod identity;
mod plan;
mod shape;
mod sizes;

use std::sync::Arc;

use cne_proto::v1::QueryRequest;
use cne_task::codes;
use datafusion::{arrow::datatypes::SchemaRef, physical_plan::ExecutionPlan};

use crate::error::Failure;

/// How the number of shuffle partitions is chosen.
#[derive(Debug, Clone, Copy)]
pub struct Sizing {
    /// Tasks that the pool can run at the same time now.
    pub slots: u32,
    /// Compressed input bytes below which one partition more is not worth its task.
    pub smallest_bytes: u64,
    /// Compressed input bytes that one partition should have at most.
    pub target_bytes: u64,
}

/// A request as Ballista runs it.
#[derive(Debug)]
pub struct Planned {
    /// The plan; its root is the result stage's exchange node.
    pub plan: Arc<dyn ExecutionPlan>,
    /// Schema of the result.
    pub schema: SchemaRef,
    /// Number of result partitions.
    pub partitions: u32,
    /// Ballista's number of the result stage, which is the number of stages.
    pub final_stage: u32,
    /// Number of tasks of all stages, each counted once.
    pub tasks: u32,
}

/// Plans a checked request.
///
/// # Errors
/// A graph that makes no sense, or every rejection of every block.
pub fn plan(request: &QueryRequest, sizing: &Sizing) -> Result<Planned, Failure> {
    shape::check(request)?;
    let blocks = blocks::validate(request)?;
    let counts = counts::choose(request, sizing)?;
    plan::build(request, &blocks, &counts)
}

fn broken(stage: usize, request: &QueryRequest, text: impl std::fmt::Display) -> Failure {
    let label = request
        .stages
        .get(stage)
        .map(|stage| stage.label.as_str())
        .unwrap_or_default();
    Failure::new(codes::STAGE_GRAPH, format!("stage {stage} ({label}): {text}"))
}
