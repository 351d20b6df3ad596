//! From no executor to one and back, as KEDA asks for it: a query waits for its first executor, an unread result keeps one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{path::Path, time::Duration};

use arrow_flight::{
    FlightDescriptor, FlightInfo, decode::FlightRecordBatchStream, flight_service_client::FlightServiceClient,
};
use cne_executor::Options as ExecutorOptions;
use cne_proto::v1::ShuffleOrigin;
use cne_scheduler::{
    Handle, Options,
    demand::Policy,
    scaler::{
        METRIC,
        contract::{
            GetMetricsRequest, IsActiveResponse, ScaledObjectRef,
            external_scaler_client::ExternalScalerClient,
        },
    },
    start,
};
use cne_settings::{ExecutorSettings, Invocation};
use cne_task::ticket::TicketKeys;
use common::*;
use futures::TryStreamExt;
use tokio_util::sync::CancellationToken;
use tonic::{Code, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

const KEY: &str = "test:000102030405060708090a0b0c0d0e0f";
const COOL_DOWN: Duration = Duration::from_secs(2);

async fn channel(address: &str) -> Channel {
    Channel::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
        .unwrap()
}

fn executor(handle: &Handle, directory: &Path, drain: CancellationToken) -> tokio::task::JoinHandle<()> {
    let storage = directory.join("store");
    std::fs::create_dir_all(&storage).unwrap();
    let settings = [
        ("CNE_TICKET_KEY", KEY.to_owned()),
        ("CNE_STORAGE_URL", format!("file://{}", storage.display())),
        ("CNE_SCHEDULER_ADDRESS", handle.executor_address.to_string()),
        ("CNE_WORK_DIR", directory.join("work").display().to_string()),
        ("CNE_TASK_SLOTS", "2".to_owned()),
        ("CNE_MEMORY_BYTES", "256MiB".to_owned()),
    ];
    let Invocation::Run(settings) = ExecutorSettings::from_args_and_env([""; 0], settings).unwrap() else {
        panic!()
    };
    let options = ExecutorOptions::from_settings(&settings).unwrap();
    tokio::spawn(async move { cne_executor::run(options, drain).await.unwrap() })
}

async fn read(info: FlightInfo) -> usize {
    let mut rows = 0;
    for endpoint in info.endpoint {
        let address = endpoint.location[0]
            .uri
            .strip_prefix("grpc://")
            .unwrap()
            .to_owned();
        let mut client = FlightServiceClient::new(channel(&address).await);
        let answer = client
            .do_get(endpoint.ticket.unwrap())
            .await
            .unwrap()
            .into_inner();
        let batches: Vec<_> = FlightRecordBatchStream::new_from_flight_data(answer.map_err(Into::into))
            .try_collect()
            .await
            .unwrap();
        rows += batches.iter().map(|batch| batch.num_rows()).sum::<usize>();
    }
    rows
}

async fn serves(address: &str) -> bool {
    let mut health = HealthClient::new(channel(address).await);
    let answer = health.check(HealthCheckRequest::default()).await.unwrap();
    answer.into_inner().status() == ServingStatus::Serving
}

async fn next(stream: &mut tonic::Streaming<IsActiveResponse>) -> bool {
    let message = tokio::time::timeout(Duration::from_secs(20), stream.message()).await;
    message.unwrap().unwrap().unwrap().result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keda_takes_the_pool_from_zero_to_one_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let drain = CancellationToken::new();
    let options = Options {
        scale: Policy {
            cool_down: COOL_DOWN,
            ..Policy::default()
        },
        ..Options::local(TicketKeys::parse(KEY).unwrap())
    };
    let handle = start(options, drain.clone()).await.unwrap();
    let mut scaler = ExternalScalerClient::new(channel(&handle.scaler_address.to_string()).await);
    let object = ScaledObjectRef {
        name: "comet-executor".into(),
        namespace: "default".into(),
        ..Default::default()
    };
    let metric = |name: &str| GetMetricsRequest {
        scaled_object_ref: Some(object.clone()),
        metric_name: name.into(),
    };
    let spec = scaler.get_metric_spec(object.clone()).await.unwrap().into_inner();
    let spec = &spec.metric_specs[0];
    assert_eq!(
        (
            spec.metric_name.as_str(),
            spec.target_size,
            spec.target_size_float
        ),
        (METRIC, 1, 1.0)
    );
    assert!(
        !scaler
            .is_active(object.clone())
            .await
            .unwrap()
            .into_inner()
            .result
    );
    let unknown = scaler.get_metrics(metric("queue_length")).await.unwrap_err();
    assert_eq!(unknown.code(), Code::InvalidArgument);
    let mut active = scaler
        .stream_is_active(object.clone())
        .await
        .unwrap()
        .into_inner();
    assert!(!next(&mut active).await, "the state at once");

    // Ten tasks, so more than one executor of two slots.
    let query = request(vec![
        rows(10),
        block(
            &project(scan()),
            vec![hash(0, 4, ShuffleOrigin::RepartitionByNum)],
        ),
    ]);
    let mut driver = FlightServiceClient::new(channel(&handle.flight_address.to_string()).await);
    let submitted = tokio::spawn(async move {
        driver
            .get_flight_info(FlightDescriptor::new_cmd(bytes(&query)))
            .await
    });
    assert!(next(&mut active).await, "a query waits");
    assert!(
        scaler
            .is_active(object.clone())
            .await
            .unwrap()
            .into_inner()
            .result
    );
    let mut answers = handle.demand.answers();
    answers.wait_for(|answer| answer.wanted == 3).await.unwrap();
    let value = scaler.get_metrics(metric(METRIC)).await.unwrap().into_inner();
    let value = &value.metric_values[0];
    assert_eq!(
        (
            value.metric_name.as_str(),
            value.metric_value,
            value.metric_value_float
        ),
        (METRIC, 3, 3.0)
    );

    let stop = CancellationToken::new();
    let running = executor(&handle, directory.path(), stop.clone());
    let info = submitted.await.unwrap().unwrap().into_inner();
    let flight = handle.pool.executors().await[0].flight.clone();
    for address in [
        &handle.flight_address.to_string(),
        &handle.executor_address.to_string(),
        &flight,
    ] {
        assert!(serves(address).await, "{address}");
    }
    tokio::time::sleep(COOL_DOWN * 2).await;
    let answer = handle.demand.answer();
    assert_eq!(
        (answer.wanted, answer.seen.unread, answer.seen.queries),
        (1, 1, 0)
    );
    assert_eq!(read(info).await, 100);
    assert!(!next(&mut active).await, "everything is read");
    assert_eq!(handle.demand.answer().seen.registered, 1);

    stop.cancel();
    tokio::time::timeout(Duration::from_secs(5), running)
        .await
        .unwrap()
        .unwrap();
    answers
        .wait_for(|answer| answer.seen.registered == 0)
        .await
        .unwrap();
    drain.cancel();
    handle.stopped().await.unwrap();
}
