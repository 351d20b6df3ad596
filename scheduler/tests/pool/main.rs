//! Whole queries through the Flight front end, Ballista and executors that only pretend: what runs how often, what is lost, what ends a query.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/fake.rs"]
mod fake;
mod restart;
mod tenants;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_flight::{
    Action, CancelFlightInfoRequest, FlightDescriptor, FlightEndpoint, FlightInfo, PollInfo,
    RenewFlightEndpointRequest, flight_service_client::FlightServiceClient,
};
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::{ExecutionError, FailedTask, IoError, failed_task::FailedReason};
use cne_proto::spark_expression::SortDirection::{Ascending, Descending};
use cne_proto::v1::{ErrorDetail, QueryProgress, QueryState, ShuffleOrigin, TaskFailure};
use cne_scheduler::{Handle, Options, error::ERROR_TRAILER, start};
use cne_task::{failure, ticket::TicketKeys};
use common::*;
use fake::{Behaviour, Fake, starts};
use futures::StreamExt;
use prost::Message;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status, transport::Channel};

const NUM: ShuffleOrigin = ShuffleOrigin::RepartitionByNum;
const ENSURE: ShuffleOrigin = ShuffleOrigin::EnsureRequirements;

fn options() -> Options {
    Options::local(TicketKeys::parse("test:000102030405060708090a0b0c0d0e0f").unwrap())
}

struct Cluster {
    handle: Handle,
    client: FlightServiceClient<Channel>,
    drain: CancellationToken,
}

async fn cluster(options: Options) -> Cluster {
    let drain = CancellationToken::new();
    let handle = start(options, drain.clone()).await.unwrap();
    let channel = Channel::from_shared(format!("http://{}", handle.flight_address))
        .unwrap()
        .connect()
        .await
        .unwrap();
    Cluster {
        handle,
        client: FlightServiceClient::new(channel),
        drain,
    }
}

impl Cluster {
    async fn executor(&self, slots: u32, behaviour: Behaviour) -> Fake {
        Fake::start(self.handle.executor_address, slots, behaviour).await
    }

    async fn submit(&self, request: &cne_proto::v1::QueryRequest) -> Result<PollInfo, Status> {
        self.submit_with(request, None).await
    }

    /// With a header.
    async fn submit_with(
        &self,
        request: &cne_proto::v1::QueryRequest,
        header: Option<(&'static str, &str)>,
    ) -> Result<PollInfo, Status> {
        let mut call = Request::new(FlightDescriptor::new_cmd(bytes(request)));
        if let Some((name, value)) = header {
            call.metadata_mut().insert(name, value.parse().unwrap());
        }
        Ok(self.client.clone().poll_flight_info(call).await?.into_inner())
    }

    async fn run(&self, request: &cne_proto::v1::QueryRequest) -> Result<FlightInfo, Status> {
        self.finish(self.submit(request).await?).await
    }

    async fn finish(&self, mut answer: PollInfo) -> Result<FlightInfo, Status> {
        while let Some(descriptor) = answer.flight_descriptor.take() {
            answer = self
                .client
                .clone()
                .poll_flight_info(descriptor)
                .await?
                .into_inner();
        }
        Ok(answer.info.unwrap())
    }

    async fn act(&self, kind: &str, body: Vec<u8>) -> Result<Vec<u8>, Status> {
        let action = Action {
            r#type: kind.into(),
            body: body.into(),
        };
        let mut answers = self.client.clone().do_action(action).await?.into_inner();
        Ok(answers.next().await.unwrap()?.body.to_vec())
    }
}

fn takes(millis: u64) -> Behaviour {
    Arc::new(move |_, _| Ok(Duration::from_millis(millis)))
}

fn progress(info: &FlightInfo) -> QueryProgress {
    QueryProgress::decode(info.app_metadata.clone()).unwrap()
}

fn detail(status: &Status) -> ErrorDetail {
    let bytes = status
        .metadata()
        .get_bin(ERROR_TRAILER)
        .expect("a typed error")
        .to_bytes()
        .unwrap();
    ErrorDetail::decode(bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_gives_one_endpoint_per_partition_and_joins_by_its_id() {
    let cluster = cluster(options()).await;
    let first = cluster.executor(2, takes(1)).await;
    let second = cluster.executor(2, takes(1)).await;
    let request = request(vec![rows(6), block(&project(scan()), vec![hash(0, 4, NUM)])]);
    let info = cluster.run(&request).await.unwrap();
    assert_eq!(info.endpoint.len(), 4);
    assert!(info.ordered);
    assert_eq!(info.clone().try_decode_schema().unwrap().fields().len(), 1);
    let done = progress(&info);
    assert_eq!(
        (done.state(), done.executors, done.result_rows),
        (QueryState::Succeeded, 2, 4)
    );
    let keys = options().ticket_keys;
    for (at, endpoint) in info.endpoint.iter().enumerate() {
        let ticket = keys
            .verify(&endpoint.ticket.as_ref().unwrap().ticket, "default", 1)
            .unwrap();
        assert_eq!(
            (
                ticket.partition as usize,
                ticket.stage_id,
                ticket.query_id.as_str()
            ),
            (at, 2, request.query_id.as_str())
        );
        assert_eq!(endpoint.location.len(), 2);
    }
    // 6 map tasks and 4 others, each once, although every status was reported twice.
    let again = cluster.run(&request).await.unwrap();
    assert_eq!(again.endpoint.len(), 4);
    let starts = starts(&[&first, &second]);
    assert_eq!((starts.len(), starts.values().sum::<usize>()), (10, 10));
    let other = cne_proto::v1::QueryRequest {
        description: "other".into(),
        ..request.clone()
    };
    assert_eq!(
        detail(&cluster.submit(&other).await.unwrap_err()).code,
        "CNE-1015"
    );
    // GetFlightInfo joins the same query.
    let joined = cluster
        .client
        .clone()
        .get_flight_info(FlightDescriptor::new_cmd(bytes(&request)))
        .await
        .unwrap();
    assert_eq!(joined.into_inner().endpoint.len(), 4);
    let endpoint = RenewFlightEndpointRequest {
        endpoint: Some(info.endpoint[1].clone()),
    };
    let renewed = FlightEndpoint::decode(
        &*cluster
            .act("RenewFlightEndpoint", endpoint.encode_to_vec())
            .await
            .unwrap(),
    )
    .unwrap();
    assert_eq!(
        keys.verify(&renewed.ticket.unwrap().ticket, "default", 1)
            .unwrap()
            .partition,
        1
    );
    let health: serde_json::Value =
        serde_json::from_slice(&cluster.act("comet.health", vec![]).await.unwrap()).unwrap();
    assert_eq!(
        (health["slots"].as_u64(), health["queries_running"].as_u64()),
        (Some(4), Some(0))
    );
    let queries: serde_json::Value =
        serde_json::from_slice(&cluster.act("comet.queries", vec![]).await.unwrap()).unwrap();
    assert_eq!(queries[0]["state"], "succeeded");
    assert_eq!(
        detail(&cluster.act("comet.unheard", vec![]).await.unwrap_err()).code,
        "CNE-1013"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_executor_costs_its_running_tasks_only() {
    let cluster = cluster(options()).await;
    // Map tasks are quick; of the others only those on the survivor end before the loss is noticed.
    let slow: Behaviour = Arc::new(|stage, _| Ok(Duration::from_millis(if stage == 1 { 20 } else { 1200 })));
    let victim = cluster.executor(2, Arc::clone(&slow)).await;
    let survivor = cluster.executor(2, slow).await;
    // A map task and a consumer task on each: 8 maps, 6 consumers, one final.
    let both = project(scan());
    let request = request(vec![
        rows(8),
        block(&both, vec![hash(0, 6, NUM)]),
        block(&both, vec![single(1)]),
    ]);
    let killed = async {
        while victim.started.lock().iter().filter(|task| task.0 == 2).count() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        victim.kill();
        Instant::now()
    };
    let (info, killed) = tokio::join!(cluster.run(&request), killed);
    let info = info.unwrap();
    assert_eq!(info.endpoint.len(), 1);
    assert!(
        killed.elapsed() < Duration::from_secs(12),
        "{:?}",
        killed.elapsed()
    );
    let finished_by_victim = victim.finished.lock().clone();
    assert!(
        finished_by_victim.iter().any(|task| task.0 == 1),
        "it must have finished something to lose"
    );
    for ((stage, attempt, partition), times) in starts(&[&victim, &survivor]) {
        assert_eq!(attempt, 0, "stage {stage} was rolled back");
        let was_lost = victim.started.lock().contains(&(stage, 0, partition))
            && !finished_by_victim.contains(&(stage, 0, partition));
        assert_eq!(
            times,
            if was_lost { 2 } else { 1 },
            "stage {stage} partition {partition}"
        );
    }
    let all = starts(&[&victim, &survivor]);
    assert_eq!(all.len(), 15);
    assert_eq!(all.values().filter(|times| **times == 2).count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_executor_is_lost_and_another_comes() {
    let cluster = cluster(options()).await;
    let victim = cluster
        .executor(
            1,
            Arc::new(|stage, _| Ok(Duration::from_millis(if stage == 1 { 5 } else { 60_000 }))),
        )
        .await;
    let request = request(vec![rows(3), block(&project(scan()), vec![hash(0, 2, NUM)])]);
    let replaced = async {
        while !victim.started.lock().iter().any(|task| task.0 == 2) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        victim.kill();
        cluster.executor(1, takes(5)).await
    };
    let (info, successor) = tokio::join!(cluster.run(&request), replaced);
    assert_eq!(info.unwrap().endpoint.len(), 2);
    let started: Vec<_> = successor.started.lock().iter().map(|task| task.0).collect();
    assert_eq!(started, [2, 2], "finished map tasks are not repeated");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_of_tasks_are_typed_and_retried_when_retryable() {
    let cluster = cluster(options()).await;
    let failing: Behaviour = Arc::new(|_, partition| {
        let retryable = partition == 0;
        let failure = TaskFailure {
            code: if retryable { "CNE-2007" } else { "CNE-2001" }.into(),
            message: "as told".into(),
            retryable,
            spark_error_json: if retryable {
                String::new()
            } else {
                "{\"errorType\":\"DivideByZero\"}".into()
            },
            ..Default::default()
        };
        let reason = if retryable {
            FailedReason::IoError(IoError {})
        } else {
            FailedReason::ExecutionError(ExecutionError {})
        };
        Err(FailedTask {
            error: format!("Task failed: {:?}", failure::encode(&failure)),
            retryable,
            count_to_failures: retryable,
            failed_reason: Some(reason),
        })
    });
    let executor = cluster.executor(2, failing).await;
    let retried = cluster
        .run(&request(vec![rows(1), block(&scan(), vec![forward(0)])]))
        .await
        .unwrap_err();
    assert_eq!(
        (detail(&retried).code.as_str(), detail(&retried).retryable),
        ("CNE-2007", true)
    );
    assert_eq!(executor.started.lock().len(), 4, "four attempts in all");
    executor.started.lock().clear();
    let two = request(vec![rows(2), block(&scan(), vec![forward(0)])]);
    let spark = detail(&cluster.run(&two).await.unwrap_err());
    assert_eq!(
        (spark.code.as_str(), spark.retryable, spark.query_id),
        ("CNE-2001", false, two.query_id)
    );
    assert!(spark.spark_error_json.contains("DivideByZero"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_were_handed_back_are_no_failures() {
    let cluster = cluster(options()).await;
    let attempts = std::sync::atomic::AtomicUsize::new(0);
    let behaviour: Behaviour = Arc::new(move |_, _| {
        let handed_back = || FailedTask::from(BallistaError::Cancelled);
        match attempts.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0..6 => Err(handed_back()),
            6..9 => Err(FailedTask {
                error: "the store is away".into(),
                retryable: true,
                count_to_failures: true,
                failed_reason: Some(FailedReason::IoError(IoError {})),
            }),
            _ => Ok(Duration::ZERO),
        }
    });
    let executor = cluster.executor(1, behaviour).await;
    cluster
        .run(&request(vec![rows(1), block(&scan(), vec![forward(0)])]))
        .await
        .unwrap();
    assert_eq!(
        executor.started.lock().len(),
        10,
        "three failures of four that are allowed"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_query_stops_its_tasks_and_frees_their_slots() {
    let cluster = cluster(options()).await;
    let executor = cluster
        .executor(
            2,
            Arc::new(|_, partition| Ok(Duration::from_millis(if partition < 2 { 1500 } else { 30 }))),
        )
        .await;
    let slow = request(vec![rows(2), block(&scan(), vec![forward(0)])]);
    let running = cluster.submit(&slow).await.unwrap();
    assert!(running.flight_descriptor.is_some());
    while executor.started.lock().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut client = cluster.client.clone();
    let polled = client.poll_flight_info(running.flight_descriptor.clone().unwrap());
    let info = running.info.unwrap();
    let cancel = cluster.act(
        "CancelFlightInfo",
        CancelFlightInfoRequest::new(info).encode_to_vec(),
    );
    let begun = Instant::now();
    let (polled, cancelled) = tokio::join!(polled, cancel);
    cancelled.unwrap();
    assert_eq!(detail(&polled.unwrap_err()).code, "CNE-3001");
    assert!(begun.elapsed() < Duration::from_secs(1));
    while executor.cancelled.lock().len() < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "the tasks are not cancelled"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The slots are free, and the late statuses of the cancelled tasks do not free them again.
    tokio::time::sleep(Duration::from_millis(1700)).await;
    *executor.running.lock() = (0, 0);
    let many = request(vec![rows(9), block(&scan(), vec![forward(0)])]);
    assert_eq!(cluster.run(&many).await.unwrap().endpoint.len(), 9);
    assert_eq!(*executor.running.lock(), (0, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_wait_has_an_end() {
    let mut short = options();
    short.executor_wait = Duration::from_millis(600);
    short.poll_wait = Duration::from_millis(100);
    short.client_timeout = Duration::from_millis(1500);
    let cluster = cluster(short).await;
    let any = || request(vec![rows(1), block(&scan(), vec![forward(0)])]);
    assert_eq!(detail(&cluster.run(&any()).await.unwrap_err()).code, "CNE-3003");
    let executor = cluster.executor(8, takes(60_000)).await;
    let dead_line = cne_proto::v1::QueryRequest {
        deadline_ms: 400,
        ..any()
    };
    assert_eq!(
        detail(&cluster.run(&dead_line).await.unwrap_err()).code,
        "CNE-3002"
    );
    let left = cluster.submit(&any()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(3000)).await;
    let gone = cluster
        .client
        .clone()
        .poll_flight_info(left.flight_descriptor.unwrap())
        .await
        .unwrap_err();
    assert_eq!(detail(&gone).code, "CNE-3004");
    while executor.cancelled.lock().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let unknown = FlightDescriptor::new_path(vec!["query".into(), "nobody".into()]);
    assert_eq!(
        detail(
            &cluster
                .client
                .clone()
                .poll_flight_info(unknown)
                .await
                .unwrap_err()
        )
        .code,
        "CNE-1014"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_cannot_move_is_failed_and_one_that_waits_for_its_turn_is_not() {
    let mut short = options();
    short.stuck_timeout = Duration::from_millis(700);
    short.max_queries = 3;
    let cluster = cluster(short).await;
    let any = || request(vec![rows(1), block(&scan(), vec![forward(0)])]);
    // It is there, and has no slot for any task.
    let _useless = cluster.executor(0, takes(1)).await;
    let stuck = detail(&cluster.run(&any()).await.unwrap_err());
    assert_eq!((stuck.code.as_str(), stuck.retryable), ("CNE-3005", true));
    let executor = cluster.executor(1, takes(1800)).await;
    let (first, second) = (any(), any());
    let (first, second) = tokio::join!(cluster.run(&first), cluster.run(&second));
    assert_eq!(
        (first.unwrap().endpoint.len(), second.unwrap().endpoint.len()),
        (1, 1)
    );
    assert_eq!(executor.started.lock().len(), 2);
    // Results count as long as they are kept.
    let busy = detail(&cluster.run(&any()).await.unwrap_err());
    assert_eq!((busy.code.as_str(), busy.retryable), ("CNE-1016", true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draining_executor_finishes_its_tasks_and_serves_no_further_result() {
    let mut short = options();
    short.executor_wait = Duration::from_millis(500);
    let cluster = cluster(short).await;
    let leaving = cluster.executor(1, takes(1500)).await;
    let request = request(vec![rows(1), block(&scan(), vec![forward(0)])]);
    let drained = async {
        while leaving.started.lock().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        leaving.drain().await;
        // Nobody else is there for longer than a query waits, but its task runs.
        tokio::time::sleep(Duration::from_millis(1000)).await;
        cluster.executor(1, takes(1)).await
    };
    let (info, successor) = tokio::join!(cluster.run(&request), drained);
    let executors = cluster.handle.pool.executors().await;
    assert_eq!(
        executors.iter().map(|e| &e.id).collect::<Vec<_>>(),
        [&successor.id]
    );
    assert_eq!(info.unwrap().endpoint[0].location.len(), 1);
    assert_eq!(
        (leaving.finished.lock().len(), successor.started.lock().len()),
        (1, 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_that_stops_tells_who_waits() {
    // Long enough for the call to be under way when the scheduler stops.
    let mut long = options();
    long.poll_wait = Duration::from_secs(20);
    let cluster = cluster(long).await;
    let last = request(vec![rows(1), block(&scan(), vec![forward(0)])]);
    let polling = cluster.run(&last);
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(1000)).await;
        cluster.drain.cancel();
    };
    let (ended, ()) = tokio::join!(polling, stopping);
    assert_eq!(detail(&ended.unwrap_err()).code, "CNE-3006");
    tokio::time::timeout(Duration::from_secs(8), cluster.handle.stopped())
        .await
        .expect("it stops")
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_is_removed_when_its_lease_ends() {
    let mut short = options();
    short.results_lease = Duration::from_millis(300);
    let cluster = cluster(short).await;
    let executor = cluster.executor(1, takes(1)).await;
    let request = request(vec![rows(1), block(&scan(), vec![forward(0)])]);
    cluster.run(&request).await.unwrap();
    assert!(executor.removed.lock().is_empty());
    let begun = Instant::now();
    let namespace = executor.queries.lock()[0].namespace.clone();
    while !executor.removes(&namespace) {
        assert!(begun.elapsed() < Duration::from_secs(5), "never removed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_exchanges_run_once() {
    let cluster = cluster(options()).await;
    let executor = cluster.executor(4, takes(1)).await;
    let tasks = async |stages| {
        executor.started.lock().clear();
        let info = cluster.run(&request(stages)).await.unwrap();
        (info.endpoint.len(), executor.started.lock().len())
    };
    let project = project(scan());
    // One producer for two consumers over equal edges: 3 maps, then 2 x 2 as one union stage.
    let consumers = |a, b| {
        vec![
            block(&project, vec![a]),
            block(&scan(), vec![b]),
            union(vec![forward(1), forward(2)]),
        ]
    };
    let once = [vec![rows(3)], consumers(hash(0, 2, NUM), hash(0, 2, NUM))].concat();
    assert_eq!(tasks(once).await, (4, 3 + 4));
    // Other numbers of buckets are other outputs.
    let twice = [vec![rows(3)], consumers(hash(0, 2, NUM), hash(0, 3, NUM))].concat();
    assert_eq!(tasks(twice).await, (5, 3 + 3 + 5));
    // Two producers with the same content under different labels count as one; a broadcast and a single edge are the same output.
    let mut same = rows(3);
    same.label = "ReusedExchange".into();
    let stages = vec![
        rows(3),
        same,
        block(&project, vec![broadcast(0)]),
        block(&project, vec![single(1)]),
        union(vec![forward(2), forward(3)]),
    ];
    assert_eq!(tasks(stages).await, (2, 3 + 2));
    // Different rows are different producers.
    let stages = vec![
        rows(3),
        rows(4),
        block(&project, vec![single(0)]),
        block(&project, vec![single(1)]),
        union(vec![forward(2), forward(3)]),
    ];
    assert_eq!(tasks(stages).await, (2, 3 + 4 + 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_stage_and_edge_runs() {
    let cluster = cluster(options()).await;
    let executor = cluster.executor(4, takes(1)).await;
    let project = project(scan());
    for (stages, endpoints) in [
        (vec![rows(5)], 5),
        (vec![rows(5), coalesce(2, 0)], 2),
        (vec![rows(2), coalesce(4, 0)], 2),
        (
            vec![
                rows(3),
                block(&sort(Ascending, scan()), vec![range(0, 200, Ascending, ENSURE)]),
            ],
            1,
        ),
        (
            vec![rows(3), block(&project, vec![range(0, 4, Descending, NUM)])],
            4,
        ),
        (
            vec![
                rows(3),
                union(vec![range(0, 5, Ascending, NUM), range(0, 5, Ascending, ENSURE)]),
            ],
            6,
        ),
        (vec![rows(3), block(&project, vec![round_robin(0, 7)])], 7),
        // Little input: one partition for one slot's worth of bytes.
        (vec![rows(3), block(&project, vec![hash(0, 200, ENSURE)])], 1),
        (
            vec![rows(2), union(vec![forward(0), hash(0, 3, NUM), single(0)])],
            6,
        ),
        (
            vec![
                rows(2),
                union(vec![forward(0)]),
                block(&project, vec![forward(1)]),
            ],
            2,
        ),
        (
            vec![
                rows(2),
                rows(3),
                union(vec![forward(0), forward(1)]),
                union(vec![forward(2), forward(2)]),
                coalesce(4, 3),
            ],
            4,
        ),
        (
            vec![
                rows(2),
                block(&project, vec![broadcast(0)]),
                union(vec![forward(1), forward(1)]),
                block(&project, vec![forward(2)]),
            ],
            2,
        ),
    ] {
        let info = cluster.run(&request(stages)).await.unwrap();
        assert_eq!(info.endpoint.len(), endpoints);
    }
    assert!(executor.started.lock().iter().all(|task| task.1 == 0));
}

/// Sixteen tasks over one block of some kilobytes, on one executor; then as many more on an executor that has lost it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_is_sent_once_to_each_executor_and_again_when_it_is_lost() {
    let cluster = cluster(options()).await;
    let executor = cluster.executor(2, takes(20)).await;
    let large = (0..100).fold(scan(), |child, value| greater_than(value, child));
    let query = || request(vec![rows(16), block(&large, vec![forward(0)])]);
    let info = cluster.run(&query()).await.unwrap();
    assert_eq!(info.endpoint.len(), 16);
    let (sent, inline) = executor
        .launched
        .lock()
        .iter()
        .fold((0, 0), |all, task| (all.0 + task.0, all.1 + task.1));
    // Fifteen times the block, but for some bytes around each.
    let difference = (inline - sent).abs_diff(15 * large.encoded_len());
    assert!(
        difference < 2000,
        "{sent} bytes were sent, {inline} without names"
    );

    executor.launched.lock().clear();
    let running = tokio::spawn({
        let (client, query) = (cluster.client.clone(), query());
        async move {
            let mut descriptor = FlightDescriptor::new_cmd(bytes(&query));
            loop {
                let answer = client.clone().poll_flight_info(descriptor).await?.into_inner();
                match answer.flight_descriptor {
                    Some(next) => descriptor = next,
                    None => return Ok::<_, Status>(answer.info.unwrap()),
                }
            }
        }
    });
    while executor.launched.lock().len() < 4 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    executor.lose_blocks();
    let info = tokio::time::timeout(Duration::from_secs(20), running)
        .await
        .unwrap();
    assert_eq!(info.unwrap().unwrap().endpoint.len(), 16);
    let with_block = |launched: &[(usize, usize)]| launched.iter().filter(|task| task.0 > task.1).count();
    let launched = executor.launched.lock();
    assert!((2..=4).contains(&with_block(&launched)), "{launched:?}");
}
