//! Outputs that are stored in their commit records.

use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::cache::RecordCache;
use crate::counts::CountedStore;
use crate::tests::{attempt, batch, check_buckets, context, first, numbers, rows, schema, write};
use crate::*;

const LIMIT: usize = 16 << 10;

fn counted(inner: &Arc<dyn ObjectStore>) -> (ShuffleStore, Arc<RequestCounts>) {
    let counts = Arc::new(RequestCounts::default());
    let counted = CountedStore::new(Arc::clone(inner), Arc::clone(&counts));
    (ShuffleStore::new(Arc::new(counted), Path::default()), counts)
}

fn writer(store: &ShuffleStore, partition: u32, number: u32, buckets: usize) -> ShuffleWriter {
    let id = MapOutputId::new("job", 1, partition);
    let options = WriterOptions {
        inline_bytes: LIMIT,
        ..WriterOptions::default()
    };
    store
        .writer(id, attempt(number), schema(), buckets, &context(1 << 30), options)
        .unwrap()
}

#[tokio::test]
async fn a_small_output_is_one_request_to_write_and_one_to_read() {
    let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let (store, counts) = counted(&inner);
    let mut small = writer(&store, 0, 0, 3);
    write(&mut small, 100, 3).await;
    let committed = small.finish(vec![]).await.unwrap();
    let record = &committed.stored.record;
    assert_eq!(
        (record.data_key.as_str(), record.data.len() as u64),
        ("", record.bytes)
    );
    assert!(store.has_data(record).await.unwrap());
    assert_eq!(counts.of(Verb::Put), 1);

    let (elsewhere, counts) = counted(&inner);
    let id = MapOutputId::new("job", 1, 0);
    check_buckets(&elsewhere, &id, 100, 3, 3).await;
    assert_eq!((counts.of(Verb::Get), counts.of(Verb::Put)), (1, 0));

    // One that lost has nothing to remove, and gives the winner's rows.
    let mut late = writer(&store, 0, 1, 3);
    write(&mut late, 50, 3).await;
    let lost = late.finish(vec![]).await.unwrap();
    assert_eq!((lost.won, lost.stored.record.rows), (false, 100));

    // Rows in one bucket, and too many for a record.
    let mut one = writer(&store, 1, 0, 1);
    one.write(0, batch(0, 10)).await.unwrap();
    one.finish(vec![]).await.unwrap();
    let found = rows(&elsewhere, &MapOutputId::new("job", 1, 1), 0).await;
    assert_eq!(numbers(&found), (0..10).collect::<Vec<_>>());
    let mut large = writer(&store, 2, 0, 3);
    write(&mut large, 5000, 3).await;
    let large = large.finish(vec![]).await.unwrap();
    let record = &large.stored.record;
    assert!(record.bytes > LIMIT as u64 && record.data.is_empty() && !record.data_key.is_empty());
    check_buckets(&elsewhere, &MapOutputId::new("job", 1, 2), 5000, 3, 3).await;
    // Three records and one data object.
    assert_eq!(store.delete_own("job").await.unwrap(), 4);
}

#[tokio::test]
async fn a_record_without_the_data_that_it_says_is_refused() {
    let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let (store, _) = counted(&inner);
    let mut small = writer(&store, 0, 0, 2);
    write(&mut small, 20, 2).await;
    let record = small.finish(vec![]).await.unwrap().stored.record.clone();
    let id = MapOutputId::new("job", 1, 0);
    let key = Path::from(id.commit_key(0).unwrap());
    let mut cut = record.clone();
    cut.data.truncate(1);
    let mut other = record.clone();
    other.data = vec![7; record.data.len()].into();
    for (forged, what) in [(cut, "does not have the data"), (other, "checksum")] {
        let bytes = crate::store::encode_record(&forged);
        inner.put(&key, bytes.into()).await.unwrap();
        let (reader, _) = counted(&inner);
        let error = reader.read(&first(&id), 0).await.err().unwrap();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[tokio::test]
async fn rows_in_cached_records_are_bounded() {
    let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let (store, _) = counted(&inner);
    let mut small = writer(&store, 0, 0, 1);
    small.write(0, batch(0, 100)).await.unwrap();
    let stored = small.finish(vec![]).await.unwrap().stored;
    let size = stored.record.data.len();
    let cache = RecordCache::new(100, 2 * size);
    for key in 0..3 {
        cache.insert(key, Arc::clone(&stored));
    }
    assert_eq!(
        [0, 1, 2].map(|key| cache.get(&key).is_some()),
        [false, true, true]
    );
    cache.insert(2, Arc::clone(&stored));
    cache.forget(|key| *key == 1);
    cache.insert(3, Arc::clone(&stored));
    assert_eq!(
        [1, 2, 3].map(|key| cache.get(&key).is_some()),
        [false, true, true]
    );
}
