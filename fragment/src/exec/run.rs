use std::collections::VecDeque;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use cne_proto::decode::{Limits, decode_strict, with_stack_for};
use cne_proto::spark_operator::{NativeScan, NativeScanCommon};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use futures::{StreamExt, TryStreamExt};

use super::shared::{Build, Place, SharedInputs, all_ready, share_builds};
use super::{Cancellable, InputExec, TaskCancellation};
use crate::FragmentError;
use crate::descriptor::{Descriptor, read_descriptor};
use crate::hash_joins::{HashJoinBudget, replace_sort_merge_joins};
use crate::optimize::optimize;
use crate::plan::{Environment, Plan, Planner};
use crate::scan::ScanContext;
use crate::scan::{ScanError, text_columns};
use crate::validate::ValidatedBlock;
use arrow::error::ArrowError;
use cne_proto::v1::PartitionPayload;
use prost::Message as _;

/// One execution of one partition. Nothing of it is kept but what is the same for every task of the job: a second attempt plans anew, since
/// plans hold state.
pub(super) struct Task {
    pub(super) stage: u32,
    pub(super) block: Arc<ValidatedBlock>,
    pub(super) descriptor: Arc<dyn ExecutionPlan>,
    /// Each with whether it is read whole.
    pub(super) inputs: Vec<(Arc<dyn ExecutionPlan>, bool)>,
    pub(super) partition: usize,
    /// Whether what reads the rows relies on their order.
    pub(super) ordered: bool,
    /// As in `FragmentNode`.
    pub(super) ansi: bool,
    pub(super) hash_joins: Option<HashJoinBudget>,
    pub(super) context: Arc<TaskContext>,
}

impl Task {
    /// Plans on a blocking thread, then runs.
    pub(super) async fn start(self) -> Result<SendableRecordBatchStream> {
        let config = self.context.session_config();
        let cancel = config.get_extension::<TaskCancellation>();
        let shared = config.get_extension::<SharedInputs>();
        let context = Arc::clone(&self.context);
        let schema = Arc::clone(&self.block.output_schema);
        let descriptor = self.descriptor().await?;
        let payload = descriptor.payload.clone();
        let scans = Arc::clone(&self.block.scans);
        let task = Arc::new((self, descriptor));
        let (plan, builds) = loop {
            let (task, shared) = (Arc::clone(&task), shared.clone());
            let planned = tokio::task::spawn_blocking({
                let shared = shared.clone();
                move || task.0.plan(&task.1, shared.as_deref())
            });
            let (plan, builds) = planned
                .await
                .map_err(|error| DataFusionError::External(Box::new(error)))??;
            match shared {
                // Tables that turn out too large are not in the next plan.
                Some(_) if !all_ready(&builds).await? => {}
                _ => break (plan, builds),
            }
        };
        let rows = plan
            .execute(0, context)?
            .map_err(move |error| in_files(error, &payload, &scans));
        let mut relabelled = relabel(Arc::clone(&schema));
        let rows = rows.map(move |batch| {
            // The task holds its tables until its last row.
            let _ = &builds;
            relabelled(batch)
        });
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, rows));
        Ok(match cancel {
            Some(cancel) => Cancellable::wrap(rows, cancel.0.clone()),
            None => rows,
        })
    }

    async fn descriptor(&self) -> Result<Descriptor> {
        let rows = self
            .descriptor
            .execute(self.partition, Arc::clone(&self.context))?;
        let rows: Vec<RecordBatch> = rows.try_collect().await?;
        match rows.as_slice() {
            [row] => Ok(read_descriptor(row)?),
            _ => {
                Err(FragmentError::Malformed(format!("{} descriptors for one partition", rows.len())).into())
            }
        }
    }

    fn plan(
        &self,
        descriptor: &Descriptor,
        shared: Option<&SharedInputs>,
    ) -> Result<(Plan, Vec<Arc<Build>>)> {
        let files = descriptor.payload.scans.iter();
        let files =
            files.map(|scan| decode_strict(scan, "spark.spark_operator.NativeScan", &Limits::default()));
        let files: Vec<NativeScan> = files.collect::<Result<_, _>>().map_err(FragmentError::from)?;
        let inputs = self.inputs.iter().enumerate().map(|(index, (input, whole))| {
            let input = Arc::clone(input);
            let place = Place {
                stage: self.stage,
                input: index,
            };
            Arc::new(match whole {
                true => InputExec::whole(input, place),
                false => InputExec::one(input, self.partition),
            }) as Plan
        });
        let inputs: VecDeque<Plan> = inputs.collect();
        let config = self.context.session_config().options();
        let runtime = self.context.runtime_env();
        let environment = Environment {
            stage: self.stage,
            scans: &self.block.scans,
            files: Some(&files),
            scan_context: ScanContext {
                runtime: &runtime,
                late_materialisation: config.execution.parquet.pushdown_filters,
            },
            partition: descriptor.partition,
            ansi: self.ansi,
        };
        with_stack_for(512, || {
            let planned = Planner::new(environment, inputs)
                .plan(&self.block.operator)
                .map_err(FragmentError::Rejected)?;
            let plan = match self.hash_joins {
                Some(budget) => replace_sort_merge_joins(planned.plan, self.ordered, budget)?,
                None => planned.plan,
            };
            let plan = optimize(plan, planned.has_limit, config)?;
            let (plan, builds) = match shared {
                Some(shared) => share_builds(plan, shared)?,
                None => (plan, vec![]),
            };
            if tracing::enabled!(tracing::Level::DEBUG) {
                let text = displayable(plan.as_ref()).indent(false).to_string();
                tracing::debug!(stage = self.stage, partition = descriptor.partition, plan = %text, "fragment planned");
            }
            Ok((plan, builds))
        })
    }
}

/// Columns under the names of the seam. A type other than the validated one would corrupt what reads it, so it is an error.
fn relabel(schema: SchemaRef) -> impl FnMut(Result<RecordBatch>) -> Result<RecordBatch> {
    move |batch| {
        let batch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(&schema),
            batch.columns().to_vec(),
            &options,
        )?)
    }
}

/// Damage behind a good footer surfaces as an error of the decoder, which does not know the file.
fn in_files(
    error: DataFusionError,
    payload: &PartitionPayload,
    commons: &[NativeScanCommon],
) -> DataFusionError {
    let damaged = match error.find_root() {
        DataFusionError::ParquetError(_) => true,
        DataFusionError::ArrowError(inner, _) => {
            matches!(
                inner.as_ref(),
                ArrowError::ParquetError(_) | ArrowError::ExternalError(_)
            )
        }
        _ => false,
    };
    if !damaged || ScanError::find(&error).is_some() {
        return error;
    }
    let scans = payload
        .scans
        .iter()
        .filter_map(|scan| NativeScan::decode(scan.as_ref()).ok());
    let files = scans
        .filter_map(|scan| scan.file_partition)
        .flat_map(|partition| partition.partitioned_file);
    let files = files.map(|file| file.file_path).collect::<Vec<_>>().join(", ");
    // The decoder's words where bytes of a STRING column are none.
    if error.find_root().to_string().contains("UTF-8") {
        let columns: Vec<String> = commons.iter().flat_map(text_columns).collect();
        let columns = columns.join(", ");
        return ScanError::NotText { files, columns }.into();
    }
    error.context(format!("while reading {files}"))
}
