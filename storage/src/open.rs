use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;

use crate::StoreError;
use crate::retry::refused;

/// Opens the storage of a pool: `file:///directory` (created when missing) or `s3://bucket/prefix`.
///
/// Credentials, endpoint, region and path style of S3 come from this process's own environment (`AWS_*`), never from a request.
pub fn open_store(url: &str) -> Result<(Arc<dyn ObjectStore>, Path), StoreError> {
    let invalid = |reason: String| StoreError::InvalidUrl {
        url: url.to_string(),
        reason,
    };
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
            Ok((Arc::new(store.with_automatic_cleanup(true)), Path::default()))
        }
        "s3" | "s3a" => {
            let bucket = parsed
                .host_str()
                .filter(|bucket| !bucket.is_empty())
                .ok_or_else(|| invalid("no bucket".to_string()))?;
            let prefix = Path::from_url_path(parsed.path()).map_err(|error| invalid(error.to_string()))?;
            let store = s3_bucket(bucket).map_err(|source| refused("open", &prefix, source))?;
            Ok((Arc::new(store), prefix))
        }
        other => Err(invalid(format!("scheme {other:?} is not supported"))),
    }
}

/// A client for one bucket, configured by this process's environment. With web identity configured the client uses nothing else.
pub(crate) fn s3_bucket(bucket: &str) -> object_store::Result<AmazonS3> {
    AmazonS3Builder::from_env().with_bucket_name(bucket).build()
}
