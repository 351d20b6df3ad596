//! Edges and kinds of stages that make sense together.

use cne_proto::v1::{QueryRequest, stage::Kind, stage_input::Exchange};

use super::broken;
use crate::error::Failure;

/// Checks the graph without looking into blocks.
///
/// # Errors
/// An input that names no earlier stage, a stage that nobody reads, or an edge that does not fit its stage.
pub(super) fn check(request: &QueryRequest) -> Result<(), Failure> {
    let last = request.stages.len() - 1;
    let mut read = vec![false; request.stages.len()];
    for (index, stage) in request.stages.iter().enumerate() {
        for (at, input) in stage.inputs.iter().enumerate() {
            let producer = input.producer as usize;
            if producer > last {
                return Err(broken(
                    index,
                    request,
                    format!("input {at} names stage {producer}, which is missing"),
                ));
            }
            if producer >= index {
                let text =
                    format!("input {at} names stage {producer}, which does not come before it (a cycle)");
                return Err(broken(index, request, text));
            }
            read[producer] = true;
            if input.exchange.is_none() {
                return Err(broken(index, request, format!("input {at} has no kind of edge")));
            }
        }
        let edges = stage.inputs.iter().filter_map(|input| input.exchange.as_ref());
        match &stage.kind {
            None => return Err(broken(index, request, "it has no kind")),
            Some(Kind::Block(_)) => {}
            Some(Kind::Union(_)) if stage.inputs.is_empty() => {
                return Err(broken(index, request, "a union has at least one input"));
            }
            Some(Kind::Union(_)) => {
                if edges.clone().any(|edge| matches!(edge, Exchange::Broadcast(_))) {
                    return Err(broken(index, request, "a union has no broadcast input"));
                }
            }
            Some(Kind::Coalesce(coalesce)) => {
                if stage.inputs.len() != 1 || !edges.clone().all(|edge| matches!(edge, Exchange::Forward(_)))
                {
                    return Err(broken(index, request, "a coalesce has one forward input"));
                }
                if coalesce.num_partitions == 0 {
                    return Err(broken(index, request, "a coalesce has at least one partition"));
                }
            }
            Some(Kind::InlineData(data)) => {
                if !stage.inputs.is_empty() || data.partitions.is_empty() {
                    return Err(broken(
                        index,
                        request,
                        "inline data has no input and at least one partition",
                    ));
                }
            }
        }
    }
    match read.iter().take(last).position(|read| !read) {
        Some(unread) => Err(broken(
            unread,
            request,
            "no stage reads it, and it is not the last one",
        )),
        None => Ok(()),
    }
}
