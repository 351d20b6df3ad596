use std::fmt;
use std::future::Future;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use cne_identity::{Doubt, Identity};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};

/// A bucket whose credential may end before its time: it is revoked, or its token is. What the store refuses for that is sent once more with another
/// credential, or fails with an error that is worth another try where it cannot be sent again here.
#[derive(Debug)]
pub(crate) struct RenewedStore<S> {
    inner: S,
    identity: Identity,
}

/// The store's refusal of a credential that has been replaced since.
#[derive(Debug, thiserror::Error)]
#[error("the store refused the credential of {identity}; another one has taken its place")]
struct Replaced {
    identity: String,
    #[source]
    source: Error,
}

/// S3's codes for credentials that it does not know (any more). AWS answers some of them with status 400.
const INVALID: [&str; 5] = [
    "<Code>ExpiredToken</Code>",
    "<Code>InvalidAccessKeyId</Code>",
    "<Code>InvalidToken</Code>",
    "<Code>TokenRefreshRequired</Code>",
    "<Code>ExpiredTokenException</Code>",
];

/// Whether another credential might help. `object_store` hands the server's answer on as text.
fn doubt(error: &Error) -> Option<Doubt> {
    let denied = matches!(
        error,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. }
    );
    if !denied && !matches!(error, Error::Generic { .. }) {
        return None;
    }
    let text = error.to_string();
    if INVALID.iter().any(|code| text.contains(code)) {
        return Some(Doubt::Invalid);
    }
    denied.then_some(Doubt::Denied)
}

/// Whether the answer is a refusal, of whatever kind.
fn refusal(error: &Error) -> bool {
    match error {
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => true,
        Error::Generic { .. } => error.to_string().contains(" 400 Bad Request"),
        _ => false,
    }
}

impl<S: ObjectStore> RenewedStore<S> {
    pub(crate) fn new(inner: S, identity: Identity) -> Self {
        Self { inner, identity }
    }

    /// The answer to a HEAD has no body and so no code: it is asked for by a GET of one byte.
    async fn explained(&self, location: &Path, error: Error) -> Error {
        let byte = GetOptions::default().with_range(Some(0..1));
        self.inner.get_opts(location, byte).await.err().unwrap_or(error)
    }

    async fn sent<T, F, R>(&self, request: F) -> Result<T>
    where
        F: Fn() -> R + Send + Sync,
        R: Future<Output = Result<T>> + Send,
        T: Send,
    {
        let generation = self.identity.generation();
        let answer = request().await;
        let Some(doubt) = answer.as_ref().err().and_then(doubt) else {
            return answer;
        };
        match self.identity.renew(generation, doubt).await? {
            true => request().await,
            false => answer,
        }
    }
}

/// What becomes of a refusal that cannot be sent again here.
async fn settled<T>(identity: Identity, generation: u64, answer: Result<T>) -> Result<T> {
    let Some(doubt) = answer.as_ref().err().and_then(doubt) else {
        return answer;
    };
    match identity.renew(generation, doubt).await? {
        false => answer,
        true => answer.map_err(|source| Error::Generic {
            store: "S3",
            source: Box::new(Replaced {
                identity: identity.name().into(),
                source,
            }),
        }),
    }
}

fn settled_stream<T: Send + 'static>(
    identity: &Identity,
    answers: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    let (identity, generation) = (identity.clone(), identity.generation());
    answers
        .then(move |answer| settled(identity.clone(), generation, answer))
        .boxed()
}

impl<S: fmt::Display> fmt::Display for RenewedStore<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl<S: ObjectStore> ObjectStore for RenewedStore<S> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let put = || self.inner.put_opts(location, payload.clone(), options.clone());
        self.sent(put).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let create = || self.inner.put_multipart_opts(location, options.clone());
        let inner = self.sent(create).await?;
        let identity = self.identity.clone();
        Ok(Box::new(RenewedUpload { inner, identity }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let get = || async {
            let answer = self.inner.get_opts(location, options.clone()).await;
            match answer {
                Err(error) if options.head && refusal(&error) => Err(self.explained(location, error).await),
                answer => answer,
            }
        };
        self.sent(get).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.sent(|| self.inner.get_ranges(location, ranges)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        settled_stream(&self.identity, self.inner.delete_stream(locations))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        settled_stream(&self.identity, self.inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        settled_stream(&self.identity, self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.sent(|| self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.sent(|| self.inner.copy_opts(from, to, options.clone()))
            .await
    }
}

/// A part has its place by the order of the calls: it cannot be sent again here, its task is tried again.
#[derive(Debug)]
struct RenewedUpload {
    inner: Box<dyn MultipartUpload>,
    identity: Identity,
}

#[async_trait]
impl MultipartUpload for RenewedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (identity, generation) = (self.identity.clone(), self.identity.generation());
        let part = self.inner.put_part(data);
        async move { settled(identity, generation, part.await).await }.boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let (identity, generation) = (self.identity.clone(), self.identity.generation());
        let answer = self.inner.complete().await;
        settled(identity, generation, answer).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_another_credential_may_help_is_in_doubt() {
        let source = |text: &str| text.to_owned().into();
        let denied = |text: &str| Error::PermissionDenied {
            path: "p".into(),
            source: source(text),
        };
        let generic = |text: &str| Error::Generic {
            store: "S3",
            source: source(text),
        };
        let body = |code: &str| format!("400 Bad Request: <Error><Code>{code}</Code></Error>");
        assert_eq!(doubt(&denied(&body("InvalidAccessKeyId"))), Some(Doubt::Invalid));
        assert_eq!(doubt(&generic(&body("ExpiredToken"))), Some(Doubt::Invalid));
        assert_eq!(doubt(&denied(&body("AccessDenied"))), Some(Doubt::Denied));
        assert_eq!(doubt(&denied("")), Some(Doubt::Denied));
        assert_eq!(doubt(&generic(&body("InternalError"))), None);
        let absent = Error::NotFound {
            path: "p".into(),
            source: source(&body("ExpiredToken")),
        };
        assert_eq!(doubt(&absent), None);
    }
}
