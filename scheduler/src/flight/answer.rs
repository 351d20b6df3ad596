//! Answers about queries: endpoints with signed tickets, or how far a query is.

use std::time::{SystemTime, UNIX_EPOCH};

use arrow_flight::{FlightEndpoint, FlightInfo, Location, PollInfo, Ticket};
use bytes::Bytes;
use cne_proto::v1::ResultTicket;
use cne_task::{Durability, codes};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use prost::Message;
use prost_types::Timestamp;

use super::{FrontEnd, path};
use crate::{
    error::Failure,
    pool::{ExecutorInfo, JobProgress},
    query::{Outcome, Query, State},
};

/// Schema of a result as Flight carries it.
pub(super) fn schema_bytes(schema: &SchemaRef) -> Result<Bytes, Failure> {
    let info = FlightInfo::new().try_with_schema(schema.as_ref());
    info.map(|info| info.schema)
        .map_err(|e| Failure::new(codes::INTERNAL, format!("the result's schema: {e}")))
}

pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub(super) fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp {
        seconds: i64::try_from(seconds(time)).unwrap_or(i64::MAX),
        nanos: 0,
    }
}

/// Every executor; each partition names another one first.
fn locations(scheme: &str, executors: &[ExecutorInfo], partition: usize) -> Vec<Location> {
    let count = executors.len();
    (0..count)
        .map(|at| Location {
            uri: format!("{scheme}://{}", executors[(at + partition) % count].flight),
        })
        .collect()
}

impl FrontEnd {
    /// Where a result partition is served now.
    pub(super) async fn locations(&self, partition: usize) -> Vec<Location> {
        let scheme = self.options.transport.flight_scheme();
        locations(scheme, &self.pool.executors().await, partition)
    }

    /// Where the rows of a successful query are: one endpoint per partition in order, each served by any live executor.
    pub(super) async fn result(&self, query: &Query, outcome: &Outcome) -> Result<FlightInfo, Failure> {
        let expires = query.renew(self.options.results_lease);
        let executors = self.pool.executors().await;
        let count = executors.len();
        let scheme = self.options.transport.flight_scheme();
        let mut info = FlightInfo::new()
            .with_descriptor(path(&query.id))
            .with_ordered(true)
            .with_total_records(i64::try_from(outcome.rows).unwrap_or(-1))
            .with_app_metadata(query.progress(outcome.progress, count).encode_to_vec());
        info.schema = schema_bytes(&outcome.schema)?;
        for (partition, output) in outcome.outputs.iter().enumerate() {
            let ticket = ResultTicket {
                namespace: outcome.namespace.clone(),
                stage_id: outcome.stage,
                partition: output.map_partition,
                generation: output.generation,
                attempt: output.attempt,
                expires_at: seconds(expires),
                audience: self.options.pool_name.clone(),
                query_id: query.id.clone(),
                tenant: query.tenant.name.clone(),
                holder: match self.options.durability {
                    Durability::Store => String::new(),
                    _ => outcome.holders.get(partition).cloned().unwrap_or_default(),
                },
            };
            info.endpoint.push(FlightEndpoint {
                ticket: Some(Ticket {
                    ticket: self.options.ticket_keys.sign(&ticket),
                }),
                location: locations(scheme, &executors, partition),
                expiration_time: Some(timestamp(expires)),
                app_metadata: Bytes::new(),
            });
        }
        Ok(info)
    }

    /// How far a query is that has not ended.
    pub(super) async fn pending(&self, query: &Query, state: &State) -> PollInfo {
        let executors = self.pool.executors().await.len();
        let job = match state {
            State::Running(job) => self.pool.progress(job).await.unwrap_or_default(),
            _ => JobProgress::default(),
        };
        let mut info = FlightInfo::new()
            .with_descriptor(path(&query.id))
            .with_app_metadata(query.progress(job, executors).encode_to_vec());
        info.schema = schema_bytes(&SchemaRef::new(Schema::empty())).unwrap_or_default();
        let done = f64::from(job.tasks_done) / f64::from(job.tasks_total.max(1));
        PollInfo {
            info: Some(info),
            flight_descriptor: Some(path(&query.id)),
            progress: Some(done),
            expiration_time: None,
        }
    }
}
