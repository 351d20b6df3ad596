//! Everything a request must satisfy before its plan is looked at. Every failure names both sides.

mod secrets;

use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use cne_fragment::scan::check_file;
use cne_proto::{
    COMET_VERSION,
    decode::{DecodeError, Limits, decode_strict, decode_strict_shared},
    schema_fingerprint,
    spark_operator::{NativeScan, NativeScanCommon, Operator, operator::OpStruct},
    v1::{QueryRequest, Rejection, stage::Kind},
};
use cne_task::codes::{self, Code};
use cne_task::options::{BATCH_SIZE, batch_size};
use cne_transport::Tenant;
use prost::Message;

use crate::error::Failure;

/// Settings of a Spark session that an execution may read. An unknown key is refused: it would be silently without effect.
pub const CONFIG_KEYS: &[&str] = &[
    BATCH_SIZE,
    "spark.comet.caseConversion.enabled",
    "spark.comet.parquet.rowGroupPruning.enabled",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.session.timeZone",
];

/// What the pool accepts.
#[derive(Debug, Clone)]
pub struct Accepts {
    /// Bounds of the request's bytes and nesting.
    pub limits: Limits,
    /// Directories whose files may be scanned; `None` leaves the check to the executors.
    pub file_roots: Option<Vec<PathBuf>>,
    /// Versions of Spark whose drivers are served, as they name themselves.
    pub spark_versions: Vec<String>,
    /// For whom it is; what the tenant may scan.
    pub tenant: Arc<Tenant>,
}

/// Reads and checks a request.
///
/// # Errors
/// The first thing that makes it unreadable, or every secret and every foreign path in it.
pub fn request(bytes: &Bytes, accepts: &Accepts) -> Result<QueryRequest, Failure> {
    let request: QueryRequest = decode_strict_shared(bytes, "cne.v1.QueryRequest", &accepts.limits)
        .map_err(|e| undecodable("request", &e))?;
    let uuid = uuid::Uuid::try_parse(&request.query_id);
    if !uuid.is_ok_and(|uuid| uuid.hyphenated().to_string() == request.query_id) {
        return Err(Failure::new(
            codes::MALFORMED,
            "query_id is not a lower-case UUID",
        ));
    }
    versions(&request, &accepts.spark_versions)?;
    let unknown: Vec<_> = request
        .config
        .keys()
        .filter(|key| !CONFIG_KEYS.contains(&key.as_str()))
        .collect();
    if !unknown.is_empty() {
        let text = format!("the pool does not read {unknown:?}; it reads {CONFIG_KEYS:?}");
        return Err(Failure::new(codes::CONFIG_KEY, text));
    }
    if let Some(text) = request.config.get(BATCH_SIZE)
        && batch_size(text).is_none()
    {
        let text = format!(
            "{BATCH_SIZE} must be a number of rows from 1 to {}, not {text:?}",
            1 << 20
        );
        return Err(Failure::new(codes::CONFIG_KEY, text));
    }
    if request.stages.is_empty() {
        return Err(Failure::new(codes::MALFORMED, "the request has no stage"));
    }
    contents(&request, accepts)?;
    Ok(request)
}

fn versions(request: &QueryRequest, served: &[String]) -> Result<(), Failure> {
    if request.comet_version != COMET_VERSION {
        let text = format!(
            "the driver has Comet {}, the pool was built for {COMET_VERSION}",
            request.comet_version
        );
        return Err(Failure::new(codes::COMET_VERSION, text));
    }
    if request.schema_fingerprint != schema_fingerprint() {
        let text = format!(
            "the driver's Comet messages have the fingerprint {}, the pool's {}",
            request.schema_fingerprint,
            schema_fingerprint()
        );
        return Err(Failure::new(codes::FINGERPRINT, text));
    }
    if !served.contains(&request.spark_version) {
        let text = format!(
            "the driver has Spark {}, the pool serves {}. Another version can give other answers; \
             who accepts that names it in CNE_ACCEPTED_SPARK_VERSIONS of the scheduler",
            request.spark_version,
            served.join(", ")
        );
        return Err(Failure::new(codes::SPARK_VERSION, text));
    }
    Ok(())
}

fn undecodable(part: &str, error: &DecodeError) -> Failure {
    let code = match error {
        DecodeError::TooLarge { .. } | DecodeError::TooManyValues { .. } => codes::TOO_LARGE,
        DecodeError::TooDeep { .. } => codes::TOO_DEEP,
        DecodeError::UnknownField { .. } | DecodeError::UnknownEnumValue { .. } => codes::UNKNOWN_FIELD,
        _ => codes::MALFORMED,
    };
    Failure::new(code, format!("{part}: {error}"))
}

// What is inside the byte fields: scans and their paths and options.
fn contents(request: &QueryRequest, accepts: &Accepts) -> Result<(), Failure> {
    let mut found: Vec<(Code, Rejection)> = vec![];
    for key in request.config.keys().filter(|key| secrets::is_secret_key(key)) {
        found.push((
            codes::SECRET,
            rejection(
                0,
                "config",
                key,
                "a credential or endpoint must not leave the driver",
            ),
        ));
    }
    for (index, stage) in request.stages.iter().enumerate() {
        let Some(Kind::Block(block)) = &stage.kind else {
            continue;
        };
        let index = index as u32;
        let part = |what: &str| format!("stage {index} ({}), {what}", stage.label);
        let operator: Operator =
            decode_strict(&block.operator, "spark.spark_operator.Operator", &accepts.limits)
                .map_err(|e| undecodable(&part("operator"), &e))?;
        operators(&operator, &mut |operator| {
            if let Some(OpStruct::NativeScan(scan)) = &operator.op_struct {
                found.extend(scan.common.iter().flat_map(|common| options(index, common)));
                found.extend(paths(index, scan, accepts));
            }
        });
        for scan in &block.scans {
            let common: NativeScanCommon = decode_strict(
                &scan.common,
                "spark.spark_operator.NativeScanCommon",
                &accepts.limits,
            )
            .map_err(|e| undecodable(&part("scan"), &e))?;
            found.extend(options(index, &common));
            for partition in &scan.partitions {
                let partition: NativeScan =
                    decode_strict(partition, "spark.spark_operator.NativeScan", &accepts.limits)
                        .map_err(|e| undecodable(&part("scan partition"), &e))?;
                found.extend(paths(index, &partition, accepts));
            }
        }
    }
    match found.first() {
        None => Ok(()),
        // A secret outranks a path.
        Some((first, _)) => {
            let code = if found.iter().any(|(code, _)| *code == codes::SECRET) {
                codes::SECRET
            } else {
                *first
            };
            Err(Failure::rejected(
                code,
                found.into_iter().map(|(_, rejection)| rejection).collect(),
            ))
        }
    }
}

fn operators(operator: &Operator, visit: &mut impl FnMut(&Operator)) {
    visit(operator);
    for child in &operator.children {
        operators(child, visit);
    }
}

fn options(stage: u32, common: &NativeScanCommon) -> Vec<(Code, Rejection)> {
    let mut keys: Vec<_> = common
        .object_store_options
        .keys()
        .filter(|key| secrets::is_secret_key(key))
        .collect();
    keys.sort();
    let reason = "credentials and endpoints are the executors' own configuration and must not travel";
    keys.into_iter()
        .map(|key| {
            (
                codes::SECRET,
                rejection(stage, "native_scan/object_store_options", key, reason),
            )
        })
        .collect()
}

fn paths(stage: u32, scan: &NativeScan, accepts: &Accepts) -> Vec<(Code, Rejection)> {
    let files = scan
        .file_partition
        .iter()
        .flat_map(|partition| &partition.partitioned_file);
    let mut found = vec![];
    for file in files.clone() {
        let url = &file.file_path;
        if secrets::has_user_info(url) {
            let what = secrets::without_user_info(url);
            found.push((
                codes::SECRET,
                rejection(stage, "native_scan", &what, "the URL carries a user or password"),
            ));
        } else if let Some((what, _)) = url.split_once('?') {
            // Spark encodes a question mark of a name.
            let reason = "the URL carries a query, which may be a signature";
            found.push((codes::SECRET, rejection(stage, "native_scan", what, reason)));
        } else if !accepts.tenant.may_scan(url) {
            let reason = format!("the tenant {:?} may not read it", accepts.tenant.name);
            found.push((codes::PREFIX, rejection(stage, "native_scan", url, &reason)));
        } else if let (Some(path), Some(roots)) = (local_path(url), &accepts.file_roots)
            && !roots.iter().any(|root| is_under(&path, root))
        {
            let reason = format!("only files under {roots:?} may be read");
            found.push((codes::FILE_ROOT, rejection(stage, "native_scan", url, &reason)));
        }
    }
    // Their texts name the URL, so none is asked for when one carries a password.
    if !found.iter().any(|(code, _)| *code == codes::SECRET) {
        let refused = files.filter_map(|file| check_file(&file.file_path));
        found.extend(refused.map(|refused| {
            let mut rejection = rejection(stage, "native_scan", &refused.what, &refused.reason);
            rejection.hint = refused.hint;
            (codes::NOT_EXECUTED, rejection)
        }));
    }
    found.truncate(20);
    found
}

fn rejection(stage: u32, path: &str, what: &str, reason: &str) -> Rejection {
    Rejection {
        stage,
        path: path.into(),
        what: what.into(),
        reason: reason.into(),
        hint: String::new(),
    }
}

// The path of a `file:` URL, percent-decoded; `None` for other schemes.
fn local_path(url: &str) -> Option<PathBuf> {
    let (scheme, rest) = url.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let rest = rest.strip_prefix("//").unwrap_or(rest).as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        let digits = rest
            .get(at + 1..at + 3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits
            .filter(|_| byte == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    Some(PathBuf::from(String::from_utf8_lossy(&bytes).into_owned()))
}

fn is_under(path: &Path, root: &Path) -> bool {
    // A link inside a root is the executors' to check; here no path may climb.
    let climbs = path
        .components()
        .any(|component| matches!(component, Component::ParentDir));
    path.is_absolute() && !climbs && path.starts_with(root)
}

/// Compressed bytes of the files that one partition of a scan reads; 0 when it says nothing.
pub fn scan_bytes(partition: &[u8]) -> u64 {
    let files = NativeScan::decode(partition)
        .ok()
        .and_then(|scan| scan.file_partition);
    let lengths = files
        .iter()
        .flat_map(|p| &p.partitioned_file)
        .map(|file| u64::try_from(file.length).unwrap_or(0));
    lengths.fold(0, u64::saturating_add)
}
