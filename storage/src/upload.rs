use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::task::JoinSet;

use crate::StoreError;
use crate::retry::{RetryPolicy, is_transient, refused};

/// Bytes per part; S3 wants at least 5 MiB.
const PART_BYTES: usize = 8 << 20;
/// Parts on their way at the same time.
const PARTS_IN_FLIGHT: usize = 2;

/// One object under construction: one PUT when small, a multipart upload when large. Dropped unfinished, it removes what it has sent.
pub(crate) struct Upload {
    store: Arc<dyn ObjectStore>,
    path: Path,
    retry: RetryPolicy,
    buffer: Vec<Bytes>,
    buffered: usize,
    written: u64,
    multipart: Option<Box<dyn MultipartUpload>>,
    parts: JoinSet<object_store::Result<()>>,
}

impl Upload {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, path: Path, retry: RetryPolicy) -> Self {
        Self {
            store,
            path,
            retry,
            buffer: vec![],
            buffered: 0,
            written: 0,
            multipart: None,
            parts: JoinSet::new(),
        }
    }

    /// Bytes accepted so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Memory held, parts in flight included.
    pub(crate) fn memory(&self) -> usize {
        self.buffered + self.parts.len() * PART_BYTES
    }

    /// Appends bytes; waits when too much is in flight.
    pub(crate) async fn push(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.written += bytes.len() as u64;
        self.buffered += bytes.len();
        self.buffer.push(bytes);
        if self.buffered >= PART_BYTES {
            self.send_part().await?;
        }
        Ok(())
    }

    async fn send_part(&mut self) -> Result<(), StoreError> {
        while self.parts.len() >= PARTS_IN_FLIGHT {
            self.await_part().await?;
        }
        let payload = self.take_buffer();
        if self.multipart.is_none() {
            let upload = self
                .retry
                .run("create upload", &self.path, || {
                    self.store.put_multipart(&self.path)
                })
                .await?;
            self.multipart = Some(upload.map_err(|source| refused("create upload", &self.path, source))?);
        }
        if let Some(upload) = &mut self.multipart {
            self.parts.spawn(upload.put_part(payload));
        }
        Ok(())
    }

    async fn await_part(&mut self) -> Result<(), StoreError> {
        match self.parts.join_next().await {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(source))) => Err(self.failed("upload part", source)),
            Some(Err(source)) => Err(self.failed("upload part", object_store::Error::JoinError { source })),
        }
    }

    /// The client has repeated a part or an end as often as it may: the whole task is tried again.
    fn failed(&self, operation: &'static str, source: object_store::Error) -> StoreError {
        let key = self.path.to_string();
        // An upload that is gone (removed by a lifecycle rule, or by its own abort) is begun anew.
        if is_transient(&source) || matches!(source, object_store::Error::NotFound { .. }) {
            StoreError::Transient {
                operation,
                key,
                attempts: 1,
                source,
            }
        } else {
            StoreError::Refused {
                operation,
                key,
                source,
            }
        }
    }

    fn take_buffer(&mut self) -> PutPayload {
        self.buffered = 0;
        self.buffer.drain(..).collect()
    }

    /// All bytes, when they are at most `limit` and none of them was sent.
    pub(crate) fn whole(&self, limit: usize) -> Option<Bytes> {
        let little = self.multipart.is_none() && (1..=limit).contains(&self.buffered);
        little.then(|| self.buffer.concat().into())
    }

    /// Makes the object visible. Nothing is created for no bytes.
    pub(crate) async fn finish(mut self) -> Result<(), StoreError> {
        if self.multipart.is_none() {
            if self.written == 0 {
                return Ok(());
            }
            let payload = self.take_buffer();
            let answer = self
                .retry
                .run("put", &self.path, || self.store.put(&self.path, payload.clone()))
                .await?;
            return answer
                .map(|_| ())
                .map_err(|source| refused("put", &self.path, source));
        }
        if self.buffered > 0 {
            self.send_part().await?;
        }
        while !self.parts.is_empty() {
            self.await_part().await?;
        }
        if let Some(mut upload) = self.multipart.take()
            && let Err(source) = upload.complete().await
        {
            // Its end may have arrived although the answer did not, and a repeated end finds no upload any more.
            if self.is_complete().await {
                return Ok(());
            }
            self.multipart = Some(upload);
            return Err(self.failed("complete upload", source));
        }
        Ok(())
    }

    /// Whether the whole object is there: nobody else writes under its key.
    async fn is_complete(&mut self) -> bool {
        let (store, path) = (Arc::clone(&self.store), self.path.clone());
        let head = self.retry.run("head", &path, || store.head(&path)).await;
        matches!(head, Ok(Ok(found)) if found.size == self.written)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let (Some(mut upload), Ok(runtime)) = (self.multipart.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let mut parts = std::mem::take(&mut self.parts);
        let path = self.path.clone();
        runtime.spawn(async move {
            parts.shutdown().await;
            if let Err(error) = upload.abort().await {
                tracing::warn!(key = %path, %error, "an unfinished upload stays until the lifecycle rule of the bucket removes it");
            }
        });
    }
}
