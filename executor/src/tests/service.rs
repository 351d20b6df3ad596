use std::sync::Arc;
use std::time::Duration;

use ballista_core::extension::SessionConfigHelperExt;
use ballista_core::serde::protobuf::executor_grpc_server::ExecutorGrpc;
use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::task_status::Status as TaskEnd;
use ballista_core::serde::protobuf::{
    CancelTasksParams, LaunchMultiTaskParams, MultiTaskDefinition, RemoveJobDataParams, RunningTaskInfo,
    StopExecutorParams, TaskId, TaskStatus,
};
use cne_fragment::CometFragmentExec;
use cne_fragment::descriptor::descriptor_plan;
use cne_proto::spark_expression::{BinaryExpr, Literal, literal::Value};
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{Filter, Operator, RangeScan};
use cne_proto::v1::{FragmentBlock, FragmentNode, LaunchedPlan, PartitionPayload, TaskLaunch};
use cne_storage::{ClientOptions, MapOutputId, OutputVersion};
use cne_task::blocks::{block_digest, block_of, wrap_plan};
use cne_task::location::Removal;
use cne_task::{CometCodec, changed_settings, failure};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use tokio::sync::mpsc::UnboundedReceiver;
use tonic::Request;

use super::*;
use crate::membership::Membership;
use crate::service::{Parts, TaskService};
use crate::{Options, runtime};

fn service(store: &ShuffleStore) -> (TaskService, UnboundedReceiver<TaskStatus>) {
    let base = Arc::new(RuntimeEnv::default());
    let options = Options {
        flight_host: "127.0.0.1".into(),
        flight_port: 0,
        grpc_host: [127, 0, 0, 1].into(),
        grpc_port: 0,
        http_host: "127.0.0.1".into(),
        http_port: 0,
        host: Some("127.0.0.1".into()),
        scheduler_address: cne_settings::Address {
            host: "127.0.0.1".into(),
            port: 1,
        },
        pool_name: "pool".into(),
        ticket_keys: cne_task::ticket::TicketKeys::parse("k:000102030405060708090a0b0c0d0e0f").unwrap(),
        transport: cne_transport::Transport::plaintext(),
        storage_url: "file:///nowhere".into(),
        fetch_window: 0,
        inline_bytes: 0,
        local_quota: 0,
        sweep_age: Duration::ZERO,
        client: ClientOptions::default(),
        file_roots: vec![],
        work_dir: None,
        task_slots: 2,
        memory_bytes: 64 << 20,
        limits: Default::default(),
        spill_quota: 1 << 30,
        drain_grace: Duration::from_secs(1),
        compression: Default::default(),
    };
    TaskService::new(Parts {
        membership: Membership::of("executor"),
        engine: engine(store),
        store: store.clone(),
        jobs: jobs(),
        producer: runtime::producer(Arc::clone(&base)),
        runtimes: runtime::task_runtimes(base, &options, runtime::memory(&options)),
        threads: tokio::runtime::Handle::current(),
        slots: 2,
    })
}

fn tasks(plan: Vec<u8>) -> Request<LaunchMultiTaskParams> {
    tasks_with(plan, vec![])
}

fn tasks_with(plan: Vec<u8>, blocks: Vec<FragmentBlock>) -> Request<LaunchMultiTaskParams> {
    let launched = LaunchedPlan {
        plan: plan.into(),
        blocks,
        tasks: vec![TaskLaunch::default()],
        executor_id: "executor".into(),
    };
    let options = query("job").apply_to(session_config());
    let task = TaskId {
        task_id: 0,
        task_attempt_num: 0,
        global_output_partition_ids: vec![0],
        vcores_consumed: 1,
    };
    let definition = MultiTaskDefinition {
        task_ids: vec![task],
        job_id: "job".into(),
        stage_id: 1,
        plan: wrap_plan(&launched),
        props: changed_settings(options.to_key_value_pairs()),
        session_id: "session".into(),
        ..Default::default()
    };
    Request::new(LaunchMultiTaskParams {
        multi_tasks: vec![definition],
        ..Default::default()
    })
}

/// `SELECT id FROM range(elements) WHERE id = -1`: works through all of it and gives nothing.
fn search(elements: i64) -> Vec<u8> {
    encoded(searching(elements), &CometCodec::default())
}

fn encoded(node: FragmentNode, codec: &CometCodec) -> Vec<u8> {
    let descriptors = descriptor_plan(vec![PartitionPayload::default()]).unwrap();
    let fragment = CometFragmentExec::try_new(node, vec![descriptors]).unwrap();
    let plan = result_stage("job", 1, Arc::new(fragment));
    let message = PhysicalPlanNode::try_from_physical_plan(plan, codec).unwrap();
    message.encode_to_vec()
}

fn searching(elements: i64) -> FragmentNode {
    let operator = |kind, children| Operator {
        children,
        op_struct: Some(kind),
        ..Default::default()
    };
    let scan = RangeScan {
        start: 0,
        step: 1,
        num_elements: elements,
        num_slices: 1,
    };
    let number = Literal {
        value: Some(Value::LongVal(-1)),
        datatype: Some(long()),
        is_null: false,
    };
    let number = Expr {
        expr_struct: Some(ExprStruct::Literal(number)),
        ..Default::default()
    };
    let equal = BinaryExpr {
        left: Some(Box::new(column(0))),
        right: Some(Box::new(number)),
    };
    let predicate = Expr {
        expr_struct: Some(ExprStruct::Eq(Box::new(equal))),
        ..Default::default()
    };
    let filter = Filter {
        predicate: Some(predicate),
        ..Default::default()
    };
    let block = operator(
        OpStruct::Filter(filter),
        vec![operator(OpStruct::RangeScan(scan), vec![])],
    );
    let operator = block.encode_to_vec();
    FragmentNode {
        block_digest: block_digest(&operator, &[]),
        operator: operator.into(),
        ..Default::default()
    }
}

async fn end(ends: &mut UnboundedReceiver<TaskStatus>) -> TaskEnd {
    let status = tokio::time::timeout(Duration::from_secs(10), ends.recv())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (status.job_id.as_str(), status.stage_id, status.task_id),
        ("job", 1, 0)
    );
    status.status.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launched_task_commits_and_stays_open_until_it_is_confirmed() {
    let store = store();
    let (service, mut ends) = service(&store);
    service.launch_multi_task(tasks(search(100_000))).await.unwrap();
    let TaskEnd::Successful(done) = end(&mut ends).await else {
        panic!("it failed")
    };
    assert_eq!(
        (done.executor_id.as_str(), done.partitions.len()),
        ("executor", 1)
    );
    let open = tokio::time::timeout(Duration::from_millis(50), service.idle()).await;
    assert!(open.is_err(), "a drain would lose the task's end");
    service.confirmed(1);
    service.idle().await;
    let output = MapOutputId::new("job", 1, 0).written_by(OutputVersion::default());
    // The end of Ballista's job is not the end of the query's outputs.
    let everything = Removal::Outputs {
        namespace: "job",
        lister: None,
    };
    for (job_id, kept) in [("job".to_string(), true), (everything.to_string(), false)] {
        let remove = RemoveJobDataParams {
            job_id,
            remove_stage_ids: vec![],
        };
        service.remove_job_data(Request::new(remove)).await.unwrap();
        assert_eq!(store.record(&output).await.is_ok(), kept);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_task_ends_within_a_second_in_the_middle_of_its_computation() {
    let store = store();
    let (service, mut ends) = service(&store);
    service
        .launch_multi_task(tasks(search(i64::MAX / 2)))
        .await
        .unwrap();
    assert!(
        tokio::time::timeout(Duration::from_millis(500), ends.recv())
            .await
            .is_err(),
        "it should still run"
    );
    let task = RunningTaskInfo {
        task_id: 0,
        job_id: "job".into(),
        stage_id: 1,
    };
    service
        .cancel_tasks(Request::new(CancelTasksParams {
            task_infos: vec![task],
        }))
        .await
        .unwrap();
    let status = tokio::time::timeout(Duration::from_secs(1), ends.recv())
        .await
        .unwrap()
        .unwrap();
    let Some(TaskEnd::Failed(failed)) = status.status else {
        panic!("{status:?}")
    };
    assert!(
        matches!(failed.failed_reason, Some(FailedReason::TaskKilled(_))),
        "{failed:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_without_time_to_finish_is_handed_back_and_no_further_one_is_taken() {
    let (service, mut ends) = service(&store());
    service
        .launch_multi_task(tasks(search(i64::MAX / 2)))
        .await
        .unwrap();
    assert_eq!(service.hand_back(), 1);
    let TaskEnd::Failed(failed) = end(&mut ends).await else {
        panic!("it succeeded")
    };
    assert!(
        failed.retryable && !failed.count_to_failures,
        "Ballista starts it again: {failed:?}"
    );
    assert_eq!(service.hand_back(), 0);
    assert!(service.launch_multi_task(tasks(search(1))).await.is_err());
    service.confirmed(1);
    service.idle().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_cannot_be_decoded_is_a_typed_failure() {
    let (service, mut ends) = service(&store());
    service
        .launch_multi_task(tasks(b"no plan".to_vec()))
        .await
        .unwrap();
    let TaskEnd::Failed(failed) = end(&mut ends).await else {
        panic!("it succeeded")
    };
    assert_eq!(failure::decode(&failed.error).unwrap().code, "CNE-2010");
    service.close();
    assert_eq!(
        service.launch_multi_task(tasks(vec![])).await.unwrap_err().code(),
        tonic::Code::Unavailable
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_is_kept_for_its_job_and_asked_for_when_it_is_not_there() {
    let (service, mut ends) = service(&store());
    let node = searching(10);
    let named = encoded(node.clone(), &CometCodec::naming_blocks());
    let missing = |end: TaskEnd| {
        let TaskEnd::Failed(failed) = end else {
            panic!("it succeeded")
        };
        assert!(
            matches!(failed.failed_reason, Some(FailedReason::IoError(_))),
            "Ballista tries it again: {failed:?}"
        );
        assert_eq!(failure::decode(&failed.error).unwrap().code, "CNE-2014");
    };
    service.launch_multi_task(tasks(named.clone())).await.unwrap();
    missing(end(&mut ends).await);
    for blocks in [vec![block_of(&node)], vec![]] {
        service
            .launch_multi_task(tasks_with(named.clone(), blocks))
            .await
            .unwrap();
        assert!(matches!(end(&mut ends).await, TaskEnd::Successful(_)));
    }
    let remove = RemoveJobDataParams {
        job_id: "job".into(),
        remove_stage_ids: vec![],
    };
    service.remove_job_data(Request::new(remove)).await.unwrap();
    service.launch_multi_task(tasks(named)).await.unwrap();
    missing(end(&mut ends).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_was_taken_for_lost_stops_its_tasks_and_goes_on_as_another() {
    let (service, mut ends) = service(&store());
    service
        .launch_multi_task(tasks(search(i64::MAX / 2)))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let stop = |executor_id: &str| {
        Request::new(StopExecutorParams {
            executor_id: executor_id.into(),
            reason: "no heartbeat".into(),
            force: true,
        })
    };
    service.stop_executor(stop("another")).await.unwrap();
    assert!(ends.try_recv().is_err(), "it was not meant");
    service.stop_executor(stop("executor")).await.unwrap();
    assert!(matches!(end(&mut ends).await, TaskEnd::Failed(_)));
    let late = service.launch_multi_task(tasks(search(1))).await.unwrap_err();
    assert_eq!(late.code(), tonic::Code::Unavailable);
}
