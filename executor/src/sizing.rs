//! How many tasks run at the same time, and how much memory they get, within the limits of the container.

use std::num::NonZeroUsize;

use cne_startup::Limits;

/// A task with less could not even hold a few batches.
pub(crate) const LEAST_OF_A_TASK: usize = 16 << 20;

const MIB: u64 = 1 << 20;
/// Memory of all tasks where nothing limits it.
const WITHOUT_LIMIT: u64 = 2048 * MIB;
/// What the process takes beside its tasks: code, threads, connections, cache of footers.
const PROCESS: u64 = 96 * MIB;
/// What a running task takes that no pool counts: compressed and decoded pages, buffers of readers and writers.
const UNCOUNTED_OF_A_TASK: u64 = 48 * MIB;
/// Of what is left, this share is given to the pools. The rest is for allocations that are larger than what was asked for, and for
/// memory that was given back to the allocator and not to the system.
const SHARE_PERCENT: u64 = 60;

/// What an executor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizing {
    /// Tasks at the same time.
    pub(crate) slots: NonZeroUsize,
    /// Bytes of memory of all tasks together, as pools count it.
    pub(crate) memory: u64,
}

/// Why an executor would be killed rather than work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizingError {
    /// The container's limit leaves tasks too little.
    #[error(
        "the container's memory limit of {} MiB is too small for {slots} task slots: raise it to {} MiB at least, or lower CNE_TASK_SLOTS",
        limit / MIB, needed.div_ceil(MIB)
    )]
    TooSmall {
        /// The limit, in bytes.
        limit: u64,
        /// Tasks at the same time.
        slots: usize,
        /// The smallest limit that is enough for them, in bytes.
        needed: u64,
    },
    /// The setting leaves too little of the container's limit for everything else.
    #[error(
        "CNE_MEMORY_BYTES is {} MiB, and the container's memory limit of {} MiB leaves room for {} MiB with {slots} task slots: lower it, or leave it out for the default of {} MiB",
        memory.div_ceil(MIB), limit / MIB, room / MIB, default / MIB
    )]
    TooMuch {
        /// What was asked for, in bytes.
        memory: u64,
        /// The limit, in bytes.
        limit: u64,
        /// The most that can be asked for, in bytes.
        room: u64,
        /// What the executor would take by itself, in bytes.
        default: u64,
        /// Tasks at the same time.
        slots: usize,
    },
}

impl Sizing {
    /// What was asked for, else what the limits suggest.
    ///
    /// # Errors
    /// A memory limit under which the executor would be killed.
    pub(crate) fn new(
        limits: &Limits,
        slots: Option<NonZeroUsize>,
        memory: Option<u64>,
    ) -> Result<Self, SizingError> {
        let slots = slots.unwrap_or_else(|| limits.parallelism());
        let Some(limit) = limits.memory else {
            let memory = memory.unwrap_or(WITHOUT_LIMIT);
            return Ok(Self { slots, memory });
        };
        let tasks = slots.get() as u64;
        let beside = PROCESS.saturating_add(tasks.saturating_mul(UNCOUNTED_OF_A_TASK));
        let least = tasks.saturating_mul(LEAST_OF_A_TASK as u64);
        let room = limit.saturating_sub(beside);
        let share = room / 100 * SHARE_PERCENT;
        if share < least {
            return Err(SizingError::TooSmall {
                limit,
                slots: slots.get(),
                needed: beside.saturating_add((least / SHARE_PERCENT).saturating_add(1).saturating_mul(100)),
            });
        }
        // Pools never have less than the least: what is asked for below it counts as that.
        match memory.map(|memory| memory.max(least)) {
            Some(memory) if memory > room => Err(SizingError::TooMuch {
                memory,
                limit,
                room,
                default: share,
                slots: slots.get(),
            }),
            Some(memory) => Ok(Self { slots, memory }),
            None => Ok(Self { slots, memory: share }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(memory: u64) -> Limits {
        Limits {
            memory: Some(memory),
            cpus: NonZeroUsize::new(1),
        }
    }

    #[test]
    fn a_share_of_the_limit_and_the_old_default_without_one() {
        let free = Sizing::new(&Limits::default(), NonZeroUsize::new(3), None).unwrap();
        assert_eq!((free.slots.get(), free.memory), (3, WITHOUT_LIMIT));
        let small = Sizing::new(&limits(512 * MIB), None, None).unwrap();
        assert_eq!(small.slots.get(), 1);
        assert_eq!(small.memory, (512 - 96 - 48) * MIB / 100 * 60);
        let large = Sizing::new(&limits(16 << 30), NonZeroUsize::new(4), None).unwrap();
        assert!(large.memory > 9 << 30 && large.memory < 10 << 30);
    }

    #[test]
    fn a_limit_that_is_too_small_is_refused_and_the_one_it_names_is_enough() {
        let slots = NonZeroUsize::new(4);
        let error = Sizing::new(&limits(256 * MIB), slots, None).unwrap_err();
        let SizingError::TooSmall { needed, .. } = error else {
            panic!("{error}")
        };
        assert!(
            error
                .to_string()
                .contains("256 MiB is too small for 4 task slots"),
            "{error}"
        );
        // Also when the message's megabytes are given.
        let enough = Sizing::new(&limits(needed.div_ceil(MIB) * MIB), slots, None).unwrap();
        assert!(enough.memory >= 4 * LEAST_OF_A_TASK as u64);
        Sizing::new(&limits(needed - MIB), slots, None).unwrap_err();
    }

    #[test]
    fn a_setting_wins_unless_it_would_get_the_process_killed() {
        let one = NonZeroUsize::new(1);
        let chosen = Sizing::new(&limits(512 * MIB), one, Some(300 * MIB)).unwrap();
        assert_eq!(chosen.memory, 300 * MIB);
        let error = Sizing::new(&limits(512 * MIB), one, Some(2048 * MIB)).unwrap_err();
        assert!(
            matches!(error, SizingError::TooMuch { room, .. } if room == 368 * MIB),
            "{error}"
        );
    }
}
