//! The message of an exchange as key expressions.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use cne_proto::decode::{Limits, decode_strict};
use cne_proto::spark_partitioning::Partitioning;
use cne_proto::spark_partitioning::partitioning::PartitioningStruct;
use cne_proto::v1::Rejection;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};

use crate::error::{Fail, Issue};
use crate::expr::{ExprPlanner, Findings, order};

/// How rows are distributed.
#[derive(Debug, Clone)]
pub enum ExchangePartitioning {
    /// `pmod(murmur3(keys, 42), n)`; float keys are canonical (one NaN, no -0.0).
    Hash(Vec<Arc<dyn PhysicalExpr>>, usize),
    /// One bucket.
    Single,
    /// In turn.
    RoundRobin(usize),
    /// By order; the bounds are for the caller to find.
    Range(LexOrdering, usize),
}

/// Plans a serialized `spark.spark_partitioning.Partitioning`, bound to the columns of `schema`. The error is every reason for which it is
/// refused (with stage 0 and path `exchange`).
pub fn plan_partitioning(bytes: &[u8], schema: &Schema) -> Result<ExchangePartitioning, Vec<Rejection>> {
    let mut findings = Findings::new(0, "exchange".to_string());
    let planned = plan(bytes, schema, &mut findings);
    match planned {
        Ok(partitioning) if findings.is_empty() => Ok(partitioning),
        Ok(_) => Err(findings.take()),
        Err(fail) => {
            findings.fail(fail);
            Err(findings.take())
        }
    }
}

fn plan(bytes: &[u8], schema: &Schema, findings: &mut Findings) -> Result<ExchangePartitioning, Fail> {
    let message: Partitioning =
        decode_strict(bytes, "spark.spark_partitioning.Partitioning", &Limits::default())
            .map_err(|error| Issue::new("partitioning", error.to_string()))?;
    let count = |n: i32| {
        let n = usize::try_from(n).ok().filter(|n| *n > 0);
        n.ok_or_else(|| Issue::new("partitioning", "a number of partitions that is not positive"))
    };
    Ok(match message.partitioning_struct {
        Some(PartitioningStruct::HashPartition(hash)) => {
            let mut planner = ExprPlanner::new(schema, &[], 0, findings);
            let mut keys = vec![];
            for key in &hash.hash_expression {
                let key = planner.plan(key)?;
                hashable(&key.data_type)?;
                keys.push(key.canonical());
            }
            if keys.is_empty() {
                return Err(Issue::new("hash partitioning", "it has no keys").into());
            }
            ExchangePartitioning::Hash(keys, count(hash.num_partitions)?)
        }
        Some(PartitioningStruct::SinglePartition(_)) => ExchangePartitioning::Single,
        Some(PartitioningStruct::RangePartition(range)) => {
            let mut planner = ExprPlanner::new(schema, &[], 0, findings);
            ExchangePartitioning::Range(
                order(&mut planner, &range.sort_orders)?,
                count(range.num_partitions)?,
            )
        }
        Some(PartitioningStruct::RoundRobinPartition(round)) => {
            ExchangePartitioning::RoundRobin(count(round.num_partitions)?)
        }
        None => return Err(Issue::new("partitioning", "the kind is missing").into()),
    })
}

fn hashable(data_type: &DataType) -> Result<(), Issue> {
    if data_type.is_nested() {
        return Err(Issue::new(
            "hash partitioning",
            format!("keys of type {data_type} are not hashed"),
        ));
    }
    Ok(())
}
