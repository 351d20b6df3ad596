use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::SpawnedReqwestConnector;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};
use tokio::runtime::Handle;
use url::Url;

use crate::counts::CountedStore;
use crate::retry::refused;
use crate::{RequestCounts, StoreError};

/// How a client talks to an object store, beyond what the `AWS_*` environment says.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Longest time until a connection is there.
    pub connect_timeout: Duration,
    /// Longest time of one request, its body included.
    pub request_timeout: Duration,
    /// A request that may be repeated is, until it has taken this long altogether.
    pub retry_timeout: Duration,
    /// Where requests are counted.
    pub counts: Arc<RequestCounts>,
    /// Whose threads the requests run on, wherever they are asked for: a thread that computes for long must not keep them waiting.
    pub runtime: Option<Handle>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(3),
            request_timeout: Duration::from_secs(20),
            retry_timeout: Duration::from_secs(30),
            counts: Arc::default(),
            runtime: None,
        }
    }
}

/// Opens the storage of a pool: `file:///directory` (created when missing) or `s3://bucket/prefix`.
///
/// Credentials, endpoint, region and path style of S3 come from this process's own environment (`AWS_*`), never from a request.
pub fn open_store(url: &str, options: &ClientOptions) -> Result<(Arc<dyn ObjectStore>, Path), StoreError> {
    let invalid = |reason: String| StoreError::InvalidUrl {
        url: url.to_string(),
        reason,
    };
    let counts = Arc::clone(&options.counts);
    let parsed = Url::parse(url).map_err(|error| invalid(error.to_string()))?;
    match parsed.scheme() {
        "file" => {
            let path = parsed
                .to_file_path()
                .map_err(|()| invalid("not an absolute directory".to_string()))?;
            std::fs::create_dir_all(&path).map_err(|source| StoreError::Directory {
                path: path.clone(),
                source,
            })?;
            let store =
                LocalFileSystem::new_with_prefix(&path).map_err(|error| invalid(error.to_string()))?;
            // Deleting a job removes its directories too.
            let store = CountedStore::new(store.with_automatic_cleanup(true), counts);
            Ok((Arc::new(store), Path::default()))
        }
        "s3" | "s3a" => {
            let bucket = parsed
                .host_str()
                .filter(|bucket| !bucket.is_empty())
                .ok_or_else(|| invalid("no bucket".to_string()))?;
            let prefix = Path::from_url_path(parsed.path()).map_err(|error| invalid(error.to_string()))?;
            let store = s3_bucket(bucket, options).map_err(|source| refused("open", &prefix, source))?;
            Ok((Arc::new(CountedStore::new(store, counts)), prefix))
        }
        other => Err(invalid(format!("scheme {other:?} is not supported"))),
    }
}

/// A client for one bucket, configured by this process's environment. With web identity configured the client uses nothing else.
pub(crate) fn s3_bucket(bucket: &str, options: &ClientOptions) -> object_store::Result<AmazonS3> {
    s3_builder(bucket, options).build()
}

/// The client repeats what may be repeated (reads, overwrites, parts and ends of uploads; others when they have not reached the server)
/// after 5xx answers, throttling, timeouts and lost connections, with jitter.
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
