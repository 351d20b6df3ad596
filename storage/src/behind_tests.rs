//! Outputs that executors keep for each other, before and without the store.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cne_proto::v1::{CommitInput, MapOutputInput, commit_input::Input};
use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use parking_lot::Mutex;

use crate::counts::CountedStore;
use crate::tests::{attempt, batch, context, schema};
use crate::*;

/// Executors of one process, by name; one that was taken out does not answer.
#[derive(Debug, Default, Clone)]
struct Pool(Arc<Mutex<HashMap<String, ShuffleStore>>>);

impl Pool {
    fn at(&self, holder: &str) -> std::result::Result<ShuffleStore, PeerError> {
        let found = self.0.lock().get(holder).cloned();
        found.ok_or_else(|| "nobody there".into())
    }
}

#[async_trait]
impl Peers for Pool {
    async fn record(&self, holder: &str, output: &MapOutput) -> Result<Option<Bytes>, PeerError> {
        Ok(self.at(holder)?.kept_record(output))
    }

    async fn range(&self, holder: &str, key: &str, range: Range<u64>) -> Result<Option<Bytes>, PeerError> {
        Ok(self.at(holder)?.kept_range(key, range).await)
    }

    async fn publications(
        &self,
        holder: &str,
        outputs: &[MapOutput],
    ) -> Result<Vec<Option<Publication>>, PeerError> {
        let store = self.at(holder)?;
        Ok(outputs
            .iter()
            .map(|output| store.want_publication(output))
            .collect())
    }
}

struct Executor {
    name: Arc<str>,
    store: ShuffleStore,
    counts: Arc<RequestCounts>,
    pool: Pool,
    _directory: tempfile::TempDir,
}

impl Executor {
    fn start(pool: &Pool, name: &str, inner: &Arc<dyn ObjectStore>, quota: u64) -> Self {
        let counts = Arc::new(RequestCounts::default());
        let counted = CountedStore::new(Arc::clone(inner), Arc::clone(&counts));
        let directory = tempfile::tempdir().unwrap();
        let local = LocalParts::open(directory.path().to_path_buf(), quota).unwrap();
        let store = ShuffleStore::new(Arc::new(counted), Path::default())
            .with_local(local, 1 << 20)
            .with_peers(Arc::new(pool.clone()), tokio::runtime::Handle::current());
        pool.0.lock().insert(name.to_string(), store.clone());
        Self {
            name: name.into(),
            store,
            counts,
            pool: pool.clone(),
            _directory: directory,
        }
    }

    /// Nobody hears of it again.
    fn kill(self) {
        self.pool.0.lock().remove(&*self.name);
    }

    async fn write(
        &self,
        partition: u32,
        number: u32,
        inputs: &[&MapOutput],
        durability: Durability,
    ) -> MapOutput {
        let options = WriterOptions {
            durability,
            ..WriterOptions::default()
        };
        let committed = self.commit(partition, number, inputs, options).await.unwrap();
        assert!(committed.won);
        output(partition, number)
    }

    /// As an attempt that is not the first one.
    async fn settle(
        &self,
        partition: u32,
        number: u32,
        inputs: &[&MapOutput],
    ) -> Result<Committed, StoreError> {
        let options = WriterOptions {
            durability: Durability::WriteBehind,
            settles: true,
            ..WriterOptions::default()
        };
        self.commit(partition, number, inputs, options).await
    }

    /// Rows `attempt * 1000 ..` of 100, in 3 buckets.
    async fn commit(
        &self,
        partition: u32,
        number: u32,
        inputs: &[&MapOutput],
        options: WriterOptions,
    ) -> Result<Committed, StoreError> {
        let id = MapOutputId::new("query", 1, partition);
        let mut writer = self
            .store
            .writer(id, attempt(number), schema(), 3, &context(1 << 30), options)
            .unwrap();
        let from = i64::from(number) * 1000;
        let buckets: Vec<u32> = (0..100).map(|row| row % 3).collect();
        writer
            .write_rows(batch(from, from + 100), &buckets)
            .await
            .unwrap();
        let of = |input: &&MapOutput| CommitInput {
            input: Some(Input::MapOutput(MapOutputInput {
                stage_id: input.id.stage_id,
                map_partition: input.id.map_partition,
                generation: input.version.generation,
                attempt: input.version.attempt,
                commit_checksum: 0,
            })),
        };
        writer.finish(inputs.iter().map(of).collect()).await
    }

    /// The rows of an output that `holder` is said to keep.
    async fn read(&self, output: &MapOutput, holder: &str) -> Result<Vec<i64>, StoreError> {
        self.store.note_holder(output.clone(), &Arc::from(holder));
        let mut rows = vec![];
        for bucket in 0..3 {
            let stream = self.store.read(output, bucket).await?;
            for batch in stream.try_collect::<Vec<_>>().await.unwrap() {
                rows.extend(crate::tests::numbers(&batch));
            }
        }
        rows.sort_unstable();
        Ok(rows)
    }
}

fn output(partition: u32, number: u32) -> MapOutput {
    MapOutputId::new("query", 1, partition).written_by(attempt(number).version)
}

async fn commits(store: &Arc<dyn ObjectStore>) -> usize {
    let objects: Vec<_> = store.list(None).try_collect().await.unwrap();
    objects
        .iter()
        .filter(|object| object.location.as_ref().contains("/commit-"))
        .count()
}

async fn settled(executor: &Executor) {
    let flush = tokio::time::timeout(Duration::from_secs(20), executor.store.flush());
    flush.await.expect("everything is published");
}

#[tokio::test]
async fn what_is_written_behind_outlives_its_executor_once_it_is_flushed() {
    let (pool, shared): (_, Arc<dyn ObjectStore>) = (Pool::default(), Arc::new(InMemory::new()));
    let writer = Executor::start(&pool, "writer", &shared, 1 << 30);
    let reader = Executor::start(&pool, "reader", &shared, 1 << 30);
    let output = writer.write(0, 0, &[], Durability::WriteBehind).await;
    assert_eq!(
        reader.read(&output, "writer").await.unwrap(),
        (0..100).collect::<Vec<_>>()
    );
    assert_eq!(reader.counts.of(Verb::Get), 0, "from executor to executor");
    settled(&writer).await;
    assert_eq!((commits(&shared).await, writer.store.waiting()), (1, 0));
    assert_eq!((writer.counts.of(Verb::Put), writer.counts.of(Verb::Get)), (2, 0));
    let usage = writer.store.local_usage().unwrap();
    assert!(usage.bytes > 0 && usage.kept_bytes == 0, "{usage:?}");
    writer.kill();
    let late = Executor::start(&pool, "late", &shared, 1 << 30);
    assert_eq!(
        late.read(&output, "writer").await.unwrap(),
        (0..100).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn what_is_local_is_lost_with_its_executor_unless_that_is_drained() {
    let (pool, shared): (_, Arc<dyn ObjectStore>) = (Pool::default(), Arc::new(InMemory::new()));
    let first = Executor::start(&pool, "first", &shared, 1 << 30);
    let second = Executor::start(&pool, "second", &shared, 1 << 30);
    let reader = Executor::start(&pool, "reader", &shared, 1 << 30);
    let killed = first.write(0, 0, &[], Durability::Local).await;
    let drained = second.write(1, 0, &[], Durability::Local).await;
    assert_eq!(reader.read(&killed, "first").await.unwrap().len(), 100);
    assert_eq!(commits(&shared).await, 0);
    first.kill();
    settled(&second).await;
    second.kill();
    let late = Executor::start(&pool, "late", &shared, 1 << 30);
    assert!(late.read(&killed, "first").await.unwrap_err().is_lost_output());
    assert_eq!(late.read(&drained, "second").await.unwrap().len(), 100);
}

#[tokio::test]
async fn nothing_is_published_before_what_it_was_made_from() {
    let (pool, shared): (_, Arc<dyn ObjectStore>) = (Pool::default(), Arc::new(InMemory::new()));
    let producer = Executor::start(&pool, "producer", &shared, 1 << 30);
    let consumer = Executor::start(&pool, "consumer", &shared, 1 << 30);
    let input = producer.write(0, 0, &[], Durability::Local).await;
    consumer.read(&input, "producer").await.unwrap();
    let made = consumer.write(1, 0, &[&input], Durability::WriteBehind).await;
    let more = consumer.write(2, 0, &[&made], Durability::WriteBehind).await;
    // The producer keeps its output to itself until somebody wants it in the store.
    settled(&consumer).await;
    assert_eq!(producer.store.publication(&input), Some(Publication::Published));
    assert_eq!(commits(&shared).await, 3);
    assert_eq!(consumer.store.publication(&more), Some(Publication::Published));

    // An input that is lost: what was made from it stays where it is, and is read there.
    let input = producer.write(3, 0, &[], Durability::Local).await;
    consumer.read(&input, "producer").await.unwrap();
    producer.kill();
    let made = consumer.write(4, 0, &[&input], Durability::WriteBehind).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(commits(&shared).await, 3);
    let reader = Executor::start(&pool, "reader", &shared, 1 << 30);
    assert_eq!(reader.read(&made, "consumer").await.unwrap().len(), 100);

    // Removed while it waits: nothing of it stays. What the other executor published, it would remove itself.
    let own = consumer.store.delete_own("query").await.unwrap();
    assert_eq!(
        (own, consumer.counts.of(Verb::List)),
        (5, 0),
        "two outputs, and the data of one that waits"
    );
    assert_eq!(shared.list(None).try_collect::<Vec<_>>().await.unwrap().len(), 2);
    reader.store.delete_namespace("query").await.unwrap();
    settled(&consumer).await;
    for _ in 0..500 {
        if shared
            .list(None)
            .try_collect::<Vec<_>>()
            .await
            .unwrap()
            .is_empty()
        {
            assert_eq!(consumer.store.local_usage().unwrap(), LocalUsage::default());
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("objects of a removed query are left");
}

#[tokio::test]
async fn another_attempts_upload_is_never_read() {
    let (pool, shared): (_, Arc<dyn ObjectStore>) = (Pool::default(), Arc::new(InMemory::new()));
    let zombie = Executor::start(&pool, "zombie", &shared, 1 << 30);
    let winner = Executor::start(&pool, "winner", &shared, 1 << 30);
    zombie.write(0, 0, &[], Durability::WriteBehind).await;
    settled(&zombie).await;
    // The scheduler has accepted attempt 1, which the store refuses.
    let accepted = winner.write(0, 1, &[], Durability::WriteBehind).await;
    settled(&winner).await;
    assert_eq!(winner.store.publication(&accepted), Some(Publication::Refused));
    let reader = Executor::start(&pool, "reader", &shared, 1 << 30);
    let rows = reader.read(&accepted, "winner").await.unwrap();
    assert_eq!(rows, (1000..1100).collect::<Vec<_>>());
    winner.kill();
    let late = Executor::start(&pool, "late", &shared, 1 << 30);
    assert!(late.read(&accepted, "winner").await.unwrap_err().is_lost_output());
    let objects: Vec<_> = shared.list(None).try_collect().await.unwrap();
    assert_eq!(objects.len(), 2, "the data that lost is not in the store");
}

#[tokio::test]
async fn an_executor_that_did_not_answer_is_asked_again_for_what_is_nowhere_else() {
    let (pool, shared): (_, Arc<dyn ObjectStore>) = (Pool::default(), Arc::new(InMemory::new()));
    let paused = Executor::start(&pool, "paused", &shared, 1 << 30);
    let reader = Executor::start(&pool, "reader", &shared, 1 << 30);
    let kept = paused.write(0, 0, &[], Durability::Local).await;
    pool.0.lock().remove("paused");
    let error = reader.read(&kept, "paused").await.unwrap_err();
    assert!(
        matches!(error, StoreError::LostOutput { published: false, .. }),
        "{error}"
    );
    pool.0.lock().insert("paused".into(), paused.store.clone());
    assert_eq!(reader.read(&kept, "paused").await.unwrap().len(), 100);
}

#[tokio::test]
async fn which_of_two_attempts_counts_is_settled_in_the_store() {
    let (pool, shared): (_, Arc<dyn ObjectStore>) = (Pool::default(), Arc::new(InMemory::new()));
    let (one, two) = (
        Executor::start(&pool, "one", &shared, 1 << 30),
        Executor::start(&pool, "two", &shared, 1 << 30),
    );
    // The first attempt is published, though nobody has heard of it.
    let first = one.write(0, 0, &[], Durability::WriteBehind).await;
    settled(&one).await;
    let second = two.settle(0, 1, &[]).await.unwrap();
    assert_eq!((second.won, second.stored.record.attempt), (false, 0));
    // The second one is the published one: what was made from the first never gets into the store.
    let input = one.write(1, 0, &[], Durability::Local).await;
    assert!(two.settle(1, 1, &[]).await.unwrap().won);
    let made = one.write(2, 0, &[&input], Durability::WriteBehind).await;
    settled(&one).await;
    assert_eq!(one.store.publication(&made), Some(Publication::Refused));
    two.store.note_holder(input.clone(), &one.name);
    let refused = two.settle(2, 1, &[&input]).await.unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::LostOutput {
                map_partition: 1,
                published: false,
                ..
            }
        ),
        "{refused}"
    );
    // What it was made from goes to the store first.
    let input = one.write(3, 0, &[&first], Durability::Local).await;
    two.store.note_holder(input.clone(), &one.name);
    two.store.note_holder(first, &one.name);
    assert!(two.settle(4, 1, &[&input]).await.unwrap().won);
    assert_eq!(one.store.publication(&input), Some(Publication::Published));
    assert_eq!((commits(&shared).await, two.store.waiting()), (4, 0));
}

#[tokio::test]
async fn an_executor_that_keeps_too_much_writes_to_the_store_itself() {
    let (pool, shared): (_, Arc<dyn ObjectStore>) = (Pool::default(), Arc::new(InMemory::new()));
    let executor = Executor::start(&pool, "executor", &shared, 10_000);
    let kept = executor.write(0, 0, &[], Durability::Local).await;
    assert!(executor.store.local_usage().unwrap().kept_bytes > 5_000);
    let stored = executor.write(1, 0, &[], Durability::WriteBehind).await;
    assert_eq!((commits(&shared).await, executor.store.waiting()), (1, 0));
    assert_eq!(executor.store.publication(&stored), None);
    assert_eq!(executor.read(&kept, "executor").await.unwrap().len(), 100);
}

#[tokio::test]
async fn an_output_that_the_disk_has_no_room_for_goes_to_the_store() {
    let (pool, shared): (_, Arc<dyn ObjectStore>) = (Pool::default(), Arc::new(InMemory::new()));
    let executor = Executor::start(&pool, "executor", &shared, 3 << 20);
    for (partition, durability) in [(0, Durability::Local), (1, Durability::WriteBehind)] {
        let id = MapOutputId::new("query", 1, partition);
        let options = WriterOptions {
            durability,
            compression: Compression::None,
            ..WriterOptions::default()
        };
        let context = context(1 << 30);
        let mut writer = executor
            .store
            .writer(id.clone(), attempt(0), schema(), 1, &context, options)
            .unwrap();
        for from in (0..200_000).step_by(10_000) {
            writer.write(0, batch(from, from + 10_000)).await.unwrap();
        }
        let committed = writer.finish(vec![]).await.unwrap();
        assert!(committed.won && committed.stored.record.bytes > 8 << 20);
        let rows = executor
            .store
            .read(&id.written_by(attempt(0).version), 0)
            .await
            .unwrap();
        let rows: Vec<_> = rows.try_collect().await.unwrap();
        let numbers: Vec<i64> = rows.iter().flat_map(crate::tests::numbers).collect();
        assert_eq!(numbers, (0..200_000).collect::<Vec<_>>());
        assert_eq!(executor.store.local_usage().unwrap(), LocalUsage::default());
    }
    assert_eq!((commits(&shared).await, executor.store.waiting()), (2, 0));
}
