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
use datafusion::parquet::basic::Type as PhysicalType;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::{
    FileMetaData, KeyValue, PageIndexPolicy, ParquetMetaData, ParquetMetaDataBuilder,
};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use super::ScanError;

/// Key under which the file's URL travels to the adapter: the file schema's metadata is all that one sees.
pub(crate) const FILE_KEY: &str = "cne.file";
/// Root columns that hold an INT96 timestamp, one per line.
pub(crate) const INT96_KEY: &str = "cne.int96";
/// Root columns with statistics of the deprecated kind, which order bytes as signed numbers; one per line.
pub(crate) const DEPRECATED_STATISTICS_KEY: &str = "cne.deprecated-statistics";
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
        let footer = Arc::new(annotate(Arc::unwrap_or_clone(footer), &self.listed.url));
        self.cache.put(
            &key,
            CachedFileMetadataEntry::new(meta, Arc::new(CachedParquetMetaData::new(Arc::clone(&footer)))),
        );
        Ok(footer)
    }
}

/// Drops the writer's Arrow schema, so that types come from Parquet alone, as in Spark; notes what only the footer knows.
fn annotate(footer: ParquetMetaData, url: &str) -> ParquetMetaData {
    let old = footer.file_metadata();
    let mut int96 = BTreeSet::new();
    let mut deprecated = BTreeSet::new();
    for (index, column) in old.schema_descr().columns().iter().enumerate() {
        let root = column.path().parts().first().cloned().unwrap_or_default();
        if column.physical_type() == PhysicalType::INT96 {
            int96.insert(root.clone());
        }
        let is_deprecated = |group: &datafusion::parquet::file::metadata::RowGroupMetaData| {
            group
                .column(index)
                .statistics()
                .is_some_and(|statistics| statistics.is_min_max_deprecated())
        };
        let bytes = matches!(
            column.physical_type(),
            PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY
        );
        if bytes && footer.row_groups().iter().any(is_deprecated) {
            deprecated.insert(root);
        }
    }
    let lines = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join("\n");
    let mut pairs: Vec<KeyValue> = old.key_value_metadata().cloned().unwrap_or_default();
    pairs.retain(|pair| pair.key.starts_with("org.apache.spark.") && pair.key != ARROW_SCHEMA_META_KEY);
    pairs.push(KeyValue::new(FILE_KEY.to_string(), url.to_string()));
    pairs.push(KeyValue::new(INT96_KEY.to_string(), lines(int96)));
    pairs.push(KeyValue::new(
        DEPRECATED_STATISTICS_KEY.to_string(),
        lines(deprecated),
    ));
    let new = FileMetaData::new(
        old.version(),
        old.num_rows(),
        old.created_by().map(str::to_string),
        Some(pairs),
        old.schema_descr_ptr(),
        old.column_orders().cloned(),
    );
    ParquetMetaDataBuilder::new(new)
        .set_row_groups(footer.row_groups().to_vec())
        .set_column_index(footer.column_index().cloned())
        .set_offset_index(footer.offset_index().cloned())
        .build()
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
