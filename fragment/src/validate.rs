//! Dry planning of a block: everything in it that cannot be executed, and the schema of its rows.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use bytes::Bytes;
use cne_proto::decode::{Limits, decode_strict, with_stack_for};
use cne_proto::spark_operator::{NativeScanCommon, Operator};
use cne_proto::v1::Rejection;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;

use crate::plan::{Environment, Planner};
use crate::scan::ScanContext;

/// A block that can be executed.
#[derive(Debug, Clone)]
pub struct ValidatedBlock {
    /// The decoded block.
    pub operator: Arc<Operator>,
    /// The decoded data of its `native_scan` leaves, in pre-order.
    pub scans: Arc<[NativeScanCommon]>,
    /// The types of its inputs, as they were when it was checked.
    pub input_schemas: Arc<[SchemaRef]>,
    /// The rows it gives: columns `col_<i>`, all nullable. Types come from the plan, not from Spark's declaration.
    pub output_schema: SchemaRef,
    /// Number of `native_scan` leaves.
    pub num_scans: usize,
    /// Number of `scan` leaves, which is the number of inputs.
    pub num_inputs: usize,
    /// Indented text of the plan, for people.
    pub plan: String,
}

/// The schema under which a plan's rows leave the fragment.
pub(crate) fn seam_schema(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().enumerate();
    let fields = fields.map(|(i, field)| Field::new(format!("col_{i}"), field.data_type().clone(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Plans a block with empty inputs of the given schemas, touching no file. `operator` is a serialized `Operator`, `scans` one serialized
/// `NativeScanCommon` per `native_scan` leaf in pre-order, `inputs` one schema per `scan` leaf in pre-order.
///
/// The error is every reason for which the block is refused, each with its place; `stage` is copied into them.
pub fn validate_block(
    stage: u32,
    operator: &[u8],
    scans: &[Bytes],
    inputs: &[SchemaRef],
) -> Result<ValidatedBlock, Vec<Rejection>> {
    let limits = Limits::default();
    let refuse = |what: String, reason: String| {
        vec![Rejection {
            stage,
            path: String::new(),
            what,
            reason,
            hint: "use the Comet release this pool was built for".into(),
        }]
    };
    let name = "spark.spark_operator.Operator";
    let operator: Operator = decode_strict(operator, name, &limits)
        .map_err(|error| refuse("operator".into(), error.to_string()))?;
    let mut commons: Vec<NativeScanCommon> = vec![];
    for (i, scan) in scans.iter().enumerate() {
        let name = "spark.spark_operator.NativeScanCommon";
        let common =
            decode_strict(scan, name, &limits).map_err(|e| refuse(format!("scan {i}"), e.to_string()))?;
        commons.push(common);
    }
    validate_decoded(stage, Arc::new(operator), commons.into(), inputs)
}

pub(crate) fn validate_decoded(
    stage: u32,
    operator: Arc<Operator>,
    scans: Arc<[NativeScanCommon]>,
    inputs: &[SchemaRef],
) -> Result<ValidatedBlock, Vec<Rejection>> {
    // The planner guards its own recursion; this is for what walks the plan afterwards.
    with_stack_for(512, || {
        let runtime = RuntimeEnv::default();
        let empty =
            |schema: &SchemaRef| Arc::new(EmptyExec::new(Arc::clone(schema))) as Arc<dyn ExecutionPlan>;
        let environment = Environment {
            stage,
            scans: &scans,
            files: None,
            scan_context: ScanContext {
                runtime: &runtime,
                late_materialisation: false,
            },
            partition: 0,
            ansi: false,
        };
        let planned = Planner::new(environment, inputs.iter().map(empty).collect()).plan(&operator)?;
        let plan = datafusion::physical_plan::displayable(planned.plan.as_ref())
            .indent(false)
            .to_string();
        Ok(ValidatedBlock {
            input_schemas: inputs.into(),
            output_schema: seam_schema(&planned.plan.schema()),
            num_scans: scans.len(),
            num_inputs: inputs.len(),
            operator: Arc::clone(&operator),
            scans: Arc::clone(&scans),
            plan,
        })
    })
}
