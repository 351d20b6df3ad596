//! Queries that start again: after a lost output, or at another scheduler.

use cne_proto::v1::OutputName;
use cne_scheduler::flight::{PLAN_HEADER, RESUME_HEADER};
use cne_task::Durability;

use super::*;

/// Loses an output of stage 1 for as often as told; the tasks of stage 2 notice.
fn loses(times: usize, published: bool) -> Behaviour {
    let left = Arc::new(std::sync::atomic::AtomicUsize::new(times));
    Arc::new(move |stage, partition| {
        use std::sync::atomic::Ordering::SeqCst;
        let lost = stage == 2
            && partition == 1
            && left
                .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
                .is_ok();
        if !lost {
            return Ok(Duration::from_millis(5));
        }
        let failure = TaskFailure {
            code: "CNE-2008".into(),
            message: "output of job j, stage 1, map partition 0 is not in the store".into(),
            retryable: true,
            lost: Some(OutputName {
                stage: 1,
                map_partition: 0,
                published,
            }),
            ..Default::default()
        };
        Err(FailedTask {
            error: format!("Task failed: {:?}", failure::encode(&failure)),
            retryable: false,
            count_to_failures: false,
            failed_reason: Some(FailedReason::ExecutionError(ExecutionError {})),
        })
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_output_starts_the_query_again_unseen() {
    let cluster = cluster(options()).await;
    let query = || request(vec![rows(3), block(&project(scan()), vec![hash(0, 2, NUM)])]);
    let executor = cluster.executor(2, loses(3, true)).await;
    let info = cluster.run(&query()).await.unwrap();
    assert_eq!(
        (info.endpoint.len(), progress(&info).state()),
        (2, QueryState::Succeeded)
    );
    // Every task is launched each time; what is committed is found by the executors. The output that was missed is not looked for.
    let maps = executor.started.lock().iter().filter(|task| task.0 == 1).count();
    assert_eq!(maps, 4 * 3);
    let launched = executor.queries.lock().clone();
    let namespace = launched[0].namespace.clone();
    assert!(launched.iter().all(|query| query.namespace == namespace));
    for generation in 0..4 {
        let of: Vec<_> = launched
            .iter()
            .filter(|query| query.generation == generation)
            .collect();
        let lost: Vec<_> = (generation > 0).then_some((1, 0)).into_iter().collect();
        assert!(!of.is_empty());
        assert!(
            of.iter()
                .all(|query| query.look_first == (generation > 0) && query.lost.iter().eq(&lost))
        );
    }
    // The rows are those of the last job, and nothing is removed.
    let ticket = &info.endpoint[0].ticket.as_ref().unwrap().ticket;
    let last = options().ticket_keys.verify(ticket, "default", 1).unwrap();
    assert_eq!(last.namespace, namespace);
    assert!(!executor.removes(&namespace));
    // Its slots are free again.
    *executor.running.lock() = (0, 0);
    let many = request(vec![rows(6), block(&scan(), vec![forward(0)])]);
    assert_eq!(cluster.run(&many).await.unwrap().endpoint.len(), 6);
    assert_eq!(executor.running.lock().1, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outputs_that_are_lost_every_time_fail_the_query() {
    let cluster = cluster(options()).await;
    let executor = cluster.executor(2, loses(usize::MAX, true)).await;
    let query = request(vec![rows(3), block(&project(scan()), vec![hash(0, 2, NUM)])]);
    let lost = detail(&cluster.run(&query).await.unwrap_err());
    assert_eq!(
        (lost.code.as_str(), lost.retryable, lost.query_id),
        ("CNE-2008", true, query.query_id)
    );
    let maps = executor.started.lock().iter().filter(|task| task.0 == 1).count();
    assert_eq!(maps, 4 * 3);
    let counters = cluster.handle.pool.counters();
    assert_eq!(counters.queries_failed(cne_task::codes::OUTPUT_LOST), 1);
    assert_eq!(counters.relaunches(), 0, "each job is a new one");
}

/// Two tasks, the second of which reads what the first one has written behind itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_output_that_was_lost_before_it_was_published_is_settled_in_its_generation() {
    let mut behind = options();
    behind.durability = Durability::WriteBehind;
    let cluster = cluster(behind).await;
    let executor = cluster.executor(2, loses(1, false)).await;
    let query = request(vec![rows(3), block(&project(scan()), vec![hash(0, 2, NUM)])]);
    cluster.run(&query).await.unwrap();
    let launched = executor.queries.lock().clone();
    assert!(
        launched
            .iter()
            .all(|query| query.generation == 0 && query.lost.is_empty())
    );
    let (again, first): (Vec<_>, Vec<_>) = launched.iter().partition(|query| query.look_first);
    assert!(!again.is_empty() && !first.is_empty());
    // Their attempts are not taken for each other.
    let distance = again[0].first_attempt.wrapping_sub(first[0].first_attempt);
    assert_eq!(distance, 1 << 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_were_read_go_while_the_query_runs() {
    for (durability, gone) in [(Durability::Store, vec![1]), (Durability::WriteBehind, vec![])] {
        let mut chosen = options();
        chosen.durability = durability;
        let cluster = cluster(chosen).await;
        let slow_end = |stage, _| Ok(Duration::from_millis(if stage == 3 { 1500 } else { 1 }));
        let executor = cluster.executor(2, Arc::new(slow_end)).await;
        let middle = block(&project(scan()), vec![hash(0, 2, NUM)]);
        let query = request(vec![rows(3), middle, block(&scan(), vec![hash(1, 3, NUM)])]);
        cluster.run(&query).await.unwrap();
        let namespace = executor.queries.lock()[0].namespace.clone();
        assert_eq!(executor.retired(&namespace), gone);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_prepared_decides_where_outputs_are() {
    let one = cluster(options()).await;
    let first = one.executor(1, takes(1)).await;
    let prepared = String::from_utf8(one.act("comet.prepare", vec![]).await.unwrap()).unwrap();
    let query = request(vec![rows(3), block(&project(scan()), vec![hash(0, 2, ENSURE)])]);
    let run = async |cluster: &Cluster, header, text: &str| {
        let answer = cluster.submit_with(&query, Some((header, text))).await.unwrap();
        cluster.finish(answer).await.unwrap()
    };
    let info = run(&one, PLAN_HEADER, &prepared).await;
    assert_eq!(progress(&info).resume, prepared);
    // The answer did not reach the driver; the next scheduler has another pool.
    let two = cluster(options()).await;
    let second = two.executor(7, takes(1)).await;
    run(&two, RESUME_HEADER, &prepared).await;
    let (first, second) = (first.queries.lock()[0].clone(), second.queries.lock()[0].clone());
    assert_eq!(first.namespace, second.namespace);
    assert_eq!((first.look_first, second.look_first), (false, true));
    // Without it, the pool that is there decides.
    let three = cluster(options()).await;
    let other = three.executor(7, takes(1)).await;
    three.run(&query).await.unwrap();
    assert_ne!(other.queries.lock()[0].namespace, first.namespace);
}
