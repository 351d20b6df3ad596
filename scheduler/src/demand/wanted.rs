use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use cne_settings::SchedulerSettings;

/// What a pool may be scaled to, and how fast.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Fewest executors, whatever there is to do.
    pub min: u32,
    /// Most executors.
    pub max: u32,
    /// A backlog that has waited for less is left to the executors that are there.
    pub patience: Duration,
    /// Fewer executors are wanted only when no more were needed for so long.
    pub cool_down: Duration,
    /// Most executors by which the wanted number grows within `burst_period`.
    pub burst: u32,
    /// See `burst`.
    pub burst_period: Duration,
    /// Slots that an executor is expected to have as long as none was seen.
    pub slots: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            min: 0,
            max: 10,
            patience: Duration::from_secs(2),
            cool_down: Duration::from_secs(60),
            burst: 10,
            burst_period: Duration::from_secs(30),
            slots: 4,
        }
    }
}

impl Policy {
    /// As the settings say.
    pub fn from_settings(settings: &SchedulerSettings) -> Self {
        Self {
            min: settings.scale_min_executors,
            max: settings.scale_max_executors,
            patience: settings.scale_patience,
            cool_down: settings.scale_cool_down,
            burst: settings.scale_burst,
            burst_period: settings.scale_burst_period,
            slots: settings.scale_slots,
        }
    }
}

/// What there is to do and who is there, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Executors that are there and not leaving.
    pub registered: u32,
    /// Slots of one executor.
    pub slots: u32,
    /// Tasks that could start now.
    pub runnable: u32,
    /// Tasks that run.
    pub running: u32,
    /// How long there has been something to start without a break, of the stage that has waited longest.
    pub waited: Duration,
    /// Queries that have not ended.
    pub queries: u32,
    /// Successful queries of whose result nobody has read every partition, and whose lease has not ended.
    pub unread: u32,
    /// Readers that ask for an executor and got none lately.
    pub readers: u32,
}

impl Snapshot {
    /// Executors that would be right for this moment, without regard to the past.
    pub fn needed(&self, patience: Duration) -> u32 {
        let slots = self.slots.max(1);
        let all = self.running.saturating_add(self.runnable).div_ceil(slots);
        let tasks = if self.registered == 0 || self.waited >= patience {
            all
        } else {
            // Those that are there will have it done in a moment.
            all.min(self.registered).max(self.running.div_ceil(slots))
        };
        // One can plan, wait for the next stage, or serve a result, however little that is.
        let any = self.queries > 0 || self.unread > 0 || self.readers > 0;
        tasks.max(u32::from(any))
    }
}

/// The wanted number of executors over time.
#[derive(Debug)]
pub struct Wanted {
    policy: Policy,
    started: Instant,
    now: u32,
    // What was needed within the cool-down; only what could still be the highest of it.
    needs: VecDeque<(Instant, u32)>,
    raises: VecDeque<(Instant, u32)>,
}

impl Wanted {
    /// Nothing is wanted, and nothing is known of the past.
    pub fn new(policy: Policy, now: Instant) -> Self {
        Self {
            now: policy.min,
            policy,
            started: now,
            needs: VecDeque::new(),
            raises: VecDeque::new(),
        }
    }

    /// The wanted number after this moment. Moments come in order.
    pub fn step(&mut self, now: Instant, snapshot: &Snapshot) -> u32 {
        let policy = &self.policy;
        let mut need = snapshot.needed(policy.patience);
        if now.duration_since(self.started) < policy.cool_down {
            // A scheduler that was just started again does not know what its executors were needed for.
            need = need.max(snapshot.registered);
        }
        let need = need.clamp(policy.min, policy.max.max(policy.min));
        let old = |at: &Instant, limit: Duration| now.duration_since(*at) >= limit;
        while self
            .needs
            .front()
            .is_some_and(|(at, _)| old(at, policy.cool_down))
        {
            self.needs.pop_front();
        }
        while self.needs.back().is_some_and(|(_, earlier)| *earlier <= need) {
            self.needs.pop_back();
        }
        self.needs.push_back((now, need));
        while self
            .raises
            .front()
            .is_some_and(|(at, _)| old(at, policy.burst_period))
        {
            self.raises.pop_front();
        }
        if need > self.now {
            // Who is there already does not have to be started.
            let there = snapshot.registered.min(need);
            let base = self.now.max(there);
            let raised: u32 = self.raises.iter().map(|(_, by)| by).sum();
            let by = (need - base).min(policy.burst.saturating_sub(raised));
            if by > 0 {
                self.raises.push_back((now, by));
            }
            self.now = base + by;
        } else {
            let highest = self.needs.front().map_or(need, |(_, need)| *need);
            self.now = self.now.min(highest);
        }
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(registered: u32, runnable: u32, running: u32) -> Snapshot {
        Snapshot {
            registered,
            slots: 4,
            runnable,
            running,
            waited: Duration::from_secs(60),
            queries: u32::from(runnable + running > 0),
            ..Default::default()
        }
    }

    #[test]
    fn what_a_moment_needs() {
        let just_now = |snapshot| Snapshot {
            waited: Duration::from_millis(100),
            ..snapshot
        };
        let unread = Snapshot {
            unread: 3,
            ..moment(0, 0, 0)
        };
        let planning = Snapshot {
            queries: 2,
            ..moment(2, 0, 0)
        };
        let reader = Snapshot {
            readers: 1,
            ..moment(0, 0, 0)
        };
        let unknown = Snapshot {
            slots: 0,
            ..moment(0, 3, 0)
        };
        for (what, snapshot, needed) in [
            ("nothing to do", moment(5, 0, 0), 0),
            ("one task needs one", moment(0, 1, 0), 1),
            ("a full executor is enough", moment(1, 0, 4), 1),
            ("one task more is not", moment(1, 1, 4), 2),
            ("a long queue", moment(2, 100, 8), 27),
            ("a queue that just came up", just_now(moment(2, 100, 8)), 2),
            (
                "one that came up in an empty pool",
                just_now(moment(0, 100, 0)),
                25,
            ),
            ("few tasks on many executors", just_now(moment(5, 1, 3)), 1),
            (
                "tasks of executors that are leaving",
                just_now(moment(1, 0, 8)),
                2,
            ),
            ("results that nobody has read", unread, 1),
            ("queries between two stages", planning, 1),
            ("a reader without an executor", reader, 1),
            ("an executor has a slot at least", unknown, 3),
        ] {
            assert_eq!(snapshot.needed(Duration::from_secs(2)), needed, "{what}");
        }
    }

    struct Clock(Instant, Wanted);

    impl Clock {
        fn new(policy: Policy) -> Self {
            let start = Instant::now();
            let mut clock = Self(start, Wanted::new(policy, start));
            // Past the time in which the past is unknown.
            clock.0 += Duration::from_secs(3600);
            clock
        }

        fn after(&mut self, seconds: u64, snapshot: &Snapshot) -> u32 {
            self.0 += Duration::from_secs(seconds);
            self.1.step(self.0, snapshot)
        }
    }

    #[test]
    fn it_grows_in_bursts_and_shrinks_after_the_cool_down_only() {
        let mut pool = Clock::new(Policy {
            max: 9,
            burst: 4,
            ..Policy::default()
        });
        let (full, some, none) = (moment(1, 400, 0), moment(9, 0, 12), moment(9, 0, 0));
        assert_eq!(pool.after(0, &moment(0, 400, 0)), 4, "the first burst");
        assert_eq!(pool.after(10, &full), 4, "not before the period has passed");
        assert_eq!(pool.after(20, &full), 8);
        assert_eq!(pool.after(30, &full), 9, "no more than the most");
        assert_eq!(pool.after(1, &some), 9);
        assert_eq!(pool.after(58, &some), 9, "a minute has not passed");
        assert_eq!(pool.after(1, &some), 3);
        assert_eq!(pool.after(59, &none), 3);
        assert_eq!(pool.after(1, &none), 0);
    }

    #[test]
    fn a_short_lull_costs_nothing_and_a_short_peak_does_not_go_on() {
        let mut pool = Clock::new(Policy {
            burst: 2,
            ..Policy::default()
        });
        assert_eq!(pool.after(0, &moment(0, 8, 0)), 2);
        assert_eq!(pool.after(40, &moment(2, 0, 0)), 2);
        assert_eq!(pool.after(1, &moment(2, 0, 8)), 2, "the work came back");
        assert_eq!(pool.after(59, &moment(2, 0, 0)), 2, "and the time starts anew");
        assert_eq!(pool.after(100, &moment(2, 0, 0)), 0);
        // Ten were wanted for a moment, two were allowed, and then one is enough.
        assert_eq!(pool.after(100, &moment(0, 40, 0)), 2);
        assert_eq!(pool.after(31, &moment(2, 0, 4)), 2);
    }

    #[test]
    fn executors_that_are_there_are_no_burst() {
        let mut pool = Clock::new(Policy {
            burst: 1,
            ..Policy::default()
        });
        assert_eq!(pool.after(0, &moment(5, 400, 0)), 6);
    }

    #[test]
    fn a_scheduler_that_was_started_again_keeps_its_executors_for_the_cool_down() {
        let start = Instant::now();
        let mut wanted = Wanted::new(Policy::default(), start);
        assert_eq!(
            wanted.step(start, &moment(0, 0, 0)),
            0,
            "executors come back in a second"
        );
        assert_eq!(wanted.step(start + Duration::from_secs(1), &moment(3, 0, 0)), 3);
        assert_eq!(wanted.step(start + Duration::from_secs(59), &moment(3, 0, 0)), 3);
        assert_eq!(wanted.step(start + Duration::from_secs(119), &moment(3, 0, 0)), 0);
    }

    #[test]
    fn the_fewest_are_kept() {
        let mut pool = Clock::new(Policy {
            min: 2,
            ..Policy::default()
        });
        assert_eq!(pool.after(0, &moment(0, 0, 0)), 2);
        assert_eq!(pool.after(1000, &moment(2, 0, 0)), 2);
    }
}
