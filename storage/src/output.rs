use std::sync::Arc;

use bytes::Bytes;
use cne_proto::v1::CommitRecord;

use crate::checksum::BLOCK;
use crate::local::LocalWriter;
use crate::upload::Upload;
use crate::{Committed, ShuffleStore, StoreError, WriterOptions};

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
pub(crate) struct Output {
    store: ShuffleStore,
    namespace: String,
    data_key: String,
    place: Place,
    /// What it was made from may not be in the store yet.
    after_inputs: bool,
    inline_bytes: usize,
}

enum Place {
    /// Sent to the store, and written to this executor's disk beside it, where there is room, so that tasks here read it without a request.
    Store {
        upload: Upload,
        copy: Option<LocalWriter>,
    },
    /// Written to this executor's disk.
    Disk { writer: LocalWriter, publish: bool },
}

impl Output {
    /// As its durability says; but what the disk has no room for goes to the store at once, also when too much waits for it already. And everything
    /// does where executors keep nothing for each other. What `settles` is not written
    /// behind.
    pub(crate) fn new(
        store: &ShuffleStore,
        options: &WriterOptions,
        namespace: &str,
        data_key: &str,
    ) -> Self {
        let durability = options.durability;
        let behind = durability == Durability::WriteBehind;
        let keeps = store
            .local()
            .filter(|local| store.sharing().is_some() && !local.is_crowded());
        let place = match (durability, keeps) {
            (Durability::Local | Durability::WriteBehind, Some(local)) if !(behind && options.settles) => {
                Place::Disk {
                    writer: local.writer(data_key.to_string()),
                    publish: behind,
                }
            }
            _ => Place::Store {
                upload: upload(store, namespace, data_key),
                copy: store.copies().map(|local| local.writer(data_key.to_string())),
            },
        };
        Self {
            store: store.clone(),
            namespace: namespace.to_string(),
            data_key: data_key.to_string(),
            place,
            after_inputs: behind,
            inline_bytes: options.inline_bytes,
        }
    }

    /// Bytes accepted so far.
    pub(crate) fn written(&self) -> u64 {
        match &self.place {
            Place::Store { upload, .. } => upload.written(),
            Place::Disk { writer, .. } => writer.written(),
        }
    }

    /// Memory held.
    pub(crate) fn memory(&self) -> usize {
        match &self.place {
            Place::Store { upload, .. } => upload.memory(),
            Place::Disk { .. } => 0,
        }
    }

    /// Appends bytes; waits when too much is in flight.
    pub(crate) async fn push(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        if let Place::Disk { writer, .. } = &mut self.place {
            match writer.push(bytes.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) => self.leave_disk(&error).await?,
            }
        }
        if let Place::Store { upload, copy } = &mut self.place {
            if let Some(writer) = copy
                && let Err(error) = writer.push(bytes.clone()).await
            {
                tracing::debug!(%error, "an output is not kept on disk");
                *copy = None;
            }
            upload.push(bytes).await?;
        }
        Ok(())
    }

    /// The disk is full, mostly: what was accepted goes to the store, and the rest after it.
    async fn leave_disk(&mut self, error: &std::io::Error) -> Result<(), StoreError> {
        tracing::info!(key = %self.data_key, %error, "an output that the disk has no room for goes to the store");
        let upload = upload(&self.store, &self.namespace, &self.data_key);
        let left = std::mem::replace(&mut self.place, Place::Store { upload, copy: None });
        if let (Place::Disk { mut writer, .. }, Place::Store { upload, .. }) = (left, &mut self.place) {
            let (length, rest) = writer.salvage().await;
            for from in (0..length).step_by(BLOCK as usize) {
                let bytes = writer.read(from..(from + BLOCK).min(length)).await;
                upload
                    .push(bytes.map_err(|source| StoreError::LocalDisk { source })?)
                    .await?;
            }
            upload.push(rest).await?;
        }
        Ok(())
    }

    /// Commits the output: `record` describes what was pushed.
    pub(crate) async fn commit(mut self, mut record: CommitRecord) -> Result<Committed, StoreError> {
        if let Place::Disk { writer, publish } = &mut self.place {
            let publish = *publish;
            match writer.finish(true).await {
                Ok(()) => return self.store.keep(record, publish),
                Err(error) => self.leave_disk(&error).await?,
            }
        }
        let Place::Store { upload, copy } = self.place else {
            // Left above.
            return self.store.keep(record, false);
        };
        let copy = match upload.whole(self.inline_bytes) {
            Some(data) => {
                self.store.forget_put(&self.namespace, &self.data_key);
                record.data_key.clear();
                record.data = data;
                None
            }
            None => {
                upload.finish().await?;
                copy
            }
        };
        let committed = match self.after_inputs {
            true => self.store.commit_after_inputs(record).await?,
            false => self.store.commit(record).await?,
        };
        if let Some(mut copy) = copy.filter(|_| committed.won)
            && let Err(error) = copy.finish(false).await
        {
            tracing::debug!(%error, "an output is not kept on disk");
        }
        Ok(committed)
    }
}

fn upload(store: &ShuffleStore, namespace: &str, data_key: &str) -> Upload {
    store.note_put(namespace, data_key.to_string());
    Upload::new(
        Arc::clone(store.object_store()),
        store.locate(data_key),
        store.retry(),
    )
}
