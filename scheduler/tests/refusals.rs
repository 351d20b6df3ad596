//! Bad requests, each with its code and a message that names what is wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;

use bytes::Bytes;
use cne_proto::{
    decode::Limits,
    spark_operator::{ShuffleWriter, operator::OpStruct},
    v1::{QueryRequest, ShuffleOrigin, stage::Kind},
};
use cne_scheduler::{
    Failure,
    check::{self, Accepts},
    graph::{self, Sizing},
};
use cne_transport::Tenant;
use common::*;
use prost::Message;

const ENSURE: ShuffleOrigin = ShuffleOrigin::EnsureRequirements;

fn accept(bytes: &Bytes) -> Result<(), Failure> {
    accept_of(Tenant::default_tenant(), bytes)
}

fn accept_of(tenant: Arc<Tenant>, bytes: &Bytes) -> Result<(), Failure> {
    let accepts = Accepts {
        limits: Limits {
            bytes: 1 << 20,
            depth: 60,
            ..Limits::default()
        },
        file_roots: Some(vec!["/data/t".into()]),
        spark_versions: vec!["4.1.3".into(), "4.1.1-amzn-0".into()],
        tenant,
    };
    let request = check::request(bytes, &accepts)?;
    let sizing = Sizing {
        slots: 2,
        smallest_bytes: 4 << 20,
        target_bytes: 64 << 20,
    };
    graph::plan(&request, &sizing).map(drop)
}

fn refused(code: &str, names: &[&str], bytes: &Bytes) {
    let failure = accept(bytes).expect_err(code);
    assert_eq!(failure.detail.code, code, "{failure}");
    for name in names {
        assert!(
            failure.detail.message.contains(name),
            "{name} is missing in {failure}"
        );
    }
}

fn changed(change: impl FnOnce(&mut QueryRequest)) -> Bytes {
    let mut request = request(vec![rows(2), block(&scan(), vec![hash(0, 200, ENSURE)])]);
    change(&mut request);
    bytes(&request)
}

#[test]
fn the_request_they_start_from_is_accepted() {
    accept(&changed(|_| {})).unwrap();
    accept(&bytes(&request(vec![files(
        &[],
        &["file:///data/t/a%20b.parquet", "s3a://b/c"],
    )])))
    .unwrap();
}

#[test]
fn versions_name_both_sides() {
    refused(
        "CNE-1001",
        &["0.9.0", "1.2.0"],
        &changed(|r| r.comet_version = "0.9.0".into()),
    );
    refused(
        "CNE-1002",
        &["abc", cne_proto::schema_fingerprint()],
        &changed(|r| r.schema_fingerprint = "abc".into()),
    );
    accept(&changed(|r| r.spark_version = "4.1.1-amzn-0".into())).unwrap();
    // Neither a prefix nor an extension of a version that is served.
    for other in ["4.0.0", "4.1.1", "4.1.3-amzn-0", "4.1.1-amzn-00", ""] {
        let names = [other, "4.1.3", "4.1.1-amzn-0", "CNE_ACCEPTED_SPARK_VERSIONS"];
        refused("CNE-1003", &names, &changed(|r| r.spark_version = other.into()));
    }
}

#[test]
fn unreadable_requests() {
    refused(
        "CNE-1004",
        &["spark.sql.unheard"],
        &changed(|r| drop(r.config.insert("spark.sql.unheard".into(), "1".into()))),
    );
    refused(
        "CNE-1005",
        &["limit"],
        &changed(|r| r.description = "x".repeat(2 << 20)),
    );
    let mut unknown = changed(|_| {}).to_vec();
    unknown.extend([0xfa, 0x3f, 0x01, 0x00]);
    refused("CNE-1006", &["unknown field 1023"], &unknown.into());
    let deep = (0..100).fold(scan(), |child, _| project(child));
    refused(
        "CNE-1007",
        &["stage 1"],
        &changed(|r| r.stages[1] = block(&deep, vec![hash(0, 2, ENSURE)])),
    );
    let whole = changed(|_| {});
    refused("CNE-1008", &[], &whole.slice(..whole.len() - 3));
    refused("CNE-1008", &["query_id"], &changed(|r| r.query_id = "q1".into()));
    refused(
        "CNE-1008",
        &["stage 1"],
        &changed(|r| {
            let Some(Kind::Block(block)) = &mut r.stages[1].kind else {
                panic!()
            };
            block.operator = block.operator.slice(..block.operator.len() - 1);
        }),
    );
}

#[test]
fn graphs_that_make_no_sense() {
    let graph = |stages| bytes(&request(stages));
    refused("CNE-1008", &["no stage"], &graph(vec![]));
    refused(
        "CNE-1009",
        &["stage 7", "missing"],
        &graph(vec![rows(1), block(&scan(), vec![single(7)])]),
    );
    refused(
        "CNE-1009",
        &["cycle"],
        &graph(vec![rows(1), block(&scan(), vec![single(1)])]),
    );
    refused(
        "CNE-1009",
        &["cycle"],
        &graph(vec![block(&scan(), vec![single(1)]), rows(1)]),
    );
    refused("CNE-1009", &["no stage reads it"], &graph(vec![rows(1), rows(1)]));
    refused("CNE-1009", &["no kind"], &changed(|r| r.stages[1].kind = None));
    refused(
        "CNE-1009",
        &["no kind of edge"],
        &changed(|r| r.stages[1].inputs[0].exchange = None),
    );
    refused(
        "CNE-1009",
        &["broadcast"],
        &graph(vec![rows(1), union(vec![broadcast(0)])]),
    );
    refused("CNE-1009", &["coalesce"], &graph(vec![rows(2), coalesce(0, 0)]));
    refused(
        "CNE-1012",
        &["1 of 2 inputs"],
        &changed(|r| {
            let twice = r.stages[1].inputs[0].clone();
            r.stages[1].inputs.push(twice);
        }),
    );
    // Both sides of a join have as many partitions as the join.
    refused(
        "CNE-1009",
        &["3 partitions", "but 2"],
        &graph(vec![
            rows(2),
            rows(3),
            block(&join(), vec![forward(0), forward(1)]),
        ]),
    );
    refused(
        "CNE-1009",
        &["5 partitions", "but 2"],
        &graph(vec![
            rows(2),
            block(
                &join(),
                vec![forward(0), hash(0, 5, ShuffleOrigin::RepartitionByNum)],
            ),
        ]),
    );
    refused(
        "CNE-1008",
        &["inline data"],
        &changed(|r| {
            let Some(Kind::InlineData(data)) = &mut r.stages[0].kind else {
                panic!()
            };
            data.partitions[1] = Bytes::from_static(b"no arrow");
        }),
    );
}

#[test]
fn what_a_tenant_may_not_read() {
    let tenant = Tenant::new("acme", Some(&["s3://lake/acme/".into()])).unwrap();
    let tenant = Arc::new(tenant);
    let scan = |paths: &[&str]| bytes(&request(vec![files(&[], paths)]));
    let refused = |paths: &[&str]| accept_of(Arc::clone(&tenant), &scan(paths)).unwrap_err();
    let failure = refused(&["s3a://lake/acme/a", "s3a://lake/other/b"]);
    assert_eq!(failure.detail.code, "CNE-1017");
    let text = failure.to_string();
    assert!(
        text.contains("s3a://lake/other/b") && text.contains("acme"),
        "{text}"
    );
    assert!(!text.contains("lake/acme/a"), "{text}");
    // Also where the pool would let everybody read it.
    assert_eq!(refused(&["file:///data/t/a"]).detail.code, "CNE-1017");
}

#[test]
fn secrets_and_foreign_files() {
    let scan = |options, path: &str| bytes(&request(vec![files(options, &[path])]));
    refused(
        "CNE-1010",
        &["fs.s3a.secret.key"],
        &scan(&[("fs.s3a.secret.key", "hush")], "s3a://b/f"),
    );
    let failure = accept(&scan(
        &[("fs.s3a.endpoint", "http://hush")],
        "s3a://user:hush@b/f",
    ))
    .unwrap_err();
    assert_eq!(failure.detail.code, "CNE-1010");
    assert!(!failure.to_string().contains("hush"), "{failure}");
    refused(
        "CNE-1012",
        &["fs.s3a.path.style.access"],
        &scan(&[("fs.s3a.path.style.access", "true")], "s3a://b/f"),
    );
    let signed = accept(&scan(&[], "s3a://b/f?X-Amz-Signature=hush")).unwrap_err();
    assert_eq!(signed.detail.code, "CNE-1010");
    assert!(!signed.to_string().contains("hush"), "{signed}");
    for path in [
        "file:///etc/passwd",
        "file:///data/t/../secret",
        "file:/data/table/a",
        "file:///data/t/%2e%2e/x",
        "FILE:///etc/passwd",
        "file://other-host/data/t/a",
    ] {
        refused("CNE-1011", &[path, "/data/t"], &scan(&[], path));
    }
    // In every partition, not in the first alone.
    let last = |path| {
        bytes(&request(vec![files(
            &[],
            &["file:///data/t/a", "s3a://b/c", "file:///data/t/b", path],
        )]))
    };
    refused("CNE-1011", &["/etc/passwd"], &last("file:///etc/passwd"));
    for path in [
        "hdfs://namenode:8020/t/a",
        "gs://bucket/a",
        "s3a:///no/bucket",
        "/t/a",
    ] {
        refused("CNE-1012", &[path], &last(path));
    }
    refused("CNE-1010", &[], &last("hdfs://user:hush@namenode/t"));
}

#[test]
fn files_that_no_executor_reads_are_refused_at_submission() {
    for (path, names) in [
        ("hdfs://namenode/t/a", &["hdfs", "(file, s3 and s3a are)"][..]),
        ("abfss://c@account/a", &["abfss"]),
        ("gs://bucket/a", &["gs"]),
        ("http://169.254.169.254/latest", &["http"]),
        ("s3a:///a", &["no bucket"]),
        ("/data/t/a", &["/data/t/a"]),
    ] {
        refused("CNE-1012", names, &bytes(&request(vec![files(&[], &[path])])));
    }
}

#[test]
fn all_rejections_of_all_blocks_come_at_once() {
    let writer = |child| operator(OpStruct::ShuffleWriter(ShuffleWriter::default()), vec![child]);
    let stages = vec![
        rows(2),
        block(&writer(scan()), vec![forward(0)]),
        block(&writer(scan()), vec![hash(0, 4, ENSURE)]),
        union(vec![forward(1), forward(2)]),
    ];
    let failure = accept(&bytes(&request(stages))).unwrap_err();
    assert_eq!(failure.detail.code, "CNE-1012");
    let stages: Vec<_> = failure.detail.rejections.iter().map(|r| r.stage).collect();
    assert_eq!(stages, [1, 2], "{failure}");
    assert!(!failure.detail.encode_to_vec().is_empty());
}

#[test]
fn forward_edges_do_not_multiply_without_bound() {
    let two = |a, b| union(vec![forward(a), forward(b)]);
    let mut stages = vec![rows(1)];
    for at in 0..40 {
        stages.push(two(at, at));
    }
    let failure = accept(&bytes(&request(stages))).unwrap_err();
    assert!(
        ["CNE-1005", "CNE-1009"].contains(&failure.detail.code.as_str()),
        "{failure}"
    );
}
