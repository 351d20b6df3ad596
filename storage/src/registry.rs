use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreRegistry;
use object_store::ObjectStore;
use parking_lot::Mutex;
use url::Url;

use crate::ClientOptions;
use crate::counts::CountedStore;
use crate::rooted::RootedFileSystem;

/// Why an executor does not read what a plan asks for. None of these goes away by trying again.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A local file that is not below a configured root, symbolic links resolved.
    #[error(
        "file {path} is outside the directories that executors may read; add its directory to CNE_FILE_ROOTS"
    )]
    OutsideRoots {
        /// As asked for.
        path: String,
    },
    /// A scheme that executors do not read.
    #[error("files of scheme {scheme:?} are not read by executors (file, s3 and s3a are)")]
    Scheme {
        /// As asked for.
        scheme: String,
    },
    /// A URL without a bucket.
    #[error("URL {url} names no bucket")]
    NoBucket {
        /// As asked for.
        url: String,
    },
    /// Scans never write.
    #[error("files of scans are only read")]
    ReadOnly,
}

impl AccessError {
    /// The access error inside an error of a scan, if there is one.
    pub fn find<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e AccessError> {
        let mut cause = Some(error);
        while let Some(current) = cause {
            if let Some(found) = current.downcast_ref::<AccessError>() {
                return Some(found);
            }
            cause = current.source();
        }
        None
    }
}

/// The object stores of an executor: `file:` below the configured roots, one client per S3 bucket, and nothing else.
#[derive(Debug)]
pub struct ExecutorObjectStores {
    files: Arc<dyn ObjectStore>,
    client: ClientOptions,
    buckets: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
    registered: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl ExecutorObjectStores {
    /// `file_roots` may be empty: then no local file is read. A root that does not exist (yet) allows nothing until it does.
    pub fn new(file_roots: Vec<PathBuf>, client: ClientOptions) -> Self {
        Self {
            files: Arc::new(RootedFileSystem::new(file_roots)),
            client,
            buckets: Mutex::default(),
            registered: Mutex::default(),
        }
    }

    fn bucket(&self, bucket: &str) -> Result<Arc<dyn ObjectStore>> {
        let mut buckets = self.buckets.lock();
        if let Some(store) = buckets.get(bucket) {
            return Ok(Arc::clone(store));
        }
        let client = self.client.bucket(bucket)?;
        let store: Arc<dyn ObjectStore> =
            Arc::new(CountedStore::new(client, Arc::clone(&self.client.counts)));
        buckets.insert(bucket.to_string(), Arc::clone(&store));
        Ok(store)
    }
}

fn key(url: &Url) -> String {
    format!("{}://{}", url.scheme(), url.authority())
}

impl ObjectStoreRegistry for ExecutorObjectStores {
    /// For code of this process; nothing in a request gets here.
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.registered.lock().insert(key(url), store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if let Some(store) = self.registered.lock().get(&key(url)) {
            return Ok(Arc::clone(store));
        }
        let refuse = |error: AccessError| Err(DataFusionError::External(Box::new(error)));
        match url.scheme() {
            "file" => Ok(Arc::clone(&self.files)),
            "s3" | "s3a" => match url.host_str().filter(|bucket| !bucket.is_empty()) {
                Some(bucket) => self.bucket(bucket),
                None => refuse(AccessError::NoBucket { url: url.to_string() }),
            },
            scheme => refuse(AccessError::Scheme {
                scheme: scheme.to_string(),
            }),
        }
    }
}
