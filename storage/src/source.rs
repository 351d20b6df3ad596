use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use cne_proto::v1::BucketRange;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt};

use crate::checksum::BLOCK;
use crate::retry::refused;
use crate::store::lost;
use crate::windows::window_of;
use crate::{MapOutput, ShuffleStore, StoreError, StoredRecord};

/// Bytes that are fetched and checked at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Within the data object.
    pub(crate) bytes: Range<u64>,
    pub(crate) checksum: u32,
}

impl Block {
    fn check(&self, bytes: &Bytes) -> Result<(), &'static str> {
        if bytes.len() as u64 != self.bytes.end - self.bytes.start {
            Err("there are fewer bytes than the record says")
        } else if crc32fast::hash(bytes) != self.checksum {
            Err("the checksum is wrong")
        } else {
            Ok(())
        }
    }
}

/// The blocks of a bucket; `None` when the record does not have their checksums.
fn blocks_of(range: &BucketRange) -> Option<Vec<Block>> {
    let end = range.offset.checked_add(range.length)?;
    if range.length == 0 {
        return Some(vec![]);
    }
    if range.length <= BLOCK {
        return Some(vec![Block {
            bytes: range.offset..end,
            checksum: range.checksum,
        }]);
    }
    let starts = (range.offset..end).step_by(BLOCK as usize);
    let blocks: Vec<_> = starts
        .zip(&range.block_checksums)
        .map(|(from, checksum)| Block {
            bytes: from..(from + BLOCK).min(end),
            checksum: *checksum,
        })
        .collect();
    let expected = range.length.div_ceil(BLOCK);
    (blocks.len() as u64 == expected && range.block_checksums.len() as u64 == expected).then_some(blocks)
}

/// Where the bytes of a committed output come from: this executor's disk, else that of the executor that keeps it, else the store.
#[derive(Clone)]
pub(crate) struct Source {
    store: ShuffleStore,
    output: MapOutput,
    stored: Arc<StoredRecord>,
    path: Path,
}

impl Source {
    pub(crate) fn new(store: &ShuffleStore, output: &MapOutput, stored: &Arc<StoredRecord>) -> Self {
        Self {
            store: store.clone(),
            output: output.clone(),
            stored: Arc::clone(stored),
            path: store.locate(&stored.record.data_key),
        }
    }

    fn key(&self) -> &str {
        &self.stored.record.data_key
    }

    /// The blocks of a bucket.
    pub(crate) fn blocks(&self, range: &BucketRange) -> Result<Vec<Block>, StoreError> {
        blocks_of(range).ok_or_else(|| StoreError::Corrupt {
            key: self.key().to_string(),
            what: "the record has not one checksum for each block of a bucket".to_string(),
        })
    }

    /// A block of an output that is kept on this executor.
    pub(crate) async fn kept(&self, block: &Block) -> Result<Bytes, StoreError> {
        let bytes = self.at_hand(block).await;
        bytes.ok_or_else(|| lost(&self.output.id, "its copy on the executor cannot be read", false))
    }

    /// A block of an output whose record has its data.
    fn of_record(&self, block: &Block) -> Result<Bytes, StoreError> {
        let at = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let data = &self.stored.record.data;
        let within = at(block.bytes.start) <= at(block.bytes.end) && at(block.bytes.end) <= data.len();
        let bytes = match within {
            true => data.slice(at(block.bytes.start)..at(block.bytes.end)),
            false => Bytes::new(),
        };
        block
            .check(&bytes)
            .map(|()| bytes)
            .map_err(|what| StoreError::Corrupt {
                key: format!("{:?}", self.output.id),
                what: what.to_string(),
            })
    }

    /// All bytes of a bucket that is one block. Its neighbours come along and stay on this executor's disk: other tasks will ask for them.
    pub(crate) async fn bucket(&self, bucket: usize, block: Block) -> Result<Bytes, StoreError> {
        if !self.stored.record.data.is_empty() {
            return self.of_record(&block);
        }
        let window = window_of(&self.stored.record.buckets, bucket, self.store.window());
        let from_executor = || {
            self.store
                .sharing()
                .is_some_and(|sharing| sharing.holder(&self.output).is_some())
        };
        let stays = self.store.copies().is_some() || (self.store.local().is_some() && from_executor());
        let Some(window) = window.filter(|_| stays) else {
            return self.checked(block).await;
        };
        if let Some(bytes) = self.at_hand(&block).await {
            return Ok(bytes);
        }
        let fetch = || self.window(window.clone());
        let bytes = self.store.flights().join(self.key(), window.start, fetch).await?;
        let within = |at: u64| usize::try_from(at - window.start).unwrap_or(usize::MAX);
        let bucket = bytes.get(within(block.bytes.start)..within(block.bytes.end));
        // Not a slice: the bytes of the neighbours need not wait in memory until this bucket is decoded.
        let bucket = bucket.map(Bytes::copy_from_slice).unwrap_or_default();
        match block.check(&bucket) {
            Ok(()) => Ok(bucket),
            Err(what) => {
                tracing::warn!(key = self.key(), range = ?block.bytes, what, "damaged bytes are fetched again");
                self.discard(&block);
                self.fetched(block, 1).await
            }
        }
    }

    /// The bytes of a block.
    pub(crate) async fn checked(&self, block: Block) -> Result<Bytes, StoreError> {
        if !self.stored.record.data.is_empty() {
            return self.of_record(&block);
        }
        match self.at_hand(&block).await {
            Some(bytes) => Ok(bytes),
            None => self.fetched(block, 2).await,
        }
    }

    /// From this executor's disk, if they are there and not damaged.
    async fn at_hand(&self, block: &Block) -> Option<Bytes> {
        let local = self.store.local()?;
        let bytes = local.get(self.key(), block.bytes.clone()).await?;
        match block.check(&bytes) {
            Ok(()) => Some(bytes),
            Err(what) => {
                tracing::warn!(key = self.key(), range = ?block.bytes, what, "damaged bytes on this executor's disk");
                self.discard(block);
                None
            }
        }
    }

    fn discard(&self, block: &Block) {
        if let Some(local) = self.store.local() {
            local.discard(self.key(), block.bytes.clone());
        }
    }

    /// From its executor, else from the store. Damaged bytes may have been damaged on the way: they are fetched as often as `tries` says, the
    /// last time from the store.
    async fn fetched(&self, block: Block, tries: u32) -> Result<Bytes, StoreError> {
        let mut left = tries;
        loop {
            left = left.saturating_sub(1);
            let bytes = match left {
                0 => self.ask_store(block.bytes.clone()).await?,
                _ => self.fetch(block.bytes.clone()).await?,
            };
            let Err(what) = block.check(&bytes) else {
                return Ok(bytes);
            };
            tracing::warn!(key = self.key(), range = ?block.bytes, what, left, "damaged bytes were fetched");
            if left == 0 {
                return Err(StoreError::Corrupt {
                    key: self.path.to_string(),
                    what: what.to_string(),
                });
            }
        }
    }

    async fn window(&self, window: Range<u64>) -> Result<Bytes, StoreError> {
        let local = self.store.local();
        // Somebody else's request may just have ended.
        if let Some(local) = local
            && let Some(bytes) = local.get(self.key(), window.clone()).await
        {
            return Ok(bytes);
        }
        let bytes = self.fetch(window.clone()).await?;
        let whole = bytes.len() as u64 == window.end - window.start;
        if let Some(local) = local.filter(|_| whole) {
            local.put(self.key(), window.start, bytes.clone()).await;
        }
        Ok(bytes)
    }

    async fn fetch(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        match self.ask_holder(range.clone()).await {
            Some(bytes) => Ok(bytes),
            None => self.ask_store(range).await,
        }
    }

    async fn ask_holder(&self, range: Range<u64>) -> Option<Bytes> {
        let sharing = self.store.sharing()?;
        let holder = sharing.holder(&self.output)?;
        self.ask_executor(&holder, range).await
    }

    /// Of an output that is not in the store: its executor may have been paused, or busy.
    async fn ask_silent_holder(&self, range: Range<u64>) -> Option<Bytes> {
        let sharing = self.store.sharing()?;
        let holder = sharing.silent_holder(&self.output)?;
        self.ask_executor(&holder, range).await
    }

    async fn ask_executor(&self, holder: &Arc<str>, range: Range<u64>) -> Option<Bytes> {
        let sharing = self.store.sharing()?;
        let answer = sharing.peers.range(holder, self.key(), range);
        sharing.ask(holder, answer).await
    }

    async fn ask_store(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let store = self.store.object_store();
        let read = || store.get_range(&self.path, range.clone());
        match self.store.retry().run("read", &self.path, read).await? {
            Ok(bytes) => Ok(bytes),
            Err(Error::NotFound { .. }) => match self.ask_silent_holder(range).await {
                Some(bytes) => Ok(bytes),
                None => Err(self.lost().await?),
            },
            Err(source) => Err(refused("read", &self.path, source)),
        }
    }

    async fn lost(&self) -> Result<StoreError, StoreError> {
        let published = self.store.published_by(&self.output).await?.is_ok();
        Ok(lost(&self.output.id, "no data object", published))
    }
}
