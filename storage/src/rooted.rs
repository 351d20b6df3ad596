use std::fmt;
use std::ops::Range;
use std::path::{Component, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use crate::AccessError;

const STORE: &str = "local files of scans";

/// Local files, read only, below the configured roots. Every request resolves symbolic links first and reads the resolved file.
#[derive(Debug)]
pub(crate) struct RootedFileSystem {
    roots: Arc<Vec<PathBuf>>,
    inner: LocalFileSystem,
}

impl RootedFileSystem {
    pub(crate) fn new(roots: Vec<PathBuf>) -> Self {
        Self {
            roots: Arc::new(roots),
            inner: LocalFileSystem::new(),
        }
    }

    /// The resolved path of an allowed file, on a blocking thread.
    async fn resolve(&self, location: &Path) -> Result<Path> {
        let roots = Arc::clone(&self.roots);
        let location = location.clone();
        tokio::task::spawn_blocking(move || resolve(&roots, &location))
            .await
            .map_err(|source| Error::JoinError { source })?
    }
}

fn access(error: AccessError) -> Error {
    // `PermissionDenied`, and not `Generic`: it is not worth another try.
    Error::PermissionDenied {
        path: STORE.to_string(),
        source: Box::new(error),
    }
}

fn resolve(roots: &[PathBuf], location: &Path) -> Result<Path> {
    let path = PathBuf::from(format!("/{}", location.as_ref()));
    let outside = || {
        access(AccessError::OutsideRoots {
            path: path.display().to_string(),
        })
    };
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(outside());
    }
    // Whether a file exists is told only below a root: for a missing one, its nearest existing directory decides.
    let mut existing = path.as_path();
    let resolved = loop {
        match std::fs::canonicalize(existing) {
            Ok(resolved) => break resolved,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match existing.parent() {
                Some(parent) => existing = parent,
                None => return Err(outside()),
            },
            Err(_) => return Err(outside()),
        }
    };
    let allowed = roots
        .iter()
        .filter_map(|root| std::fs::canonicalize(root).ok())
        .any(|root| resolved.starts_with(root));
    if !allowed {
        return Err(outside());
    }
    if existing != path {
        let source = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Error::NotFound {
            path: path.display().to_string(),
            source: Box::new(source),
        });
    }
    let resolved = resolved.to_str().ok_or_else(outside)?;
    Ok(Path::parse(resolved)?)
}

impl fmt::Display for RootedFileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STORE)
    }
}

#[async_trait]
impl ObjectStore for RootedFileSystem {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(access(AccessError::ReadOnly))
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(access(AccessError::ReadOnly))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let resolved = self.resolve(location).await?;
        let mut result = self.inner.get_opts(&resolved, options).await?;
        result.meta.location = location.clone();
        Ok(result)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let resolved = self.resolve(location).await?;
        self.inner.get_ranges(&resolved, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        locations.map(|_| Err(access(AccessError::ReadOnly))).boxed()
    }

    /// Scans are given their files; nothing is listed.
    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        futures::stream::once(async { Err(access(AccessError::ReadOnly)) }).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(access(AccessError::ReadOnly))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(access(AccessError::ReadOnly))
    }
}
