use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;

use crate::counts::CountedStore;
use crate::{ClientOptions, StoreError};

/// Opens the storage of a pool: `file:///directory` (created when missing) or `s3://bucket/prefix`.
///
/// Credentials, endpoint, region and path style of S3 come from this process's own environment (`AWS_*`) and its file of buckets, never from a
/// request. Nothing is asked yet.
///
/// # Errors
/// A URL that cannot be used; an environment that contradicts itself ([`StoreError::Identity`]).
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
            let store = options.bucket(bucket)?;
            Ok((Arc::new(CountedStore::new(store, counts)), prefix))
        }
        other => Err(invalid(format!("scheme {other:?} is not supported"))),
    }
}
