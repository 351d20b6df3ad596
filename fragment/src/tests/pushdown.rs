use std::collections::VecDeque;
use std::sync::Arc;

use cne_proto::spark_expression::SortDirection;
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{
    BuildSide, HashJoin, JoinType, NativeScan, NativeScanCommon, Operator, Projection, Sort,
    SparkFilePartition, SparkPartitionedFile, SparkStructField,
};
use datafusion::config::ConfigOptions;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::displayable;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;

use super::build::*;
use crate::SharedInputs;
use crate::exec::InputExec;
use crate::exec::shared::{Place, all_ready, share_builds};
use crate::optimize::optimize;
use crate::plan::{Environment, Plan, Planner};
use crate::scan::ScanContext;

/// The optimised plan over one Parquet file with the columns a, b; nothing is read.
fn planned(block: &Operator, inputs: usize) -> String {
    let schema = longs(&[&[], &[]]).schema();
    let inputs = (0..inputs)
        .map(|_| Arc::new(EmptyExec::new(Arc::clone(&schema))) as _)
        .collect();
    displayable(optimized(block, inputs).as_ref())
        .indent(false)
        .to_string()
}

fn optimized(block: &Operator, inputs: VecDeque<Plan>) -> Plan {
    let field = |name: &str| SparkStructField {
        name: name.into(),
        data_type: Some(long()),
        nullable: true,
        ..Default::default()
    };
    let common = NativeScanCommon {
        required_schema: vec![field("a"), field("b")],
        data_schema: vec![field("a"), field("b")],
        projection_vector: vec![0, 1],
        case_sensitive: true,
        ..Default::default()
    };
    let file = SparkPartitionedFile {
        file_path: "file:///no/such.parquet".into(),
        length: 100,
        file_size: 100,
        ..Default::default()
    };
    let files = NativeScan {
        file_partition: Some(SparkFilePartition {
            partitioned_file: vec![file],
        }),
        ..Default::default()
    };
    let runtime = RuntimeEnv::default();
    let environment = Environment {
        stage: 0,
        scans: &[common],
        files: Some(&[files]),
        scan_context: ScanContext {
            runtime: &runtime,
            late_materialisation: false,
        },
        partition: 0,
        ansi: false,
    };
    let planned = Planner::new(environment, inputs).plan(block).unwrap();
    optimize(planned.plan, planned.has_limit, &ConfigOptions::default()).unwrap()
}

fn native_scan() -> Operator {
    op(OpStruct::NativeScan(NativeScan::default()), vec![])
}

fn scan_line(plan: &str) -> &str {
    plan.lines().find(|line| line.contains("DataSourceExec")).unwrap()
}

/// `SELECT build.b, scan.a` of a scan that is joined with a build side.
fn join_with_scan() -> Operator {
    let join = HashJoin {
        left_join_keys: vec![column(1)],
        right_join_keys: vec![column(0)],
        join_type: JoinType::Inner.into(),
        build_side: BuildSide::BuildRight.into(),
        ..Default::default()
    };
    let join = op(
        OpStruct::HashJoin(join),
        vec![native_scan(), scan(vec![long(), long()])],
    );
    let columns = Projection {
        project_list: vec![column(3), column(0)],
    };
    op(OpStruct::Projection(columns), vec![join])
}

/// What the build side holds prunes the probe side's files, also through the names that a block gives its columns.
#[test]
fn a_hash_join_filters_the_scan_of_its_probe_side() {
    let plan = planned(&join_with_scan(), 1);
    assert!(scan_line(&plan).contains("DynamicFilter"), "{plan}");
}

/// The second task has built nothing, and filters by the same bounds.
#[tokio::test]
async fn a_shared_table_filters_the_scans_of_all_tasks() {
    let context = SessionContext::new().task_ctx();
    let shared = SharedInputs::new(Arc::default(), Arc::clone(&context));
    let keys: Vec<_> = (100..900).map(Some).collect();
    let batch = longs(&[&keys, &keys]);
    for task in 0..2 {
        let source = MemorySourceConfig::try_new_exec(&[vec![batch.clone()]], batch.schema(), None).unwrap();
        let place = Place { stage: 0, input: 0 };
        let inputs = VecDeque::from([Arc::new(InputExec::whole(source, place)) as _]);
        let (plan, builds) = share_builds(optimized(&join_with_scan(), inputs), &shared).unwrap();
        assert_eq!(builds.len(), 1);
        assert!(all_ready(&builds).await.unwrap());
        let rows = plan.execute(0, Arc::clone(&context)).unwrap();
        rows.try_collect::<Vec<_>>().await.unwrap_err(); // The file is missing.
        let plan = displayable(plan.as_ref()).indent(false).to_string();
        let scan = scan_line(&plan);
        assert!(
            scan.contains(">= 100") && scan.contains("<= 899"),
            "task {task}: {plan}"
        );
    }
}

#[test]
fn a_top_k_filters_the_scan_below() {
    let sort = Sort {
        sort_orders: vec![order(column(1), SortDirection::Descending)],
        fetch: Some(5),
        ..Default::default()
    };
    let projection = op(
        OpStruct::Projection(Projection {
            project_list: vec![column(1), column(0)],
        }),
        vec![native_scan()],
    );
    let plan = planned(&op(OpStruct::Sort(sort), vec![projection]), 0);
    assert!(scan_line(&plan).contains("DynamicFilter"), "{plan}");
}
