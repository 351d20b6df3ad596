use std::collections::HashMap;

use ballista_core::JobId;
use ballista_scheduler::state::execution_stage::ExecutionStage;

use super::Pool;

/// What the pool has to do now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    /// Tasks that could start now, by job and stage.
    pub runnable: HashMap<(JobId, usize), u32>,
    /// Tasks that run, by executor.
    pub running: HashMap<String, u32>,
}

impl Pool {
    /// Reads the execution graphs of all running jobs.
    pub async fn load(&self) -> Load {
        let jobs = self.ballista.state.task_manager.get_running_job_cache();
        let mut load = Load::default();
        for (id, job) in jobs.iter() {
            let graph = job.execution_graph.read().await;
            for (stage_id, stage) in graph.stages() {
                let runnable = match stage {
                    // It runs as soon as an executor has a slot.
                    ExecutionStage::Resolved(stage) => stage.partitions,
                    ExecutionStage::Running(stage) => stage.available_tasks(),
                    _ => 0,
                };
                if runnable > 0 {
                    load.runnable.insert((id.clone(), *stage_id), runnable as u32);
                }
            }
            for task in graph.running_tasks() {
                *load.running.entry(task.executor_id).or_default() += 1;
            }
        }
        load
    }
}
