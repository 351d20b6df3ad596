use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cne_identity::{Identities, Identity, IdentityCounts, IdentityError, IdentityOptions, RefreshPolicy};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::SpawnedReqwestConnector;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::buckets::Buckets;
use crate::renewed::RenewedStore;
use crate::retry::refused;
use crate::{RequestCounts, StoreError};

/// How a client talks to an object store, beyond what the environment says. Clones share their clients and identities.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Longest time until a connection is there.
    pub connect_timeout: Duration,
    /// Longest time of one request, its body included.
    pub request_timeout: Duration,
    /// A request that may be repeated is, until it has taken this long altogether. Who waits for a credential waits as long.
    pub retry_timeout: Duration,
    /// Where requests are counted.
    pub counts: Arc<RequestCounts>,
    /// Whose threads the requests run on, wherever they are asked for: a thread that computes for long must not keep them waiting.
    pub runtime: Option<Handle>,
    /// How buckets are reached.
    pub buckets: Arc<Buckets>,
    /// What this process has opened: one client per bucket, one identity per role. They are made with the options of whoever comes first.
    pub clients: Arc<Clients>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(3),
            request_timeout: Duration::from_secs(20),
            retry_timeout: Duration::from_secs(30),
            counts: Arc::default(),
            runtime: None,
            buckets: Arc::default(),
            clients: Arc::default(),
        }
    }
}

/// How often [`Clients::warm`] waits for a service that is busy, each time as long as a task would.
const WARM_ROUNDS: u32 = 10;

/// Clients and identities of a process.
#[derive(Debug, Default)]
pub struct Clients {
    identities: OnceLock<Result<Identities, IdentityError>>,
    identity_counts: Arc<IdentityCounts>,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Clone, Debug)]
struct Bucket {
    client: Arc<dyn ObjectStore>,
    /// None where requests are not signed.
    identity: Option<Identity>,
}

impl Clients {
    /// Requests for credentials so far.
    pub fn identity_counts(&self) -> &Arc<IdentityCounts> {
        &self.identity_counts
    }

    /// Gets credentials for the buckets that have been opened, so that the first task need not wait for them. What goes wrong is logged, and tried
    /// again by whoever needs one.
    pub async fn warm(&self) {
        let identities: Vec<Identity> = {
            let buckets = self.buckets.lock();
            buckets.values().filter_map(|b| b.identity.clone()).collect()
        };
        for identity in identities {
            for _ in 0..WARM_ROUNDS {
                match identity.credential().await {
                    Err(error) if error.retryable() => {}
                    _ => break,
                }
            }
        }
    }
}

impl ClientOptions {
    /// The client of a bucket; requests are not counted in it.
    pub(crate) fn bucket(&self, bucket: &str) -> Result<Arc<dyn ObjectStore>, StoreError> {
        let mut buckets = self.clients.buckets.lock();
        if let Some(found) = buckets.get(bucket) {
            return Ok(Arc::clone(&found.client));
        }
        let made = self.open_bucket(bucket)?;
        let client = Arc::clone(&made.client);
        buckets.insert(bucket.to_owned(), made);
        Ok(client)
    }

    fn open_bucket(&self, bucket: &str) -> Result<Bucket, StoreError> {
        let settings = self.buckets.of(bucket);
        let failed = |source| refused("open", &Path::from(bucket), source);
        let builder = settings.apply(bucket, s3_builder(bucket, self));
        if settings.anonymous == Some(true) {
            let client = builder.with_skip_signature(true).build().map_err(failed)?;
            return Ok(Bucket {
                client: Arc::new(client),
                identity: None,
            });
        }
        if signs_nothing(&builder) {
            return Err(StoreError::Identity(IdentityError::Configuration {
                what: "AWS_SKIP_SIGNATURE makes every bucket public; say anonymous = true of single buckets in CNE_BUCKETS_FILE".into(),
            }));
        }
        let identities = self.identities()?;
        let identity = match settings.role() {
            Some(role) => identities.role(&role)?,
            None => identities.process(),
        };
        let client = builder.with_credentials(Arc::new(identity.clone()));
        let client = client.build().map_err(failed)?;
        Ok(Bucket {
            client: Arc::new(RenewedStore::new(client, identity.clone())),
            identity: Some(identity),
        })
    }

    fn identities(&self) -> Result<&Identities, IdentityError> {
        let made = self.clients.identities.get_or_init(|| {
            Identities::from_env(IdentityOptions {
                connect_timeout: self.connect_timeout,
                request_timeout: self.request_timeout,
                refresh: RefreshPolicy {
                    give_up: self.retry_timeout,
                    request: self.request_timeout,
                    ..RefreshPolicy::default()
                },
                runtime: self.runtime.clone(),
                counts: Arc::clone(&self.clients.identity_counts),
            })
        });
        made.as_ref().map_err(Clone::clone)
    }
}

fn signs_nothing(builder: &AmazonS3Builder) -> bool {
    let value = builder.get_config_value(&AmazonS3ConfigKey::SkipSignature);
    value.is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off"))
}

/// A client as the environment says, without credentials. It repeats what may be repeated (reads, overwrites, parts and ends of uploads; others
/// when they have not reached the server) after 5xx answers, throttling, timeouts and lost connections, with jitter.
pub(crate) fn s3_builder(bucket: &str, options: &ClientOptions) -> AmazonS3Builder {
    let retry = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: 8,
        retry_timeout: options.retry_timeout,
    };
    let milliseconds = |time: Duration| format!("{} ms", time.as_millis().max(1));
    let client = AmazonS3ConfigKey::Client;
    let builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_retry(retry)
        .with_config(
            client(ClientConfigKey::ConnectTimeout),
            milliseconds(options.connect_timeout),
        )
        .with_config(
            client(ClientConfigKey::Timeout),
            milliseconds(options.request_timeout),
        );
    match &options.runtime {
        Some(runtime) => builder.with_http_connector(SpawnedReqwestConnector::new(runtime.clone())),
        None => builder,
    }
}
