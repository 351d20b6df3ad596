use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use cne_proto::spark_expression::expr::ExprStruct as E;
use cne_proto::spark_expression::{
    EmptyExpr, Expr, JvmScalarUdf, NativeScalarUdf, Rand, ScalarFunc, Subquery, UnaryExpr,
};
use cne_proto::spark_operator::operator::OpStruct;
use cne_proto::spark_operator::{
    ArrowPythonUdf, ContribScan, CsvScan, Filter, IcebergScan, IcebergWrite, MergeRows, NativeScan,
    NativeScanCommon, Operator, ParquetWriter, Projection, RangeScan, Sample, ShuffleWriter, Sort,
    SparkStructField,
};
use prost::Message;

use super::build::*;
use crate::validate_block;

fn one_input() -> [Input; 1] {
    [input(longs(&[&[Some(1)]]))]
}

fn project(exprs: Vec<Expr>) -> Operator {
    op(
        OpStruct::Projection(Projection { project_list: exprs }),
        vec![scan(vec![long()])],
    )
}

#[test]
fn operators_are_refused_by_name() {
    let above = |kind| op(kind, vec![scan(vec![long()])]);
    let contrib = ContribScan {
        type_url: "delta".into(),
        value: vec![],
    };
    for (block, what) in [
        (
            above(OpStruct::ShuffleWriter(ShuffleWriter::default())),
            "shuffle_writer",
        ),
        (
            above(OpStruct::IcebergScan(IcebergScan::default())),
            "iceberg_scan",
        ),
        (above(OpStruct::CsvScan(CsvScan::default())), "csv_scan"),
        (above(OpStruct::ContribScan(contrib)), "contrib_scan delta"),
        (
            above(OpStruct::ParquetWriter(ParquetWriter::default())),
            "parquet_writer",
        ),
        (
            above(OpStruct::IcebergWrite(IcebergWrite::default())),
            "iceberg_write",
        ),
        (above(OpStruct::MergeRows(MergeRows::default())), "merge_rows"),
        (
            above(OpStruct::ArrowPythonUdf(ArrowPythonUdf::default())),
            "arrow_python_udf",
        ),
    ] {
        let found = refused(&block, &one_input());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].what, what);
    }
}

#[test]
fn expressions_are_refused_by_name() {
    let udf = |class: &str| JvmScalarUdf {
        class_name: class.into(),
        return_type: Some(long()),
        ..Default::default()
    };
    let native = NativeScalarUdf {
        name: "f".into(),
        library_path: "/lib.so".into(),
        ..Default::default()
    };
    for (kind, what) in [
        (E::JvmScalarUdf(udf("org.X")), "jvm_scalar_udf org.X"),
        (E::NativeScalarUdf(native), "native_scalar_udf f"),
        (
            E::Subquery(Subquery {
                id: 3,
                datatype: Some(long()),
            }),
            "scalar subquery",
        ),
        (E::Rand(Rand { seed: 1 }), "rand"),
        (
            E::MonotonicallyIncreasingId(EmptyExpr {}),
            "monotonically_increasing_id",
        ),
        (
            E::ScalarFunc(ScalarFunc {
                func: "no_such".into(),
                ..Default::default()
            }),
            "function no_such()",
        ),
    ] {
        let found = refused(&project(vec![expr(kind)]), &one_input());
        assert_eq!(found.iter().map(|r| r.what.as_str()).collect::<Vec<_>>(), [what]);
        assert_eq!(found[0].path, "projection");
    }
}

/// One answer names every problem of a block, each with its place.
#[test]
fn everything_is_reported_at_once() {
    let udf = JvmScalarUdf {
        class_name: "org.X".into(),
        return_type: Some(long()),
        ..Default::default()
    };
    let below = project(vec![expr(E::JvmScalarUdf(udf)), expr(E::Rand(Rand { seed: 1 }))]);
    let no_function = expr(E::ScalarFunc(ScalarFunc {
        func: "no_such".into(),
        return_type: Some(long()),
        ..Default::default()
    }));
    let filter = Filter {
        predicate: Some(expr(E::Gt(binary(no_function, number(1))))),
        ..Default::default()
    };
    let sort = Sort {
        sort_orders: vec![column(9)],
        ..Default::default()
    };
    let block = op(
        OpStruct::Sort(sort),
        vec![op(OpStruct::Filter(filter), vec![below])],
    );
    let block = op(OpStruct::ParquetWriter(ParquetWriter::default()), vec![block]);
    let found = refused(&block, &one_input());
    let found: Vec<_> = found.iter().map(|r| (r.path.as_str(), r.what.as_str())).collect();
    assert_eq!(
        found,
        [
            ("parquet_writer/sort/filter/projection", "jvm_scalar_udf org.X"),
            ("parquet_writer/sort/filter/projection", "rand"),
            ("parquet_writer/sort/filter", "function no_such()"),
            ("parquet_writer/sort", "sort"),
            ("parquet_writer", "parquet_writer"),
        ]
    );
}

#[test]
fn inputs_must_fit() {
    let found = refused(&scan(vec![long(), long()]), &one_input());
    assert!(
        found[0].reason.contains("gives 1 columns, the plan says 2"),
        "{found:?}"
    );
    assert!(refused(&scan(vec![long()]), &[])[0].reason.contains("no input"));
    let [one] = one_input();
    let [other] = one_input();
    assert!(
        refused(&scan(vec![long()]), &[one, other])[0]
            .reason
            .contains("reads 1 of 2 inputs")
    );
    let found = refused(&project(vec![bound(0, text())]), &one_input());
    assert!(
        found[0].reason.contains("column 0 is Int64, the plan says Utf8"),
        "{found:?}"
    );
}

#[test]
fn unknown_fields_are_refused() {
    let mut bytes = project(vec![column(0)]).encode_to_vec();
    bytes.extend([0xf8, 0x3f, 1]);
    let schema = longs(&[&[]]).schema();
    let found = validate_block(4, &bytes, &[], &[schema]).unwrap_err();
    assert_eq!(found[0].stage, 4);
    assert!(found[0].reason.contains("unknown field 1023"), "{found:?}");
}

#[test]
fn secrets_and_endpoints_are_refused() {
    let field = SparkStructField {
        name: "a".into(),
        data_type: Some(long()),
        nullable: true,
        ..Default::default()
    };
    let common = |options: &[&str]| NativeScanCommon {
        required_schema: vec![field.clone()],
        data_schema: vec![field.clone()],
        projection_vector: vec![0],
        case_sensitive: true,
        object_store_options: options
            .iter()
            .map(|k| (k.to_string(), "v".to_string()))
            .collect::<HashMap<_, _>>(),
        ..Default::default()
    };
    let block = op(OpStruct::NativeScan(NativeScan::default()), vec![]).encode_to_vec();
    let check =
        |options: &[&str]| validate_block(0, &block, &[Bytes::from(common(options).encode_to_vec())], &[]);
    let valid = check(&[]).unwrap();
    assert_eq!(valid.num_scans, 1);
    assert_eq!(valid.output_schema.field(0).name(), "col_0");
    for key in [
        "fs.s3a.access.key",
        "fs.s3a.secret.key",
        "fs.s3a.bucket.b.session.token",
        "fs.s3a.endpoint",
        "fs.s3a.requester.pays.enabled",
        "fs.azure.account.key.x",
        "javax.net.ssl.trustStorePassword",
    ] {
        let found = check(&[key]).unwrap_err();
        assert!(found.iter().any(|r| r.what.contains(key)), "{key}: {found:?}");
        assert!(found.iter().all(|r| r.path == "native_scan"));
    }
    let found = validate_block(0, &block, &[], &[]).unwrap_err();
    assert!(found[0].reason.contains("no data"));
}

/// A plan of any depth is refused, not a crash.
#[test]
fn depth_is_bounded() {
    let mut deep = expr(E::IsNull(Box::new(UnaryExpr {
        child: Some(Box::new(column(0))),
    })));
    for _ in 0..900 {
        deep = expr(E::Not(Box::new(UnaryExpr {
            child: Some(Box::new(deep)),
        })));
    }
    let found = refused(&project(vec![deep]), &one_input());
    assert!(found[0].reason.contains("nested deeper"), "{found:?}");

    let mut chain = scan(vec![long()]);
    for _ in 0..300 {
        chain = op(
            OpStruct::Projection(Projection {
                project_list: vec![column(0)],
            }),
            vec![chain],
        );
    }
    let found = refused(&chain, &one_input());
    assert!(
        found.iter().any(|r| r.reason.contains("nested deeper")),
        "{found:?}"
    );
    let _ = Arc::new(chain);
}

#[test]
fn samples_are_drawn_where_rows_come_in_the_order_of_files() {
    let sample = |below| op(OpStruct::Sample(Sample::default()), vec![below]);
    let found = refused(&sample(scan(vec![long()])), &one_input());
    assert!(
        matches!(found.as_slice(), [one] if one.what == "sample" && one.reason.contains("order")),
        "{found:?}"
    );
    let range = RangeScan {
        num_elements: 10,
        step: 1,
        num_slices: 1,
        ..Default::default()
    };
    let range = op(OpStruct::RangeScan(range), vec![]);
    assert!(validate_block(0, &sample(range).encode_to_vec(), &[], &[]).is_ok());
}
