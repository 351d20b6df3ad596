//! How tasks get to executors.

use std::collections::HashSet;

use ballista_core::{
    JobId,
    error::Result,
    serde::{protobuf::MultiTaskDefinition, scheduler::ExecutorMetadata},
};
use ballista_scheduler::state::{executor_manager::ExecutorManager, task_manager::TaskLauncher};

/// Sends tasks over the connection that Ballista's executor manager keeps per executor. A launch that fails makes Ballista remove the
/// executor at once, so a dead one is noticed before its heartbeat runs out.
pub(super) struct Launcher {
    gateway_endpoint: String,
}

impl Launcher {
    pub(super) fn new(gateway_endpoint: String) -> Self {
        Self { gateway_endpoint }
    }
}

#[async_trait::async_trait]
impl TaskLauncher for Launcher {
    async fn launch_tasks(
        &self,
        executor: &ExecutorMetadata,
        tasks: Vec<MultiTaskDefinition>,
        executor_manager: &ExecutorManager,
    ) -> Result<HashSet<JobId>> {
        tracing::debug!(executor = %executor.id, stages = tasks.len(), "launching tasks");
        executor_manager.launch_multi_task(&executor.id, tasks, self.gateway_endpoint.clone()).await
    }
}
