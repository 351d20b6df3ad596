use object_store::path::Path;

use crate::StoreError;

/// Spread of the keys over this many prefixes: object stores limit the request rate per prefix. A deletion lists each of them.
pub(crate) const FAN_OUT: u32 = 16;

/// Names the output of one map task, whichever attempt wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapOutputId {
    /// Job as the scheduler names it; from outside, checked before it becomes part of a key.
    pub job_id: String,
    /// Stage of the job.
    pub stage_id: u32,
    /// Global partition of the stage.
    pub map_partition: u32,
}

/// Which attempt writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskAttempt {
    /// Attempt of the stage.
    pub stage_attempt: u32,
    /// Attempt of the task within the stage attempt.
    pub task_attempt: u32,
    /// Where it runs; recorded, not part of the key.
    pub executor_id: String,
}

/// Refuses a job id that could leave the storage prefix or upset a store.
pub(crate) fn check_job_id(job_id: &str) -> Result<(), StoreError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if job_id.is_empty() || job_id.len() > 128 || !job_id.chars().all(allowed) {
        return Err(StoreError::InvalidJobId {
            job_id: job_id.to_string(),
        });
    }
    Ok(())
}

impl MapOutputId {
    /// Names an output.
    pub fn new(job_id: impl Into<String>, stage_id: u32, map_partition: u32) -> Self {
        Self {
            job_id: job_id.into(),
            stage_id,
            map_partition,
        }
    }

    /// `{fan-out}/{job}/{stage}/{map partition}`, relative to the storage prefix.
    pub(crate) fn directory(&self) -> Result<String, StoreError> {
        check_job_id(&self.job_id)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.job_id.as_bytes());
        hasher.update(&self.stage_id.to_le_bytes());
        hasher.update(&self.map_partition.to_le_bytes());
        let fan_out = hasher.finalize() % FAN_OUT;
        Ok(format!(
            "{fan_out:x}/{}/{}/{}",
            self.job_id, self.stage_id, self.map_partition
        ))
    }

    /// Key of the commit record, relative to the storage prefix.
    pub(crate) fn commit_key(&self) -> Result<String, StoreError> {
        Ok(format!("{}/commit", self.directory()?))
    }

    /// A new key for the data of one attempt, relative to the storage prefix.
    pub(crate) fn data_key(&self, attempt: &TaskAttempt) -> Result<String, StoreError> {
        Ok(format!(
            "{}/data-{}-{}-{}",
            self.directory()?,
            attempt.stage_attempt,
            attempt.task_attempt,
            uuid::Uuid::new_v4().simple()
        ))
    }

    /// Whether a key out of a record is one that [`Self::data_key`] could have made.
    pub(crate) fn owns_data_key(&self, key: &str) -> Result<bool, StoreError> {
        let directory = self.directory()?;
        let name = key
            .strip_prefix(&directory)
            .and_then(|rest| rest.strip_prefix("/data-"));
        Ok(name.is_some_and(|name| name.chars().all(|c| c.is_ascii_hexdigit() || c == '-')))
    }
}

/// The place of a checked relative key below the prefix.
pub(crate) fn locate(prefix: &Path, key: &str) -> Path {
    key.split('/').fold(prefix.clone(), |path, part| path.join(part))
}
