//! Everything that a block may hold and that is not executed: refused by name, wherever it stands.

use bytes::Bytes;
use cne_proto::schema_lines;
use cne_proto::spark_expression::data_type::DataTypeId;
use cne_proto::spark_expression::expr::ExprStruct as E;
use cne_proto::spark_expression::{
    AggExpr, CaseWhen, Cast, DataType as SparkType, Expr, In, JvmScalarUdf, Literal, NativeScalarUdf,
    Subquery, UnaryExpr, agg_expr,
};
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{
    AggregateMode, BroadcastNestedLoopJoin, Expand, Filter, HashJoin, NativeScan, NativeScanCommon, Operator,
    Projection, Sort, SortMergeJoin, SparkStructField,
};
use cne_proto::spark_partitioning::{
    HashPartition, Partitioning, RangePartition, partitioning::PartitioningStruct,
};
use cne_proto::v1::Rejection;
use prost::Message;

use super::build::*;
use crate::expr::plan_partitioning;
use crate::validate_block;

fn bool_type() -> SparkType {
    spark(DataTypeId::Bool)
}

fn inputs(count: usize) -> Vec<Input> {
    (0..count).map(|_| input(longs(&[&[Some(1)]]))).collect()
}

fn leaf() -> Operator {
    scan(vec![long()])
}

fn project(expr: Expr) -> Operator {
    op(
        OpStruct::Projection(Projection {
            project_list: vec![expr],
        }),
        vec![leaf()],
    )
}

/// What is found is exactly one thing, of this name and for this reason.
fn only(found: &[Rejection], what: &str, why: &str) {
    assert!(
        matches!(found, [one] if one.what == what && one.reason.contains(why)),
        "{what} ({why}): {found:?}"
    );
}

/// Calls out of the pool, and what the driver should have replaced.
fn calls(returns: &SparkType) -> [(&'static str, Expr); 3] {
    let jvm = JvmScalarUdf {
        class_name: "org.X".into(),
        return_type: Some(returns.clone()),
        ..Default::default()
    };
    let native = NativeScalarUdf {
        name: "f".into(),
        library_path: "/lib.so".into(),
        return_type: Some(returns.clone()),
        ..Default::default()
    };
    let subquery = Subquery {
        id: 1,
        datatype: Some(returns.clone()),
    };
    [
        ("jvm_scalar_udf org.X", expr(E::JvmScalarUdf(jvm))),
        ("native_scalar_udf f", expr(E::NativeScalarUdf(native))),
        ("scalar subquery", expr(E::Subquery(subquery))),
    ]
}

/// Every place of a block where an expression of BIGINT may stand.
fn values(e: &Expr) -> Vec<(Operator, usize)> {
    let e = || e.clone();
    let ascending = |e| order(e, cne_proto::spark_expression::SortDirection::Ascending);
    let case = CaseWhen {
        expr: Some(Box::new(column(0))),
        when: vec![number(1)],
        then: vec![e()],
        else_expr: Some(Box::new(number(0))),
    };
    let list = In {
        in_value: Some(Box::new(column(0))),
        lists: vec![number(1), e()],
        negated: true,
    };
    let compared = E::GtEq(binary(column(0), e()));
    let mut blocks = vec![
        project(e()),
        project(expr(E::CaseWhen(Box::new(case)))),
        project(expr(E::In(Box::new(list)))),
        project(expr(E::Not(Box::new(UnaryExpr {
            child: Some(Box::new(expr(compared))),
        })))),
        aggregate(vec![e()], vec![], AggregateMode::Partial, leaf()),
        aggregate(vec![], vec![sum(e(), long())], AggregateMode::Partial, leaf()),
        aggregate(vec![column(0)], vec![count(e())], AggregateMode::Partial, leaf()),
    ];
    let sort = Sort {
        sort_orders: vec![ascending(e())],
        ..Default::default()
    };
    let expand = Expand {
        project_list: vec![column(0), e()],
        num_expr_per_project: 1,
    };
    blocks.push(op(OpStruct::Sort(sort), vec![leaf()]));
    blocks.push(op(OpStruct::Expand(expand), vec![leaf()]));
    let hash = HashJoin {
        left_join_keys: vec![column(0)],
        right_join_keys: vec![e()],
        ..Default::default()
    };
    let merge = SortMergeJoin {
        left_join_keys: vec![e()],
        right_join_keys: vec![column(0)],
        ..Default::default()
    };
    let mut all: Vec<_> = blocks.into_iter().map(|block| (block, 1)).collect();
    all.push((op(OpStruct::HashJoin(hash), vec![leaf(), leaf()]), 2));
    all.push((op(OpStruct::SortMergeJoin(merge), vec![leaf(), leaf()]), 2));
    all
}

/// Every place where a condition may stand.
fn conditions(e: &Expr) -> Vec<(Operator, usize)> {
    let e = || e.clone();
    let filter = Filter {
        predicate: Some(expr(E::And(binary(
            expr(E::Gt(binary(column(0), number(1)))),
            e(),
        )))),
        ..Default::default()
    };
    let mut filtered = sum(column(0), long());
    filtered.filter = Some(e());
    let hash = HashJoin {
        left_join_keys: vec![column(0)],
        right_join_keys: vec![column(0)],
        condition: Some(e()),
        ..Default::default()
    };
    let merge = SortMergeJoin {
        left_join_keys: vec![column(0)],
        right_join_keys: vec![column(0)],
        condition: Some(e()),
        ..Default::default()
    };
    let nested = BroadcastNestedLoopJoin {
        condition: Some(e()),
        ..Default::default()
    };
    vec![
        (op(OpStruct::Filter(filter), vec![leaf()]), 1),
        (
            aggregate(vec![], vec![filtered], AggregateMode::Partial, leaf()),
            1,
        ),
        (op(OpStruct::HashJoin(hash), vec![leaf(), leaf()]), 2),
        (op(OpStruct::SortMergeJoin(merge), vec![leaf(), leaf()]), 2),
        (
            op(OpStruct::BroadcastNestedLoopJoin(nested), vec![leaf(), leaf()]),
            2,
        ),
    ]
}

#[test]
fn calls_out_of_the_pool_are_refused_wherever_they_stand() {
    for (what, e) in calls(&long()) {
        for (block, count) in values(&e) {
            only(&refused(&block, &inputs(count)), what, "");
        }
        let hash = PartitioningStruct::HashPartition(HashPartition {
            hash_expression: vec![e.clone()],
            num_partitions: 2,
        });
        let range = PartitioningStruct::RangePartition(RangePartition {
            sort_orders: vec![order(e, cne_proto::spark_expression::SortDirection::Descending)],
            num_partitions: 2,
            boundary_rows: vec![],
        });
        for partitioning in [hash, range] {
            let bytes = Partitioning {
                partitioning_struct: Some(partitioning),
            };
            let found = plan_partitioning(&bytes.encode_to_vec(), &longs(&[&[]]).schema()).unwrap_err();
            only(&found, what, "");
        }
    }
    for (what, e) in calls(&bool_type()) {
        for (block, count) in conditions(&e) {
            only(&refused(&block, &inputs(count)), what, "");
        }
    }
}

/// Numbers of the fields of a message's `oneof`, from the contract itself.
fn kinds(message: &str) -> Vec<u32> {
    let start = format!("field .spark.{message} ");
    let lines = schema_lines();
    let fields = lines
        .iter()
        .filter(|line| line.starts_with(&start) && line.contains(" oneof="));
    fields
        .map(|line| line[start.len()..].split(' ').next().unwrap().parse().unwrap())
        .collect()
}

/// A message with one field, which is an empty message.
fn empty_kind<M: Message + Default>(number: u32) -> M {
    let mut bytes = vec![];
    prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut bytes);
    bytes.push(0);
    M::decode(&bytes[..]).unwrap()
}

/// No kind of expression or aggregate is without a name, and none is taken for something else.
#[test]
fn every_kind_of_the_contract_is_executed_or_named() {
    let exprs = kinds("spark_expression.Expr");
    assert_eq!(exprs.len(), 67);
    for number in exprs {
        let expr: Expr = empty_kind(number);
        if matches!(expr.expr_struct, Some(E::SparkPartitionId(_))) {
            continue;
        }
        for rejection in refused(&project(expr), &inputs(1)) {
            let incomplete = rejection.reason.contains("leaves out");
            assert!(
                incomplete || rejection.what != "expression",
                "{number}: {rejection:?}"
            );
        }
    }
    let aggregates = kinds("spark_expression.AggExpr");
    assert_eq!(aggregates.len(), 28);
    for number in aggregates {
        let aggregated: AggExpr = empty_kind(number);
        if matches!(aggregated.expr_struct, Some(agg_expr::ExprStruct::Count(_))) {
            continue;
        }
        let block = aggregate(vec![], vec![aggregated], AggregateMode::Partial, leaf());
        for rejection in refused(&block, &inputs(1)) {
            let incomplete = rejection.reason.contains("leaves out");
            let name = rejection
                .what
                .strip_prefix("aggregate ")
                .unwrap_or(&rejection.what);
            assert!(incomplete || name != "aggregate", "{number}: {rejection:?}");
        }
    }
    // Executed ones accept some number of children; all others are refused whatever is below them.
    const EXECUTED: [u32; 16] = [
        100, 101, 102, 103, 104, 105, 107, 108, 109, 110, 111, 114, 117, 118, 119, 121,
    ];
    let operators = kinds("spark_operator.Operator");
    assert_eq!(operators.len(), 25);
    for number in operators.into_iter().filter(|number| !EXECUTED.contains(number)) {
        let mut operator: Operator = empty_kind(number);
        operator.children.push(leaf());
        let found = refused(&operator, &inputs(1));
        assert!(
            found.len() == 1 && found[0].what != "operator",
            "{number}: {found:?}"
        );
    }
}

#[test]
fn what_is_left_out_or_unknown_is_refused() {
    only(
        &refused(&Operator::default(), &[]),
        "operator",
        "leaves out its kind",
    );
    only(
        &refused(&project(Expr::default()), &inputs(1)),
        "expression",
        "leaves out its kind",
    );
    let nothing = aggregate(vec![], vec![AggExpr::default()], AggregateMode::Partial, leaf());
    only(&refused(&nothing, &inputs(1)), "aggregate", "leaves out its kind");
    let schema = longs(&[&[]]).schema();
    only(
        &plan_partitioning(&[], &schema).unwrap_err(),
        "partitioning",
        "the kind is missing",
    );

    // A field, or a value of an enum, of a later Comet: in the block, deep inside it, in its scan, in an exchange.
    let validate = |block: &[u8], scans: &[Bytes]| {
        validate_block(0, block, scans, std::slice::from_ref(&schema)).unwrap_err()
    };
    let mut block = project(column(0)).encode_to_vec();
    block.extend([0xf8, 0x3f, 1]);
    only(&validate(&block, &[]), "operator", "unknown field 1023");
    let join = HashJoin {
        join_type: 77,
        ..Default::default()
    };
    let join = op(OpStruct::HashJoin(join), vec![leaf(), leaf()]).encode_to_vec();
    only(&validate(&join, &[]), "operator", "77");
    let odd = project(bound(
        0,
        SparkType {
            type_id: 99,
            type_info: None,
        },
    ))
    .encode_to_vec();
    only(&validate(&odd, &[]), "operator", "99");
    let read = op(OpStruct::NativeScan(NativeScan::default()), vec![]).encode_to_vec();
    only(
        &validate(&read, &[Bytes::from_static(&[0xf8, 0x3f, 1])]),
        "scan 0",
        "unknown field 1023",
    );
    only(
        &plan_partitioning(&[0xf8, 0x3f, 1], &schema).unwrap_err(),
        "partitioning",
        "unknown field 1023",
    );
}

fn cast(to: SparkType) -> Operator {
    let cast = Cast {
        child: Some(Box::new(bound(0, text()))),
        datatype: Some(to),
        timezone: "UTC".into(),
        ..Default::default()
    };
    project(expr(E::Cast(Box::new(cast))))
}

#[test]
fn functions_casts_and_types_without_an_exact_implementation() {
    use DataTypeId as T;
    let batch = arrow::record_batch::RecordBatch::try_from_iter([("s", texts(&["x"]))]).unwrap();
    let strings = || [input(batch.clone())];
    for (to, name) in [
        (T::Time, "TIME"),
        (T::YearMonthInterval, "INTERVAL"),
        (T::CalendarInterval, "INTERVAL"),
    ] {
        let found = refused(&cast(spark(to)), &strings());
        assert!(
            found.len() == 1
                && found[0].what.starts_with("CAST(STRING AS ")
                && found[0].what.to_uppercase().contains(name),
            "{name}: {found:?}"
        );
    }
    only(&refused(&cast(spark(T::Variant)), &strings()), "type", "VARIANT");
    only(
        &refused(&project(null(spark(T::Variant))), &inputs(1)),
        "type",
        "VARIANT",
    );
    let literal = Literal {
        datatype: Some(spark(T::Variant)),
        ..Default::default()
    };
    only(
        &refused(&project(expr(E::Literal(literal))), &inputs(1)),
        "type",
        "VARIANT",
    );
    for name in ["hll_sketch_estimate", "hll_union", "no_such_function"] {
        let call = cne_proto::spark_expression::ScalarFunc {
            func: name.into(),
            args: vec![column(0)],
            return_type: Some(long()),
            ..Default::default()
        };
        let found = refused(&project(expr(E::ScalarFunc(call))), &inputs(1));
        only(
            &found,
            &format!("function {name}(BIGINT)"),
            "no exact implementation",
        );
    }
}

fn field(name: &str, data_type: SparkType) -> SparkStructField {
    SparkStructField {
        name: name.into(),
        data_type: Some(data_type),
        nullable: true,
        ..Default::default()
    }
}

fn nested(name: &str) -> SparkType {
    use cne_proto::spark_expression::data_type::{
        DataTypeInfo, ListInfo, StructInfo, data_type_info::DatatypeStruct,
    };
    let wrap = |id: DataTypeId, info| SparkType {
        type_id: id.into(),
        type_info: Some(Box::new(DataTypeInfo {
            datatype_struct: Some(info),
        })),
    };
    let inner = StructInfo {
        field_names: vec![name.into()],
        field_datatypes: vec![long()],
        field_nullable: vec![true],
        field_metadata: vec![],
    };
    let inner = wrap(DataTypeId::Struct, DatatypeStruct::Struct(inner));
    let list = ListInfo {
        element_type: Some(Box::new(inner)),
        contains_null: true,
        ..Default::default()
    };
    wrap(DataTypeId::List, DatatypeStruct::List(Box::new(list)))
}

#[test]
fn scans_that_executors_cannot_do() {
    let scan = |column: SparkStructField| NativeScanCommon {
        required_schema: vec![column.clone()],
        data_schema: vec![column],
        projection_vector: vec![0],
        ..Default::default()
    };
    let plain = || scan(field("a", long()));
    let block = op(OpStruct::NativeScan(NativeScan::default()), vec![]).encode_to_vec();
    let check = |common: NativeScanCommon| validate_block(0, &block, &[common.encode_to_vec().into()], &[]);
    check(plain()).unwrap();

    let mut encrypted = plain();
    encrypted.encryption_enabled = true;
    only(&check(encrypted).unwrap_err(), "encryption", "encrypted Parquet");
    only(
        &check(scan(field("v", spark(DataTypeId::Variant)))).unwrap_err()[..1],
        "column v",
        "Variant",
    );

    let ascii = "names outside ASCII";
    only(
        &check(scan(field("größe", long()))).unwrap_err(),
        "column größe",
        ascii,
    );
    only(
        &check(scan(field("a", nested("ä")))).unwrap_err(),
        "column a",
        ascii,
    );
    let mut partitioned = plain();
    partitioned.partition_schema = vec![field("straße", long())];
    only(&check(partitioned.clone()).unwrap_err(), "column straße", ascii);
    // With regard to case every name is itself; one that is not read does not matter.
    partitioned.case_sensitive = true;
    check(partitioned).unwrap();
    let mut pruned = plain();
    pruned.data_schema.push(field("größe", long()));
    check(pruned).unwrap();

    for (key, why) in [
        (
            "fs.s3a.comet.credential.provider.class",
            "credentials never travel",
        ),
        (
            "fs.s3a.bucket.b.comet.credential.provider.class",
            "credentials never travel",
        ),
        ("fs.s3a.aws.credentials.provider", "credentials never travel"),
        ("fs.s3a.session.token", "credentials never travel"),
        ("fs.s3a.bucket.b.endpoint", "executors' own"),
        ("dfs.nameservices", "executors do not read it"),
    ] {
        let mut common = plain();
        common.object_store_options.insert(key.into(), "x".into());
        only(
            &check(common).unwrap_err(),
            &format!("object store option {key}"),
            why,
        );
    }
}
