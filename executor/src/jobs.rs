//! What this executor keeps for the jobs whose tasks it runs: the blocks of their stages, and shared inputs, until the job is removed or forgotten.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cne_fragment::{JobInputs, SharedInputs};
use cne_task::Blocks;
use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnv;
use parking_lot::Mutex;

use crate::memory::Reclaim;

/// The jobs of this executor.
#[derive(Debug)]
pub(crate) struct Jobs {
    jobs: Mutex<HashMap<String, Job>>,
    /// The run-time environment of shared data.
    runtime: Arc<RuntimeEnv>,
}

#[derive(Debug)]
struct Job {
    inputs: Arc<JobInputs>,
    blocks: Arc<Blocks>,
    running: usize,
    /// When a task was last here.
    last: Instant,
}

impl Job {
    fn new() -> Self {
        Self {
            inputs: Arc::default(),
            blocks: Arc::default(),
            running: 0,
            last: Instant::now(),
        }
    }

    fn idle(&self) -> Duration {
        match self.running {
            0 => self.last.elapsed(),
            _ => Duration::ZERO,
        }
    }
}

impl Jobs {
    /// Keeps what tasks share in the memory of `runtime`.
    pub(crate) fn new(runtime: Arc<RuntimeEnv>) -> Arc<Self> {
        Arc::new(Self {
            jobs: Mutex::default(),
            runtime,
        })
    }

    /// Takes note of a task of `job` until the answer is dropped.
    pub(crate) fn enter(self: &Arc<Self>, job: &str) -> Running {
        let mut jobs = self.jobs.lock();
        let entry = jobs.entry(job.to_string()).or_insert_with(Job::new);
        entry.running += 1;
        Running {
            jobs: Arc::clone(self),
            job: job.to_string(),
            inputs: Arc::clone(&entry.inputs),
        }
    }

    /// The blocks that were sent for `job`.
    pub(crate) fn blocks(&self, job: &str) -> Arc<Blocks> {
        let mut jobs = self.jobs.lock();
        let entry = jobs.entry(job.to_string()).or_insert_with(Job::new);
        entry.last = Instant::now();
        Arc::clone(&entry.blocks)
    }

    /// Drops everything of a job that has ended; a task of it that still runs keeps what it uses.
    pub(crate) fn remove(&self, job: &str) {
        // Freed without the lock.
        let removed = self.jobs.lock().remove(job);
        drop(removed);
    }

    /// Drops what jobs share of which no task was here for `inputs`, and after `all` their blocks: their removal may never be asked for.
    pub(crate) fn sweep(&self, inputs: Duration, all: Duration) {
        let mut jobs = self.jobs.lock();
        let removed: Vec<_> = jobs.extract_if(|_, job| job.idle() >= all).collect();
        let old = jobs.values_mut().filter(|job| job.idle() >= inputs);
        let shared: Vec<_> = old.map(|job| std::mem::take(&mut job.inputs)).collect();
        drop(jobs);
        drop((removed, shared));
    }

    fn leave(&self, job: &str) {
        if let Some(job) = self.jobs.lock().get_mut(job) {
            job.running = job.running.saturating_sub(1);
            job.last = Instant::now();
        }
    }
}

impl Reclaim for Jobs {
    fn reclaim(&self) -> bool {
        let inputs: Vec<_> = self
            .jobs
            .lock()
            .values()
            .map(|job| Arc::clone(&job.inputs))
            .collect();
        // Of every job, also after one has given something up.
        let freed = inputs.iter().filter(|inputs| inputs.release_idle());
        freed.count() > 0
    }
}

/// A task that runs.
#[derive(Debug)]
pub(crate) struct Running {
    jobs: Arc<Jobs>,
    job: String,
    inputs: Arc<JobInputs>,
}

impl Running {
    /// What the task shares with the others of its job. `context` is the task's, before anything of the task alone was put into it.
    pub(crate) fn shared(&self, context: &TaskContext) -> SharedInputs {
        let context = TaskContext::new(
            None,
            context.session_id(),
            context.session_config().clone(),
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            Arc::clone(&self.jobs.runtime),
        );
        SharedInputs::new(Arc::clone(&self.inputs), Arc::new(context))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.jobs.leave(&self.job);
    }
}
