//! Stores that answer badly: errors, lost answers, damaged bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService, ReqwestConnector,
};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    ClientOptions as HttpOptions, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

use crate::clients::s3_builder;
use crate::counts::CountedStore;
use crate::tests::{attempt, check_buckets, context, first, schema, write};
use crate::*;

fn lost_answer() -> Error {
    Error::Generic {
        store: "test",
        source: "the answer was lost".into(),
    }
}

/// Does what is asked and then says that it failed, or damages what is read: each so many times.
#[derive(Debug, Default)]
struct Faulty {
    inner: InMemory,
    lose_commits: AtomicU64,
    lose_completions: AtomicU64,
    damage: AtomicU64,
}

fn take(faults: &AtomicU64) -> bool {
    faults
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
        .is_ok()
}

impl std::fmt::Display for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, at: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let answer = self.inner.put_opts(at, payload, options).await;
        if at.as_ref().contains("/commit-") && take(&self.lose_commits) {
            return Err(lost_answer());
        }
        answer
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let inner = self.inner.put_multipart_opts(at, options).await?;
        let lose = take(&self.lose_completions);
        Ok(Box::new(FaultyUpload { inner, lose }))
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let got = self.inner.get_opts(at, options).await?;
        if got.range.is_empty() || !take(&self.damage) {
            return Ok(got);
        }
        let (meta, range, attributes) = (got.meta.clone(), got.range.clone(), got.attributes.clone());
        let mut bytes = got.bytes().await?.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let payload =
            GetResultPayload::Stream(futures::stream::once(async { Ok(Bytes::from(bytes)) }).boxed());
        Ok(GetResult {
            payload,
            meta,
            range,
            attributes,
        })
    }

    fn delete_stream(&self, at: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(at)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    lose: bool,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> object_store::UploadPart {
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let answer = self.inner.complete().await;
        if self.lose { Err(lost_answer()) } else { answer }
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

fn quick() -> RetryPolicy {
    RetryPolicy {
        base: Duration::from_millis(1),
        ..RetryPolicy::default()
    }
}

/// An output of `total` rows in two buckets, not compressed.
async fn output(
    store: &ShuffleStore,
    id: &MapOutputId,
    total: i64,
) -> std::result::Result<Committed, StoreError> {
    let options = WriterOptions {
        compression: Compression::None,
        ..WriterOptions::default()
    };
    let mut writer = store
        .writer(id.clone(), attempt(0), schema(), 2, &context(1 << 30), options)
        .unwrap();
    write(&mut writer, total, 2).await;
    writer.finish(vec![]).await
}

#[tokio::test]
async fn a_put_whose_answer_is_lost_has_happened_and_wins() {
    let faulty = Arc::new(Faulty::default());
    let store = ShuffleStore::new(faulty.clone(), Path::default()).with_retry(quick());
    let id = MapOutputId::new("job", 1, 0);
    // As often as it is tried: then the record alone tells.
    faulty.lose_commits.store(3, Ordering::Relaxed);
    assert!(output(&store, &id, 3000).await.unwrap().won);
    check_buckets(&store, &id, 3000, 2, 2).await;

    let id = MapOutputId::new("job", 1, 1);
    faulty.lose_completions.store(1, Ordering::Relaxed);
    let committed = output(&store, &id, 200_000).await.unwrap();
    assert!(committed.won && committed.stored.record.bytes > 8 << 20);
    check_buckets(&store, &id, 200_000, 2, 2).await;
    assert_eq!(store.delete_namespace("job").await.unwrap(), 4);
}

#[tokio::test]
async fn damaged_bytes_are_fetched_once_more_whatever_the_length() {
    let faulty = Arc::new(Faulty::default());
    for total in [3000, 400_000] {
        let store = ShuffleStore::new(faulty.clone(), Path::default());
        let id = MapOutputId::new("job", 1, total as u32);
        let record = &output(&store, &id, total).await.unwrap().stored.record.clone();
        let blocks = record.buckets[0].block_checksums.len();
        assert!(if total == 3000 { blocks == 0 } else { blocks > 1 }, "{blocks}");
        faulty.damage.store(1, Ordering::Relaxed);
        check_buckets(&store, &id, total, 2, 2).await;
        assert_eq!(faulty.damage.load(Ordering::Relaxed), 0);

        faulty.damage.store(u64::MAX, Ordering::Relaxed);
        let read = async { store.read(&first(&id), 0).await?.try_collect::<Vec<_>>().await };
        let error = read.await.unwrap_err();
        let error = StoreError::find(&error).unwrap();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        faulty.damage.store(0, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn requests_are_counted_by_verb_and_outcome() {
    let counts = Arc::new(RequestCounts::default());
    let counted = CountedStore::new(InMemory::new(), Arc::clone(&counts));
    let counted: Arc<dyn ObjectStore> = Arc::new(counted);
    let store = ShuffleStore::new(Arc::clone(&counted), Path::default());
    let id = MapOutputId::new("job", 1, 0);
    let bytes = output(&store, &id, 200_000).await.unwrap().stored.record.bytes;
    assert!(counted.head(&Path::from("none")).await.is_err());
    let commit = PutPayload::from(vec![0]);
    let path = Path::from(id.commit_key(0).unwrap());
    let create = counted.put_opts(&path, commit, object_store::PutMode::Create.into());
    assert!(create.await.is_err());
    store.delete_namespace("job").await.unwrap();
    let of = |verb: &str, outcome: &str| {
        let rows = counts.snapshot();
        let row = rows.iter().find(|row| (row.verb, row.outcome) == (verb, outcome));
        row.unwrap().count
    };
    assert_eq!((of("put", "ok"), of("put", "exists")), (1, 1));
    assert_eq!((of("create_upload", "ok"), of("complete_upload", "ok")), (1, 1));
    assert!(of("put_part", "ok") > 0);
    assert_eq!((of("head", "absent"), of("delete", "ok")), (1, 2));
    assert!(counts.bytes_sent() > bytes && counts.of(Verb::List) > 0);
}

/// In front of a real server: every few requests something goes wrong, each time something else.
#[derive(Debug, Default, Clone)]
struct FaultyNetwork {
    requests: Arc<AtomicU64>,
    faults: Arc<AtomicU64>,
}

#[derive(Debug)]
struct FaultyHttp {
    inner: HttpClient,
    network: FaultyNetwork,
}

impl HttpConnector for FaultyNetwork {
    fn connect(&self, options: &HttpOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(FaultyHttp {
            inner: ReqwestConnector::default().connect(options)?,
            network: self.clone(),
        }))
    }
}

fn http_error(kind: HttpErrorKind) -> HttpError {
    HttpError::new(kind, std::io::Error::other("injected"))
}

fn answer(status: u16) -> HttpResponse {
    let mut answer = HttpResponse::new(HttpResponseBody::from(Bytes::new()));
    *answer.status_mut() = status.try_into().unwrap();
    answer
}

#[async_trait]
impl HttpService for FaultyHttp {
    async fn call(&self, request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let number = self.network.requests.fetch_add(1, Ordering::Relaxed);
        if number % 5 != 4 {
            return self.inner.execute(request).await;
        }
        let fault = self.network.faults.fetch_add(1, Ordering::Relaxed) % 7;
        if fault == 0 {
            return Ok(answer(503));
        }
        if fault == 1 {
            return Err(http_error(HttpErrorKind::Interrupted));
        }
        // From here on the server has done what was asked.
        let read = request.method().is_safe();
        let response = self.inner.execute(request).await?;
        if !read || !response.status().is_success() {
            return match fault {
                2 | 3 => Err(http_error(HttpErrorKind::Timeout)),
                4 | 5 => Ok(answer(500)),
                _ => Err(http_error(HttpErrorKind::Interrupted)),
            };
        }
        let (parts, body) = response.into_parts();
        let mut bytes = body.bytes().await?.to_vec();
        match fault {
            2 => bytes.truncate(bytes.len() / 2),
            3 if !bytes.is_empty() => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
            }
            _ => return Err(http_error(HttpErrorKind::Timeout)),
        }
        let mut damaged = HttpResponse::new(HttpResponseBody::from(Bytes::from(bytes)));
        (*damaged.status_mut(), *damaged.headers_mut()) = (parts.status, parts.headers);
        Ok(damaged)
    }
}

/// Run by `just test-s3`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs an S3 server"]
async fn an_s3_server_behind_a_bad_network_loses_and_doubles_nothing() {
    let url = std::env::var("CNE_TEST_S3_URL").unwrap();
    let bucket = url::Url::parse(&url).unwrap().host_str().unwrap().to_string();
    let network = FaultyNetwork::default();
    let s3 = s3_builder(&bucket, &ClientOptions::default())
        .with_http_connector(network.clone())
        .build()
        .unwrap();
    let s3: Arc<dyn ObjectStore> = Arc::new(s3);
    let job = format!("job-{}", uuid::Uuid::new_v4());
    for partition in 0..30 {
        let id = MapOutputId::new(job.as_str(), 1, partition);
        let total = if partition % 10 == 0 { 200_000 } else { 2000 };
        let attempts = (0..2).map(|_| {
            let store = ShuffleStore::new(Arc::clone(&s3), Path::from("faults"));
            let id = id.clone();
            tokio::spawn(async move { output(&store, &id, total).await.unwrap() })
        });
        let mut won = vec![];
        for attempt in attempts.collect::<Vec<_>>() {
            won.push(attempt.await.unwrap().won);
        }
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "partition {partition}");
        let reader = ShuffleStore::new(Arc::clone(&s3), Path::from("faults"));
        check_buckets(&reader, &id, total, 2, 2).await;
    }
    let (well, _) = open_store(&url, &ClientOptions::default()).unwrap();
    let deleted = ShuffleStore::new(well, Path::from("faults"))
        .delete_namespace(&job)
        .await;
    // Of an attempt that lost, data may be left.
    assert!((60..70).contains(&deleted.unwrap()));
    let faults = network.faults.load(Ordering::Relaxed);
    assert!(faults > 50, "{faults} faults");
}
