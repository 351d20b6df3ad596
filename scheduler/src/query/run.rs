//! The life of one query.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use ballista_core::{
    JobId,
    serde::protobuf::{JobStatus, PartitionLocation, job_status::Status},
};
use cne_proto::{decode::with_stack_for, v1::QueryRequest};
use cne_task::{Durability, OutputLocation, QueryOptions, codes, session_config};
use datafusion::{execution::SessionStateBuilder, prelude::SessionContext};
use tokio::sync::mpsc;

use super::{
    Outcome, Query, State,
    outputs::{self, Told},
    registry::Shared,
    watch::Watch,
};
use crate::{
    error::Failure,
    graph::{self, Planned, Sizing},
    pool::JobProgress,
};

// Ballista drops a status that does not fit; the last one counts.
const STATUS_BUFFER: usize = 256;

/// Attempts of the jobs of one query have different numbers, as long as no stage of one has more of them than this.
const ATTEMPTS_PER_JOB: u32 = 1 << 20;

/// How often a query starts again because stored outputs were lost.
const MAX_RESTARTS: u32 = 3;

/// Runs a query to its end. A failure keeps its job's tasks from running on.
pub(super) async fn run(shared: &Arc<Shared>, query: &Arc<Query>, request: QueryRequest, told: Told) {
    let again = matches!(told, Told::Again(_));
    tracing::info!(
        query = %query.id, tenant = %query.tenant.name, stages = request.stages.len(), description = %query.description, again, "query accepted"
    );
    let counters = shared.pool.counters();
    if again {
        counters.query_resumed();
    }
    let result = execute(shared, query, request, told).await;
    let took = query.started.elapsed();
    match result {
        Ok(outcome) => {
            tracing::info!(query = %query.id, job = %outcome.job, rows = outcome.rows, ?took, "query succeeded");
            counters.query_succeeded();
            query.finish(State::Succeeded(Arc::new(outcome)), shared.options.results_lease);
        }
        Err(failure) => {
            tracing::warn!(query = %query.id, %failure, rejections = ?failure.detail.rejections, ?took, "query failed");
            if let State::Running(job) = query.state()
                && let Err(error) = shared.pool.cancel(&job).await
            {
                tracing::error!(query = %query.id, %error, "the job could not be cancelled");
            }
            // The next scheduler goes on with what is there.
            if failure.detail.code != codes::SHUTTING_DOWN.code {
                query.remove_outputs(&shared.pool);
            }
            counters.query_failed(&failure.detail.code);
            let failure = failure.of_query(&query.id);
            query.finish(State::Failed(Arc::new(failure)), shared.options.results_lease);
        }
    }
}

/// What the jobs of one query have in common.
struct Run<'a> {
    shared: &'a Arc<Shared>,
    query: &'a Arc<Query>,
    planned: Planned,
    session_id: String,
    options: QueryOptions,
}

async fn execute(
    shared: &Arc<Shared>,
    query: &Arc<Query>,
    request: QueryRequest,
    told: Told,
) -> Result<Outcome, Failure> {
    let options = &shared.options;
    let asked = Duration::from_millis(request.deadline_ms);
    let limit = if asked.is_zero() {
        options.query_deadline
    } else {
        asked.min(options.query_deadline)
    };
    let mut watch = Watch::new(shared, query, limit);

    let resume = match told {
        Told::First(resume) | Told::Again(resume) => resume,
        Told::Nothing => shared.prepare().await,
    };
    let sizing = Sizing {
        slots: resume.slots.max(1),
        target_bytes: options.target_partition_bytes,
        smallest_bytes: options.smallest_partition_bytes,
    };
    let namespace = outputs::namespace(&query.tenant.name, &query.id, &query.digest, &sizing);
    query.stores_in(namespace.clone(), resume);
    let query_options = QueryOptions {
        query_id: request.query_id.clone(),
        traceparent: request.traceparent.clone(),
        config: request.config.clone().into_iter().collect(),
        namespace,
        generation: resume.generation,
        first_attempt: rand::random(),
        look_first: matches!(told, Told::Again(_)),
        lost: BTreeSet::new(),
        durability: options.durability,
    };
    let session_id = request.driver_session_id.clone();
    let depth = options.limits.depth;
    // Planning recurses as deep as the plan is nested, and takes its time.
    let planning =
        tokio::task::spawn_blocking(move || with_stack_for(depth, || graph::plan(&request, &sizing)));
    let planned = tokio::select! {
        planned = planning => planned.map_err(|e| Failure::new(codes::INTERNAL, format!("planning: {e}")))??,
        failure = watch.failed() => return Err(failure),
    };
    tracing::debug!(query = %query.id, stages = planned.final_stage, partitions = planned.partitions, "planned");
    let mut run = Run {
        shared,
        query,
        planned,
        session_id,
        options: query_options,
    };
    let mut restarts = 0;
    loop {
        let failure = match run.job(&mut watch).await {
            Ok(outcome) => return Ok(outcome),
            Err(failure) => failure,
        };
        // No row has left the pool before a job has succeeded, so nobody can tell.
        if failure.detail.code != codes::OUTPUT_LOST.code || restarts == MAX_RESTARTS {
            return Err(failure);
        }
        restarts += 1;
        shared.pool.counters().query_restarted();
        run.start_again(&failure);
        let generation = run.options.generation;
        tracing::warn!(query = %query.id, generation, %failure, "an output was lost: the query starts again");
    }
}

impl Run<'_> {
    /// Runs the plan as one job of Ballista.
    async fn job(&self, watch: &mut Watch) -> Result<Outcome, Failure> {
        let (sender, mut statuses) = mpsc::channel(STATUS_BUFFER);
        let (pool, plan) = (&self.shared.pool, Arc::clone(&self.planned.plan));
        let submitted = pool.submit(&self.query.id, self.context(), plan, sender).await;
        let job = submitted
            .map_err(|e| Failure::new(codes::INTERNAL, format!("the job could not be submitted: {e}")))?;
        self.query.state.send_replace(State::Running(job.clone()));
        watch.watch(job.clone());
        loop {
            tokio::select! {
                status = statuses.recv() => {
                    if let Some(end) = ended(&job, &self.options.namespace, &self.planned, status) {
                        return end;
                    }
                }
                failure = watch.failed() => return Err(failure),
            }
        }
    }

    /// The next job takes what is committed, except what was made from a lost output. That needs another generation, unless the lost one had not
    /// got into the store yet: whether it does after all, or its next attempt, is settled there.
    fn start_again(&mut self, failure: &Failure) {
        let behind = self.options.durability == Durability::WriteBehind;
        self.options.first_attempt = self.options.first_attempt.wrapping_add(ATTEMPTS_PER_JOB);
        self.options.look_first = true;
        match &failure.lost {
            Some(lost) if behind && !lost.published => return,
            Some(lost) => _ = self.options.lost.insert((lost.stage, lost.map_partition)),
            None => {}
        }
        self.options.generation += 1;
        self.query.starts_again(self.options.generation);
    }

    fn context(&self) -> Arc<SessionContext> {
        let state = SessionStateBuilder::new()
            .with_config(self.options.clone().apply_to(session_config()))
            // Executors keep what they cache (object store clients, file footers) by it.
            .with_session_id(self.session_id.clone())
            .build();
        Arc::new(SessionContext::new_with_state(state))
    }
}

fn ended(
    job: &JobId,
    namespace: &str,
    planned: &Planned,
    status: Option<JobStatus>,
) -> Option<Result<Outcome, Failure>> {
    match status.map(|status| status.status) {
        None => Some(Err(Failure::new(
            codes::INTERNAL,
            "Ballista dropped the job without a status",
        ))),
        Some(Some(Status::Failed(failed))) => Some(Err(Failure::from_job(&failed.error))),
        Some(Some(Status::Successful(successful))) => {
            Some(outcome(job, namespace, planned, &successful.partition_location))
        }
        Some(_) => None,
    }
}

// Every partition has one location, also one without rows. One with two would give its rows twice.
fn outcome(
    job: &JobId,
    namespace: &str,
    planned: &Planned,
    locations: &[PartitionLocation],
) -> Result<Outcome, Failure> {
    let mut outputs = vec![None; planned.partitions as usize];
    let mut holders = vec![String::new(); planned.partitions as usize];
    let mut rows = 0;
    for location in locations {
        let id = location.partition_id.as_ref();
        let place = id
            .filter(|id| id.stage_id == planned.final_stage)
            .and_then(|id| outputs.get_mut(id.partition_id as usize))
            .filter(|place| place.is_none());
        let (Some(place), Some(file_id)) = (place, location.file_id) else {
            let text = format!("job {job} reports result partition {id:?} twice or out of place");
            return Err(Failure::new(codes::RESULT_INCONSISTENT, text));
        };
        *place = Some(OutputLocation::of_file_id(file_id));
        let partition = id.map_or(0, |id| id.partition_id as usize);
        if let (Some(holder), Some(executor)) = (holders.get_mut(partition), &location.executor_meta) {
            *holder = format!("{}:{}", executor.host, executor.port);
        }
        let known = location
            .partition_stats
            .as_ref()
            .map_or(0, |stats| stats.num_rows);
        rows += u64::try_from(known).unwrap_or(0);
    }
    let Some(outputs) = outputs.into_iter().collect() else {
        let text = format!("job {job} does not report every result partition");
        return Err(Failure::new(codes::RESULT_INCONSISTENT, text));
    };
    Ok(Outcome {
        job: job.clone(),
        namespace: namespace.to_string(),
        schema: Arc::clone(&planned.schema),
        stage: planned.final_stage,
        outputs,
        holders,
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
        let output = OutputLocation {
            map_partition: partition_id,
            generation: 0,
            attempt: 9,
        };
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
            file_id: Some(output.file_id()),
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
            partitions: 2,
            final_stage: 2,
            tasks: 7,
        };
        let job = JobId::new("j");
        let good = outcome(&job, "n", &planned, &[location(2, 1), location(2, 0)]).unwrap();
        assert_eq!(
            good.outputs
                .iter()
                .map(|o| (o.map_partition, o.attempt))
                .collect::<Vec<_>>(),
            [(0, 9), (1, 9)]
        );
        assert_eq!(good.rows, 10);
        assert_eq!((good.progress.tasks_done, good.progress.tasks_total), (7, 7));
        let nowhere = PartitionLocation {
            file_id: None,
            ..location(2, 1)
        };
        for bad in [
            vec![location(2, 1), location(2, 1)],
            vec![location(2, 0), location(2, 2)],
            vec![location(2, 0), location(1, 1)],
            vec![location(2, 0), nowhere],
            vec![location(2, 0)],
        ] {
            let failure = outcome(&job, "n", &planned, &bad).unwrap_err();
            assert_eq!(failure.detail.code, codes::RESULT_INCONSISTENT.code);
        }
    }
}
