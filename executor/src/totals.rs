use std::sync::Arc;

use cne_storage::{IdentityCounts, RequestCounts};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::{Map, Value, json};

/// What this process does and has done since its start.
#[derive(Debug, Default)]
pub struct Totals {
    running: Gauge,
    serving: Gauge,
    succeeded: Counter,
    failed: Counter,
    found: Counter,
    rows: Counter,
    bytes: Counter,
    store_requests: Arc<RequestCounts>,
    scan_requests: Arc<RequestCounts>,
    identity: Arc<IdentityCounts>,
}

impl Totals {
    /// Zeros, and the process's requests for credentials.
    pub fn new(identity: Arc<IdentityCounts>) -> Self {
        Self {
            identity,
            ..Self::default()
        }
    }

    /// Requests for outputs of tasks, to the pool's storage.
    pub fn store_requests(&self) -> &Arc<RequestCounts> {
        &self.store_requests
    }

    /// Requests of scans, to the buckets of tables.
    pub fn scan_requests(&self) -> &Arc<RequestCounts> {
        &self.scan_requests
    }

    /// Adds them to the metrics of the process.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "executor_tasks_running",
            "Tasks that run now",
            self.running.clone(),
        );
        registry.register(
            "executor_results_open",
            "Results that are being sent now",
            self.serving.clone(),
        );
        registry.register(
            "tasks_succeeded",
            "Tasks that have succeeded",
            self.succeeded.clone(),
        );
        registry.register("tasks_failed", "Tasks that have failed", self.failed.clone());
        registry.register(
            "tasks_found",
            "Tasks whose output an earlier attempt had committed",
            self.found.clone(),
        );
        registry.register_collector(Box::new(Requests {
            of_outputs: Arc::clone(&self.store_requests),
            of_scans: Arc::clone(&self.scan_requests),
            identity: Arc::clone(&self.identity),
        }));
        registry.register("rows_produced", "Rows that tasks have written", self.rows.clone());
        registry.register(
            "bytes_produced",
            "Bytes that tasks have written",
            self.bytes.clone(),
        );
    }

    /// Counts a task as running until the guard is dropped.
    pub(crate) fn task(&self) -> Running<'_> {
        self.running.inc();
        Running(self)
    }

    /// Counts a result as being sent until the guard is dropped.
    pub(crate) fn serve(self: &Arc<Self>) -> Serving {
        self.serving.inc();
        Serving(Arc::clone(self))
    }

    pub(crate) fn succeeded(&self, rows: u64, bytes: u64) {
        self.succeeded.inc();
        self.rows.inc_by(rows);
        self.bytes.inc_by(bytes);
    }

    pub(crate) fn failed(&self) {
        self.failed.inc();
    }

    /// A task whose output an earlier attempt had committed: nothing ran.
    pub(crate) fn found(&self) {
        self.found.inc();
    }

    /// As `comet.health` reports them.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "tasks_running": self.running.get(),
            "results_open": self.serving.get(),
            "tasks_succeeded": self.succeeded.get(),
            "tasks_failed": self.failed.get(),
            "tasks_found": self.found.get(),
            "rows_produced": self.rows.get(),
            "bytes_produced": self.bytes.get(),
            "store_requests": requests(&self.store_requests),
            "scan_requests": requests(&self.scan_requests),
            "identity_requests": self.identity.snapshot().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        })
    }
}

/// `{"get": {"ok": 3}, "bytes_sent": 0, ...}`: kinds that have not happened are left out.
fn requests(counts: &RequestCounts) -> Value {
    let mut verbs = Map::new();
    for row in counts.snapshot().into_iter().filter(|row| row.count > 0) {
        let verb = verbs.entry(row.verb).or_insert_with(|| json!({}));
        verb[row.outcome] = json!(row.count);
    }
    verbs.insert("bytes_sent".into(), json!(counts.bytes_sent()));
    verbs.insert("bytes_received".into(), json!(counts.bytes_received()));
    Value::Object(verbs)
}

/// The requests to object stores, as they are counted where they are made.
#[derive(Debug)]
struct Requests {
    of_outputs: Arc<RequestCounts>,
    of_scans: Arc<RequestCounts>,
    identity: Arc<IdentityCounts>,
}

impl Collector for Requests {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let counts = [("outputs", &self.of_outputs), ("scans", &self.of_scans)];
        let help = "Requests to object stores, by what for, verb and outcome";
        let mut requests = encoder.encode_descriptor("store_requests", help, None, MetricType::Counter)?;
        for (purpose, counts) in counts {
            for row in counts.snapshot() {
                let labels = [("for", purpose), ("verb", row.verb), ("outcome", row.outcome)];
                let counter = ConstCounter::new(row.count);
                counter.encode(requests.encode_family(&labels)?)?;
            }
        }
        let help = "Bytes sent to and received from object stores";
        let mut bytes = encoder.encode_descriptor("store_bytes", help, None, MetricType::Counter)?;
        for (purpose, counts) in counts {
            for (direction, count) in [
                ("sent", counts.bytes_sent()),
                ("received", counts.bytes_received()),
            ] {
                let labels = [("for", purpose), ("direction", direction)];
                ConstCounter::new(count).encode(bytes.encode_family(&labels)?)?;
            }
        }
        let help = "Requests for credentials, by outcome";
        let mut asked = encoder.encode_descriptor("identity_requests", help, None, MetricType::Counter)?;
        for (outcome, count) in self.identity.snapshot() {
            ConstCounter::new(count).encode(asked.encode_family(&[("outcome", outcome)])?)?;
        }
        let help = "Credentials that a store refused before their expiry, and that were replaced";
        let renewed = encoder.encode_descriptor("identity_renewals", help, None, MetricType::Counter)?;
        ConstCounter::new(self.identity.renewed()).encode(renewed)?;
        Ok(())
    }
}

pub(crate) struct Running<'a>(&'a Totals);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.dec();
    }
}

pub(crate) struct Serving(Arc<Totals>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.serving.dec();
    }
}
