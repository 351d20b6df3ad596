use prometheus_client::{metrics::gauge::Gauge, registry::Registry};

use super::Answer;

/// The demand as metrics.
#[derive(Default)]
pub(super) struct Gauges {
    wanted: Gauge,
    registered: Gauge,
    runnable: Gauge,
    running: Gauge,
    waited: Gauge,
    queries: Gauge,
    unread: Gauge,
}

impl Gauges {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let gauges = Self::default();
        for (name, help, gauge) in [
            (
                "executors_wanted",
                "Executors that there should be",
                &gauges.wanted,
            ),
            (
                "executors_registered",
                "Executors that are there and not leaving",
                &gauges.registered,
            ),
            ("tasks_runnable", "Tasks that could start now", &gauges.runnable),
            ("tasks_running", "Tasks that run now", &gauges.running),
            (
                "tasks_waited_milliseconds",
                "How long tasks have been waiting for a slot without a break",
                &gauges.waited,
            ),
            ("queries_active", "Queries that have not ended", &gauges.queries),
            (
                "results_unread",
                "Results that are kept and that nobody has read to the end",
                &gauges.unread,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
        gauges
    }

    pub(super) fn set(&self, answer: &Answer) {
        let seen = &answer.seen;
        self.wanted.set(answer.wanted.into());
        self.registered.set(seen.registered.into());
        self.runnable.set(seen.runnable.into());
        self.running.set(seen.running.into());
        self.waited
            .set(i64::try_from(seen.waited.as_millis()).unwrap_or(i64::MAX));
        self.queries.set(seen.queries.into());
        self.unread.set(seen.unread.into());
    }
}
