//! Who may use how much of the executor's memory: each task its slots' part, what tasks share half of all, and all together no more than
//! there is.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

/// Gives memory back when it is asked for.
pub(crate) trait Reclaim: Send + Sync {
    /// Frees what nobody uses; whether there was anything.
    fn reclaim(&self) -> bool;
}

/// The memory of all tasks together, and of what they share.
pub(crate) struct Memory {
    limit: usize,
    used: AtomicUsize,
    reserve: OnceLock<Weak<dyn Reclaim>>,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
            reserve: OnceLock::new(),
        })
    }

    /// Names what is given up before a reservation is refused. Only the first call counts.
    pub(crate) fn reclaim_from(&self, reserve: Weak<dyn Reclaim>) {
        let _ = self.reserve.set(reserve);
    }

    /// The pool of a task that may use `bytes`.
    pub(crate) fn task_pool(self: &Arc<Self>, bytes: usize) -> Arc<dyn MemoryPool> {
        Arc::new(TaskPool {
            own: FairSpillPool::new(bytes),
            all: Arc::clone(self),
        })
    }

    /// The pool of what tasks share. There is one.
    pub(crate) fn shared_pool(self: &Arc<Self>) -> Arc<dyn MemoryPool> {
        Arc::new(SharedPool {
            limit: self.limit / 2,
            used: AtomicUsize::new(0),
            all: Arc::clone(self),
        })
    }

    /// Bytes in use.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::AcqRel);
    }

    fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
    }

    fn try_take(&self, reservation: &MemoryReservation, bytes: usize) -> Result<()> {
        let reserve = || self.reserve.get().and_then(Weak::upgrade);
        if grow(&self.used, bytes, self.limit)
            || (reserve().is_some_and(|reserve| reserve.reclaim()) && grow(&self.used, bytes, self.limit))
        {
            return Ok(());
        }
        Err(exhausted(reservation, bytes, "the executor", self.limit))
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.used.load(Ordering::Relaxed);
        write!(f, "Memory({used} of {} bytes)", self.limit)
    }
}

/// Adds to `used` unless it would exceed `limit`.
fn grow(used: &AtomicUsize, bytes: usize, limit: usize) -> bool {
    let grown = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= limit);
    used.fetch_update(Ordering::AcqRel, Ordering::Acquire, grown)
        .is_ok()
}

fn exhausted(reservation: &MemoryReservation, bytes: usize, who: &str, limit: usize) -> DataFusionError {
    let consumer = reservation.consumer().name();
    let has = reservation.size();
    DataFusionError::ResourcesExhausted(format!(
        "{consumer} has {has} bytes and needs {bytes} more: {who} has no more than {limit} in all"
    ))
}

#[derive(Debug)]
struct TaskPool {
    own: FairSpillPool,
    all: Arc<Memory>,
}

impl fmt::Display for TaskPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.own)
    }
}

impl MemoryPool for TaskPool {
    fn name(&self) -> &str {
        "task"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.own.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.own.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.own.grow(reservation, additional);
        self.all.take(additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.own.shrink(reservation, shrink);
        self.all.give(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.own.try_grow(reservation, additional)?;
        self.all
            .try_take(reservation, additional)
            .inspect_err(|_| self.own.shrink(reservation, additional))
    }

    fn reserved(&self) -> usize {
        self.own.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.own.memory_limit()
    }
}

#[derive(Debug)]
struct SharedPool {
    limit: usize,
    used: AtomicUsize,
    all: Arc<Memory>,
}

impl fmt::Display for SharedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shared(limit: {} bytes)", self.limit)
    }
}

impl MemoryPool for SharedPool {
    fn name(&self) -> &str {
        "shared"
    }

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        self.used.fetch_add(additional, Ordering::AcqRel);
        self.all.take(additional);
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        self.used.fetch_sub(shrink, Ordering::AcqRel);
        self.all.give(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if !grow(&self.used, additional, self.limit) {
            return Err(exhausted(reservation, additional, "shared data", self.limit));
        }
        self.all.try_take(reservation, additional).inspect_err(|_| {
            self.used.fetch_sub(additional, Ordering::AcqRel);
        })
    }

    fn reserved(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    struct Kept(Mutex<Vec<MemoryReservation>>);

    impl Reclaim for Kept {
        fn reclaim(&self) -> bool {
            !std::mem::take(&mut *self.0.lock().unwrap()).is_empty()
        }
    }

    fn reservation(pool: &Arc<dyn MemoryPool>) -> MemoryReservation {
        MemoryConsumer::new("test").register(pool)
    }

    #[test]
    fn tasks_and_what_they_share_stay_within_the_whole() {
        let memory = Memory::new(100);
        let (first, second, shared) = (memory.task_pool(50), memory.task_pool(50), memory.shared_pool());
        let (a, b, table) = (reservation(&first), reservation(&second), reservation(&shared));
        table.try_grow(51).unwrap_err();
        table.try_grow(30).unwrap();
        a.try_grow(51).unwrap_err();
        a.try_grow(50).unwrap();
        let full = b.try_grow(21).unwrap_err();
        assert!(matches!(full, DataFusionError::ResourcesExhausted(_)), "{full}");
        b.try_grow(20).unwrap();
        // Whatever was refused is not counted.
        drop((a, b, table));
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
        assert_eq!(
            (first.reserved(), second.reserved(), shared.reserved()),
            (0, 0, 0)
        );
    }

    #[test]
    fn unused_shared_data_makes_room_for_tasks() {
        let memory = Memory::new(100);
        let shared = memory.shared_pool();
        let table = reservation(&shared);
        table.try_grow(40).unwrap();
        let kept: Arc<dyn Reclaim> = Arc::new(Kept(Mutex::new(vec![table])));
        memory.reclaim_from(Arc::downgrade(&kept));
        let task = memory.task_pool(100);
        let rows = reservation(&task);
        rows.try_grow(60).unwrap();
        assert_eq!(shared.reserved(), 40, "there was room");
        rows.try_grow(30).unwrap();
        assert_eq!(shared.reserved(), 0);
        rows.try_grow(11).unwrap_err();
    }
}
