//! Outputs on this executor's disk: what is written here and what is fetched costs one request for many buckets.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, RecordBatch};
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path;

use crate::counts::CountedStore;
use crate::tests::{attempt, check_buckets, context, first, schema, write};
use crate::*;

struct Executor {
    store: ShuffleStore,
    counts: Arc<RequestCounts>,
    local: Arc<LocalParts>,
    directory: tempfile::TempDir,
}

impl Executor {
    fn new(inner: Arc<dyn ObjectStore>, quota: u64, window: u64) -> Self {
        let counts = Arc::new(RequestCounts::default());
        let counted = CountedStore::new(inner, Arc::clone(&counts));
        let directory = tempfile::tempdir().unwrap();
        let local = LocalParts::open(directory.path().join("parts"), quota).unwrap();
        let store = ShuffleStore::new(Arc::new(counted), Path::default()).with_local(local.clone(), window);
        Self {
            store,
            counts,
            local,
            directory,
        }
    }

    fn files(&self) -> Vec<std::path::PathBuf> {
        let files = std::fs::read_dir(self.directory.path().join("parts")).unwrap();
        files.map(|file| file.unwrap().path()).collect()
    }

    async fn files_become(&self, count: usize) {
        for _ in 0..200 {
            if self.files().len() == count {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{} files instead of {count}", self.files().len());
    }
}

async fn output(store: &ShuffleStore, partition: u32, total: i64, buckets: i64) -> MapOutputId {
    let id = MapOutputId::new("job", 1, partition);
    let options = WriterOptions::default();
    let mut writer = store
        .writer(
            id.clone(),
            attempt(0),
            schema(),
            buckets as usize,
            &context(1 << 30),
            options,
        )
        .unwrap();
    write(&mut writer, total, buckets).await;
    assert!(writer.finish(vec![]).await.unwrap().won);
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neighbouring_buckets_are_fetched_together_and_once() {
    let shared: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let elsewhere = ShuffleStore::new(Arc::clone(&shared), Path::default());
    let id = output(&elsewhere, 0, 20_000, 40).await;
    let record = elsewhere.record(&first(&id)).await.unwrap();
    let (bytes, window) = (record.record.bytes, record.record.bytes / 5);

    let here = Executor::new(Arc::clone(&shared), 1 << 30, window);
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (store, id) = (here.store.clone(), id.clone());
            tokio::spawn(async move { check_buckets(&store, &id, 20_000, 40, 40).await })
        })
        .collect();
    for reader in readers {
        reader.await.unwrap();
    }
    let gets = here.counts.of(Verb::Get);
    // The record may be read by each reader: they start together.
    assert!((6..=6 + 4).contains(&gets), "{gets} requests for {bytes} bytes");
    assert_eq!(here.local.usage().bytes, bytes);

    // One damaged file, one that is gone.
    let files = here.files();
    let mut damaged = std::fs::read(&files[0]).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&files[0], damaged).unwrap();
    std::fs::remove_file(&files[1]).unwrap();
    check_buckets(&here.store, &id, 20_000, 40, 40).await;
    assert!((gets + 1..=gets + 3).contains(&here.counts.of(Verb::Get)));

    here.store.delete_namespace("job").await.unwrap();
    here.files_become(0).await;
    assert_eq!(here.local.usage(), LocalUsage::default());
}

#[tokio::test]
async fn retired_stages_leave_their_records() {
    let shared: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let here = Executor::new(Arc::clone(&shared), 1 << 30, 1 << 20);
    let (one, two) = (
        output(&here.store, 0, 200, 3).await,
        output(&here.store, 1, 200, 3).await,
    );
    assert_eq!(here.store.retire_stages("job", &[2, 11]).await.unwrap(), 0);
    assert_eq!(here.store.retire_stages("job", &[7, 1]).await.unwrap(), 2);
    assert_eq!(here.local.usage(), LocalUsage::default());
    let elsewhere = ShuffleStore::new(Arc::clone(&shared), Path::default());
    for id in [one, two] {
        let found = elsewhere.find(&id, 0).await.unwrap().unwrap();
        assert!(!elsewhere.has_data(&found.record).await.unwrap());
    }
    // The records go with the query.
    assert_eq!(here.store.delete_own("job").await.unwrap(), 2);
}

#[tokio::test]
async fn what_is_written_here_is_read_without_a_request() {
    let here = Executor::new(Arc::new(InMemory::new()), 1 << 30, 1 << 20);
    // With several buckets, with one that is streamed through, with none.
    for (partition, total, buckets) in [(0, 20_000, 7), (1, 20_000, 1), (2, 0, 3)] {
        let id = output(&here.store, partition, total, buckets).await;
        check_buckets(&here.store, &id, total, buckets, buckets).await;
    }
    assert_eq!(here.counts.of(Verb::Get), 0);
    here.files_become(2).await;
    // Of one that is given up, nothing stays.
    let id = MapOutputId::new("job", 1, 9);
    let options = WriterOptions::default();
    let mut writer = here
        .store
        .writer(id, attempt(0), schema(), 1, &context(1 << 30), options)
        .unwrap();
    write(&mut writer, 100_000, 1).await;
    drop(writer);
    here.files_become(2).await;
    assert_eq!(here.local.usage().parts, 2);
}

#[tokio::test]
async fn without_room_everything_comes_from_the_store() {
    let shared: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let executor = Executor::new(Arc::clone(&shared), 100, 1 << 20);
    let id = output(&executor.store, 0, 20_000, 7).await;
    check_buckets(&executor.store, &id, 20_000, 7, 7).await;
    assert_eq!(executor.counts.of(Verb::Get), 7, "one for each bucket");
    assert_eq!(executor.local.usage(), LocalUsage::default());

    let bytes = executor.store.record(&first(&id)).await.unwrap().record.bytes;
    // Room for two of about five windows: the oldest are let go.
    let second = Executor::new(shared, bytes / 2, bytes / 5);
    for _ in 0..2 {
        check_buckets(&second.store, &id, 20_000, 7, 7).await;
    }
    let usage = second.local.usage();
    assert!(usage.bytes <= bytes / 2 && usage.parts > 0, "{usage:?}");
    assert!(second.counts.of(Verb::Get) > 7);
    second.files_become(usage.parts as usize).await;
}

/// A shuffle of 1 GiB, an eighth as large in all: 200 map tasks, 200 buckets, two executors that write one half and read one half each. Run by
/// `just test-s3`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs an S3 server"]
async fn a_shuffle_of_200_by_200_takes_few_requests() {
    const TASKS: u32 = 200;
    const WINDOW: u64 = (1 << 20) / 8;
    let url = std::env::var("CNE_TEST_S3_URL").unwrap();
    let job = format!("shuffle-{}", uuid::Uuid::new_v4());
    let executor = |own: bool| {
        let client = ClientOptions::default();
        let (store, prefix) = open_store(&url, &client).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let quota = 2 << 30;
        let local = LocalParts::open(directory.path().to_path_buf(), quota).unwrap();
        let store = ShuffleStore::new(store, prefix);
        let written = if own {
            store.clone().with_local(local.clone(), WINDOW)
        } else {
            store.clone()
        };
        (written, store.with_local(local, WINDOW), client.counts, directory)
    };
    for own in [false, true] {
        let executors = [executor(own), executor(own)];
        let started = std::time::Instant::now();
        let mut bytes = 0;
        for task in 0..TASKS {
            let (store, ..) = &executors[task as usize % 2];
            let value: Vec<u8> = (0..(26u32 << 10) / 8)
                .map(|i| ((i * (task + 7)) >> 3) as u8)
                .collect();
            let values = BinaryArray::from_iter_values((0..TASKS).map(|_| &value));
            let rows = RecordBatch::try_from_iter([("b", Arc::new(values) as ArrayRef)]).unwrap();
            let id = MapOutputId::new(job.as_str(), u32::from(own), task);
            let options = WriterOptions {
                compression: Compression::None,
                ..WriterOptions::default()
            };
            let mut writer = store
                .writer(
                    id,
                    attempt(0),
                    rows.schema(),
                    TASKS as usize,
                    &context(1 << 30),
                    options,
                )
                .unwrap();
            writer
                .write_rows(rows, &(0..TASKS).collect::<Vec<_>>())
                .await
                .unwrap();
            bytes += writer.finish(vec![]).await.unwrap().stored.record.bytes;
        }
        let wrote = started.elapsed();
        let stage = u32::from(own);
        let outputs: Vec<_> = (0..TASKS)
            .map(|task| first(&MapOutputId::new(job.as_str(), stage, task)))
            .collect();
        let schema = executors[0].1.record(&outputs[0]).await.unwrap().schema.clone();
        let mut readers = futures::stream::iter(0..TASKS)
            .map(|bucket| {
                let (_, store, ..) = &executors[bucket as usize % 2];
                let rows = store.read_ordered(outputs.clone(), bucket, Arc::clone(&schema));
                tokio::spawn(async move {
                    let batches: Vec<RecordBatch> = rows.try_collect().await.unwrap();
                    batches.iter().map(RecordBatch::num_rows).sum::<usize>()
                })
            })
            .buffer_unordered(4);
        while let Some(rows) = readers.next().await {
            assert_eq!(rows.unwrap(), TASKS as usize);
        }
        let of = |verb| executors.iter().map(|executor| executor.2.of(verb)).sum::<u64>();
        let received: u64 = executors.iter().map(|executor| executor.2.bytes_received()).sum();
        let (puts, gets) = (of(Verb::Put), of(Verb::Get));
        println!(
            "own outputs kept: {own}; {bytes} bytes; {puts} PUTs, {gets} GETs of {received} bytes; written in {wrote:?}, all in {:?}",
            started.elapsed()
        );
        assert_eq!((puts, of(Verb::CreateUpload)), (400, 0));
        assert!(bytes > 1 << 27 && gets <= 4000, "{gets}");
        executors[0].0.delete_namespace(&job).await.unwrap();
    }
}
