use object_store::path::Path;

use crate::StoreError;

/// Spread of the keys over this many prefixes: object stores limit the request rate per prefix. A deletion lists each of them.
pub(crate) const FAN_OUT: u32 = 16;

/// Names the output of one map task, whichever attempt wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapOutputId {
    /// Where the outputs of one query are; from outside, checked before it becomes part of a key.
    pub namespace: String,
    /// Stage of the query.
    pub stage_id: u32,
    /// Global partition of the stage.
    pub map_partition: u32,
}

/// Which of the attempts at a map output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutputVersion {
    /// How often the query had started again. One record per generation can be published.
    pub generation: u32,
    /// Number of the attempt within its generation.
    pub attempt: u32,
}

/// What one attempt wrote: the only thing that is ever read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapOutput {
    /// Of which task.
    pub id: MapOutputId,
    /// By which attempt.
    pub version: OutputVersion,
}

/// Which attempt writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskAttempt {
    /// The attempt.
    pub version: OutputVersion,
    /// Where it runs; recorded, not part of the key.
    pub executor_id: String,
}

/// Refuses a namespace that could leave the storage prefix or upset a store.
pub(crate) fn check_namespace(namespace: &str) -> Result<(), StoreError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if namespace.is_empty() || namespace.len() > 128 || !namespace.chars().all(allowed) {
        return Err(StoreError::InvalidNamespace {
            namespace: namespace.to_string(),
        });
    }
    Ok(())
}

impl MapOutputId {
    /// Names an output.
    pub fn new(namespace: impl Into<String>, stage_id: u32, map_partition: u32) -> Self {
        Self {
            namespace: namespace.into(),
            stage_id,
            map_partition,
        }
    }

    /// What the attempt `version` wrote.
    pub fn written_by(&self, version: OutputVersion) -> MapOutput {
        MapOutput {
            id: self.clone(),
            version,
        }
    }

    /// `{fan-out}/{namespace}/{stage}/{map partition}`, relative to the storage prefix.
    pub(crate) fn directory(&self) -> Result<String, StoreError> {
        check_namespace(&self.namespace)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.namespace.as_bytes());
        hasher.update(&self.stage_id.to_le_bytes());
        hasher.update(&self.map_partition.to_le_bytes());
        let fan_out = hasher.finalize() % FAN_OUT;
        Ok(format!(
            "{fan_out:x}/{}/{}/{}",
            self.namespace, self.stage_id, self.map_partition
        ))
    }

    /// Key of the commit record of a generation, relative to the storage prefix.
    pub(crate) fn commit_key(&self, generation: u32) -> Result<String, StoreError> {
        Ok(format!("{}/commit-{generation}", self.directory()?))
    }

    /// A new key for the data of one attempt, relative to the storage prefix.
    pub(crate) fn data_key(&self, attempt: &TaskAttempt) -> Result<String, StoreError> {
        Ok(format!(
            "{}/data-{}-{}-{}",
            self.directory()?,
            attempt.version.generation,
            attempt.version.attempt,
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
