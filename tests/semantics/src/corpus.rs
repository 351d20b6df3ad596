//! Requests of a real driver with their files and plain Spark's answers, in the repository (`corpus/`): the planner and the operators are held to
//! Spark's answers by `cargo test` alone. `just corpus` makes them again.
//!
//! `corpus/<case file>/<case>.pb` is a request; beside it is `<case>.arrow`, Spark's rows, or `<case>.error`, Spark's error class. Files of tables
//! are in `corpus/tables`; the requests name them below [`ROOT`].

use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, Float32Type, Float64Type, SchemaRef};
use arrow::ipc::reader::FileReader;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use cne_proto::decode::{Limits, decode_strict};
use cne_proto::spark_operator::NativeScan;
use cne_proto::v1::{QueryRequest, stage::Kind};
use prost::Message as _;

use crate::in_process::{self, Output};

/// Where the requests of the corpus say that their files are.
pub const ROOT: &str = "file:///corpus/";

/// The folder of the corpus.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Reads a request.
#[must_use]
pub fn request(bytes: &[u8]) -> QueryRequest {
    decode_strict(bytes, "cne.v1.QueryRequest", &Limits::default()).unwrap()
}

/// Gives every file the path that `moved` makes of its own; `None` leaves it where it is.
pub fn move_files(request: &mut QueryRequest, moved: impl Fn(&str) -> Option<String>) {
    for stage in &mut request.stages {
        let Some(Kind::Block(block)) = &mut stage.kind else {
            continue;
        };
        for partition in block.scans.iter_mut().flat_map(|scan| &mut scan.partitions) {
            let mut scan = NativeScan::decode(&partition[..]).unwrap();
            for file in scan
                .file_partition
                .iter_mut()
                .flat_map(|partition| &mut partition.partitioned_file)
            {
                if let Some(path) = moved(&file.file_path) {
                    file.file_path = path;
                }
            }
            *partition = scan.encode_to_vec().into();
        }
    }
}

/// The requests of the corpus, in order.
#[must_use]
pub fn requests() -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder()).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_dir() && !entry.ends_with("tables") {
            let files = fs::read_dir(entry).unwrap().map(|file| file.unwrap().path());
            found.extend(files.filter(|file| file.extension().is_some_and(|e| e == "pb")));
        }
    }
    found.sort();
    found
}

/// Runs a request of the corpus with batches of at most `batch_size` rows; how it differs from plain Spark.
///
/// # Errors
/// The first difference.
pub async fn check(path: &Path, batch_size: usize) -> Result<(), String> {
    let mut request = request(&fs::read(path).unwrap());
    move_files(&mut request, |path| {
        let below = path.strip_prefix(ROOT)?;
        Some(format!("file://{}/{below}", folder().display()))
    });
    let got = in_process::run(&request, batch_size).await;
    match (got, fs::read_to_string(path.with_extension("error"))) {
        (Err(text), Ok(class)) if text.contains(&format!("[{}]", class.trim())) => Ok(()),
        (Err(text), Ok(class)) => Err(format!("want error {}, got {text}", class.trim())),
        (Err(text), Err(_)) => Err(text),
        (Ok(_), Ok(class)) => Err(format!("rows instead of error {}", class.trim())),
        (Ok(output), Err(_)) => compare(&output, &path.with_extension("arrow")),
    }
}

fn compare(got: &Output, want: &Path) -> Result<(), String> {
    let reader = FileReader::try_new(fs::File::open(want).unwrap(), None).unwrap();
    let schema = reader.schema();
    let want: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    same_types(&schema, &got.schema)?;
    let (want, got) = (rows(&want), rows(&got.partitions.concat()));
    if want.len() != got.len() {
        return Err(format!("{} rows instead of {}", got.len(), want.len()));
    }
    match want.iter().zip(&got).find(|(want, got)| want != got) {
        Some((want, got)) => Err(format!("row {got} instead of {want}")),
        None => Ok(()),
    }
}

fn same_types(want: &SchemaRef, got: &SchemaRef) -> Result<(), String> {
    let same = want.fields().len() == got.fields().len()
        && want
            .fields()
            .iter()
            .zip(got.fields())
            .all(|(want, got)| same_type(want.data_type(), got.data_type()));
    if same {
        return Ok(());
    }
    let types = |schema: &SchemaRef| -> Vec<DataType> {
        let fields = schema.fields().iter();
        fields.map(|field| field.data_type().clone()).collect()
    };
    Err(format!("types {:?} instead of {:?}", types(got), types(want)))
}

/// Names and nullability of parts are the driver's: it reads rows by position.
fn same_type(want: &DataType, got: &DataType) -> bool {
    use DataType as T;
    match (want, got) {
        (T::List(want), T::List(got)) | (T::Map(want, _), T::Map(got, _)) => {
            same_type(want.data_type(), got.data_type())
        }
        (T::Struct(want), T::Struct(got)) => {
            let mut pairs = want.iter().zip(got);
            want.len() == got.len() && pairs.all(|(want, got)| same_type(want.data_type(), got.data_type()))
        }
        _ => want == got,
    }
}

/// Rows as text, sorted. Of floating-point numbers the first nine digits: sums of them depend on the order of their terms.
fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let mut all = vec![];
    for batch in batches {
        let columns: Vec<Vec<String>> = batch.columns().iter().map(|column| texts(column)).collect();
        all.extend((0..batch.num_rows()).map(|row| {
            let values = columns.iter().map(|column| column[row].as_str());
            values.collect::<Vec<_>>().join(" | ")
        }));
    }
    all.sort();
    all
}

fn texts(column: &dyn Array) -> Vec<String> {
    use arrow::array::AsArray;
    let float = |value: Option<f64>| value.map_or("NULL".to_owned(), |value| format!("{value:.8e}"));
    match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().map(float).collect(),
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>().iter();
            values.map(|value| float(value.map(f64::from))).collect()
        }
        _ => {
            let options = FormatOptions::default().with_null("NULL");
            let formatter = ArrayFormatter::try_new(column, &options).unwrap();
            (0..column.len())
                .map(|row| formatter.value(row).to_string())
                .collect()
        }
    }
}
