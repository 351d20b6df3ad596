use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::CachedParquetMetaData;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::{ParquetFileMetrics, ParquetFileReaderFactory};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::cache::cache_manager::{CachedFileMetadataEntry, FileMetadataCache};
use datafusion::parquet::arrow::ARROW_SCHEMA_META_KEY;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::basic::{ConvertedType, LogicalType, SortOrder, Type as PhysicalType};
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::{
    FileMetaData, KeyValue, PageIndexPolicy, ParquetMetaData, ParquetMetaDataBuilder,
};
use datafusion::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type, TypePtr};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use super::ScanError;
use super::leaves;

/// Key under which the file's URL travels to the adapter: the file schema's metadata is all that one sees.
pub(crate) const FILE_KEY: &str = "cne.file";
/// Root columns whose statistics do not say what a comparison of Spark's would; one per line.
pub(crate) const UNORDERED_KEY: &str = "cne.unordered";
/// A Parquet file has at least its magic bytes twice and the length of the footer.
const SMALLEST_FILE: u64 = 12;

/// What the driver said of a file; an extension of its `PartitionedFile`.
#[derive(Clone, Debug)]
pub(crate) struct ListedFile {
    /// URL as sent.
    pub(crate) url: String,
    /// Size when it was listed.
    pub(crate) size: u64,
}

/// Opens files with a footer cache that all tasks of the process share, as each task plans its own scan.
#[derive(Debug)]
pub(crate) struct ScanReaderFactory {
    store: Arc<dyn ObjectStore>,
    store_url: Arc<str>,
    cache: Arc<FileMetadataCache>,
}

impl ScanReaderFactory {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, store_url: &str, cache: Arc<FileMetadataCache>) -> Self {
        Self {
            store,
            store_url: store_url.into(),
            cache,
        }
    }
}

impl ParquetFileReaderFactory for ScanReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let path = file.object_meta.location.clone();
        let listed = match file.extension::<ListedFile>() {
            Some(listed) => listed.clone(),
            None => ListedFile {
                url: path.to_string(),
                size: file.object_meta.size,
            },
        };
        Ok(Box::new(ScanFileReader {
            metrics: ParquetFileMetrics::new(partition_index, path.as_ref(), metrics),
            store: Arc::clone(&self.store),
            store_url: Arc::clone(&self.store_url),
            cache: Arc::clone(&self.cache),
            metadata_size_hint,
            path,
            listed,
        }))
    }
}

struct ScanFileReader {
    metrics: ParquetFileMetrics,
    store: Arc<dyn ObjectStore>,
    store_url: Arc<str>,
    cache: Arc<FileMetadataCache>,
    metadata_size_hint: Option<usize>,
    path: Path,
    listed: ListedFile,
}

impl fmt::Debug for ScanFileReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanFileReader")
            .field("file", &self.listed.url)
            .finish_non_exhaustive()
    }
}

fn external(error: ScanError) -> ParquetError {
    ParquetError::External(Box::new(error))
}

impl ScanFileReader {
    fn store_error(&self, source: object_store::Error) -> ScanError {
        let file = self.listed.url.clone();
        match source {
            object_store::Error::NotFound { .. } => ScanError::Missing { file },
            source => ScanError::Read { file, source },
        }
    }

    /// The footer, from the cache if the file is still the same one: one HEAD per open is the price of never reading a replaced file by
    /// the footer of the old one.
    async fn footer(&self) -> Result<Arc<ParquetMetaData>, ScanError> {
        let file = || self.listed.url.clone();
        let meta = self
            .store
            .head(&self.path)
            .await
            .map_err(|source| self.store_error(source))?;
        if meta.size != self.listed.size {
            return Err(ScanError::Changed {
                file: file(),
                listed: self.listed.size,
                actual: meta.size,
            });
        }
        if meta.size < SMALLEST_FILE {
            return Err(ScanError::TooShort {
                file: file(),
                size: meta.size,
            });
        }
        let key = Path::from(format!(
            "{}/{}#{}",
            self.store_url,
            self.path,
            meta.e_tag.as_deref().unwrap_or_default()
        ));
        if let Some(cached) = self.cache.get(&key)
            && cached.is_valid_for(&meta)
            && let Some(cached) = cached
                .file_metadata
                .as_any()
                .downcast_ref::<CachedParquetMetaData>()
        {
            return Ok(Arc::clone(cached.parquet_metadata()));
        }
        // With the page index, which would otherwise be fetched by every task.
        let loaded = DFParquetMetadata::new(&*self.store, &meta)
            .with_metadata_size_hint(
                self.metadata_size_hint
                    .map(|hint| hint.min(usize::try_from(meta.size).unwrap_or(hint))),
            )
            .with_page_index_policy(Some(PageIndexPolicy::Optional))
            .fetch_metadata()
            .await;
        let footer = match loaded {
            Ok(footer) => footer,
            Err(DataFusionError::ObjectStore(source)) => return Err(self.store_error(*source)),
            Err(source) => {
                return Err(ScanError::Footer {
                    file: file(),
                    source: Box::new(source),
                });
            }
        };
        let footer = annotate(Arc::unwrap_or_clone(footer), &self.listed.url);
        let footer = Arc::new(footer.map_err(|error| ScanError::Footer {
            file: file(),
            source: Box::new(error.into()),
        })?);
        self.cache.put(
            &key,
            CachedFileMetadataEntry::new(meta, Arc::new(CachedParquetMetaData::new(Arc::clone(&footer)))),
        );
        Ok(footer)
    }
}

/// Drops the writer's Arrow schema, so that types come from Parquet alone, as in Spark; notes what only the footer knows.
fn annotate(footer: ParquetMetaData, url: &str) -> Result<ParquetMetaData, ParquetError> {
    let old = footer.file_metadata();
    let unordered: BTreeSet<String> = old
        .schema_descr()
        .columns()
        .iter()
        .enumerate()
        .filter(|(index, column)| !is_ordered(&footer, *index, column))
        .filter_map(|(_, column)| column.path().parts().first().cloned())
        .collect();
    let (leaves_key, leaves) = leaves::encode(old.schema_descr());
    let mut pairs: Vec<KeyValue> = old.key_value_metadata().cloned().unwrap_or_default();
    pairs.retain(|pair| pair.key.starts_with("org.apache.spark.") && pair.key != ARROW_SCHEMA_META_KEY);
    let mut note = |key: &str, value: String| pairs.push(KeyValue::new(key.to_string(), value));
    note(FILE_KEY, url.to_string());
    note(&leaves_key, leaves);
    note(
        UNORDERED_KEY,
        unordered.into_iter().collect::<Vec<_>>().join("\n"),
    );
    let schema = match with_checked_text(old.schema_descr().root_schema())? {
        Some(schema) => Arc::new(SchemaDescriptor::new(schema)),
        None => old.schema_descr_ptr(),
    };
    let new = FileMetaData::new(
        old.version(),
        old.num_rows(),
        old.created_by().map(str::to_string),
        Some(pairs),
        schema,
        old.column_orders().cloned(),
    );
    Ok(ParquetMetaDataBuilder::new(new)
        .set_row_groups(footer.row_groups().to_vec())
        .set_column_index(footer.column_index().cloned())
        .set_offset_index(footer.offset_index().cloned())
        .build())
}

/// Whether statistics of a leaf may decide over rows. INT96 has no usable order; the deprecated kind of statistics compares bytes and
/// unsigned numbers as signed; and where the number of NULLs is missing it would be taken for 0.
fn is_ordered(footer: &ParquetMetaData, index: usize, column: &ColumnDescriptor) -> bool {
    let physical = column.physical_type();
    let bytes = matches!(
        physical,
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY
    );
    let unsigned = column.sort_order() == SortOrder::UNSIGNED;
    physical != PhysicalType::INT96
        && footer.row_groups().iter().all(|group| {
            group.column(index).statistics().is_none_or(|statistics| {
                statistics.null_count_opt().is_some()
                    && !((bytes || unsigned) && statistics.is_min_max_deprecated())
            })
        })
}

/// The type with every JSON text as a STRING, which the decoder checks to be UTF-8; `None` where it has none.
fn with_checked_text(old: &Type) -> ParquetResult<Option<TypePtr>> {
    let info = old.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match old {
        Type::PrimitiveType { physical_type, .. } => {
            let is_json = info.converted_type() == ConvertedType::JSON
                || info.logical_type_ref() == Some(&LogicalType::Json);
            if !is_json {
                return Ok(None);
            }
            let text = Type::primitive_type_builder(old.name(), *physical_type)
                .with_repetition(info.repetition())
                .with_logical_type(Some(LogicalType::String))
                .with_id(id)
                .build()?;
            Ok(Some(Arc::new(text)))
        }
        Type::GroupType { fields, .. } => {
            let checked = fields.iter().map(|field| with_checked_text(field));
            let checked = checked.collect::<ParquetResult<Vec<_>>>()?;
            if checked.iter().all(Option::is_none) {
                return Ok(None);
            }
            let fields = checked
                .into_iter()
                .zip(fields)
                .map(|(new, old)| new.unwrap_or_else(|| Arc::clone(old)));
            let mut group = Type::group_type_builder(old.name())
                .with_fields(fields.collect())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id);
            if info.has_repetition() {
                group = group.with_repetition(info.repetition());
            }
            Ok(Some(Arc::new(group.build()?)))
        }
    }
}

impl AsyncFileReader for ScanFileReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        async move {
            let mut bytes = self.get_byte_ranges(vec![range]).await?;
            bytes
                .pop()
                .ok_or_else(|| ParquetError::EOF(self.listed.url.clone()))
        }
        .boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        self.metrics
            .bytes_scanned
            .add(usize::try_from(bytes).unwrap_or(usize::MAX));
        async move {
            self.store
                .get_ranges(&self.path, &ranges)
                .await
                .map_err(|source| external(self.store_error(source)))
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        _: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move { self.footer().await.map_err(external) }.boxed()
    }
}
