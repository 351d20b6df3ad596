//! Which files are read, and what is refused.

use super::*;

#[tokio::test]
async fn field_ids_decide_where_the_read_schema_has_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ids.parquet");
    let id = |name: &str, id: &str| {
        Field::new(name, datafusion::arrow::datatypes::DataType::Int32, true)
            .with_metadata([("PARQUET:field_id".to_string(), id.to_string())].into())
    };
    let schema = Arc::new(datafusion::arrow::datatypes::Schema::new(vec![
        id("a", "2"),
        id("b", "1"),
    ]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![ints([20]), ints([10])]).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let with_id = |name: &str, id: &str| SparkStructField {
        metadata: [("PARQUET:field_id".to_string(), id.to_string())].into(),
        ..field(name, spark(DataTypeId::Int32))
    };
    let mut scan = common(vec![
        with_id("a", "1"),
        with_id("b", "3"),
        field("B", spark(DataTypeId::Int32)),
    ]);
    (scan.use_field_id, scan.require_field_ids) = (true, true);
    let batch = read(&scan, &path).await.unwrap();
    let values = |column: usize| {
        batch
            .column(column)
            .as_primitive::<Int32Type>()
            .iter()
            .next()
            .unwrap()
    };
    assert_eq!((values(0), values(1), values(2)), (Some(10), None, Some(10)));
    let without = write(directory.path(), "none.parquet", vec![("a", ints([1]))], plain());
    let stripped = failure(&scan, vec![file(&without)]).await;
    assert!(stripped.contains("has no field ids"), "{stripped}");
}

#[tokio::test]
async fn files_that_are_none_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let scan = common(vec![field("a", spark(DataTypeId::Int32))]);
    let at = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let good = write(
        directory.path(),
        "good.parquet",
        vec![("a", ints(0..10))],
        plain(),
    );
    let mut bytes = std::fs::read(&good).unwrap();
    let cut = at("cut.parquet", &bytes[..bytes.len() - 9]);
    let footer = bytes.len() - 20;
    bytes[footer..footer + 8].fill(0xff);
    for (path, expected) in [
        (directory.path().join("missing.parquet"), "does not exist"),
        (at("empty.parquet", b""), "has 0 bytes"),
        (
            at("text.csv", b"a,b,c\n1,2,3\n4,5,6\n"),
            "not a readable Parquet file",
        ),
        (cut, "not a readable Parquet file"),
        (at("bent.parquet", &bytes), "not a readable Parquet file"),
    ] {
        let message = failure(&scan, vec![file(&path)]).await;
        assert!(
            message.contains(expected) && message.contains(&url(&path)),
            "{message}"
        );
    }
    let mut changed = file(&good);
    changed.file_size += 1;
    assert!(failure(&scan, vec![changed]).await.contains("REFRESH TABLE"));
    let mut remote = file(&good);
    for (path, expected) in [
        ("hdfs://namenode/a.parquet", "hdfs"),
        ("s3://key:secret@bucket/a", "user or password"),
        ("file:///a/%2e%2e/b", ".."),
    ] {
        remote.file_path = path.to_string();
        let message = failure(&scan, vec![remote.clone()]).await;
        assert!(message.contains(expected), "{message}");
        assert!(check_file(path).is_some_and(|found| found.reason.contains(expected)));
    }
}

#[tokio::test]
async fn a_replaced_file_is_not_read_by_its_old_footer() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = Arc::new(RuntimeEnv::default());
    let scan = common(vec![field("a", spark(DataTypeId::Int32))]);
    for (round, values) in [0..10, 10..20].into_iter().enumerate() {
        let path = write(
            directory.path(),
            "f.parquet",
            vec![("a", ints(values.clone()))],
            WriterProperties::builder()
                .set_dictionary_enabled(round == 0)
                .build(),
        );
        for _ in 0..2 {
            let plan = plan_scan(
                &scan,
                Some(&partition(vec![file(&path)])),
                &ScanContext {
                    runtime: &runtime,
                    late_materialisation: false,
                },
            )
            .unwrap();
            let batches = collect(
                plan,
                Arc::new(TaskContext::default().with_runtime(Arc::clone(&runtime))),
            )
            .await
            .unwrap();
            assert_eq!(
                batches[0].column(0).as_primitive::<Int32Type>().values().to_vec(),
                values.clone().collect::<Vec<_>>()
            );
        }
        assert!(
            !runtime.cache_manager.get_file_metadata_cache().is_empty(),
            "footers are cached"
        );
    }
}

#[test]
fn what_cannot_be_read_is_said_at_submission() {
    let mut scan = common(vec![
        field("a", spark(DataTypeId::Int32)),
        field("v", spark(DataTypeId::Variant)),
        field("größe", spark(DataTypeId::Int32)),
    ]);
    scan.encryption_enabled = true;
    for key in [
        "fs.s3a.access.key",
        "fs.s3a.bucket.b.secret.key",
        "fs.s3a.endpoint",
        "fs.s3a.comet.credential.provider.class",
        "fs.s3a.aws.credentials.provider",
        "fs.s3a.committer.name",
        "fs.s3a.path.style.access",
        "fs.s3a.bucket.b.requester.pays.enabled",
    ] {
        scan.object_store_options.insert(key.to_string(), "x".to_string());
    }
    let mut found: Vec<String> = check_scan(&scan)
        .into_iter()
        .map(|rejection| rejection.what)
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "column größe",
            "column v",
            "encryption",
            "object store option fs.s3a.access.key",
            "object store option fs.s3a.aws.credentials.provider",
            "object store option fs.s3a.bucket.b.requester.pays.enabled",
            "object store option fs.s3a.bucket.b.secret.key",
            "object store option fs.s3a.comet.credential.provider.class",
            "object store option fs.s3a.committer.name",
            "object store option fs.s3a.endpoint",
            "object store option fs.s3a.path.style.access"
        ]
    );
    assert_eq!(
        check_scan(&common(vec![field("a", spark(DataTypeId::Int32))])),
        []
    );
}
