//! All queries that the scheduler knows.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use cne_task::codes;
use cne_transport::Tenant;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::watch as channel;
use tokio_util::sync::CancellationToken;

use super::{Query, Resume, State, Told, run};
use crate::{
    check::{self, Accepts},
    error::Failure,
    options::Options,
    pool::Pool,
};

/// The queries of a scheduler. Cheap to clone.
#[derive(Clone)]
pub struct Queries {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) pool: Pool,
    pub(super) shutdown: CancellationToken,
    by_id: Mutex<HashMap<Key, Arc<Query>>>,
}

/// A tenant's name and the id of its query: another tenant may use the same id.
type Key = (String, String);

/// The answer about a query that is not there, or is another tenant's.
pub fn unknown_query(id: &str) -> Failure {
    Failure::new(codes::UNKNOWN_QUERY, format!("no query {id} is known here")).of_query(id)
}

impl Shared {
    pub(super) async fn prepare(&self) -> Resume {
        let slots = match self.pool.slots().await {
            // The first one that comes.
            0 => self.options.scale.slots,
            slots => slots,
        };
        Resume {
            slots: slots.max(1),
            generation: 0,
        }
    }
}

impl Queries {
    /// No query yet. `shutdown` ends all of them.
    pub fn new(options: Options, pool: Pool, shutdown: CancellationToken) -> Self {
        let shared = Shared {
            options,
            pool,
            shutdown,
            by_id: Mutex::default(),
        };
        let queries = Self {
            shared: Arc::new(shared),
        };
        let sweeping = queries.clone();
        tokio::spawn(async move { sweeping.sweep().await });
        queries
    }

    /// How a query would be planned that was submitted now.
    pub async fn prepare(&self) -> Resume {
        self.shared.prepare().await
    }

    /// The query of a request: a new one, or the one that has its id already.
    ///
    /// # Errors
    /// When the request is refused before it is planned, its id belongs to another request, or there are too many queries.
    pub async fn submit(&self, tenant: Arc<Tenant>, bytes: Bytes, told: Told) -> Result<Arc<Query>, Failure> {
        let options = &self.shared.options;
        if self.shared.shutdown.is_cancelled() {
            return Err(Failure::new(codes::SHUTTING_DOWN, codes::SHUTTING_DOWN.summary));
        }
        let accepts = Accepts {
            limits: options.limits,
            file_roots: options.file_roots.clone(),
            spark_versions: options.spark_versions.clone(),
            tenant: Arc::clone(&tenant),
        };
        let checked = tokio::task::spawn_blocking(move || {
            check::request(&bytes, &accepts).map(|request| (request, Sha256::digest(&bytes).into()))
        });
        let checked = checked
            .await
            .map_err(|e| Failure::new(codes::INTERNAL, e.to_string()))?;
        let (request, digest) = checked?;
        if request.stages.len() > options.max_stages {
            let text = format!(
                "the request has {} stages, the limit is {}",
                request.stages.len(),
                options.max_stages
            );
            return Err(Failure::new(codes::TOO_LARGE, text).of_query(&request.query_id));
        }
        let query = {
            let mut by_id = self.shared.by_id.lock();
            let key = (tenant.name.clone(), request.query_id.clone());
            if let Some(query) = by_id.get(&key) {
                if query.digest != digest {
                    return Err(Failure::new(codes::QUERY_ID_TAKEN, codes::QUERY_ID_TAKEN.summary)
                        .of_query(&query.id));
                }
                return Ok(Arc::clone(query));
            }
            if by_id.len() >= options.max_queries {
                let text = format!("{} queries are running or hold results", by_id.len());
                return Err(Failure::new(codes::BUSY, text).of_query(&request.query_id));
            }
            let query = Arc::new(Query {
                id: request.query_id.clone(),
                tenant,
                description: request.description.clone(),
                accepted: SystemTime::now(),
                digest,
                started: Instant::now(),
                state: channel::Sender::new(State::Queued),
                callers: AtomicUsize::new(0),
                last_call: Mutex::new(Instant::now()),
                lease: Mutex::new(None),
                stored: Mutex::new(None),
                cancel: CancellationToken::new(),
            });
            by_id.insert(key, Arc::clone(&query));
            query
        };
        let shared = Arc::clone(&self.shared);
        let running = Arc::clone(&query);
        tokio::spawn(async move { run::run(&shared, &running, request, told).await });
        Ok(query)
    }

    /// The query of `tenant` with this id.
    ///
    /// # Errors
    /// When there is none (any more).
    pub fn get(&self, tenant: &str, id: &str) -> Result<Arc<Query>, Failure> {
        let key = (tenant.to_string(), id.to_string());
        let query = self.shared.by_id.lock().get(&key).cloned();
        query.ok_or_else(|| unknown_query(id))
    }

    /// All queries of all tenants, in the order of their acceptance.
    pub fn all(&self) -> Vec<Arc<Query>> {
        let mut all: Vec<_> = self.shared.by_id.lock().values().cloned().collect();
        all.sort_by_key(|query| query.started);
        all
    }

    /// Waits until every query has ended, after `shutdown`.
    pub async fn drained(&self) {
        for query in self.all() {
            query.wait(Duration::from_secs(10)).await;
        }
    }

    // Forgets queries whose lease has ended and asks for the removal of their results.
    async fn sweep(&self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                () = self.shared.shutdown.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let expired: Vec<_> = self
                .shared
                .by_id
                .lock()
                .extract_if(|_, query| query.expired())
                .collect();
            for ((_, id), query) in expired {
                tracing::debug!(query = %id, "forgotten");
                if let State::Succeeded(outcome) = query.state() {
                    self.shared.pool.remove_data(&outcome.job);
                    query.remove_outputs(&self.shared.pool);
                }
            }
        }
    }
}
