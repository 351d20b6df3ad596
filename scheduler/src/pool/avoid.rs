use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use cne_task::codes;
use parking_lot::Mutex;

const FIRST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(60);

/// Executors that get no task for a while: tasks have failed there for a reason that may be the executor's own (its disk, its memory, its way
/// to the store), so that another one is the better place for the next attempt.
#[derive(Debug, Default)]
pub(super) struct Avoided(Mutex<HashMap<String, Entry>>);

#[derive(Debug)]
struct Entry {
    until: Instant,
    /// Of the last time.
    length: Duration,
}

/// Whether a failure with this code may be the executor's own.
pub(super) fn of_the_executor(code: &str) -> bool {
    [codes::OUT_OF_MEMORY, codes::DISK_FULL, codes::STORAGE]
        .iter()
        .any(|own| own.code == code)
}

impl Avoided {
    /// A task has failed there. Gives how long the executor is avoided; the longer the more often it happens.
    pub(super) fn add(&self, executor: &str) -> Duration {
        let mut avoided = self.0.lock();
        let now = Instant::now();
        // Quiet for long enough is well again.
        avoided.retain(|_, entry| entry.until + LONGEST > now);
        let length = match avoided.get(executor) {
            // Tasks that ran side by side fail side by side: that is once.
            Some(entry) if entry.until > now => return entry.until - now,
            Some(entry) => (entry.length * 2).min(LONGEST),
            None => FIRST,
        };
        let until = now + length;
        avoided.insert(executor.to_string(), Entry { until, length });
        length
    }

    /// The executors of `alive` that get tasks: all, when every one would be left out.
    pub(super) fn without(&self, alive: HashSet<String>) -> HashSet<String> {
        let avoided = self.0.lock();
        if avoided.is_empty() {
            return alive;
        }
        let now = Instant::now();
        let left_out = |id: &String| avoided.get(id).is_some_and(|entry| entry.until > now);
        let rest: HashSet<String> = alive.iter().filter(|id| !left_out(id)).cloned().collect();
        if rest.is_empty() { alive } else { rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executor_is_avoided_while_there_is_another_one() {
        let avoided = Avoided::default();
        let both = || HashSet::from(["a".to_string(), "b".to_string()]);
        assert_eq!(avoided.without(both()), both());
        assert_eq!(avoided.add("a"), FIRST);
        assert!(avoided.add("a") <= FIRST, "side by side");
        assert_eq!(avoided.without(both()), HashSet::from(["b".to_string()]));
        avoided.add("b");
        assert_eq!(avoided.without(both()), both());
        avoided.0.lock().get_mut("a").unwrap().until = Instant::now();
        assert_eq!(avoided.add("a"), FIRST * 2);
        assert!(of_the_executor("CNE-2006") && !of_the_executor("CNE-2001"));
    }
}
