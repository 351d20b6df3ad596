//! What each task gets: its share of the memory, spill files below a quota, and the object stores it may read.

use std::path::Path;
use std::sync::{Arc, Weak};

use ballista_core::RuntimeProducer;
use ballista_executor::runtime_cache::{DefaultSessionRuntimeCache, SessionRuntimeCache};
use cne_storage::{ClientOptions, ExecutorObjectStores, RequestCounts};
use datafusion::error::Result;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

use crate::Options;
use crate::jobs::Jobs;
use crate::memory::{Memory, Reclaim};
use crate::sizing::LEAST_OF_A_TASK;

/// What all tasks of the process share: object stores, spill directory with its quota, cache of Parquet footers. Memory is not bounded here.
/// Requests of scans are counted in `scans`.
///
/// # Errors
/// When the spill directory cannot be made below `work_dir`.
pub fn base_runtime(
    options: &Options,
    work_dir: &Path,
    scans: Arc<RequestCounts>,
) -> Result<Arc<RuntimeEnv>> {
    let client = ClientOptions {
        counts: scans,
        ..options.client.clone()
    };
    let spill = work_dir.join("spill");
    std::fs::create_dir_all(&spill)?;
    let disk = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::Directories(vec![spill]))
        .with_max_temp_directory_size(options.spill_quota);
    RuntimeEnvBuilder::new()
        .with_disk_manager_builder(disk)
        .with_object_store_registry(Arc::new(ExecutorObjectStores::new(
            options.file_roots.clone(),
            client,
        )))
        .build_arc()
}

/// Gives every session the shared runtime: nothing in it depends on the session.
pub fn producer(base: Arc<RuntimeEnv>) -> RuntimeProducer {
    Arc::new(move |_| Ok(Arc::clone(&base)))
}

/// The memory of tasks of `options`.
pub(crate) fn memory(options: &Options) -> Arc<Memory> {
    Memory::new(per_slot(options).saturating_mul(options.task_slots.max(1)))
}

fn per_slot(options: &Options) -> usize {
    (options.memory_bytes / options.task_slots.max(1)).max(LEAST_OF_A_TASK)
}

/// The runtimes of tasks: the shared one with a memory pool of its own, a slot's share for each slot that the task holds.
pub(crate) fn task_runtimes(
    base: Arc<RuntimeEnv>,
    options: &Options,
    memory: Arc<Memory>,
) -> Arc<dyn SessionRuntimeCache> {
    let per_slot = per_slot(options);
    let pool = move |base: Arc<RuntimeEnv>, _: &_, slots: u32| {
        let bytes = per_slot.saturating_mul(slots.max(1) as usize);
        with_pool(&base, memory.task_pool(bytes))
    };
    Arc::new(DefaultSessionRuntimeCache::new(producer(base), Arc::new(pool), 0))
}

/// What tasks share, in its own part of the memory. It is given up when tasks want the memory and none of them uses it.
///
/// # Errors
/// None that is known: nothing new is set up.
pub(crate) fn jobs(base: &RuntimeEnv, memory: &Arc<Memory>) -> Result<Arc<Jobs>> {
    let jobs = Jobs::new(with_pool(base, memory.shared_pool())?);
    let reserve: Weak<dyn Reclaim> = Arc::<Jobs>::downgrade(&jobs);
    memory.reclaim_from(reserve);
    Ok(jobs)
}

fn with_pool(base: &RuntimeEnv, pool: Arc<dyn MemoryPool>) -> Result<Arc<RuntimeEnv>> {
    RuntimeEnvBuilder::from_runtime_env(base)
        .with_memory_pool(pool)
        .build_arc()
}
