use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, StringViewArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use cne_proto::v1::{CommitInput, CommitRecord};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::*;

pub(crate) fn context(memory: usize) -> TaskContext {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
        .build_arc()
        .unwrap();
    TaskContext::default().with_runtime(runtime)
}

pub(crate) fn attempt(attempt: u32) -> TaskAttempt {
    TaskAttempt {
        version: OutputVersion {
            generation: 0,
            attempt,
        },
        executor_id: format!("executor-{attempt}"),
    }
}

/// What attempt 0 wrote.
pub(crate) fn first(id: &MapOutputId) -> MapOutput {
    id.written_by(OutputVersion::default())
}

/// Row i: i, a string that compresses badly enough, a 16-byte aligned decimal.
pub(crate) fn batch(from: i64, to: i64) -> RecordBatch {
    let text: Vec<Option<String>> = (from..to)
        .map(|i| (i % 7 != 0).then(|| format!("{:x}", (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))))
        .collect();
    RecordBatch::try_from_iter([
        ("i", Arc::new(Int64Array::from_iter_values(from..to)) as ArrayRef),
        ("s", Arc::new(StringArray::from(text.clone())) as ArrayRef),
        ("v", Arc::new(StringViewArray::from(text)) as ArrayRef),
        (
            "d",
            Arc::new(Decimal128Array::from_iter_values((from..to).map(i128::from))) as ArrayRef,
        ),
    ])
    .unwrap()
}

pub(crate) fn schema() -> SchemaRef {
    let schema = batch(0, 1).schema();
    let fields: Vec<_> = schema
        .fields()
        .iter()
        .map(|field| field.as_ref().clone().with_nullable(true))
        .collect();
    Arc::new(Schema::new(fields))
}

pub(crate) async fn rows(store: &ShuffleStore, id: &MapOutputId, bucket: u32) -> RecordBatch {
    let stream = store.read(&first(id), bucket).await.unwrap();
    let schema = stream.schema();
    let batches: Vec<RecordBatch> = stream.try_collect().await.unwrap();
    concat_batches(&schema, &batches).unwrap()
}

pub(crate) fn numbers(batch: &RecordBatch) -> Vec<i64> {
    batch
        .column(0)
        .as_any()
        .downcast_ref::<Int64Array>()
        .unwrap()
        .values()
        .to_vec()
}

async fn count(store: &dyn ObjectStore) -> usize {
    store.list(None).try_collect::<Vec<_>>().await.unwrap().len()
}

/// Writes rows 0..total in batches of 1000, row i to bucket i % used.
pub(crate) async fn write(writer: &mut ShuffleWriter, total: i64, used: i64) {
    for from in (0..total).step_by(1000) {
        let to = (from + 1000).min(total);
        let buckets: Vec<u32> = (from..to).map(|i| (i % used) as u32).collect();
        writer.write_rows(batch(from, to), &buckets).await.unwrap();
    }
}

pub(crate) async fn check_buckets(
    store: &ShuffleStore,
    id: &MapOutputId,
    total: i64,
    used: i64,
    num_buckets: i64,
) {
    for bucket in 0..num_buckets {
        let rows = rows(store, id, bucket as u32).await;
        let expected: Vec<i64> = (0..total).filter(|i| i % used == bucket).collect();
        assert_eq!(
            numbers(&rows),
            expected,
            "bucket {bucket}: every row once, in order"
        );
        if let (Some(first), Some(last)) = (expected.first(), expected.last()) {
            let all = batch(*first, last + 1);
            let picked = arrow::compute::take_record_batch(
                &all,
                &arrow::array::UInt64Array::from_iter_values(
                    (0..=(last - first) as u64).step_by(used as usize),
                ),
            );
            assert_eq!(rows.columns(), picked.unwrap().columns());
        }
    }
}

#[tokio::test]
async fn buckets_come_back_with_and_without_spilling_in_every_compression() {
    for (memory, compression) in [
        (1 << 30, Compression::Lz4),
        (300 << 10, Compression::Zstd),
        (300 << 10, Compression::None),
        (1, Compression::Lz4),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (object_store, prefix) = open_store(
            &format!("file://{}/pool", directory.path().display()),
            &ClientOptions::default(),
        )
        .unwrap();
        let store = ShuffleStore::new(Arc::clone(&object_store), prefix);
        let id = MapOutputId::new("job-1", 3, 7);
        let options = WriterOptions {
            compression,
            batch_size: 500,
            ..WriterOptions::default()
        };
        let mut writer = store
            .writer(id.clone(), attempt(0), schema(), 6, &context(memory), options)
            .unwrap();
        write(&mut writer, 30_000, 5).await;
        assert_eq!(
            writer.spill_count() > 0,
            memory < 1 << 30,
            "spills: {}",
            writer.spill_count()
        );
        let committed = writer.finish(vec![CommitInput::default()]).await.unwrap();
        assert!(committed.won);
        let record = &committed.stored.record;
        assert_eq!(
            (record.rows, record.buckets.len(), record.inputs.len()),
            (30_000, 6, 1)
        );
        assert_eq!((record.buckets[5].length, record.buckets[5].rows), (0, 0));
        assert_eq!(
            record.buckets.iter().map(|range| range.length).sum::<u64>(),
            record.bytes
        );
        check_buckets(&store, &id, 30_000, 5, 6).await;
        // Another process, with nothing cached.
        let reader = ShuffleStore::new(Arc::clone(&object_store), Path::default());
        check_buckets(&reader, &id, 30_000, 5, 6).await;
        assert!(matches!(
            reader.read(&first(&id), 6).await.err(),
            Some(StoreError::NoSuchBucket {
                bucket: 6,
                num_buckets: 6
            })
        ));
        assert_eq!(count(&*object_store).await, 2);
        assert_eq!(reader.delete_namespace("job-1").await.unwrap(), 2);
        assert_eq!(
            std::fs::read_dir(directory.path().join("pool")).unwrap().count(),
            0,
            "directories go too"
        );
        assert!(reader.record(&first(&id)).await.unwrap_err().is_lost_output());
    }
}

#[tokio::test]
async fn one_large_bucket_is_streamed_through_in_both_directions() {
    let directory = tempfile::tempdir().unwrap();
    let object_store = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
    let store = ShuffleStore::new(object_store.clone(), Path::from("results"));
    let id = MapOutputId::new("job", 1, 0);
    let options = WriterOptions {
        compression: Compression::None,
        ..WriterOptions::default()
    };
    let mut writer = store
        .writer(id.clone(), attempt(0), schema(), 1, &context(1 << 30), options)
        .unwrap();
    for from in (0..400_000).step_by(10_000) {
        writer.write(0, batch(from, from + 10_000)).await.unwrap();
    }
    let record = writer.finish(vec![]).await.unwrap().stored.record.clone();
    assert!(
        record.bytes > 20 << 20,
        "several parts and blocks, not {}",
        record.bytes
    );
    assert_eq!(
        numbers(&rows(&store, &id, 0).await),
        (0..400_000).collect::<Vec<_>>()
    );

    let path = directory.path().join("results").join(&record.data_key);
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = store
        .read(&first(&id), 0)
        .await
        .unwrap()
        .try_collect::<Vec<_>>()
        .await
        .unwrap_err();
    assert!(
        matches!(
            StoreError::find(&error),
            Some(StoreError::Corrupt { .. } | StoreError::Codec { .. })
        ),
        "{error:?}"
    );
    bytes.truncate(last);
    std::fs::write(&path, &bytes).unwrap();
    let error = store
        .read(&first(&id), 0)
        .await
        .unwrap()
        .try_collect::<Vec<_>>()
        .await
        .unwrap_err();
    assert!(!StoreError::find(&error).unwrap().retryable());
    std::fs::remove_file(&path).unwrap();
    let error = store
        .read(&first(&id), 0)
        .await
        .unwrap()
        .try_collect::<Vec<_>>()
        .await
        .unwrap_err();
    assert!(StoreError::find(&error).unwrap().is_lost_output());
}

#[tokio::test]
async fn an_abandoned_large_output_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let object_store = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
    let store = ShuffleStore::new(object_store.clone(), Path::default());
    let options = WriterOptions {
        compression: Compression::None,
        ..WriterOptions::default()
    };
    let mut writer = store
        .writer(
            MapOutputId::new("job", 1, 0),
            attempt(0),
            schema(),
            1,
            &context(1 << 30),
            options,
        )
        .unwrap();
    writer.write(0, batch(0, 200_000)).await.unwrap();
    fn files(path: &std::path::Path) -> usize {
        std::fs::read_dir(path)
            .unwrap()
            .map(|e| e.unwrap().path())
            .map(|path| if path.is_dir() { files(&path) } else { 1 })
            .sum()
    }
    assert_eq!(files(directory.path()), 1, "the upload has begun");
    drop(writer);
    for _ in 0..100 {
        if files(directory.path()) == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the unfinished upload is still there");
}

#[tokio::test]
async fn one_flipped_bit_of_a_small_bucket_is_found_before_any_row() {
    let object_store = Arc::new(InMemory::new());
    let store = ShuffleStore::new(object_store.clone(), Path::from("p"));
    let id = MapOutputId::new("job", 1, 0);
    let mut writer = store
        .writer(
            id.clone(),
            attempt(0),
            schema(),
            3,
            &context(1 << 30),
            WriterOptions::default(),
        )
        .unwrap();
    write(&mut writer, 300, 3).await;
    let record = writer.finish(vec![]).await.unwrap().stored.record.clone();
    let path = Path::from(format!("p/{}", record.data_key));
    let mut bytes = object_store
        .get(&path)
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap()
        .to_vec();
    bytes[(record.buckets[1].offset + record.buckets[1].length / 2) as usize] ^= 0x10;
    object_store.put(&path, bytes.into()).await.unwrap();
    assert!(matches!(
        store.read(&first(&id), 1).await.err(),
        Some(StoreError::Corrupt { .. })
    ));
    assert_eq!(rows(&store, &id, 0).await.num_rows(), 100);
    assert_eq!(rows(&store, &id, 2).await.num_rows(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hundred_attempts_one_wins_and_all_learn_who() {
    let directory = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn ObjectStore>; 2] = [
        Arc::new(InMemory::new()),
        Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap()),
    ];
    for object_store in stores {
        let id = MapOutputId::new("job", 1, 0);
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                // A store (and so a cache) per attempt: each is another executor.
                let store = ShuffleStore::new(Arc::clone(&object_store), Path::default());
                let mut writer = store
                    .writer(
                        id.clone(),
                        attempt(number),
                        schema(),
                        2,
                        &context(1 << 30),
                        WriterOptions::default(),
                    )
                    .unwrap();
                tokio::spawn(async move {
                    writer
                        .write(number % 2, batch(i64::from(number), i64::from(number) + 1))
                        .await
                        .unwrap();
                    writer.finish(vec![]).await.unwrap()
                })
            })
            .collect();
        let mut outcomes = vec![];
        for task in tasks {
            outcomes.push(task.await.unwrap());
        }
        let winner = outcomes.iter().find(|outcome| outcome.won).unwrap();
        assert_eq!(outcomes.iter().filter(|outcome| outcome.won).count(), 1);
        assert!(outcomes.iter().all(|outcome| outcome.stored == winner.stored));
        assert_eq!(count(&*object_store).await, 2, "the losers' data is gone");
        let number = winner.stored.record.attempt;
        let store = ShuffleStore::new(object_store, Path::default());
        let output = |number: u32| id.written_by(attempt(number).version);
        let rows = store.read(&output(number), number % 2).await.unwrap();
        let rows: Vec<RecordBatch> = rows.try_collect().await.unwrap();
        assert_eq!(numbers(&rows[0]), [i64::from(number)]);
        // The location names the attempt: nobody reads what he was not told of.
        let other = store.read(&output((number + 1) % 100), 0).await.err().unwrap();
        assert!(other.is_lost_output(), "{other}");
    }
}

#[tokio::test]
async fn a_repeated_commit_of_the_same_attempt_wins_again_and_keeps_its_data() {
    let object_store = Arc::new(InMemory::new());
    let store = ShuffleStore::new(object_store.clone(), Path::default());
    let id = MapOutputId::new("job", 1, 0);
    let mut writer = store
        .writer(
            id.clone(),
            attempt(0),
            schema(),
            1,
            &context(1 << 30),
            WriterOptions::default(),
        )
        .unwrap();
    writer.write(0, batch(0, 10)).await.unwrap();
    let record = writer.finish(vec![]).await.unwrap().stored.record.clone();
    assert!(store.commit(record.clone()).await.unwrap().won);
    assert_eq!(rows(&store, &id, 0).await.num_rows(), 10);
    let forged = CommitRecord {
        data_key: "0/other/1/0/data-0-0-aa".to_string(),
        ..record
    };
    object_store
        .put(
            &Path::from(id.commit_key(0).unwrap()),
            crate::store::encode_record(&forged).into(),
        )
        .await
        .unwrap();
    let other = ShuffleStore::new(object_store, Path::default());
    assert!(
        matches!(other.record(&first(&id)).await, Err(StoreError::Corrupt { .. })),
        "a record cannot point at another job's data"
    );
}

#[tokio::test]
async fn empty_outputs_have_no_data_and_rows_without_columns_are_counted() {
    let object_store = Arc::new(InMemory::new());
    let store = ShuffleStore::new(object_store.clone(), Path::default());
    let id = MapOutputId::new("job", 1, 0);
    let writer = store
        .writer(
            id.clone(),
            attempt(0),
            schema(),
            4,
            &context(1 << 30),
            WriterOptions::default(),
        )
        .unwrap();
    let committed = writer.finish(vec![]).await.unwrap();
    assert_eq!(
        (
            committed.stored.record.data_key.as_str(),
            committed.stored.record.bytes
        ),
        ("", 0)
    );
    assert_eq!(count(&*object_store).await, 1);
    let empty = rows(&store, &id, 3).await;
    assert_eq!(
        (empty.num_rows(), empty.schema().fields()),
        (0, schema().fields())
    );

    let none = Arc::new(Schema::empty());
    for num_buckets in [1, 2] {
        let id = MapOutputId::new("job", 2, num_buckets);
        let mut writer = store
            .writer(
                id.clone(),
                attempt(0),
                Arc::clone(&none),
                num_buckets as usize,
                &context(1 << 30),
                WriterOptions::default(),
            )
            .unwrap();
        for _ in 0..3 {
            let options = RecordBatchOptions::new().with_row_count(Some(5));
            writer
                .write(
                    num_buckets - 1,
                    RecordBatch::try_new_with_options(Arc::clone(&none), vec![], &options).unwrap(),
                )
                .await
                .unwrap();
        }
        writer.finish(vec![]).await.unwrap();
        let batches: Vec<RecordBatch> = store
            .read(&first(&id), num_buckets - 1)
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 15);
    }
    assert_eq!(store.delete_stage("job", 2).await.unwrap(), 4);
    assert!(store.record(&first(&id)).await.is_ok(), "stage 1 stays");
}

#[tokio::test]
async fn many_outputs_are_read_in_order_and_a_lost_one_is_an_error() {
    let store = ShuffleStore::new(Arc::new(InMemory::new()), Path::default());
    let ids: Vec<MapOutputId> = (0..20)
        .map(|partition| MapOutputId::new("job", 1, partition))
        .collect();
    for (number, id) in ids.iter().enumerate() {
        let from = number as i64 * 10;
        let options = WriterOptions::default();
        let mut writer = store
            .writer(id.clone(), attempt(0), schema(), 2, &context(1 << 30), options)
            .unwrap();
        writer
            .write_rows(batch(from, from + 10), &[0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
            .await
            .unwrap();
        writer.finish(vec![]).await.unwrap();
    }
    let read = async |ids: &[MapOutputId]| {
        let batches: Vec<RecordBatch> = store
            .read_ordered(ids.iter().map(first).collect(), 1, schema())
            .try_collect()
            .await?;
        Ok::<_, datafusion::error::DataFusionError>(numbers(&concat_batches(&schema(), &batches).unwrap()))
    };
    assert_eq!(
        read(&ids).await.unwrap(),
        (0..200).filter(|i| i % 2 == 1).collect::<Vec<_>>()
    );
    let lost = [ids, vec![MapOutputId::new("job", 1, 99)]].concat();
    let error = read(&lost).await.unwrap_err();
    assert!(StoreError::find(&error).unwrap().is_lost_output());
}

#[tokio::test]
async fn namespaces_cannot_leave_the_prefix() {
    let store = ShuffleStore::new(Arc::new(InMemory::new()), Path::from("p"));
    for job in [
        "",
        "..",
        "a/b",
        "../x",
        "/etc",
        "a%2fb",
        "a b",
        "ä",
        &"x".repeat(129),
    ] {
        let id = MapOutputId::new(job, 1, 1);
        assert!(
            matches!(
                store.record(&first(&id)).await,
                Err(StoreError::InvalidNamespace { .. })
            ),
            "{job}"
        );
        assert!(
            matches!(
                store.delete_namespace(job).await,
                Err(StoreError::InvalidNamespace { .. })
            ),
            "{job}"
        );
        let writer = store.writer(
            id,
            attempt(0),
            schema(),
            1,
            &context(1 << 20),
            WriterOptions::default(),
        );
        assert!(
            matches!(writer.err(), Some(StoreError::InvalidNamespace { .. })),
            "{job}"
        );
    }
}

#[tokio::test]
async fn rows_of_another_type_or_for_no_bucket_are_refused() {
    let store = ShuffleStore::new(Arc::new(InMemory::new()), Path::default());
    let mut writer = store
        .writer(
            MapOutputId::new("job", 1, 0),
            attempt(0),
            schema(),
            2,
            &context(1 << 30),
            WriterOptions::default(),
        )
        .unwrap();
    assert!(matches!(
        writer.write(2, batch(0, 1)).await,
        Err(StoreError::NoSuchBucket { .. })
    ));
    assert!(matches!(
        writer.write_rows(batch(0, 2), &[0, 2]).await,
        Err(StoreError::Codec { .. })
    ));
    assert!(matches!(
        writer.write_rows(batch(0, 2), &[0]).await,
        Err(StoreError::Codec { .. })
    ));
    let swapped = batch(0, 2).project(&[1, 0, 2, 3]).unwrap();
    assert!(matches!(
        writer.write_rows(swapped, &[0, 1]).await,
        Err(StoreError::Codec { .. })
    ));
}

#[test]
fn partition_batch_keeps_order_within_buckets() {
    let rows = batch(0, 1000);
    let buckets: Vec<u32> = (0..1000).map(|i| (i * i % 11) as u32).collect();
    let parted = partition_batch(&rows, &buckets, 12).unwrap();
    for bucket in 0..12 {
        let expected: Vec<i64> = (0..1000).filter(|i| i * i % 11 == bucket).collect();
        assert_eq!(numbers(&parted.bucket(bucket as usize)), expected);
    }
    assert_eq!(
        parted.buckets().map(|(_, rows)| rows.num_rows()).sum::<usize>(),
        1000
    );
    assert!(partition_batch(&rows, &buckets, 9).is_err());
    assert!(partition_batch(&rows, &buckets[1..], 12).is_err());
}

#[tokio::test]
async fn scans_read_below_the_roots_only() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for directory in [&inside, &outside] {
        std::fs::write(directory.path().join("part 1%2F.parquet"), b"abc").unwrap();
    }
    std::os::unix::fs::symlink(outside.path(), inside.path().join("link")).unwrap();
    let registry = ExecutorObjectStores::new(vec![inside.path().to_path_buf()], ClientOptions::default());
    let store = registry.get_store(&"file:///".parse().unwrap()).unwrap();
    let at = |directory: &std::path::Path, name: &str| {
        Path::parse(directory.join(name).to_str().unwrap()).unwrap()
    };

    let path = at(inside.path(), "part 1%2F.parquet");
    assert_eq!(store.get_range(&path, 1..3).await.unwrap(), "bc");
    assert_eq!(store.head(&path).await.unwrap().location, path);
    let missing = store
        .head(&at(inside.path(), "missing.parquet"))
        .await
        .unwrap_err();
    assert!(
        matches!(missing, object_store::Error::NotFound { .. }),
        "{missing}"
    );

    for path in [
        at(outside.path(), "part 1%2F.parquet"),
        at(outside.path(), "missing"),
        at(inside.path(), "link/part 1%2F.parquet"),
        Path::from("etc/passwd"),
    ] {
        let error = store.get(&path).await.unwrap_err();
        let Some(AccessError::OutsideRoots { path: named }) = AccessError::find(&error) else {
            panic!("{error:?}")
        };
        assert_eq!(named, &format!("/{path}"));
    }
    for url in ["hdfs://namenode/x", "http://169.254.169.254/latest", "abfs://x/y"] {
        let error = registry.get_store(&url.parse().unwrap()).unwrap_err();
        assert!(
            matches!(AccessError::find(&error), Some(AccessError::Scheme { .. })),
            "{error}"
        );
    }
}

/// Run with `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`, credentials and `CNE_TEST_S3_URL=s3://bucket/prefix` of an S3 server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs an S3 server"]
async fn an_s3_server_lets_one_commit_win() {
    let (object_store, prefix) = open_store(
        &std::env::var("CNE_TEST_S3_URL").unwrap(),
        &ClientOptions::default(),
    )
    .unwrap();
    let id = MapOutputId::new("job", 1, 0);
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let store = ShuffleStore::new(Arc::clone(&object_store), prefix.clone());
            let options = WriterOptions {
                compression: Compression::None,
                ..WriterOptions::default()
            };
            let mut writer = store
                .writer(
                    id.clone(),
                    attempt(number),
                    schema(),
                    1,
                    &context(1 << 30),
                    options,
                )
                .unwrap();
            // The first is large: a multipart upload.
            let rows = if number == 0 { 150_000 } else { 10 };
            tokio::spawn(async move {
                writer.write(0, batch(0, rows)).await.unwrap();
                writer.finish(vec![]).await.unwrap()
            })
        })
        .collect();
    let mut outcomes = vec![];
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    assert_eq!(outcomes.iter().filter(|outcome| outcome.won).count(), 1);
    let store = ShuffleStore::new(Arc::clone(&object_store), prefix);
    let winner = attempt(outcomes[0].stored.record.attempt).version;
    let read: Vec<RecordBatch> = store
        .read(&id.written_by(winner), 0)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let read = read.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
    assert!(outcomes.iter().all(|outcome| outcome.stored.record.rows == read));
    assert_eq!(store.delete_namespace("job").await.unwrap(), 2);

    let mut large = store
        .writer(
            id.clone(),
            attempt(0),
            schema(),
            2,
            &context(1 << 20),
            WriterOptions::default(),
        )
        .unwrap();
    write(&mut large, 400_000, 2).await;
    assert!(large.finish(vec![]).await.unwrap().stored.record.bytes > 8 << 20);
    check_buckets(&store, &id, 400_000, 2, 2).await;
    assert_eq!(store.delete_namespace("job").await.unwrap(), 2);
}

#[tokio::test]
async fn each_generation_has_its_own_record_and_the_newest_is_found() {
    let store = ShuffleStore::new(Arc::new(InMemory::new()), Path::default());
    let id = MapOutputId::new("job", 1, 0);
    assert_eq!(store.find(&id, 5).await.unwrap(), None);
    let mut keys = vec![];
    for generation in [0, 2] {
        let by = TaskAttempt {
            version: OutputVersion {
                generation,
                attempt: 7,
            },
            executor_id: "executor".into(),
        };
        let options = WriterOptions::default();
        let mut writer = store
            .writer(id.clone(), by.clone(), schema(), 2, &context(1 << 20), options)
            .unwrap();
        let from = i64::from(generation);
        writer.write(0, batch(from, from + 1)).await.unwrap();
        let committed = writer.finish(vec![]).await.unwrap();
        assert!(committed.won);
        let rows = store.read(&id.written_by(by.version), 0).await.unwrap();
        let rows: Vec<RecordBatch> = rows.try_collect().await.unwrap();
        assert_eq!(numbers(&rows[0]), [from]);
        keys.push(committed.stored.record.clone());
    }
    for (up_to, found) in [(0, 0), (1, 0), (2, 2), (9, 2)] {
        let stored = store.find(&id, up_to).await.unwrap().unwrap();
        assert_eq!(stored.record.generation, found);
        assert!(store.has_data(&stored.record).await.unwrap());
    }
    store.delete_data(&keys[1].data_key).await;
    assert!(!store.has_data(&keys[1]).await.unwrap(), "the record stays");
}
