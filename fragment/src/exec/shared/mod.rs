//! What the tasks of one job share in one process: the rows of inputs that every task reads whole, and hash tables built from them.
//!
//! Each is loaded once. Whoever waits for a load drives it, under a context that belongs to no task: the end of one task neither stops it nor
//! fails it for the others. After a load that has failed, the next attempt of a task loads anew. One that does not fit into the
//! memory of shared data is left to each task's own.

mod build;
mod rows;

pub(crate) use build::{Build, all_ready, share_builds};

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;

use rows::Rows;

/// An input of a block within its job. Every task of the job finds the same rows there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Index of the block's stage in the request.
    pub(crate) stage: u32,
    /// Index of the input in the block.
    pub(crate) input: usize,
}

/// A value that is computed once, by those who wait for it. An error of its own type could not be given to several.
type Once<T> = Shared<BoxFuture<'static, Result<T, Arc<DataFusionError>>>>;

/// The shared inputs of one job. Dropping it frees what no running task holds.
#[derive(Debug, Default)]
pub struct JobInputs {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    rows: HashMap<Place, Arc<Rows>>,
    /// By place, and whether the bounds of the keys are kept too.
    builds: HashMap<(Place, bool), Arc<Build>>,
}

impl JobInputs {
    /// Drops what no running task holds, and gives whether there was anything.
    pub fn release_idle(&self) -> bool {
        let mut freed: (Vec<Arc<Rows>>, Vec<Arc<Build>>) = Default::default();
        let mut entries = self.entries.lock();
        // What is known to be too large holds nothing, and is worth remembering.
        let idle = |rows: &Arc<Rows>| Arc::strong_count(rows) == 1 && !rows.too_large();
        freed.0.extend(
            entries
                .rows
                .extract_if(|_, rows| idle(rows))
                .map(|(_, rows)| rows),
        );
        let idle = |build: &Arc<Build>| Arc::strong_count(build) == 1 && !build.too_large();
        freed.1.extend(
            entries
                .builds
                .extract_if(|_, build| idle(build))
                .map(|(_, build)| build),
        );
        // Large tables are freed without the lock.
        drop(entries);
        !freed.0.is_empty() || !freed.1.is_empty()
    }
}

/// Put into a session's configuration as an extension, it lets a task share what it reads whole with the other tasks of its job.
#[derive(Debug, Clone)]
pub struct SharedInputs {
    job: Arc<JobInputs>,
    context: Arc<TaskContext>,
}

impl SharedInputs {
    /// Shares through `job`. Loads run under `context`: it must carry no task's cancellation, and its memory pool must outlive the tasks.
    #[must_use]
    pub fn new(job: Arc<JobInputs>, context: Arc<TaskContext>) -> Self {
        Self { job, context }
    }

    /// The rows of `input`, read at most once for all tasks; by the task itself under `own` if they do not fit.
    pub(crate) fn rows(
        &self,
        place: Place,
        input: &Arc<dyn ExecutionPlan>,
        own: Arc<TaskContext>,
    ) -> SendableRecordBatchStream {
        let load = || Ok::<_, Infallible>(Rows::of(Arc::clone(input), Arc::clone(&self.context)));
        let rows = live(
            &mut self.job.entries.lock().rows,
            place,
            |rows| rows.failed(),
            load,
        );
        match rows {
            Ok(rows) => rows::stream(rows, Arc::clone(input), own),
            Err(never) => match never {},
        }
    }

    /// `join` over the table of this job, if it has the same keys as the join that the table was first wanted for, and the table itself;
    /// `None` if the task has to build it for itself.
    fn build(&self, place: Place, join: &HashJoinExec) -> Result<Option<(Arc<Build>, HashJoinExec)>> {
        let key = (place, build::dynamic_filter(join).is_some());
        let new = || Build::of(join, &self.context);
        let build = live(
            &mut self.job.entries.lock().builds,
            key,
            |build| build.failed(),
            new,
        )?;
        if build.too_large() {
            return Ok(None);
        }
        Ok(build.join(join)?.map(|join| (build, join)))
    }
}

/// The entry of `key`, made anew if there is none or a failed one.
fn live<K: Eq + Hash, T, E>(
    entries: &mut HashMap<K, Arc<T>>,
    key: K,
    failed: impl FnOnce(&T) -> bool,
    new: impl FnOnce() -> Result<T, E>,
) -> Result<Arc<T>, E> {
    match entries.get(&key) {
        Some(found) if !failed(found) => Ok(Arc::clone(found)),
        _ => {
            let new = Arc::new(new()?);
            entries.insert(key, Arc::clone(&new));
            Ok(new)
        }
    }
}
