//! Flight actions.

use std::time::SystemTime;

use arrow_flight::{
    Action, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, RenewFlightEndpointRequest, Ticket,
};
use bytes::Bytes;
use cne_task::{codes, ticket::TicketError};
use cne_transport::{Caller, Tenant, ticket_owner};
use prost::Message;
use serde_json::json;

use super::{
    FrontEnd,
    answer::{seconds, timestamp},
    gate::tenant_of,
};
use crate::{
    error::Failure,
    query::{State, unknown_query},
};

/// Every action with what it does.
pub(super) const ALL: &[(&str, &str)] = &[
    ("CancelFlightInfo", "Cancels the query of a FlightInfo."),
    (
        "RenewFlightEndpoint",
        "Extends the lease of a result; gives an endpoint with a new ticket and the executors that serve it now.",
    ),
    (
        "comet.prepare",
        "What a driver sends with its next query, so that a scheduler that has not heard of the query plans it the same way: opaque text.",
    ),
    ("comet.health", "State of the scheduler as JSON."),
    (
        "comet.demand",
        "How many executors there should be, and why, as JSON.",
    ),
    ("comet.queries", "All queries that are known, as JSON."),
];

impl FrontEnd {
    pub(super) async fn act(&self, caller: &Caller, action: Action) -> Result<Bytes, Failure> {
        match action.r#type.as_str() {
            "CancelFlightInfo" => {
                let tenant = tenant_of(caller)?;
                self.cancel(&tenant, &action.body)
            }
            "RenewFlightEndpoint" => {
                let tenant = tenant_of(caller)?;
                self.renew(&tenant, &action.body).await
            }
            "comet.prepare" => Ok(self.queries.prepare().await.to_string().into()),
            "comet.health" => Ok(self.health().await),
            "comet.demand" => Ok(self.demand.to_json().to_string().into()),
            "comet.queries" => Ok(self.list(caller).await),
            other => Err(Failure::new(
                codes::NOT_SERVED,
                format!("there is no action {other:?}"),
            )),
        }
    }

    fn cancel(&self, tenant: &Tenant, body: &[u8]) -> Result<Bytes, Failure> {
        let malformed = |what: &str| Failure::new(codes::MALFORMED, format!("CancelFlightInfo: {what}"));
        let request = CancelFlightInfoRequest::decode(body).map_err(|e| malformed(&e.to_string()))?;
        let descriptor = request.info.and_then(|info| info.flight_descriptor);
        let query = self.named(
            tenant,
            &descriptor.ok_or_else(|| malformed("the info has no descriptor"))?,
        )?;
        let status = match query.state() {
            State::Succeeded(_) => CancelStatus::NotCancellable,
            State::Failed(_) => CancelStatus::Cancelled,
            _ => {
                query.cancel();
                CancelStatus::Cancelled
            }
        };
        Ok(CancelFlightInfoResult {
            status: status.into(),
        }
        .encode_to_vec()
        .into())
    }

    /// The locations are those of now: a reader whose executor has gone asks for another one here.
    async fn renew(&self, tenant: &Tenant, body: &[u8]) -> Result<Bytes, Failure> {
        let malformed = |what: &str| Failure::new(codes::MALFORMED, format!("RenewFlightEndpoint: {what}"));
        let request = RenewFlightEndpointRequest::decode(body).map_err(|e| malformed(&e.to_string()))?;
        let mut endpoint = request
            .endpoint
            .ok_or_else(|| malformed("there is no endpoint"))?;
        let ticket = endpoint
            .ticket
            .take()
            .ok_or_else(|| malformed("the endpoint has no ticket"))?;
        let now = seconds(SystemTime::now());
        let verified = self
            .options
            .ticket_keys
            .verify(&ticket.ticket, &self.options.pool_name, now);
        let mut content = verified.map_err(|e| {
            let code = match e {
                TicketError::Expired => codes::TICKET_EXPIRED,
                TicketError::WrongAudience => codes::TICKET_FOREIGN,
                _ => codes::TICKET_FORGED,
            };
            Failure::new(code, e.to_string())
        })?;
        if ticket_owner(&content.tenant) != tenant.name {
            return Err(unknown_query(&content.query_id));
        }
        let lease = self.options.results_lease;
        let expires = match self.queries.get(&tenant.name, &content.query_id) {
            Ok(query) => query.renew(lease),
            // Of a scheduler before this one, which has signed it.
            Err(_) => SystemTime::now() + lease,
        };
        endpoint.location = self.locations(content.partition as usize).await;
        if endpoint.location.is_empty() {
            self.demand
                .reads()
                .no_executor(content.namespace.clone(), content.partition);
        }
        content.expires_at = seconds(expires);
        endpoint.ticket = Some(Ticket {
            ticket: self.options.ticket_keys.sign(&content),
        });
        endpoint.expiration_time = Some(timestamp(expires));
        Ok(endpoint.encode_to_vec().into())
    }

    async fn health(&self) -> Bytes {
        let executors = self.pool.executors().await;
        let load = self.pool.load().await;
        let tasks = |id: &str| load.running.get(id).copied().unwrap_or(0);
        let listed = executors.iter().map(|e| {
            json!({"id": e.id, "flight": e.flight, "slots": e.slots, "tasks_running": tasks(&e.id), "idle": tasks(&e.id) == 0})
        });
        let running = self
            .queries
            .all()
            .iter()
            .filter(|query| !query.state().is_final())
            .count();
        let body = json!({
            "status": "ok",
            "version": env!("CARGO_PKG_VERSION"),
            "comet_version": cne_proto::COMET_VERSION,
            "spark_versions": self.options.spark_versions,
            "schema_fingerprint": cne_proto::schema_fingerprint(),
            "pool": self.options.pool_name,
            "tls": self.options.transport.is_tls(),
            "slots": executors.iter().map(|e| e.slots).sum::<u32>(),
            "tasks_running": load.running.values().sum::<u32>(),
            "queries_running": running,
            "executors": listed.collect::<Vec<_>>(),
        });
        body.to_string().into()
    }

    /// Those of the caller's tenant; a member of the pool sees all.
    async fn list(&self, caller: &Caller) -> Bytes {
        let mut queries = vec![];
        let tenant = caller.tenant.as_deref();
        let all = self.queries.all().into_iter();
        for query in all.filter(|query| tenant.is_none_or(|tenant| tenant.name == query.tenant.name)) {
            let (state, job, error) = match query.state() {
                State::Queued => ("queued", Default::default(), None),
                State::Running(job) => (
                    "running",
                    self.pool.progress(&job).await.unwrap_or_default(),
                    None,
                ),
                State::Succeeded(outcome) => ("succeeded", outcome.progress, None),
                State::Failed(failure) => ("failed", Default::default(), Some(failure.to_string())),
            };
            queries.push(json!({
                "query_id": query.id, "tenant": query.tenant.name, "description": query.description, "state": state, "error": error,
                "accepted_at": seconds(query.accepted),
                "stages_total": job.stages_total, "stages_done": job.stages_done,
                "tasks_total": job.tasks_total, "tasks_done": job.tasks_done, "tasks_running": job.tasks_running,
            }));
        }
        serde_json::Value::from(queries).to_string().into()
    }
}
