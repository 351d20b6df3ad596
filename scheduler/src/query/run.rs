//! The life of one query.

use std::{collections::HashSet, sync::Arc, time::Duration};

use ballista_core::{
    JobId,
    serde::protobuf::{JobStatus, PartitionLocation, job_status::Status},
};
use cne_proto::{decode::with_stack_for, v1::QueryRequest};
use cne_task::{QueryOptions, codes, session_config};
use datafusion::{execution::SessionStateBuilder, prelude::SessionContext};
use tokio::sync::mpsc;

use super::{Outcome, Query, State, registry::Shared, watch::Watch};
use crate::{
    error::Failure,
    graph::{self, Planned, Sizing},
    pool::JobProgress,
};

// Ballista drops a status that does not fit; the last one counts.
const STATUS_BUFFER: usize = 256;

/// How often a query starts again because stored outputs were lost.
const MAX_RESTARTS: u32 = 3;

/// Runs a query to its end. A failure keeps its job's tasks from running on.
pub(super) async fn run(shared: &Arc<Shared>, query: &Arc<Query>, request: QueryRequest) {
    tracing::info!(query = %query.id, stages = request.stages.len(), description = %query.description, "query accepted");
    let result = execute(shared, query, request).await;
    let took = query.started.elapsed();
    match result {
        Ok(outcome) => {
            tracing::info!(query = %query.id, job = %outcome.job, rows = outcome.rows, ?took, "query succeeded");
            query.finish(State::Succeeded(Arc::new(outcome)), shared.options.results_lease);
        }
        Err(failure) => {
            tracing::warn!(query = %query.id, %failure, rejections = ?failure.detail.rejections, ?took, "query failed");
            if let State::Running(job) = query.state()
                && let Err(error) = shared.pool.cancel(&job).await
            {
                tracing::error!(query = %query.id, %error, "the job could not be cancelled");
            }
            let failure = failure.of_query(&query.id);
            query.finish(State::Failed(Arc::new(failure)), shared.options.results_lease);
        }
    }
}

async fn execute(
    shared: &Arc<Shared>,
    query: &Arc<Query>,
    request: QueryRequest,
) -> Result<Outcome, Failure> {
    let options = &shared.options;
    let asked = Duration::from_millis(request.deadline_ms);
    let limit = if asked.is_zero() {
        options.query_deadline
    } else {
        asked.min(options.query_deadline)
    };
    let mut watch = Watch::new(shared, query, limit);

    let slots = shared
        .pool
        .executors()
        .await
        .iter()
        .map(|executor| executor.slots)
        .sum::<u32>()
        .max(1);
    let sizing = Sizing {
        slots,
        target_bytes: options.target_partition_bytes,
        smallest_bytes: options.smallest_partition_bytes,
    };
    let context = Arc::new(context(&request));
    let depth = options.limits.depth;
    // Planning recurses as deep as the plan is nested, and takes its time.
    let planning =
        tokio::task::spawn_blocking(move || with_stack_for(depth, || graph::plan(&request, &sizing)));
    let planned = tokio::select! {
        planned = planning => planned.map_err(|e| Failure::new(codes::INTERNAL, format!("planning: {e}")))??,
        failure = watch.failed() => return Err(failure),
    };
    tracing::debug!(query = %query.id, stages = planned.final_stage, partitions = planned.partitions, "planned");
    let mut generation = 0;
    loop {
        let failure = match job(shared, query, &context, &planned, &mut watch).await {
            Ok(outcome) => return Ok(outcome),
            Err(failure) => failure,
        };
        // No row has left the pool before a job has succeeded, so nobody can tell.
        if failure.detail.code != codes::OUTPUT_LOST.code || generation == MAX_RESTARTS {
            return Err(failure);
        }
        generation += 1;
        tracing::warn!(query = %query.id, generation, %failure, "an output was lost: the query starts again");
    }
}

/// Runs a plan as one job of Ballista. A further job reads nothing of those before: outputs are stored by job.
async fn job(
    shared: &Arc<Shared>,
    query: &Arc<Query>,
    context: &Arc<SessionContext>,
    planned: &Planned,
    watch: &mut Watch,
) -> Result<Outcome, Failure> {
    let (sender, mut statuses) = mpsc::channel(STATUS_BUFFER);
    let submitted = shared
        .pool
        .submit(&query.id, Arc::clone(context), Arc::clone(&planned.plan), sender)
        .await;
    let job = submitted
        .map_err(|e| Failure::new(codes::INTERNAL, format!("the job could not be submitted: {e}")))?;
    query.state.send_replace(State::Running(job.clone()));
    watch.job = Some(job.clone());
    loop {
        tokio::select! {
            status = statuses.recv() => {
                if let Some(end) = ended(&job, planned, status) {
                    return end;
                }
            }
            failure = watch.failed() => return Err(failure),
        }
    }
}

fn context(request: &QueryRequest) -> SessionContext {
    let options = QueryOptions {
        query_id: request.query_id.clone(),
        traceparent: request.traceparent.clone(),
        config: request.config.clone().into_iter().collect(),
    };
    let state = SessionStateBuilder::new()
        .with_config(options.apply_to(session_config()))
        // Executors keep what they cache (object store clients, file footers) by it.
        .with_session_id(request.driver_session_id.clone())
        .build();
    SessionContext::new_with_state(state)
}

fn ended(job: &JobId, planned: &Planned, status: Option<JobStatus>) -> Option<Result<Outcome, Failure>> {
    match status.map(|status| status.status) {
        None => Some(Err(Failure::new(
            codes::INTERNAL,
            "Ballista dropped the job without a status",
        ))),
        Some(Some(Status::Failed(failed))) => Some(Err(Failure::from_job(&failed.error))),
        Some(Some(Status::Successful(successful))) => {
            Some(outcome(job, planned, &successful.partition_location))
        }
        Some(_) => None,
    }
}

// Partitions without rows may have no location. One with two would give its rows twice.
fn outcome(job: &JobId, planned: &Planned, locations: &[PartitionLocation]) -> Result<Outcome, Failure> {
    let mut seen = HashSet::new();
    let mut rows = 0;
    for location in locations {
        let id = location
            .partition_id
            .as_ref()
            .map(|id| (id.stage_id, id.partition_id));
        let expected = id
            .is_some_and(|(stage, partition)| stage == planned.final_stage && partition < planned.partitions);
        if !expected || !seen.insert(id) {
            let text = format!("job {job} reports result partition {id:?} twice or out of place");
            return Err(Failure::new(codes::RESULT_INCONSISTENT, text));
        }
        let known = location
            .partition_stats
            .as_ref()
            .map_or(0, |stats| stats.num_rows);
        rows += u64::try_from(known).unwrap_or(0);
    }
    Ok(Outcome {
        job: job.clone(),
        schema: Arc::clone(&planned.schema),
        stage: planned.final_stage,
        partitions: planned.partitions,
        rows,
        progress: JobProgress {
            stages_total: planned.final_stage,
            stages_done: planned.final_stage,
            tasks_total: planned.tasks,
            tasks_done: planned.tasks,
            ..JobProgress::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ballista_core::serde::protobuf::{PartitionId, PartitionStats};
    use datafusion::{arrow::datatypes::Schema, physical_plan::empty::EmptyExec};

    fn location(stage_id: u32, partition_id: u32) -> PartitionLocation {
        PartitionLocation {
            partition_id: Some(PartitionId {
                job_id: "j".into(),
                stage_id,
                partition_id,
            }),
            partition_stats: Some(PartitionStats {
                num_rows: 5,
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    #[test]
    fn a_result_partition_counts_once() {
        let schema = Arc::new(Schema::empty());
        let plan = Arc::new(EmptyExec::new(Arc::clone(&schema)));
        let planned = Planned {
            plan,
            schema,
            partitions: 3,
            final_stage: 2,
            tasks: 7,
        };
        let job = JobId::new("j");
        let good = outcome(&job, &planned, &[location(2, 2), location(2, 0)]).unwrap();
        assert_eq!((good.rows, good.partitions), (10, 3));
        assert_eq!((good.progress.tasks_done, good.progress.tasks_total), (7, 7));
        for bad in [
            [location(2, 1), location(2, 1)],
            [location(2, 0), location(2, 3)],
            [location(2, 0), location(1, 1)],
        ] {
            let failure = outcome(&job, &planned, &bad).unwrap_err();
            assert_eq!(failure.detail.code, codes::RESULT_INCONSISTENT.code);
        }
    }
}
