use std::time::{Duration, SystemTime};

use futures::StreamExt;
use object_store::{Error, ObjectStore, PutMode, PutPayload};

use crate::retry::refused;
use crate::{ShuffleStore, StoreError};

/// Removed at the same time.
const CHUNK: usize = 1000;

/// What a sweep has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Objects below the prefix.
    pub seen: u64,
    /// Those of them that were removed.
    pub removed: u64,
}

/// How often a pool sweeps while it has executors, as a part of the age.
const SWEEPS_PER_AGE: u32 = 4;
/// Executors that start together ask within this time.
const SPREAD: Duration = Duration::from_secs(60);
/// Between two removals of up to a thousand objects.
const PAUSE: Duration = Duration::from_millis(500);

impl ShuffleStore {
    /// Sweeps now and then, for ever: of a pool's executors one in each interval.
    pub async fn sweep_for_ever(self, age: Duration) {
        let every = age / SWEEPS_PER_AGE;
        loop {
            tokio::time::sleep(SPREAD.min(every).mul_f64(rand::random())).await;
            let swept = match self.claim_sweep(every).await {
                Ok(true) => self.sweep(age, PAUSE).await,
                Ok(false) => Ok(Swept::default()),
                Err(error) => Err(error),
            };
            match swept {
                Ok(Swept { removed: 0, seen }) => tracing::debug!(seen, "storage swept"),
                Ok(Swept { removed, seen }) => {
                    tracing::info!(seen, removed, "leftovers removed from storage")
                }
                Err(error) => tracing::warn!(%error, "storage is not swept"),
            }
            tokio::time::sleep(every).await;
        }
    }

    /// Whether this process is the one to sweep in the current interval of `every`: all of a pool ask, one is told so.
    ///
    /// # Errors
    /// The store's.
    pub async fn claim_sweep(&self, every: Duration) -> Result<bool, StoreError> {
        let since = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let interval = since.as_secs() / every.as_secs().max(1);
        // Swept as everything else is, later.
        let path = self.locate(&format!("sweeps/{interval}"));
        let payload = PutPayload::from_static(b"");
        let create = || {
            self.object_store()
                .put_opts(&path, payload.clone(), PutMode::Create.into())
        };
        match self.retry().run("claim sweep", &path, create).await? {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
            Err(source) => Err(refused("claim sweep", &path, source)),
        }
    }

    /// Removes every object below the prefix that is older than `age`: what jobs left whose removal nobody asked for. One page of a listing is
    /// looked at a time, with `pause` between removals.
    ///
    /// # Errors
    /// The store's. What was not looked at is left to the next sweep.
    pub async fn sweep(&self, age: Duration, pause: Duration) -> Result<Swept, StoreError> {
        let prefix = self.prefix().clone();
        let failed = |source| refused("sweep", &prefix, source);
        let before = SystemTime::now() - age;
        let mut swept = Swept::default();
        let mut found = self.object_store().list(Some(&prefix)).chunks(CHUNK);
        while let Some(page) = found.next().await {
            let mut old = vec![];
            for meta in page {
                match meta {
                    Ok(meta) => {
                        swept.seen += 1;
                        if SystemTime::from(meta.last_modified) < before {
                            old.push(Ok(meta.location));
                        }
                    }
                    // Removed meanwhile.
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            if old.is_empty() {
                continue;
            }
            let old = futures::stream::iter(old).boxed();
            swept.removed += self.delete_all(old).await.map_err(failed)?;
            tokio::time::sleep(pause).await;
        }
        Ok(swept)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::TryStreamExt;
    use object_store::ObjectStoreExt;
    use object_store::path::Path;

    use super::*;
    use crate::tests::{attempt, context, first, schema, write};
    use crate::{ClientOptions, MapOutputId, WriterOptions, open_store};

    #[tokio::test]
    async fn a_sweep_removes_what_is_old_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("file://{}", directory.path().display());
        let (object_store, _) = open_store(&url, &ClientOptions::default()).unwrap();
        let store = ShuffleStore::new(Arc::clone(&object_store), Path::from("pool"));
        for job in ["old", "new"] {
            let id = MapOutputId::new(job, 1, 0);
            let options = WriterOptions::default();
            let mut writer = store
                .writer(id, attempt(0), schema(), 2, &context(1 << 30), options)
                .unwrap();
            write(&mut writer, 100, 2).await;
            writer.finish(vec![]).await.unwrap();
        }
        object_store
            .put(&Path::from("other/tenant"), "x".into())
            .await
            .unwrap();
        let day = std::time::Duration::from_secs(86_400);
        let objects: Vec<_> = object_store.list(None).try_collect().await.unwrap();
        for object in objects
            .iter()
            .filter(|object| !object.location.as_ref().contains("new"))
        {
            let path = directory.path().join(object.location.as_ref());
            let file = std::fs::File::options().append(true).open(path).unwrap();
            file.set_modified(std::time::SystemTime::now() - 2 * day).unwrap();
        }
        let swept = store.sweep(day, std::time::Duration::ZERO).await.unwrap();
        assert_eq!((swept.seen, swept.removed), (4, 2));
        assert!(store.record(&first(&MapOutputId::new("new", 1, 0))).await.is_ok());
        assert!(object_store.head(&Path::from("other/tenant")).await.is_ok());

        let claims = [
            store.claim_sweep(day).await.unwrap(),
            store.claim_sweep(day).await.unwrap(),
        ];
        assert!(!claims[1], "once in an interval");
    }
}
