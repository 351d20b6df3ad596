use cne_proto::spark_expression::DataType as SparkType;
use cne_proto::spark_expression::data_type::data_type_info::DatatypeStruct;
use cne_proto::spark_operator::{NativeScanCommon, SparkStructField};

use super::adapter::RebaseMode;
use super::location::locate;
use super::types::{arrow_type, literal_value, type_info};

/// A part of a scan that is not supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanRejection {
    /// Which part.
    pub what: String,
    /// Why.
    pub reason: String,
    /// What the user can do.
    pub hint: String,
}

fn rejection(what: impl Into<String>, reason: impl Into<String>, hint: &str) -> ScanRejection {
    ScanRejection {
        what: what.into(),
        reason: reason.into(),
        hint: hint.to_string(),
    }
}

/// All that cannot be read, without touching a file. An empty list means that [`super::plan_scan`] can plan the scan.
pub fn check_scan(common: &NativeScanCommon) -> Vec<ScanRejection> {
    let mut found = vec![];
    if common.encryption_enabled {
        found.push(rejection(
            "encryption",
            "encrypted Parquet files are not read by executors",
            "unset parquet.crypto.factory.class",
        ));
    }
    for (key, value) in &common.object_store_options {
        match key.as_str() {
            DATETIME_MODE | INT96_MODE if RebaseMode::named(value).is_some() => {}
            DATETIME_MODE | INT96_MODE => found.push(rejection(
                key,
                format!("{value:?} is no mode of Spark's"),
                "set it to CORRECTED, LEGACY or EXCEPTION",
            )),
            _ => check_option(key, &mut found),
        }
    }
    for field in common.required_schema.iter().chain(&common.partition_schema) {
        check_field(common, field, &mut found);
    }
    check_indices(common, &mut found);
    for default in &common.default_values {
        if let Err(error) = literal_value(default) {
            found.push(rejection(
                "default value",
                error.to_string(),
                "rewrite the files so that the column exists in all of them",
            ));
        }
    }
    found
}

/// What can be refused by a file's URL alone: another scheme than executors read, or one that is malformed.
pub fn check_file(url: &str) -> Option<ScanRejection> {
    let hint = "copy the table to S3 or to a directory that executors share";
    locate(url)
        .err()
        .map(|error| rejection("file", error.to_string(), hint))
}

/// How dates and timestamps are read of files that do not say it themselves: Spark's setting, or the option of the read that stands for it.
pub(crate) const DATETIME_MODE: &str = "spark.sql.parquet.datetimeRebaseModeInRead";
/// The same for INT96 timestamps.
pub(crate) const INT96_MODE: &str = "spark.sql.parquet.int96RebaseModeInRead";

/// A driver says nothing of a store: how executors reach it is their own configuration.
fn check_option(key: &str, found: &mut Vec<ScanRejection>) {
    const SECRET: [&str; 9] = [
        "access.key",
        "secret.key",
        "session.token",
        "password",
        "secret",
        "account.key",
        "sas.",
        "credential.provider",
        "credentials.provider",
    ];
    let lower = key.to_ascii_lowercase();
    let (reason, hint) = if SECRET.iter().any(|secret| lower.contains(secret)) {
        (
            "credentials never travel with a plan",
            "executors use their own identity; remove the credential from the Hadoop configuration",
        )
    } else if lower.ends_with("endpoint") {
        (
            "endpoints are the executors' own configuration",
            "configure the endpoint on the executors (AWS_ENDPOINT_URL, CNE_BUCKETS_FILE)",
        )
    } else {
        (
            "executors do not read it",
            "remove it, or configure the executors' own access (CNE_BUCKETS_FILE)",
        )
    };
    found.push(rejection(format!("object store option {key}"), reason, hint));
}

fn check_field(common: &NativeScanCommon, field: &SparkStructField, found: &mut Vec<ScanRejection>) {
    let Some(spark) = &field.data_type else {
        found.push(rejection(
            format!("column {}", field.name),
            "no type",
            "report this as a bug",
        ));
        return;
    };
    if let Err(error) = arrow_type(spark) {
        found.push(rejection(
            format!("column {}", field.name),
            error.to_string(),
            "do not select the column",
        ));
    }
    if !common.case_sensitive && !names_are_ascii(&field.name, spark) {
        let reason = "names outside ASCII are not matched without regard to case as the JVM does";
        found.push(rejection(
            format!("column {}", field.name),
            reason,
            "set spark.sql.caseSensitive=true",
        ));
    }
}

fn names_are_ascii(name: &str, spark: &SparkType) -> bool {
    let nested =
        |spark: &Option<Box<SparkType>>| spark.as_ref().is_none_or(|spark| names_are_ascii("", spark));
    name.is_ascii()
        && match type_info(spark) {
            Some(DatatypeStruct::List(list)) => nested(&list.element_type),
            Some(DatatypeStruct::Map(map)) => nested(&map.key_type) && nested(&map.value_type),
            Some(DatatypeStruct::Struct(info)) => info
                .field_names
                .iter()
                .zip(&info.field_datatypes)
                .all(|(name, spark)| names_are_ascii(name, spark)),
            Some(DatatypeStruct::Decimal(_)) | None => true,
        }
}

fn check_indices(common: &NativeScanCommon, found: &mut Vec<ScanRejection>) {
    let columns = common.data_schema.len() + common.partition_schema.len();
    let in_range = |index: &i64| usize::try_from(*index).is_ok_and(|index| index < columns);
    if !common.projection_vector.iter().all(in_range) {
        found.push(rejection(
            "projection",
            "an index outside the schema",
            "report this as a bug",
        ));
    }
    let in_data = |index: &i64| usize::try_from(*index).is_ok_and(|index| index < common.data_schema.len());
    if common.default_values.len() != common.default_values_indexes.len()
        || !common.default_values_indexes.iter().all(in_data)
    {
        found.push(rejection(
            "default values",
            "an index outside the schema",
            "report this as a bug",
        ));
    }
}
