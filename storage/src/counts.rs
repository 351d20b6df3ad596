use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// An object in one request.
    Put,
    /// The begin of a multipart upload.
    CreateUpload,
    /// A part of one.
    PutPart,
    /// Its end.
    CompleteUpload,
    /// Its removal.
    AbortUpload,
    /// An object or a range of one.
    Get,
    /// What is known of an object.
    Head,
    /// A listing, however many pages it has.
    List,
    /// The removal of an object; stores take many in one request.
    Delete,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As asked.
    Ok,
    /// There is no such object.
    Absent,
    /// A condition did not hold: somebody else created the object.
    Exists,
    /// Any other error.
    Failed,
}

const VERBS: [(Verb, &str); 9] = [
    (Verb::Put, "put"),
    (Verb::CreateUpload, "create_upload"),
    (Verb::PutPart, "put_part"),
    (Verb::CompleteUpload, "complete_upload"),
    (Verb::AbortUpload, "abort_upload"),
    (Verb::Get, "get"),
    (Verb::Head, "head"),
    (Verb::List, "list"),
    (Verb::Delete, "delete"),
];
const OUTCOMES: [(Outcome, &str); 4] = [
    (Outcome::Ok, "ok"),
    (Outcome::Absent, "absent"),
    (Outcome::Exists, "exists"),
    (Outcome::Failed, "failed"),
];

/// Requests to a store since the start of the process. A request that the client repeats by itself counts once, one whose sender was
/// stopped before the answer does not count.
#[derive(Debug, Default)]
pub struct RequestCounts {
    requests: [[AtomicU64; OUTCOMES.len()]; VERBS.len()],
    sent: AtomicU64,
    received: AtomicU64,
}

/// One row of [`RequestCounts::snapshot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestCount {
    /// Name of the [`Verb`], in lower case with underscores.
    pub verb: &'static str,
    /// Name of the [`Outcome`], in lower case.
    pub outcome: &'static str,
    /// Requests.
    pub count: u64,
}

impl RequestCounts {
    fn add(&self, verb: Verb, outcome: Outcome) {
        self.requests[verb as usize][outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn note<T>(&self, verb: Verb, answer: &Result<T>) {
        let outcome = match answer {
            Ok(_) => Outcome::Ok,
            Err(Error::NotFound { .. }) => Outcome::Absent,
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Outcome::Exists,
            Err(_) => Outcome::Failed,
        };
        self.add(verb, outcome);
    }

    /// Requests of one kind, however they ended.
    pub fn of(&self, verb: Verb) -> u64 {
        let outcomes = self.requests[verb as usize].iter();
        outcomes.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Bytes of bodies that were sent.
    pub fn bytes_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes of objects that were asked for and promised.
    pub fn bytes_received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Every kind and outcome, zeros included, always in the same order.
    pub fn snapshot(&self) -> Vec<RequestCount> {
        let of = |(verb, name): &(Verb, &'static str)| {
            let row = &self.requests[*verb as usize];
            let (verb, row) = (*name, row);
            OUTCOMES.map(|(outcome, name)| RequestCount {
                verb,
                outcome: name,
                count: row[outcome as usize].load(Ordering::Relaxed),
            })
        };
        VERBS.iter().flat_map(of).collect()
    }
}

/// A store whose requests are counted.
#[derive(Debug)]
pub(crate) struct CountedStore<S> {
    inner: S,
    counts: Arc<RequestCounts>,
}

impl<S: ObjectStore> CountedStore<S> {
    pub(crate) fn new(inner: S, counts: Arc<RequestCounts>) -> Self {
        Self { inner, counts }
    }
}

impl<S: fmt::Display> fmt::Display for CountedStore<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl<S: ObjectStore> ObjectStore for CountedStore<S> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let sent = payload.content_length() as u64;
        self.counts.sent.fetch_add(sent, Ordering::Relaxed);
        let answer = self.inner.put_opts(location, payload, options).await;
        self.counts.note(Verb::Put, &answer);
        answer
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let answer = self.inner.put_multipart_opts(location, options).await;
        self.counts.note(Verb::CreateUpload, &answer);
        let inner = answer?;
        let counts = Arc::clone(&self.counts);
        Ok(Box::new(CountedUpload { inner, counts }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let verb = if options.head { Verb::Head } else { Verb::Get };
        let answer = self.inner.get_opts(location, options).await;
        self.counts.note(verb, &answer);
        if let (Ok(got), Verb::Get) = (&answer, verb) {
            let bytes = got.range.end - got.range.start;
            self.counts.received.fetch_add(bytes, Ordering::Relaxed);
        }
        answer
    }

    /// Counted as one request per range; a store may join neighbours.
    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let answer = self.inner.get_ranges(location, ranges).await;
        ranges.iter().for_each(|_| self.counts.note(Verb::Get, &answer));
        if let Ok(got) = &answer {
            let bytes: usize = got.iter().map(Bytes::len).sum();
            self.counts.received.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        answer
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let counts = Arc::clone(&self.counts);
        let answers = self.inner.delete_stream(locations);
        answers
            .inspect(move |answer| counts.note(Verb::Delete, answer))
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.counts.add(Verb::List, Outcome::Ok);
        self.inner.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.counts.add(Verb::List, Outcome::Ok);
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let answer = self.inner.list_with_delimiter(prefix).await;
        self.counts.note(Verb::List, &answer);
        answer
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let answer = self.inner.copy_opts(from, to, options).await;
        self.counts.note(Verb::Put, &answer);
        answer
    }
}

#[derive(Debug)]
struct CountedUpload {
    inner: Box<dyn MultipartUpload>,
    counts: Arc<RequestCounts>,
}

#[async_trait]
impl MultipartUpload for CountedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let sent = data.content_length() as u64;
        self.counts.sent.fetch_add(sent, Ordering::Relaxed);
        let (part, counts) = (self.inner.put_part(data), Arc::clone(&self.counts));
        part.inspect(move |answer| counts.note(Verb::PutPart, answer))
            .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let answer = self.inner.complete().await;
        self.counts.note(Verb::CompleteUpload, &answer);
        answer
    }

    async fn abort(&mut self) -> Result<()> {
        let answer = self.inner.abort().await;
        self.counts.note(Verb::AbortUpload, &answer);
        answer
    }
}
