//! Queries through the scheduler and two real executors in one process, up to their rows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{path::Path, time::Duration};

use arrow_flight::{
    FlightDescriptor, decode::FlightRecordBatchStream, flight_service_client::FlightServiceClient,
};
use cne_executor::Options as ExecutorOptions;
use cne_proto::spark_expression::SortDirection::Descending;
use cne_proto::v1::{QueryRequest, ShuffleOrigin};
use cne_scheduler::{Handle, Options, start};
use cne_settings::{ExecutorSettings, Invocation};
use cne_task::ticket::TicketKeys;
use common::*;
use datafusion::arrow::{array::AsArray, datatypes::Int64Type};
use futures::TryStreamExt;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

const KEY: &str = "test:000102030405060708090a0b0c0d0e0f";
const NUM: ShuffleOrigin = ShuffleOrigin::RepartitionByNum;
const ENSURE: ShuffleOrigin = ShuffleOrigin::EnsureRequirements;

async fn connect(address: &str) -> FlightServiceClient<Channel> {
    let channel = Channel::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
        .unwrap();
    FlightServiceClient::new(channel)
}

fn executor(
    handle: &Handle,
    directory: &Path,
    name: &str,
    drain: CancellationToken,
    more: &[(&'static str, &str)],
) -> tokio::task::JoinHandle<()> {
    let storage = directory.join("store");
    std::fs::create_dir_all(&storage).unwrap();
    let mut settings = vec![
        ("CNE_TICKET_KEY", KEY.to_owned()),
        ("CNE_STORAGE_URL", format!("file://{}", storage.display())),
        (
            "CNE_SCHEDULER_ADDRESS",
            format!("127.0.0.1:{}", handle.executor_address.port()),
        ),
        ("CNE_WORK_DIR", directory.join(name).display().to_string()),
        ("CNE_TASK_SLOTS", "2".to_owned()),
        ("CNE_MEMORY_BYTES", "256MiB".to_owned()),
    ];
    settings.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let Invocation::Run(settings) = ExecutorSettings::from_args_and_env([""; 0], settings).unwrap() else {
        panic!()
    };
    let options = ExecutorOptions::from_settings(&settings).unwrap();
    tokio::spawn(async move { cne_executor::run(options, drain).await.unwrap() })
}

async fn longs(handle: &Handle, request: &QueryRequest) -> Vec<Vec<i64>> {
    let mut scheduler = connect(&handle.flight_address.to_string()).await;
    let info = scheduler
        .get_flight_info(FlightDescriptor::new_cmd(bytes(request)))
        .await
        .unwrap()
        .into_inner();
    let mut partitions = vec![];
    for endpoint in info.endpoint {
        let address = endpoint.location[0]
            .uri
            .strip_prefix("grpc://")
            .unwrap()
            .to_owned();
        let answer = connect(&address)
            .await
            .do_get(endpoint.ticket.unwrap())
            .await
            .unwrap()
            .into_inner();
        let rows = FlightRecordBatchStream::new_from_flight_data(answer.map_err(Into::into));
        let batches: Vec<_> = rows.try_collect().await.unwrap();
        let values = batches
            .iter()
            .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
        partitions.push(values.collect::<Vec<_>>());
    }
    partitions
}

fn sorted(partitions: &[Vec<i64>]) -> Vec<i64> {
    let mut all = partitions.concat();
    all.sort_unstable();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_come_back_right() {
    let directory = tempfile::tempdir().unwrap();
    let drain = CancellationToken::new();
    let handle = start(Options::local(TicketKeys::parse(KEY).unwrap()), drain.clone())
        .await
        .unwrap();
    let stop = CancellationToken::new();
    let first = executor(&handle, directory.path(), "a", stop.clone(), &[]);
    let second = executor(&handle, directory.path(), "b", stop.clone(), &[]);
    while handle.pool.executors().await.len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A filter, both sides of a join by Spark's hash, all into one partition.
    let joined = request(vec![
        rows(3),
        block(&greater_than(9, scan()), vec![forward(0)]),
        block(&project(join()), vec![hash(1, 4, NUM), hash(0, 4, NUM)]),
        block(&project(scan()), vec![single(2)]),
    ]);
    let found = longs(&handle, &joined).await;
    assert_eq!((found.len(), sorted(&found)), (1, (10..30).collect()));
    // Rows of a partition by hash, some of them without any; the order of inputs is kept.
    let spread = longs(
        &handle,
        &request(vec![rows(1), block(&project(scan()), vec![hash(0, 16, NUM)])]),
    )
    .await;
    assert_eq!((spread.len(), sorted(&spread)), (16, (0..10).collect()));
    assert!(spread.iter().any(Vec::is_empty) && spread.iter().filter(|rows| !rows.is_empty()).count() > 3);
    let ordered = longs(
        &handle,
        &request(vec![rows(5), block(&project(scan()), vec![single(0)])]),
    )
    .await;
    assert_eq!(ordered, [(0..50).collect::<Vec<_>>()]);
    let groups = longs(&handle, &request(vec![rows(5), coalesce(2, 0)])).await;
    assert_eq!(groups, [(0..20).collect::<Vec<_>>(), (20..50).collect()]);
    // Every task of the join reads the whole broadcast.
    let broadcasted = request(vec![
        rows(3),
        block(&greater_than(14, scan()), vec![forward(0)]),
        block(&project(join()), vec![forward(0), broadcast(1)]),
    ]);
    let found = longs(&handle, &broadcasted).await;
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [0, 5, 10]);
    // One output for two consumers, under a union with rows of the driver.
    let shared = request(vec![
        rows(2),
        block(&project(scan()), vec![hash(0, 3, NUM)]),
        block(&greater_than(17, scan()), vec![hash(0, 3, NUM)]),
        union(vec![forward(1), forward(2), forward(0), round_robin(0, 2)]),
    ]);
    let found = longs(&handle, &shared).await;
    let expected: Vec<_> = (0..20)
        .flat_map(|n| vec![n; if n > 17 { 4 } else { 3 }])
        .collect();
    assert_eq!((found.len(), sorted(&found)), (10, expected));
    // Sorted runs merged into one partition in order; by the user's number into four, of about the same size.
    let descending: Vec<_> = (0..50).rev().collect();
    let by = |n, origin| vec![range(0, n, Descending, origin)];
    let ordered = request(vec![rows(5), block(&sort(Descending, scan()), by(200, ENSURE))]);
    assert_eq!(longs(&handle, &ordered).await, std::slice::from_ref(&descending));
    let parts = longs(
        &handle,
        &request(vec![rows(5), block(&project(scan()), by(4, NUM))]),
    )
    .await;
    assert_eq!(parts.concat(), descending);
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [13, 12, 13, 12]);
    let both = union(vec![
        forward(0),
        range(0, 200, Descending, ENSURE),
        range(0, 3, Descending, NUM),
    ]);
    let parts = longs(&handle, &request(vec![rows(2), both])).await;
    assert_eq!(
        parts.iter().map(Vec::len).collect::<Vec<_>>(),
        [10, 10, 20, 7, 7, 6]
    );
    assert_eq!(parts[2], descending[30..]);
    let nothing = longs(
        &handle,
        &request(vec![
            rows(2),
            block(&greater_than(99, scan()), vec![forward(0)]),
            block(&project(scan()), vec![single(1)]),
        ]),
    )
    .await;
    assert_eq!(nothing, [Vec::<i64>::new()]);
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(20), async {
        (first.await.unwrap(), second.await.unwrap())
    })
    .await
    .unwrap();
    drain.cancel();
    handle.stopped().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_listens_everywhere_is_reached_by_its_advertised_host() {
    let directory = tempfile::tempdir().unwrap();
    let drain = CancellationToken::new();
    let everywhere = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
    let options = Options {
        flight_address: everywhere,
        executor_address: everywhere,
        ..Options::local(TicketKeys::parse(KEY).unwrap())
    };
    let handle = start(options, drain.clone()).await.unwrap();
    let stop = CancellationToken::new();
    let listens = [
        ("CNE_EXECUTOR_FLIGHT_ADDRESS", "0.0.0.0:0"),
        ("CNE_EXECUTOR_GRPC_ADDRESS", "0.0.0.0:0"),
        ("CNE_ALLOW_PLAINTEXT", "true"),
    ];
    let named = [&listens[..], &[("CNE_HOST", "localhost")]].concat();
    let running = [
        executor(&handle, directory.path(), "a", stop.clone(), &named),
        // Known by where it comes from.
        executor(&handle, directory.path(), "b", stop.clone(), &listens),
    ];
    while handle.pool.executors().await.len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let executors = handle.pool.executors().await;
    let mut hosts: Vec<_> = executors
        .iter()
        .map(|e| e.flight.rsplit_once(':').unwrap().0)
        .collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["127.0.0.1", "localhost"]);
    // Tasks are launched on both, and rows are fetched from both.
    let rows = longs(
        &handle,
        &request(vec![rows(8), block(&project(scan()), vec![hash(0, 4, NUM)])]),
    )
    .await;
    assert_eq!((rows.len(), sorted(&rows)), (4, (0..80).collect()));
    stop.cancel();
    for executor in running {
        tokio::time::timeout(Duration::from_secs(20), executor)
            .await
            .unwrap()
            .unwrap();
    }
    drain.cancel();
    handle.stopped().await.unwrap();
}

/// Files below `directory` whose name starts with `prefix`.
fn stored(directory: &Path, prefix: &str) -> Vec<std::path::PathBuf> {
    let mut found = vec![];
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        // Other threads write and remove at the same time.
        let Ok(entries) = std::fs::read_dir(&next) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if name.starts_with(prefix) && !name.contains('#') {
                found.push(path);
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_output_that_is_lost_in_the_middle_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let drain = CancellationToken::new();
    let handle = start(Options::local(TicketKeys::parse(KEY).unwrap()), drain.clone())
        .await
        .unwrap();
    let stop = CancellationToken::new();
    // Each output has an object that can be lost.
    let objects = [("CNE_INLINE_BYTES", "0")];
    let running = executor(&handle, directory.path(), "a", stop.clone(), &objects);
    while handle.pool.executors().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let store = directory.path().join("store");
    // As soon as there is one, while the other map tasks still run.
    let losing = tokio::task::spawn_blocking({
        let store = store.clone();
        move || {
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_secs(20) {
                let committed = stored(&store, "commit");
                let data = stored(&store, "data-");
                let whole = |data: &&std::path::PathBuf| {
                    committed.iter().any(|commit| commit.parent() == data.parent())
                };
                if let Some(path) = data.iter().find(whole) {
                    std::fs::remove_file(path).unwrap();
                    return path.parent().unwrap().to_path_buf();
                }
            }
            panic!("nothing was stored")
        }
    });
    let query = request(vec![rows(100), block(&project(scan()), vec![hash(0, 4, NUM)])]);
    let rows = longs(&handle, &query).await;
    assert_eq!((rows.len(), sorted(&rows)), (4, (0..1000).collect()));
    let lost = losing.await.unwrap();
    // {fan-out}/{namespace}/{stage}/{map partition}/commit-{generation}: of the map stage, the lost output alone was made twice.
    let stage = lost.parent().unwrap().file_name().unwrap();
    let again: Vec<_> = stored(&store, "commit-1")
        .into_iter()
        .map(|commit| commit.parent().unwrap().to_path_buf())
        .filter(|output| output.parent().unwrap().file_name().unwrap() == stage)
        .filter(|output| output.join("commit-0").exists())
        .collect();
    assert_eq!(again, [lost]);
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(20), running)
        .await
        .unwrap()
        .unwrap();
    drain.cancel();
    handle.stopped().await.unwrap();
}
