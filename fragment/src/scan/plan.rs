use std::collections::HashSet;
use std::sync::Arc;

use cne_proto::spark_operator::{NativeScan, NativeScanCommon, SparkPartitionedFile, SparkStructField};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::config::TableParquetOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::union::UnionExec;
use object_store::ObjectMeta;

use super::ScanError;
use super::adapter::{Calendars, RebaseMode, ScanAdapterFactory, TableColumn};
use super::align::{FIELD_ID_KEY, Rules};
use super::check::{DATETIME_MODE, INT96_MODE};
use super::leaf::LeafRules;
use super::location::{Location, locate};
use super::pruning::pruning_predicate;
use super::reader::{ListedFile, ScanReaderFactory};
use super::types::{arrow_type, literal_value};

/// Bytes at the end of a file that are fetched at once; most footers with their page index fit.
const FOOTER_HINT: usize = 512 << 10;

/// Ends the names of text columns; see [`own_name`].
pub(crate) const TEXT_MARK: char = '\u{1f}';

/// What planning a partition needs from the task.
#[derive(Clone, Copy, Debug)]
pub struct ScanContext<'a> {
    /// Object stores, and the footer cache (its cache manager is to be the process's own, shared by all tasks).
    pub runtime: &'a RuntimeEnv,
    /// Whether rows are filtered while the file is decoded, so that columns of rows that fall out are not decoded. Only conditions that
    /// cannot fail are used; the plan's Filter is needed all the same.
    pub late_materialisation: bool,
}

/// What a scan reads and gives, without any file.
struct Scan {
    table: TableSchema,
    columns: Arc<Vec<TableColumn>>,
    partition_fields: Vec<FieldRef>,
    projection: Vec<usize>,
    /// Index in the table's schema of each column that the filters are bound to.
    filter_columns: Vec<usize>,
}

fn index(value: i64, len: usize, what: &str) -> Result<usize, ScanError> {
    let index = usize::try_from(value).ok().filter(|index| *index < len);
    index.ok_or_else(|| ScanError::unsupported(what, format!("index {value} of {len}")))
}

fn table_column(field: &SparkStructField) -> Result<TableColumn, ScanError> {
    let spark = field
        .data_type
        .clone()
        .ok_or_else(|| ScanError::unsupported(format!("column {}", field.name), "no type"))?;
    Ok(TableColumn {
        name: field.name.clone(),
        arrow: arrow_type(&spark)?,
        spark,
        field_id: field.metadata.get(FIELD_ID_KEY).and_then(|id| id.parse().ok()),
        default: None,
    })
}

impl Scan {
    fn try_new(common: &NativeScanCommon) -> Result<Self, ScanError> {
        let data_len = common.data_schema.len();
        let len = data_len + common.partition_schema.len();
        let projection = common
            .projection_vector
            .iter()
            .map(|value| index(*value, len, "projection"))
            .collect::<Result<Vec<_>, _>>()?;
        let mut declared: Vec<&SparkStructField> = common.data_schema.iter().collect();
        // The required schema has nested types without what is not read.
        let read: Vec<usize> = projection
            .iter()
            .copied()
            .filter(|index| *index < data_len)
            .collect();
        if read.len() != common.required_schema.len() {
            let reason = format!(
                "{} data columns for {} required ones",
                read.len(),
                common.required_schema.len()
            );
            return Err(ScanError::unsupported("projection", reason));
        }
        for (index, required) in read.iter().zip(&common.required_schema) {
            declared[*index] = required;
        }
        // What is not read need not be understood.
        let is_read: HashSet<usize> = read.iter().copied().collect();
        let mut columns = vec![];
        for (index, field) in declared.into_iter().enumerate() {
            columns.push(match table_column(field) {
                Err(_) if !is_read.contains(&index) => TableColumn {
                    name: field.name.clone(),
                    spark: Default::default(),
                    arrow: DataType::Null,
                    field_id: None,
                    default: None,
                },
                column => column?,
            });
        }
        if common.default_values.len() != common.default_values_indexes.len() {
            return Err(ScanError::unsupported("default values", "not one per index"));
        }
        for (value, position) in common.default_values.iter().zip(&common.default_values_indexes) {
            let column = &mut columns[index(*position, data_len, "default values")?];
            column.default = Some(literal_value(value)?);
        }
        // Nullable whatever the table says: a file may lack the column.
        let file_fields: Vec<Field> = columns
            .iter()
            .map(|column| Field::new(own_name(column), column.arrow.clone(), true))
            .collect();
        let partition_fields = partition_fields(common, &columns)?;
        let table = TableSchema::builder(Arc::new(Schema::new(file_fields)))
            .with_table_partition_cols(partition_fields.clone())
            .build();
        let filter_columns = read.into_iter().chain(data_len..len).collect();
        Ok(Self {
            table,
            columns: Arc::new(columns),
            partition_fields,
            projection,
            filter_columns,
        })
    }

    fn output_schema(&self) -> Result<SchemaRef> {
        Ok(Arc::new(self.table.table_schema().project(&self.projection)?))
    }
}

/// DataFusion's opener has bytes of a file decoded as text, unchecked, where the table has a text column of that name. So such columns get
/// names here that no file has; the adapter goes by index.
fn own_name(column: &TableColumn) -> String {
    match column.arrow {
        DataType::Utf8 => format!("{}{TEXT_MARK}", column.name),
        _ => column.name.clone(),
    }
}

/// DataFusion puts partition values in by name: a data column of the same name must not be taken for it.
fn partition_fields(common: &NativeScanCommon, columns: &[TableColumn]) -> Result<Vec<FieldRef>, ScanError> {
    let taken: HashSet<String> = columns.iter().map(own_name).collect();
    let fields = common.partition_schema.iter().map(|field| {
        let mut name = field.name.clone();
        while taken.contains(name.as_str()) {
            name.push('\'');
        }
        Ok(Arc::new(Field::new(name, table_column(field)?.arrow, true)))
    });
    fields.collect()
}

/// The driver says it beside the options of the store, only where it is not `CORRECTED`.
fn calendars(common: &NativeScanCommon) -> Result<Calendars, ScanError> {
    let mode = |key: &str| match common.object_store_options.get(key) {
        None => Ok(RebaseMode::default()),
        Some(name) => RebaseMode::named(name)
            .ok_or_else(|| ScanError::unsupported(key, format!("{name:?} is no mode of Spark's"))),
    };
    Ok(Calendars {
        datetime: mode(DATETIME_MODE)?,
        int96: mode(INT96_MODE)?,
    })
}

/// The schema of the scan's rows: the projected columns, in order, all nullable.
pub fn scan_output_schema(common: &NativeScanCommon) -> Result<SchemaRef> {
    Scan::try_new(common)?.output_schema()
}

/// Plans the files of one partition as a plan with one partition. Without a partition (dry planning), or without files, it has no rows and
/// no store is asked for.
pub fn plan_scan(
    common: &NativeScanCommon,
    partition: Option<&NativeScan>,
    context: &ScanContext<'_>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let scan = Scan::try_new(common)?;
    let files = partition
        .and_then(|partition| partition.file_partition.as_ref())
        .map_or(&[][..], |files| &files.partitioned_file);
    let mut groups: Vec<(String, Vec<PartitionedFile>)> = vec![];
    for file in files {
        let location = locate(&file.file_path)?;
        let planned = scan.file(file, &location)?;
        match groups.iter_mut().find(|(store, _)| *store == location.store) {
            Some((_, group)) => group.push(planned),
            None => groups.push((location.store, vec![planned])),
        }
    }
    let mut plans = groups
        .into_iter()
        .map(|(store, files)| scan.plan(common, &store, files, context))
        .collect::<Result<Vec<_>>>()?;
    match plans.len() {
        0 => Ok(Arc::new(EmptyExec::new(scan.output_schema()?))),
        1 => Ok(plans.remove(0)),
        // Several buckets: a scan has one object store.
        _ => Ok(Arc::new(CoalescePartitionsExec::new(UnionExec::try_new(plans)?))),
    }
}

impl Scan {
    fn file(&self, file: &SparkPartitionedFile, location: &Location) -> Result<PartitionedFile> {
        let malformed = |reason: &str| ScanError::unsupported(format!("file {}", file.file_path), reason);
        let size = u64::try_from(file.file_size).map_err(|_| malformed("a negative size"))?;
        let end = file
            .start
            .checked_add(file.length)
            .filter(|end| file.start >= 0 && *end >= file.start);
        let end = end.ok_or_else(|| malformed("a range that is none"))?;
        if file.partition_values.len() != self.partition_fields.len() {
            return Err(malformed("not one value per partition column").into());
        }
        let mut values = vec![];
        for (value, field) in file.partition_values.iter().zip(&self.partition_fields) {
            let value = literal_value(value)?;
            values.push(if value.data_type() == *field.data_type() {
                value
            } else {
                value.cast_to(field.data_type())?
            });
        }
        let meta = ObjectMeta {
            location: location.path.clone(),
            last_modified: Default::default(),
            size,
            e_tag: None,
            version: None,
        };
        Ok(PartitionedFile::new_from_meta(meta)
            .with_range(file.start, end)
            .with_partition_values(values)
            .with_extension(ListedFile {
                url: file.file_path.clone(),
                size,
            }))
    }

    fn plan(
        &self,
        common: &NativeScanCommon,
        store: &str,
        files: Vec<PartitionedFile>,
        context: &ScanContext<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let url = ObjectStoreUrl::parse(store)?;
        let object_store = context.runtime.object_store(&url)?;
        let cache = context.runtime.cache_manager.get_file_metadata_cache();
        let mut options = TableParquetOptions::default();
        // Nanoseconds, the default, end in 2262.
        options.global.coerce_int96 = Some("us".to_string());
        options.global.coerce_int96_tz = Some("UTC".to_string());
        options.global.pushdown_filters = context.late_materialisation;
        let mut source = ParquetSource::new(self.table.clone())
            .with_table_parquet_options(options)
            .with_metadata_size_hint(FOOTER_HINT)
            .with_parquet_file_reader_factory(Arc::new(ScanReaderFactory::new(object_store, store, cache)));
        if let Some(predicate) = pruning_predicate(
            &common.data_filters,
            self.table.table_schema(),
            &self.filter_columns,
        ) {
            source = source.with_predicate(predicate);
        }
        let adapter = ScanAdapterFactory {
            columns: Arc::clone(&self.columns),
            require_field_ids: common.require_field_ids,
            calendars: calendars(common)?,
            rules: Rules {
                case_sensitive: common.case_sensitive,
                use_field_id: common.use_field_id,
                null_struct_if_all_missing: common.return_null_struct_if_all_fields_missing,
                leaf: LeafRules {
                    allow_type_promotion: common.allow_type_promotion,
                    allow_timestamp_ltz_to_ntz: common.allow_timestamp_ltz_to_ntz,
                    ..LeafRules::default()
                },
                leaves: Arc::new([]),
                file: String::new(),
            },
        };
        let config = FileScanConfigBuilder::new(url, Arc::new(source))
            .with_file_group(FileGroup::new(files))
            .with_expr_adapter(Some(Arc::new(adapter)))
            .with_projection_indices(Some(self.projection.clone()))?
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}
