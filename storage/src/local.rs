//! Parts of data objects on this executor's own disk: what its tasks wrote, and what they fetched.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

/// A disk that failed (is full, mostly) is left alone for this time.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// A directory of this process alone with parts of immutable objects, named by key and range. When they are more than the quota, those go that
/// were not used for longest; what is kept is not let go.
///
/// Reads and writes are done on blocking threads. A part that cannot be read is as if it were not there.
#[derive(Debug)]
pub struct LocalParts {
    directory: PathBuf,
    quota: u64,
    next_file: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By key and first byte. Parts of one object do not overlap usually; if they do, any of them serves.
    objects: HashMap<String, BTreeMap<u64, Part>>,
    /// Of the parts that may be let go.
    by_age: BTreeMap<u64, (String, u64)>,
    clock: u64,
    bytes: u64,
    kept_bytes: u64,
    /// When a write failed last.
    failed: Option<Instant>,
}

#[derive(Debug)]
struct Part {
    file: u64,
    end: u64,
    /// `None` while it is kept.
    age: Option<u64>,
}

/// What a [`LocalParts`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalUsage {
    /// Bytes on disk.
    pub bytes: u64,
    /// Those of them that are not let go.
    pub kept_bytes: u64,
    /// Number of parts.
    pub parts: u64,
}

impl State {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The file of the part that covers `range`, which is used now, and the part's first byte.
    fn find(&mut self, key: &str, range: &Range<u64>) -> Option<(u64, u64)> {
        let now = self.tick();
        let parts = self.objects.get_mut(key)?;
        let (start, part) = parts.range_mut(..=range.start).next_back()?;
        if part.end < range.end {
            return None;
        }
        if let Some(age) = part.age {
            self.by_age.remove(&age);
            self.by_age.insert(now, (key.to_string(), *start));
            part.age = Some(now);
        }
        Some((part.file, *start))
    }

    fn insert(&mut self, key: &str, start: u64, part: Part) -> Option<u64> {
        match part.age {
            Some(age) => drop(self.by_age.insert(age, (key.to_string(), start))),
            None => self.kept_bytes += part.end - start,
        }
        let parts = self.objects.entry(key.to_string()).or_default();
        let old = parts.insert(start, part)?;
        self.uncount(start, &old);
        Some(old.file)
    }

    fn remove(&mut self, key: &str, start: u64) -> Option<u64> {
        let parts = self.objects.get_mut(key)?;
        let part = parts.remove(&start)?;
        if parts.is_empty() {
            self.objects.remove(key);
        }
        self.uncount(start, &part);
        Some(part.file)
    }

    fn uncount(&mut self, start: u64, part: &Part) {
        let bytes = part.end - start;
        self.bytes -= bytes;
        match part.age {
            Some(age) => drop(self.by_age.remove(&age)),
            None => self.kept_bytes -= bytes,
        }
    }

    /// Counts `bytes` that will be written, after letting others go. `Err` when what is kept leaves no room.
    fn reserve(&mut self, bytes: u64, quota: u64) -> Result<Vec<u64>, ()> {
        if self.kept_bytes.saturating_add(bytes) > quota {
            return Err(());
        }
        let mut let_go = vec![];
        while self.bytes + bytes > quota {
            // What is being written is neither kept nor let go yet.
            let Some((_, (key, start))) = self.by_age.first_key_value() else {
                break;
            };
            let (key, start) = (key.clone(), *start);
            let_go.extend(self.remove(&key, start));
        }
        if self.bytes + bytes > quota {
            return Err(());
        }
        self.bytes += bytes;
        Ok(let_go)
    }
}

impl LocalParts {
    /// Uses `directory`, which is made, and up to `quota` bytes in it.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn open(directory: PathBuf, quota: u64) -> io::Result<Arc<Self>> {
        std::fs::create_dir_all(&directory)?;
        Ok(Arc::new(Self {
            directory,
            quota,
            next_file: AtomicU64::new(0),
            state: Mutex::default(),
        }))
    }

    /// What is there now.
    pub fn usage(&self) -> LocalUsage {
        let state = self.state.lock();
        let parts: usize = state.objects.values().map(BTreeMap::len).sum();
        LocalUsage {
            bytes: state.bytes,
            kept_bytes: state.kept_bytes,
            parts: parts as u64,
        }
    }

    /// Whether half of the room is taken by what is kept, or the disk failed lately: then nothing more should be kept.
    pub(crate) fn is_crowded(&self) -> bool {
        let state = self.state.lock();
        state.kept_bytes >= self.quota / 2
            || state
                .failed
                .is_some_and(|failed| failed.elapsed() < AFTER_FAILURE)
    }

    fn path(&self, file: u64) -> PathBuf {
        self.directory.join(file.to_string())
    }

    fn new_file(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    fn unlink(&self, files: Vec<u64>) {
        if files.is_empty() {
            return;
        }
        let paths: Vec<PathBuf> = files.into_iter().map(|file| self.path(file)).collect();
        // A reader that has one open reads on.
        let unlink = move || paths.iter().for_each(|path| drop(std::fs::remove_file(path)));
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(unlink)),
            Err(_) => unlink(),
        }
    }

    fn release(&self, bytes: u64) {
        self.state.lock().bytes -= bytes;
    }

    /// The bytes `range` of object `key`, if one part has all of them. They are as they lie on the disk: not checked.
    pub(crate) async fn get(&self, key: &str, range: Range<u64>) -> Option<Bytes> {
        let (file, start) = self.state.lock().find(key, &range)?;
        let path = self.path(file);
        let length = usize::try_from(range.end - range.start).ok()?;
        let read = tokio::task::spawn_blocking(move || -> io::Result<Bytes> {
            let mut bytes = vec![0; length];
            File::open(path)?.read_exact_at(&mut bytes, range.start - start)?;
            Ok(bytes.into())
        });
        match read.await {
            Ok(Ok(bytes)) => Some(bytes),
            Ok(Err(error)) => {
                // Let go by another thread just now, perhaps.
                tracing::debug!(key, %error, "a part is not read from disk");
                None
            }
            Err(_) => None,
        }
    }

    /// Removes the part that would serve `range`: its bytes are not what they should be.
    pub(crate) fn discard(&self, key: &str, range: Range<u64>) {
        let mut state = self.state.lock();
        let found = state.find(key, &range).map(|(_, start)| start);
        let file = found.and_then(|start| state.remove(key, start));
        drop(state);
        self.unlink(file.into_iter().collect());
    }

    /// Stores a part that may be let go. Without room for it, it is not stored. Goes on when the caller is stopped.
    pub(crate) async fn put(self: &Arc<Self>, key: &str, start: u64, bytes: Bytes) {
        let length = bytes.len() as u64;
        let Ok(let_go) = self.state.lock().reserve(length, self.quota) else {
            return;
        };
        self.unlink(let_go);
        let (parts, key) = (Arc::clone(self), key.to_string());
        let written = tokio::task::spawn_blocking(move || {
            let file = parts.new_file();
            match std::fs::write(parts.path(file), bytes) {
                Ok(()) => parts.add(&key, start, length, file, false),
                Err(error) => {
                    tracing::debug!(key, %error, "a fetched part is not kept on disk");
                    parts.state.lock().failed = Some(Instant::now());
                    parts.release(length);
                    parts.unlink(vec![file]);
                }
            }
        });
        // Nothing to be done when the process ends.
        let _ = written.await;
    }

    /// What was reserved is there now.
    fn add(&self, key: &str, start: u64, length: u64, file: u64, keep: bool) {
        let mut state = self.state.lock();
        let age = match keep {
            true => None,
            false => Some(state.tick()),
        };
        let end = start + length;
        let old = state.insert(key, start, Part { file, end, age });
        drop(state);
        self.unlink(old.into_iter().collect());
    }

    /// Begins a whole object that is written on this executor.
    pub(crate) fn writer(self: &Arc<Self>, key: String) -> LocalWriter {
        let file = self.new_file();
        LocalWriter {
            parts: Arc::clone(self),
            key,
            file,
            written: 0,
            settled: 0,
            unsettled: Bytes::new(),
            pending: None,
            open: None,
            finished: false,
        }
    }

    /// From now on the parts of `key` may be let go.
    pub(crate) fn let_go(&self, key: &str) {
        let mut state = self.state.lock();
        let now = state.tick();
        let state = &mut *state;
        let Some(parts) = state.objects.get_mut(key) else {
            return;
        };
        for (nth, (start, part)) in parts
            .iter_mut()
            .enumerate()
            .filter(|(_, (_, part))| part.age.is_none())
        {
            part.age = Some(now + nth as u64);
            state.kept_bytes -= part.end - start;
            state.by_age.insert(now + nth as u64, (key.to_string(), *start));
        }
        state.clock = now + parts.len() as u64;
    }

    /// Removes all parts of the objects that are `gone`, kept ones too.
    pub(crate) fn forget(&self, gone: impl Fn(&str) -> bool) {
        let mut state = self.state.lock();
        let keys: Vec<String> = state.objects.keys().filter(|key| gone(key)).cloned().collect();
        let mut files = vec![];
        for key in keys {
            let parts = state.objects.remove(&key).unwrap_or_default();
            for (start, part) in parts {
                state.uncount(start, &part);
                files.push(part.file);
            }
        }
        drop(state);
        self.unlink(files);
    }
}

/// A whole object that is being written. Dropped unfinished, nothing of it stays.
pub(crate) struct LocalWriter {
    parts: Arc<LocalParts>,
    key: String,
    file: u64,
    /// Bytes that are counted.
    written: u64,
    /// Those of them that are in the file for sure.
    settled: u64,
    /// The rest, while it is being written and when that has failed.
    unsettled: Bytes,
    pending: Option<JoinHandle<io::Result<File>>>,
    open: Option<File>,
    finished: bool,
}

impl LocalWriter {
    /// Bytes appended so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Appends bytes. The write before has ended when this returns. After an error nothing more can be appended, and these bytes were not.
    ///
    /// # Errors
    /// The disk's, also of the write before, and `QuotaExceeded`.
    pub(crate) async fn push(&mut self, bytes: Bytes) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.settle().await?;
        let length = bytes.len() as u64;
        let reserved = self.parts.state.lock().reserve(length, self.parts.quota);
        let let_go = reserved.map_err(|()| io::Error::from(io::ErrorKind::QuotaExceeded))?;
        self.written += length;
        self.parts.unlink(let_go);
        self.unsettled = bytes.clone();
        let (path, open) = (self.parts.path(self.file), self.open.take());
        self.pending = Some(tokio::task::spawn_blocking(move || {
            let mut file = match open {
                Some(file) => file,
                None => File::create_new(path)?,
            };
            file.write_all(&bytes)?;
            Ok(file)
        }));
        Ok(())
    }

    async fn settle(&mut self) -> io::Result<()> {
        let Some(write) = self.pending.take() else {
            return match self.unsettled.is_empty() {
                true => Ok(()),
                false => Err(io::Error::other("a write before has failed")),
            };
        };
        match write.await? {
            Ok(file) => {
                self.settled += std::mem::take(&mut self.unsettled).len() as u64;
                self.open = Some(file);
                Ok(())
            }
            Err(error) => {
                self.parts.state.lock().failed = Some(Instant::now());
                Err(error)
            }
        }
    }

    /// Makes the object readable here. With `keep`, it is not let go.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) async fn finish(&mut self, keep: bool) -> io::Result<()> {
        self.settle().await?;
        self.finished = true;
        if self.written > 0 {
            self.parts.add(&self.key, 0, self.written, self.file, keep);
        }
        Ok(())
    }

    /// What is left after an error: the first so many bytes can be read, the others are given.
    pub(crate) async fn salvage(&mut self) -> (u64, Bytes) {
        // Whether it succeeds or not, both are right then.
        let _ = self.settle().await;
        (self.settled, self.unsettled.clone())
    }

    /// Reads what is settled.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let path = self.parts.path(self.file);
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).map_err(io::Error::other)?];
            File::open(path)?.read_exact_at(&mut bytes, range.start)?;
            Ok(Bytes::from(bytes))
        });
        read.await?
    }
}

impl Drop for LocalWriter {
    fn drop(&mut self) {
        if self.written == 0 || self.finished {
            return;
        }
        self.parts.release(self.written);
        let (parts, file, pending) = (Arc::clone(&self.parts), self.file, self.pending.take());
        match (tokio::runtime::Handle::try_current(), pending) {
            // The file may be about to be made.
            (Ok(runtime), Some(pending)) => drop(runtime.spawn(async move {
                let _ = pending.await;
                parts.unlink(vec![file]);
            })),
            _ => parts.unlink(vec![file]),
        }
    }
}
