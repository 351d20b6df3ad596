//! Removal of what is stored: of a query, of some of its stages, of what is left of forgotten ones.

use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, ObjectStore};

use crate::key::{FAN_OUT, check_namespace};
use crate::retry::refused;
use crate::{MapOutputId, ShuffleStore, StoreError};

/// Deletions and listings at the same time.
const CONCURRENT_DELETES: usize = 8;

impl ShuffleStore {
    /// Removes all outputs of a query and says how many objects that were. What is already gone is no error.
    pub async fn delete_namespace(&self, namespace: &str) -> Result<u64, StoreError> {
        check_namespace(namespace)?;
        self.forget(|id| id.namespace == namespace);
        self.put.lock().remove(namespace);
        self.forget_local(|fan_out| format!("{fan_out:x}/{namespace}/"));
        self.delete_below(|fan_out| format!("{fan_out:x}/{namespace}"))
            .await
    }

    /// Removes what this process has written of a query, by name: without a listing. Says how many objects that were.
    pub async fn delete_own(&self, namespace: &str) -> Result<u64, StoreError> {
        check_namespace(namespace)?;
        self.forget(|id| id.namespace == namespace);
        self.forget_local(|fan_out| format!("{fan_out:x}/{namespace}/"));
        let put = self.put.lock().remove(namespace).unwrap_or_default();
        self.delete_keys(namespace, put.iter()).await
    }

    /// Removes what this process has written for stages of a query whose rows nobody needs any more, by name, and every copy here. Their records
    /// stay: by them the outputs are found committed, and what was made from them is known. Says how many objects that were.
    pub async fn retire_stages(&self, namespace: &str, stages: &[u32]) -> Result<u64, StoreError> {
        check_namespace(namespace)?;
        let directories: Vec<String> = stages
            .iter()
            .map(|stage| format!("/{namespace}/{stage}/"))
            .collect();
        let of_stages = |key: &str| directories.iter().any(|directory| key.contains(directory));
        if let Some(local) = self.local() {
            local.forget(of_stages);
        }
        let data: Vec<String> = match self.put.lock().get_mut(namespace) {
            Some(put) => put
                .extract_if(|key| of_stages(key) && key.contains("/data-"))
                .collect(),
            None => vec![],
        };
        self.delete_keys(namespace, data.iter()).await
    }

    async fn delete_keys(
        &self,
        namespace: &str,
        keys: impl Iterator<Item = &String>,
    ) -> Result<u64, StoreError> {
        let keys: Vec<Path> = keys.map(|key| self.locate(key)).collect();
        let path = self.locate(namespace);
        let delete = || {
            let keys = keys.clone().into_iter().map(Ok);
            self.delete_all(futures::stream::iter(keys).boxed())
        };
        let deleted = self.retry().run("delete", &path, delete).await?;
        deleted.map_err(|source| refused("delete", &path, source))
    }

    /// Removes the outputs of one stage of a query.
    pub async fn delete_stage(&self, namespace: &str, stage_id: u32) -> Result<u64, StoreError> {
        check_namespace(namespace)?;
        self.forget(|id| id.namespace == namespace && id.stage_id == stage_id);
        self.forget_local(|fan_out| format!("{fan_out:x}/{namespace}/{stage_id}/"));
        self.delete_below(|fan_out| format!("{fan_out:x}/{namespace}/{stage_id}"))
            .await
    }

    /// Forgets what is kept of queries of which nothing was written here for `age`: their removal was never asked for.
    pub fn forget_older(&self, age: Duration) {
        let old = self.sharing().map(|sharing| sharing.kept.older_than(age));
        for namespace in old.into_iter().flatten() {
            tracing::info!(namespace, "outputs of a forgotten query are removed");
            self.forget(|id| id.namespace == namespace);
            self.forget_local(|fan_out| format!("{fan_out:x}/{namespace}/"));
        }
    }

    fn forget(&self, gone: impl Fn(&MapOutputId) -> bool) {
        self.cache.forget(|(id, _)| gone(id));
        if let Some(sharing) = self.sharing() {
            sharing.forget(|output| gone(&output.id));
        }
    }

    fn forget_local(&self, directory: impl Fn(u32) -> String) {
        if let Some(local) = self.local() {
            let directories: Vec<String> = (0..FAN_OUT).map(directory).collect();
            local.forget(|key| directories.iter().any(|directory| key.starts_with(directory)));
        }
    }

    async fn delete_below(&self, directory: impl Fn(u32) -> String) -> Result<u64, StoreError> {
        let directories: Vec<Path> = (0..FAN_OUT)
            .map(|fan_out| self.locate(&directory(fan_out)))
            .collect();
        futures::stream::iter(directories)
            .map(|directory| async move {
                let answer = self
                    .retry()
                    .run("delete", &directory, || self.delete_directory(&directory))
                    .await?;
                answer.map_err(|source| refused("delete", &directory, source))
            })
            .buffer_unordered(CONCURRENT_DELETES)
            .try_fold(0, |sum, deleted| async move { Ok(sum + deleted) })
            .await
    }

    async fn delete_directory(&self, directory: &Path) -> object_store::Result<u64> {
        let found = self
            .object_store()
            .list(Some(directory))
            .map_ok(|meta| meta.location)
            .boxed();
        self.delete_all(found).await
    }

    /// What is already gone is no error, and does not count.
    pub(crate) async fn delete_all(
        &self,
        found: BoxStream<'static, object_store::Result<Path>>,
    ) -> object_store::Result<u64> {
        self.object_store()
            .delete_stream(found)
            .map(|answer| match answer {
                Ok(_) => Ok(1),
                Err(Error::NotFound { .. }) => Ok(0),
                Err(error) => Err(error),
            })
            .try_fold(0, |sum, one| async move { Ok(sum + one) })
            .await
    }
}
