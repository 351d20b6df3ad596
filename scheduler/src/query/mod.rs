//! Queries: each is planned, run as one Ballista job, watched, and kept until the lease of its result ends.

mod outputs;
mod registry;
mod run;
mod watch;

use std::{
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant, SystemTime},
};

use ballista_core::JobId;
use cne_proto::v1::{QueryProgress, QueryState};
use cne_task::OutputLocation;
use cne_transport::Tenant;
use datafusion::arrow::datatypes::SchemaRef;
use parking_lot::Mutex;
use tokio::sync::watch as channel;
use tokio_util::sync::CancellationToken;

use crate::{
    error::Failure,
    pool::{JobProgress, Pool},
};

pub use outputs::{Resume, Told};
pub use registry::{Queries, unknown_query};

/// Where the rows of a successful query are.
#[derive(Debug)]
pub struct Outcome {
    /// Ballista's job.
    pub job: JobId,
    /// Schema of the rows.
    pub schema: SchemaRef,
    /// The stage whose outputs are the result.
    pub stage: u32,
    /// Where the outputs of the query are.
    pub namespace: String,
    /// Which output each result partition is, also those without rows.
    pub outputs: Vec<OutputLocation>,
    /// The executor (host:port) that each of them was committed from.
    pub holders: Vec<String>,
    /// All rows.
    pub rows: u64,
    /// How far the job was at its end.
    pub progress: JobProgress,
}

/// State of a query.
#[derive(Debug, Clone)]
pub enum State {
    /// Not handed to Ballista yet.
    Queued,
    /// A job of Ballista.
    Running(JobId),
    /// All result partitions are stored.
    Succeeded(Arc<Outcome>),
    /// Refused, failed or cancelled.
    Failed(Arc<Failure>),
}

impl State {
    /// Whether it will not change any more.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Succeeded(_) | Self::Failed(_))
    }
}

/// One query.
#[derive(Debug)]
pub struct Query {
    /// The driver's id.
    pub id: String,
    /// Whose it is. Nobody else sees it.
    pub tenant: Arc<Tenant>,
    /// Free text of the driver.
    pub description: String,
    /// When it was accepted.
    pub accepted: SystemTime,
    // SHA-256 of the request's bytes: tells a repeated submission from another request under the same id.
    digest: [u8; 32],
    started: Instant,
    state: channel::Sender<State>,
    // Calls that wait for it now.
    callers: AtomicUsize,
    last_call: Mutex<Instant>,
    // End of the result's lease, once there is a result.
    lease: Mutex<Option<Instant>>,
    // Where the outputs are, once that is known.
    stored: Mutex<Option<Stored>>,
    cancel: CancellationToken,
}

#[derive(Debug)]
struct Stored {
    namespace: String,
    resume: Resume,
}

/// Counts a call as long as it lives, so that the query is not taken for abandoned.
pub struct Caller(Arc<Query>);

impl Drop for Caller {
    fn drop(&mut self) {
        *self.0.last_call.lock() = Instant::now();
        self.0.callers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Query {
    /// The state now.
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Marks that a client asks for the query.
    pub fn call(self: &Arc<Self>) -> Caller {
        self.callers.fetch_add(1, Ordering::SeqCst);
        Caller(Arc::clone(self))
    }

    /// Waits until the query has ended, at most `wait`; gives the state then.
    pub async fn wait(&self, wait: Duration) -> State {
        let mut changes = self.state.subscribe();
        let ended = changes.wait_for(State::is_final);
        match tokio::time::timeout(wait, ended).await {
            Ok(Ok(state)) => state.clone(),
            _ => self.state(),
        }
    }

    /// Asks for its end. Has no effect on one that has ended.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Extends the lease of the result; gives the time at which it ends.
    pub fn renew(&self, lease: Duration) -> SystemTime {
        *self.lease.lock() = Some(Instant::now() + lease);
        SystemTime::now() + lease
    }

    fn finish(&self, state: State, lease: Duration) {
        self.renew(lease);
        self.state.send_modify(|current| {
            if !current.is_final() {
                *current = state;
            }
        });
    }

    fn stores_in(&self, namespace: String, resume: Resume) {
        *self.stored.lock() = Some(Stored { namespace, resume });
    }

    fn starts_again(&self, generation: u32) {
        if let Some(stored) = self.stored.lock().as_mut() {
            stored.resume.generation = generation;
        }
    }

    /// Asks the executors to remove everything that the query has stored.
    fn remove_outputs(&self, pool: &Pool) {
        if let Some(stored) = &*self.stored.lock() {
            pool.remove_outputs(&stored.namespace);
        }
    }

    /// Asks the executors to remove the rows of stages that nobody reads any more.
    fn retire(&self, pool: &Pool, stages: Vec<u32>) {
        if let Some(stored) = &*self.stored.lock() {
            pool.retire_stages(&stored.namespace, stages);
        }
    }

    fn abandoned(&self, timeout: Duration) -> bool {
        self.callers.load(Ordering::SeqCst) == 0 && self.last_call.lock().elapsed() > timeout
    }

    fn expired(&self) -> bool {
        self.lease.lock().is_some_and(|end| end < Instant::now())
    }

    /// How far it is, for a client.
    pub fn progress(&self, job: JobProgress, executors: usize) -> QueryProgress {
        let (state, rows, job) = match &*self.state.borrow() {
            State::Queued => (QueryState::Queued, 0, job),
            State::Running(_) => (QueryState::Running, 0, job),
            State::Succeeded(outcome) => (QueryState::Succeeded, outcome.rows, outcome.progress),
            State::Failed(failure) if failure.detail.code == cne_task::codes::CANCELLED.code => {
                (QueryState::Cancelled, 0, job)
            }
            State::Failed(_) => (QueryState::Failed, 0, job),
        };
        QueryProgress {
            query_id: self.id.clone(),
            state: state.into(),
            stages_total: job.stages_total,
            stages_done: job.stages_done,
            tasks_total: job.tasks_total,
            tasks_done: job.tasks_done,
            tasks_running: job.tasks_running,
            executors: executors as u32,
            result_rows: rows,
            resume: self
                .stored
                .lock()
                .as_ref()
                .map(|stored| stored.resume.to_string())
                .unwrap_or_default(),
        }
    }
}
