use std::path::{Path, PathBuf};
use std::sync::Arc;

use cne_proto::spark_expression::data_type::data_type_info::DatatypeStruct;
use cne_proto::spark_expression::data_type::{DataTypeId, DataTypeInfo, DecimalInfo, StructInfo};
use cne_proto::spark_expression::{
    BinaryExpr, BoundReference, DataType as SparkType, Expr, Literal, expr::ExprStruct, literal,
};
use cne_proto::spark_operator::{
    NativeScan, NativeScanCommon, SparkFilePartition, SparkPartitionedFile, SparkStructField,
};
use datafusion::arrow::array::{
    ArrayRef, AsArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, StructArray, TimestampMillisecondArray,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Field, Int32Type, Int64Type, TimestampMicrosecondType};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::data_type::{ByteArrayType, Int96, Int96Type};
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::file::writer::SerializedFileWriter;
use datafusion::parquet::schema::parser::parse_message_type;
use datafusion::physical_plan::{ExecutionPlanProperties, collect};

use super::*;

mod files;

fn spark(id: DataTypeId) -> SparkType {
    SparkType {
        type_id: id as i32,
        type_info: None,
    }
}

fn with_info(id: DataTypeId, info: DatatypeStruct) -> SparkType {
    SparkType {
        type_id: id as i32,
        type_info: Some(Box::new(DataTypeInfo {
            datatype_struct: Some(info),
        })),
    }
}

fn decimal(precision: i32, scale: i32) -> SparkType {
    with_info(
        DataTypeId::Decimal,
        DatatypeStruct::Decimal(DecimalInfo { precision, scale }),
    )
}

fn structure(fields: &[(&str, DataTypeId)]) -> SparkType {
    let info = StructInfo {
        field_names: fields.iter().map(|(name, _)| name.to_string()).collect(),
        field_datatypes: fields.iter().map(|(_, id)| spark(*id)).collect(),
        field_nullable: vec![true; fields.len()],
        field_metadata: vec![],
    };
    with_info(DataTypeId::Struct, DatatypeStruct::Struct(info))
}

fn field(name: &str, data_type: SparkType) -> SparkStructField {
    SparkStructField {
        name: name.to_string(),
        data_type: Some(data_type),
        nullable: true,
        metadata: Default::default(),
    }
}

fn lit(id: DataTypeId, value: literal::Value) -> Expr {
    let literal = Literal {
        value: Some(value),
        datatype: Some(spark(id)),
        is_null: false,
    };
    Expr {
        expr_struct: Some(ExprStruct::Literal(literal)),
        ..Default::default()
    }
}

fn greater(index: i32, id: DataTypeId, value: Expr) -> Expr {
    let bound = Expr {
        expr_struct: Some(ExprStruct::Bound(BoundReference {
            index,
            datatype: Some(spark(id)),
        })),
        ..Default::default()
    };
    let pair = BinaryExpr {
        left: Some(Box::new(bound)),
        right: Some(Box::new(value)),
    };
    Expr {
        expr_struct: Some(ExprStruct::Gt(Box::new(pair))),
        ..Default::default()
    }
}

/// All columns read, in order; Spark 4.1's flags.
fn common(columns: Vec<SparkStructField>) -> NativeScanCommon {
    NativeScanCommon {
        projection_vector: (0..columns.len() as i64).collect(),
        required_schema: columns.clone(),
        data_schema: columns,
        allow_type_promotion: true,
        allow_timestamp_ltz_to_ntz: true,
        ..Default::default()
    }
}

fn url(path: &Path) -> String {
    url::Url::from_file_path(path).unwrap().to_string()
}

fn file(path: &Path) -> SparkPartitionedFile {
    let size = std::fs::metadata(path).map_or(0, |meta| meta.len() as i64);
    SparkPartitionedFile {
        file_path: url(path),
        start: 0,
        length: size,
        file_size: size,
        partition_values: vec![],
    }
}

fn partition(files: Vec<SparkPartitionedFile>) -> NativeScan {
    NativeScan {
        file_partition: Some(SparkFilePartition {
            partitioned_file: files,
        }),
        ..Default::default()
    }
}

async fn run(
    common: &NativeScanCommon,
    files: Vec<SparkPartitionedFile>,
    late_materialisation: bool,
) -> Result<RecordBatch> {
    let runtime = Arc::new(RuntimeEnv::default());
    let plan = plan_scan(
        common,
        Some(&partition(files)),
        &ScanContext {
            runtime: &runtime,
            late_materialisation,
        },
    )?;
    assert_eq!(plan.output_partitioning().partition_count(), 1);
    let schema = scan_output_schema(common)?;
    assert_eq!(plan.schema(), schema);
    let batches = collect(plan, Arc::new(TaskContext::default().with_runtime(runtime))).await?;
    Ok(concat_batches(&schema, &batches)?)
}

async fn read(common: &NativeScanCommon, path: &Path) -> Result<RecordBatch> {
    run(common, vec![file(path)], false).await
}

async fn failure(common: &NativeScanCommon, files: Vec<SparkPartitionedFile>) -> String {
    let error = run(common, files, false).await.unwrap_err();
    ScanError::find(&error)
        .unwrap_or_else(|| panic!("not typed: {error:?}"))
        .to_string()
}

fn write(
    directory: &Path,
    name: &str,
    columns: Vec<(&str, ArrayRef)>,
    properties: WriterProperties,
) -> PathBuf {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let mut writer = ArrowWriter::try_new(
        std::fs::File::create(&path).unwrap(),
        batch.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

fn ints(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

fn plain() -> WriterProperties {
    WriterProperties::default()
}

fn spark_version(version: &str, extra: Option<&str>) -> WriterProperties {
    let mut pairs = vec![KeyValue::new(
        "org.apache.spark.version".to_string(),
        version.to_string(),
    )];
    pairs.extend(extra.map(|key| KeyValue::new(key.to_string(), String::new())));
    WriterProperties::builder()
        .set_key_value_metadata(Some(pairs))
        .build()
}

fn table(batch: &RecordBatch) -> String {
    let fields = batch.schema();
    let fields = fields.fields().iter().map(|field| {
        let name = field.name().trim_end_matches(super::plan::TEXT_MARK);
        field.as_ref().clone().with_name(name)
    });
    let schema = datafusion::arrow::datatypes::Schema::new(fields.collect::<Vec<_>>());
    let batch = RecordBatch::try_new(Arc::new(schema), batch.columns().to_vec()).unwrap();
    pretty_format_batches(&[batch]).unwrap().to_string()
}

#[tokio::test]
async fn columns_are_pruned_partition_values_added_and_missing_ones_filled() {
    let directory = tempfile::tempdir().unwrap();
    // A directory of Spark for d = "a/b c": escaped once for the directory, once more in the URL.
    let path = write(
        directory.path(),
        "d=a%2Fb c/part 1.parquet",
        vec![("a", ints(0..3)), ("p", ints(7..10)), ("unused", ints(0..3))],
        plain(),
    );
    assert!(url(&path).contains("a%252Fb%20c"));
    let mut scan = common(vec![
        field("a", spark(DataTypeId::Int32)),
        field("n", spark(DataTypeId::Int64)),
        field("gone", spark(DataTypeId::String)),
    ]);
    scan.data_schema
        .insert(0, field("u", spark(DataTypeId::CalendarInterval)));
    scan.data_schema.push(field("p", spark(DataTypeId::Int32)));
    scan.partition_schema = vec![
        field("p", spark(DataTypeId::String)),
        field("q", spark(DataTypeId::Int32)),
    ];
    // q, a, n, gone, p as partition value
    scan.projection_vector = vec![6, 1, 2, 3, 5];
    scan.default_values = vec![lit(DataTypeId::Int64, literal::Value::LongVal(42))];
    scan.default_values_indexes = vec![2];
    let mut file = file(&path);
    file.partition_values = vec![
        lit(DataTypeId::String, literal::Value::StringVal("a/b c".into())),
        lit(DataTypeId::Int32, literal::Value::IntVal(5)),
    ];
    let batch = run(&scan, vec![file.clone()], false).await.unwrap();
    let expected = "\
+---+---+----+------+-------+
| q | a | n  | gone | p'    |
+---+---+----+------+-------+
| 5 | 0 | 42 |      | a/b c |
| 5 | 1 | 42 |      | a/b c |
| 5 | 2 | 42 |      | a/b c |
+---+---+----+------+-------+";
    assert_eq!(table(&batch), expected);
    scan.required_schema.clear();
    scan.projection_vector.clear();
    assert_eq!(
        run(&scan, vec![file], false).await.unwrap().num_rows(),
        3,
        "count(*) reads no column"
    );
    assert_eq!(run(&scan, vec![], false).await.unwrap().num_rows(), 0);
    let runtime = RuntimeEnv::default();
    assert!(
        plan_scan(
            &scan,
            None,
            &ScanContext {
                runtime: &runtime,
                late_materialisation: false
            }
        )
        .is_ok()
    );
}

#[tokio::test]
async fn filters_prune_but_never_lose_a_row_whatever_the_case_of_names() {
    let directory = tempfile::tempdir().unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(10))
        .set_data_page_row_count_limit(5)
        .set_write_batch_size(5)
        .build();
    let path = write(
        directory.path(),
        "f.parquet",
        vec![("a", ints(0..100))],
        properties,
    );
    let mut scan = common(vec![field("A", spark(DataTypeId::Int64))]);
    scan.data_filters = vec![greater(
        0,
        DataTypeId::Int64,
        lit(DataTypeId::Int64, literal::Value::LongVal(87)),
    )];
    let count = async |scan: &NativeScanCommon, late| {
        run(scan, vec![file(&path)], late)
            .await
            .unwrap()
            .column(0)
            .as_primitive::<Int64Type>()
            .values()
            .to_vec()
    };
    let pruned = count(&scan, false).await;
    assert!(
        pruned.len() < 20 && pruned.ends_with(&(88..100).collect::<Vec<_>>()),
        "row groups and pages are pruned: {pruned:?}"
    );
    assert_eq!(
        count(&scan, true).await,
        (88..100).collect::<Vec<_>>(),
        "late materialisation filters rows"
    );
    // A file without the column: NULL > 87 is no row, and no error.
    let other = write(directory.path(), "g.parquet", vec![("b", ints(0..5))], plain());
    assert!(run(&scan, vec![file(&other)], true).await.unwrap().num_rows() == 0);

    scan.case_sensitive = true;
    scan.data_filters.clear();
    let missing = read(&scan, &path).await.unwrap();
    assert_eq!((missing.num_rows(), missing.column(0).null_count()), (100, 100));
    let twice = write(
        directory.path(),
        "twice.parquet",
        vec![("A", ints(0..2)), ("a", ints(2..4)), ("b", ints(0..2))],
        plain(),
    );
    scan.case_sensitive = false;
    assert!(
        failure(&scan, vec![file(&twice)])
            .await
            .contains("ambiguous: A, a")
    );
    let kelvin = write(
        directory.path(),
        "k.parquet",
        vec![("\u{212a}", ints(0..2))],
        plain(),
    );
    let found = read(&common(vec![field("k", spark(DataTypeId::Int32))]), &kelvin)
        .await
        .unwrap();
    assert_eq!(
        found.column(0).null_count(),
        0,
        "the JVM lowers the Kelvin sign to k"
    );
    let unrelated = common(vec![field("B", spark(DataTypeId::Int32))]);
    assert_eq!(
        read(&unrelated, &twice).await.unwrap().num_rows(),
        2,
        "only what is read has to be unambiguous"
    );
}

#[tokio::test]
async fn splits_of_a_file_give_each_row_once_in_any_cut() {
    let directory = tempfile::tempdir().unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .build();
    let path = write(
        directory.path(),
        "f.parquet",
        vec![("a", ints(0..1000)), ("b", ints(1000..2000))],
        properties,
    );
    let size = std::fs::metadata(&path).unwrap().len() as i64;
    let scan = common(vec![
        field("a", spark(DataTypeId::Int32)),
        field("b", spark(DataTypeId::Int32)),
    ]);
    for pieces in [1, 2, 3, 7, 50] {
        let step = size / pieces + 1;
        let mut seen = vec![];
        for start in (0..size).step_by(step as usize) {
            let piece = SparkPartitionedFile {
                start,
                length: step.min(size - start),
                ..file(&path)
            };
            let batch = run(&scan, vec![piece], false).await.unwrap();
            seen.extend_from_slice(batch.column(0).as_primitive::<Int32Type>().values());
        }
        assert_eq!(seen, (0..1000).collect::<Vec<_>>(), "{pieces} pieces");
    }
}

#[tokio::test]
async fn types_are_widened_as_spark_does_and_others_refused_with_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let dictionary: DictionaryArray<Int32Type> = ["x", "y", "x"].into_iter().collect();
    let path = write(
        directory.path(),
        "f.parquet",
        vec![
            ("i", ints(1..4)),
            (
                "d",
                Arc::new(
                    Decimal128Array::from(vec![123, -5, 0])
                        .with_precision_and_scale(5, 2)
                        .unwrap(),
                ),
            ),
            ("day", Arc::new(Date32Array::from(vec![0, 1, -200_000]))),
            (
                "ms",
                Arc::new(TimestampMillisecondArray::from(vec![1, 2, -3]).with_timezone("UTC")),
            ),
            ("s", Arc::new(dictionary)),
            ("big", Arc::new(Int64Array::from(vec![1, 2, 3_000_000_000]))),
        ],
        plain(),
    );
    let wide = common(vec![
        field("i", decimal(12, 2)),
        field("d", decimal(10, 4)),
        field("day", spark(DataTypeId::TimestampNtz)),
        field("ms", spark(DataTypeId::Timestamp)),
        field("s", spark(DataTypeId::String)),
        field("i", spark(DataTypeId::Double)),
        field("s", spark(DataTypeId::Bytes)),
    ]);
    let expected = "\
+------+---------+---------------------+--------------------------+---+-----+----+
| i    | d       | day                 | ms                       | s | i   | s  |
+------+---------+---------------------+--------------------------+---+-----+----+
| 1.00 | 1.2300  | 1970-01-01T00:00:00 | 1970-01-01T00:00:00.001Z | x | 1.0 | 78 |
| 2.00 | -0.0500 | 1970-01-02T00:00:00 | 1970-01-01T00:00:00.002Z | y | 2.0 | 79 |
| 3.00 | 0.0000  | 1422-06-03T00:00:00 | 1969-12-31T23:59:59.997Z | x | 3.0 | 78 |
+------+---------+---------------------+--------------------------+---+-----+----+";
    let batch = read(&wide, &path).await.unwrap();
    let shown = table(&batch);
    assert_eq!(shown, expected);
    for (name, target) in [
        ("big", spark(DataTypeId::Int32)),
        ("s", spark(DataTypeId::Int32)),
        ("d", decimal(5, 3)),
        ("i", decimal(9, 2)),
        ("ms", spark(DataTypeId::Date)),
        ("i", spark(DataTypeId::Bool)),
    ] {
        let message = failure(&common(vec![field(name, target)]), vec![file(&path)]).await;
        assert!(
            message.contains(&format!("column [{name}]")) && message.contains(&url(&path)),
            "{message}"
        );
    }
    let mut strict = common(vec![field("i", spark(DataTypeId::Int64))]);
    strict.allow_type_promotion = false;
    assert!(
        failure(&strict, vec![file(&path)])
            .await
            .contains("is INT32, which is not read as bigint")
    );
    strict = common(vec![field("ms", spark(DataTypeId::TimestampNtz))]);
    assert!(read(&strict, &path).await.is_ok());
    strict.allow_timestamp_ltz_to_ntz = false;
    assert!(failure(&strict, vec![file(&path)]).await.contains("column [ms]"));
    let empty = write(
        directory.path(),
        "empty.parquet",
        vec![("s", Arc::new(StringArray::from(Vec::<&str>::new())) as ArrayRef)],
        plain(),
    );
    assert_eq!(
        read(&common(vec![field("s", spark(DataTypeId::Int32))]), &empty)
            .await
            .unwrap()
            .num_rows(),
        0
    );
}

#[tokio::test]
async fn days_and_timestamps_of_the_hybrid_calendar_keep_their_name() {
    let directory = tempfile::tempdir().unwrap();
    // 1000-01-01 and 1582-10-04 of the Julian calendar; the same days at noon.
    let days = [-354_280, -141_428];
    let noon = |day: i32| (i64::from(day) * 24 + 12) * 3_600_000;
    let write = |properties| {
        let columns = vec![
            ("d", Arc::new(Date32Array::from(days.to_vec())) as ArrayRef),
            (
                "t",
                Arc::new(TimestampMillisecondArray::from(days.map(noon).to_vec()).with_timezone("UTC")),
            ),
        ];
        write(directory.path(), "old.parquet", columns, properties)
    };
    let mut scan = common(vec![
        field("d", spark(DataTypeId::Date)),
        field("t", spark(DataTypeId::Timestamp)),
        field("t", spark(DataTypeId::TimestampNtz)),
    ]);
    let shown = async |scan: &NativeScanCommon, path: &Path| {
        let batch = read(scan, path).await.unwrap();
        let text = |column: usize, row: usize| {
            datafusion::arrow::util::display::array_value_to_string(batch.column(column), row).unwrap()
        };
        [0, 1].map(|row| [0, 1, 2].map(|column| text(column, row)).join(" "))
    };
    let rebased = [
        "1000-01-01 1000-01-01T12:00:00Z 1000-01-06T12:00:00",
        "1582-10-04 1582-10-04T12:00:00Z 1582-10-14T12:00:00",
    ];
    let as_stored = [
        "1000-01-06 1000-01-06T12:00:00Z 1000-01-06T12:00:00",
        "1582-10-14 1582-10-14T12:00:00Z 1582-10-14T12:00:00",
    ];
    const LEGACY: &str = "org.apache.spark.legacyDateTime";
    let of_spark = |version: &str, keys: &[(&str, &str)]| {
        let version = [("org.apache.spark.version", version)];
        let pairs = version.iter().chain(keys);
        let pairs = pairs.map(|(key, value)| KeyValue::new(key.to_string(), value.to_string()));
        WriterProperties::builder()
            .set_key_value_metadata(Some(pairs.collect()))
            .build()
    };
    let utc = ("org.apache.spark.timeZone", "UTC");
    let path = write(of_spark("4.1.3", &[(LEGACY, ""), utc]));
    assert_eq!(shown(&scan, &path).await, rebased);
    // The number in the file is 1000-01-06, which no statistics may decide by.
    let mut filtered = scan.clone();
    let day = literal::Value::IntVal(-354_284);
    filtered.data_filters = vec![greater(1, DataTypeId::Date, lit(DataTypeId::Date, day))];
    assert_eq!(
        run(&filtered, vec![file(&path)], false).await.unwrap().num_rows(),
        2
    );
    for properties in [plain(), of_spark("4.1.3", &[]), of_spark("3.0.0", &[utc])] {
        let path = write(properties);
        assert_eq!(shown(&scan, &path).await, as_stored);
    }
    // Of a file without Spark's version the session decides; the keys of Spark count only beside it.
    for (mode, expected) in [
        ("LEGACY", "in the time zone of its writer"),
        ("EXCEPTION", "of either calendar"),
    ] {
        let key = crate::scan::check::DATETIME_MODE.to_string();
        scan.object_store_options.insert(key, mode.to_string());
        assert_eq!(check_scan(&scan), []);
        let message = failure(&scan, vec![file(&write(plain()))]).await;
        assert!(message.contains(expected), "{message}");
        let path = write(of_spark("4.1.3", &[]));
        assert_eq!(shown(&scan, &path).await, as_stored);
    }
    scan.object_store_options.clear();
    let zone = ("org.apache.spark.timeZone", "Europe/Berlin");
    for properties in [of_spark("2.4.8", &[]), of_spark("4.1.3", &[(LEGACY, ""), zone])] {
        let message = failure(&scan, vec![file(&write(properties))]).await;
        assert!(
            message.contains("column [t]") && message.contains("hybrid Julian calendar"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn int96_keeps_microseconds_beyond_the_range_of_nanoseconds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("int96.parquet");
    let schema = Arc::new(parse_message_type("message spark_schema { optional int96 t; }").unwrap());
    let mut writer = SerializedFileWriter::new(
        std::fs::File::create(&path).unwrap(),
        schema,
        Arc::new(spark_version("4.1.3", None)),
    )
    .unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    // 3332-12-14 11:33:10.965, and 1582-01-01, as Julian day and nanoseconds of the day.
    let value = |day: u32, nanos: u64| {
        let mut value = Int96::new();
        value.set_data(nanos as u32, (nanos >> 32) as u32, day);
        value
    };
    let micros = 43_000_000_000_000_000_i64;
    let day = micros.div_euclid(86_400_000_000);
    let rest = micros.rem_euclid(86_400_000_000) as u64;
    column
        .typed::<Int96Type>()
        .write_batch(&[value((day + 2_440_588) as u32, rest * 1000)], Some(&[1]), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let batch = read(&common(vec![field("t", spark(DataTypeId::Timestamp))]), &path)
        .await
        .unwrap();
    assert_eq!(
        batch
            .column(0)
            .as_primitive::<TimestampMicrosecondType>()
            .value(0),
        micros
    );
    let local = common(vec![field("t", spark(DataTypeId::TimestampNtz))]);
    let local = read(&local, &path).await.unwrap();
    let values = local.column(0).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(values.value(0), micros, "Spark reads it without a zone too");
}

#[tokio::test]
async fn structs_are_matched_by_name_and_keep_their_nulls() {
    let directory = tempfile::tempdir().unwrap();
    let parts = vec![
        (
            Arc::new(Field::new(
                "X",
                datafusion::arrow::datatypes::DataType::Int32,
                true,
            )),
            ints([1, 2, 3]),
        ),
        (
            Arc::new(Field::new(
                "y",
                datafusion::arrow::datatypes::DataType::Float64,
                true,
            )),
            Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5])) as ArrayRef,
        ),
    ];
    let (fields, arrays): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let structs = StructArray::new(fields.into(), arrays, Some(vec![true, false, true].into()));
    let path = write(
        directory.path(),
        "s.parquet",
        vec![("s", Arc::new(structs) as ArrayRef)],
        plain(),
    );
    let scan = common(vec![field(
        "s",
        structure(&[("z", DataTypeId::String), ("x", DataTypeId::Int64)]),
    )]);
    let batch = read(&scan, &path).await.unwrap();
    assert_eq!(
        table(&batch)
            .lines()
            .skip(3)
            .map(|line| line.trim_matches(['|', ' ']))
            .take(3)
            .collect::<Vec<_>>(),
        ["{z: , x: 1}", "", "{z: , x: 3}"]
    );
    let mut none = common(vec![field("s", structure(&[("z", DataTypeId::String)]))]);
    assert_eq!(
        read(&none, &path).await.unwrap().column(0).null_count(),
        1,
        "Spark 4.1: a struct of NULLs"
    );
    none.return_null_struct_if_all_fields_missing = true;
    assert_eq!(read(&none, &path).await.unwrap().column(0).null_count(), 3);
}

#[tokio::test]
async fn text_in_a_file_is_checked_whatever_its_annotation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text.parquet");
    for annotation in ["", "(UTF8)", "(JSON)", "(ENUM)"] {
        let message = format!("message m {{ optional binary s {annotation}; }}");
        for (bytes, valid) in [(&b"{\"\xc3\xa9\": 1}"[..], true), (&b"{\"\xc3\": 1}"[..], false)] {
            let schema = Arc::new(parse_message_type(&message).unwrap());
            let file = std::fs::File::create(&path).unwrap();
            let mut writer = SerializedFileWriter::new(file, schema, Arc::new(plain())).unwrap();
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column
                .typed::<ByteArrayType>()
                .write_batch(&[bytes.into()], Some(&[1]), None)
                .unwrap();
            column.close().unwrap();
            group.close().unwrap();
            writer.close().unwrap();
            let read = read(&common(vec![field("s", spark(DataTypeId::String))]), &path).await;
            match read {
                Ok(batch) => assert!(valid && batch.column(0).as_string::<i32>().value(0).contains('é')),
                Err(error) => assert!(
                    !valid && error.to_string().contains("UTF-8"),
                    "{annotation}: {error}"
                ),
            }
        }
    }
}
