//! What ends a query from outside: the client, the clock, a pool without executors, a job that does not move.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use ballista_core::JobId;
use cne_task::{Durability, codes};

use super::{Query, registry::Shared};
use crate::error::Failure;

const TICK: Duration = Duration::from_millis(250);

pub(super) struct Watch {
    shared: Arc<Shared>,
    query: Arc<Query>,
    deadline: Instant,
    limit: Duration,
    /// The query's job, once it has one.
    job: Option<JobId>,
    /// Of the job: stages whose rows were removed.
    retired: HashSet<u32>,
    no_executor_since: Option<Instant>,
    idle_since: Option<Instant>,
    ticks: tokio::time::Interval,
}

impl Watch {
    pub(super) fn new(shared: &Arc<Shared>, query: &Arc<Query>, limit: Duration) -> Self {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Self {
            shared: Arc::clone(shared),
            query: Arc::clone(query),
            deadline: query.started + limit,
            limit,
            job: None,
            retired: HashSet::new(),
            no_executor_since: None,
            idle_since: None,
            ticks,
        }
    }

    /// Waits for a reason to end the query. Cancel safe.
    pub(super) async fn failed(&mut self) -> Failure {
        loop {
            tokio::select! {
                () = self.query.cancel.cancelled() => {
                    return Failure::new(codes::CANCELLED, codes::CANCELLED.summary);
                }
                () = self.shared.shutdown.cancelled() => {
                    return Failure::new(codes::SHUTTING_DOWN, codes::SHUTTING_DOWN.summary);
                }
                _ = self.ticks.tick() => {}
            }
            if let Some(failure) = self.look().await {
                return failure;
            }
        }
    }

    /// The query has another job.
    pub(super) fn watch(&mut self, job: JobId) {
        self.job = Some(job);
        self.retired.clear();
    }

    /// Has the rows of stages removed that nobody reads any more. Only where each output of the stages that have read them is in the store for
    /// sure: otherwise one of them may have to be made again.
    async fn retire(&mut self) {
        let Some(job) = &self.job else { return };
        if self.shared.options.durability != Durability::Store {
            return;
        }
        let read = self.shared.pool.read_stages(job).await.into_iter();
        let stages: Vec<u32> = read.filter(|stage| self.retired.insert(*stage)).collect();
        if !stages.is_empty() {
            self.query.retire(&self.shared.pool, stages);
        }
    }

    async fn look(&mut self) -> Option<Failure> {
        self.retire().await;
        let options = &self.shared.options;
        if Instant::now() >= self.deadline {
            return Some(Failure::new(
                codes::DEADLINE,
                format!("the query did not end within {:?}", self.limit),
            ));
        }
        if self.query.abandoned(options.client_timeout) {
            let text = format!(
                "no client asked for the query within {:?}",
                options.client_timeout
            );
            return Some(Failure::new(codes::CLIENT_GONE, text));
        }
        if let Some((stage, partition)) = self.job.as_ref().and_then(|job| self.shared.pool.worn_task(job)) {
            let text =
                format!("task {partition} of stage {stage} was started again and again and never ended");
            return Some(Failure::new(codes::TASK_WORN, text));
        }
        let executors = self.shared.pool.executors().await.len();
        let running = self.shared.pool.tasks_running().await;
        // One that is leaving may still be at its last tasks.
        if executors == 0 && running == 0 {
            self.idle_since = None;
            let since = *self.no_executor_since.get_or_insert_with(Instant::now);
            let text = format!("the pool had no executor for {:?}", options.executor_wait);
            return (since.elapsed() >= options.executor_wait)
                .then(|| Failure::new(codes::NO_EXECUTORS, text));
        }
        self.no_executor_since = None;
        // With work running anywhere in the pool this query may only be waiting for its turn.
        if self.job.is_none() || running > 0 {
            self.idle_since = None;
            return None;
        }
        let since = *self.idle_since.get_or_insert_with(Instant::now);
        let text = format!(
            "no task ran for {:?} although {executors} executors are there",
            options.stuck_timeout
        );
        (since.elapsed() >= options.stuck_timeout).then(|| Failure::new(codes::STUCK, text))
    }
}
