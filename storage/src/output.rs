use bytes::Bytes;

use crate::StoreError;
use crate::local::LocalWriter;
use crate::upload::Upload;

/// The data object of an attempt under construction: sent to the store, and written to this executor's disk beside it, where there is room, so
/// that tasks here read it without a request.
pub(crate) struct Output {
    upload: Upload,
    copy: Option<LocalWriter>,
}

impl Output {
    pub(crate) fn new(upload: Upload, copy: Option<LocalWriter>) -> Self {
        Self { upload, copy }
    }

    /// Bytes accepted so far.
    pub(crate) fn written(&self) -> u64 {
        self.upload.written()
    }

    /// Memory held.
    pub(crate) fn memory(&self) -> usize {
        self.upload.memory()
    }

    /// Appends bytes; waits when too much is in flight.
    pub(crate) async fn push(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        if let Some(copy) = &mut self.copy
            && let Err(error) = copy.push(bytes.clone()).await
        {
            tracing::debug!(%error, "an output is not kept on disk");
            self.copy = None;
        }
        self.upload.push(bytes).await
    }

    /// Makes the object visible in the store. What comes back is the copy, to be finished when the attempt has won.
    pub(crate) async fn finish(self) -> Result<Copy, StoreError> {
        self.upload.finish().await?;
        Ok(Copy(self.copy))
    }
}

/// The copy on this executor's disk. Dropped, it is removed.
pub(crate) struct Copy(Option<LocalWriter>);

impl Copy {
    /// Lets tasks of this executor read it.
    pub(crate) async fn publish(self) {
        if let Some(copy) = self.0
            && let Err(error) = copy.finish(false).await
        {
            tracing::debug!(%error, "an output is not kept on disk");
        }
    }
}
