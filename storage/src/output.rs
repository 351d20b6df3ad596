use std::sync::Arc;

use bytes::Bytes;
use cne_proto::v1::CommitRecord;

use crate::local::LocalWriter;
use crate::upload::Upload;
use crate::{Committed, ShuffleStore, StoreError};

/// When an output counts as committed, and so how much of finished work an executor takes along when it is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on its executor's disk. It never goes further, unless the executor is drained.
    Local,
    /// When it is on its executor's disk. It goes into the store behind the task.
    WriteBehind,
    /// When its record is in the store.
    #[default]
    Store,
}

/// The data object of an attempt under construction.
pub(crate) enum Output {
    /// Sent to the store, and written to this executor's disk beside it, where there is room, so that tasks here read it without a request.
    Stored {
        upload: Upload,
        copy: Option<LocalWriter>,
    },
    /// Written to this executor's disk.
    Kept { writer: LocalWriter, publish: bool },
}

impl Output {
    /// As `durability` says. What should go into the store anyway goes there at once when this executor has too much that waits for it already;
    /// and everything does where executors keep nothing for each other.
    pub(crate) fn new(store: &ShuffleStore, durability: Durability, namespace: &str, data_key: &str) -> Self {
        let local = store.local();
        if let (Some(local), Some(_)) = (local, store.sharing()) {
            let publish = durability == Durability::WriteBehind;
            if durability == Durability::Local || (publish && !local.is_crowded()) {
                let writer = local.writer(data_key.to_string());
                return Self::Kept { writer, publish };
            }
        }
        store.note_put(namespace, data_key.to_string());
        let upload = Upload::new(
            Arc::clone(store.object_store()),
            store.locate(data_key),
            store.retry(),
        );
        let copy = store.copies().map(|local| local.writer(data_key.to_string()));
        Self::Stored { upload, copy }
    }

    /// Bytes accepted so far.
    pub(crate) fn written(&self) -> u64 {
        match self {
            Self::Stored { upload, .. } => upload.written(),
            Self::Kept { writer, .. } => writer.written(),
        }
    }

    /// Memory held.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Stored { upload, .. } => upload.memory(),
            Self::Kept { .. } => 0,
        }
    }

    /// Appends bytes; waits when too much is in flight.
    pub(crate) async fn push(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        match self {
            Self::Stored { upload, copy } => {
                if let Some(writer) = copy
                    && let Err(error) = writer.push(bytes.clone()).await
                {
                    tracing::debug!(%error, "an output is not kept on disk");
                    *copy = None;
                }
                upload.push(bytes).await
            }
            Self::Kept { writer, .. } => writer.push(bytes).await.map_err(unkept),
        }
    }

    /// Commits the output: `record` describes what was pushed.
    pub(crate) async fn commit(
        self,
        store: &ShuffleStore,
        record: CommitRecord,
    ) -> Result<Committed, StoreError> {
        match self {
            Self::Stored { upload, copy } => {
                upload.finish().await?;
                let committed = store.commit(record).await?;
                if let Some(copy) = copy.filter(|_| committed.won)
                    && let Err(error) = copy.finish(false).await
                {
                    tracing::debug!(%error, "an output is not kept on disk");
                }
                Ok(committed)
            }
            Self::Kept { writer, publish } => {
                writer.finish(true).await.map_err(unkept)?;
                store.keep(record, publish)
            }
        }
    }
}

fn unkept(source: std::io::Error) -> StoreError {
    StoreError::LocalDisk { source }
}
