//! How many executors there should be: sampled a few times a second, for whatever starts and stops them (KEDA, a script) and for
//! monitoring. Nothing here starts or stops anything.

mod metrics;
mod reads;
mod wanted;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use ballista_core::JobId;
use cne_startup::Status;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    pool::{Load, Pool},
    query::{Queries, State},
};
use metrics::Gauges;

pub use reads::Reads;
pub use wanted::{Policy, Snapshot, Wanted};

const EVERY: Duration = Duration::from_millis(250);
// The sampler waits for locks of the execution graphs; it stands still where they are held for ever.
const STUCK: Duration = Duration::from_secs(60);

/// The wanted number of executors and what it follows from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Executors that there should be.
    pub wanted: u32,
    /// What was seen.
    pub seen: Snapshot,
}

/// The demand of a scheduler. Cheap to clone.
#[derive(Clone)]
pub struct Demand {
    answers: watch::Sender<Answer>,
    reads: Arc<Reads>,
    policy: Arc<Policy>,
    slots: Arc<AtomicU32>,
}

impl Demand {
    /// Nothing is known before [`Demand::start`].
    pub fn new(policy: Policy) -> Self {
        let slots = Arc::new(AtomicU32::new(policy.slots));
        Self {
            answers: watch::Sender::new(Answer::default()),
            reads: Arc::default(),
            policy: Arc::new(policy),
            slots,
        }
    }

    /// Samples until `stop`.
    pub fn start(&self, pool: Pool, queries: Queries, status: &Status, stop: CancellationToken) {
        let pulse = status.watch_loop("demand", STUCK);
        let gauges = status.metrics(Gauges::register);
        let mut sampler = Sampler {
            demand: self.clone(),
            pool,
            queries,
            wanted: Wanted::new(Policy::clone(&self.policy), Instant::now()),
            waiting: HashMap::new(),
        };
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(EVERY);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = ticks.tick() => {}
                }
                pulse.beat();
                let answer = sampler.sample().await;
                gauges.set(&answer);
                sampler.demand.answers.send_if_modified(|last| {
                    let changed = *last != answer;
                    *last = answer;
                    changed
                });
            }
        });
    }

    /// The last answer; at most a second old.
    pub fn answer(&self) -> Answer {
        self.answers.borrow().clone()
    }

    /// Follows the answers.
    pub fn answers(&self) -> watch::Receiver<Answer> {
        self.answers.subscribe()
    }

    /// What is known of the reading of results.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// As the action `comet.demand` gives it.
    pub fn to_json(&self) -> Value {
        let Answer { wanted, seen } = self.answer();
        json!({
            "wanted": wanted,
            "registered": seen.registered,
            "slots_per_executor": seen.slots,
            "tasks_runnable": seen.runnable,
            "tasks_running": seen.running,
            "waited_ms": seen.waited.as_millis() as u64,
            "queries": seen.queries,
            "results_unread": seen.unread,
            "readers_waiting": seen.readers,
            "min": self.policy.min,
            "max": self.policy.max,
        })
    }
}

struct Sampler {
    demand: Demand,
    pool: Pool,
    queries: Queries,
    wanted: Wanted,
    // Since when a stage has had something to start without a break.
    waiting: HashMap<(JobId, usize), Instant>,
}

impl Sampler {
    async fn sample(&mut self) -> Answer {
        let executors = self.pool.executors().await;
        let load = self.pool.load().await;
        let now = Instant::now();
        // The smallest one: the tasks fit for certain then.
        if let Some(slots) = executors.iter().map(|executor| executor.slots).min() {
            self.demand.slots.store(slots.max(1), Ordering::Relaxed);
        }
        let (queries, unread) = self.queries();
        let seen = Snapshot {
            registered: count(executors.len()),
            slots: self.demand.slots.load(Ordering::Relaxed),
            runnable: load.runnable.values().sum(),
            running: load.running.values().sum(),
            waited: self.waited(now, &load),
            queries,
            unread,
            readers: self.demand.reads.waiting(),
        };
        Answer {
            wanted: self.wanted.step(now, &seen),
            seen,
        }
    }

    fn waited(&mut self, now: Instant, load: &Load) -> Duration {
        self.waiting.retain(|stage, _| load.runnable.contains_key(stage));
        for stage in load.runnable.keys() {
            self.waiting.entry(stage.clone()).or_insert(now);
        }
        let longest = self
            .waiting
            .values()
            .map(|since| now.duration_since(*since))
            .max();
        longest.unwrap_or_default()
    }

    // Those that have not ended, and those whose result is kept and was not read.
    fn queries(&self) -> (u32, u32) {
        let (mut active, mut unread, mut kept) = (0, 0, HashSet::new());
        for query in self.queries.all() {
            match query.state() {
                State::Queued | State::Running(_) => active += 1,
                State::Succeeded(outcome) => {
                    let namespace = outcome.namespace.clone();
                    unread += u32::from(
                        !self
                            .demand
                            .reads
                            .complete(&namespace, outcome.outputs.len() as u32),
                    );
                    kept.insert(namespace);
                }
                State::Failed(_) => {}
            }
        }
        self.demand.reads.retain(&kept);
        (active, unread)
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
