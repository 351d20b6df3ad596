//! Serves committed results: `DoGet` by signed ticket, and a few actions.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::Poll;

use arrow::array::RecordBatch;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest,
    HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use cne_proto::v1::ErrorDetail;
use cne_storage::{MapOutputId, OutputVersion, ShuffleStore, StoreError};
use cne_task::codes::{self, Code};
use cne_task::reports::ResultPartition;
use cne_task::ticket::{TicketError, TicketKeys};
use cne_transport::{Peer, Transport, ticket_owner};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use prost::Message;
use serde_json::json;
use tokio::sync::mpsc;
use tonic::metadata::{BinaryMetadataValue, MetadataMap};
use tonic::{Request, Response, Status, Streaming};

use crate::Totals;
use crate::client_types::{client_batch, client_schema};
use crate::peers::{self, KEPT};

/// Reports what the executor is doing, as JSON.
pub const HEALTH: &str = "comet.health";

/// Header of a `DoGet`: the number of rows that the reader has got before, from whichever executor. They are left out.
pub const SKIP_ROWS_HEADER: &str = "cne-skip-rows";

/// The Flight service of an executor.
#[derive(Clone)]
pub struct ResultService {
    store: ShuffleStore,
    keys: Arc<TicketKeys>,
    pool_name: String,
    executor_id: String,
    task_slots: usize,
    totals: Arc<Totals>,
    reads: mpsc::UnboundedSender<ResultPartition>,
    transport: Transport,
}

impl ResultService {
    /// Serves what is in `store` to holders of tickets that `keys` have signed for `pool_name`; gives what was read to its end to `reads`.
    pub fn new(
        store: ShuffleStore,
        keys: Arc<TicketKeys>,
        pool_name: String,
        executor_id: String,
        task_slots: usize,
        totals: Arc<Totals>,
        reads: mpsc::UnboundedSender<ResultPartition>,
    ) -> Self {
        Self {
            store,
            keys,
            pool_name,
            executor_id,
            task_slots,
            totals,
            reads,
            transport: Transport::plaintext(),
        }
    }

    /// Asks callers who they are.
    pub(crate) fn secured_by(self, transport: Transport) -> Self {
        Self { transport, ..self }
    }

    /// For which tenant a call is made; `None`: a member of the pool that speaks for none.
    fn tenant<T>(&self, request: &Request<T>) -> Result<Option<String>, Status> {
        let caller = self
            .transport
            .access()
            .caller(Peer::of(request), request.metadata());
        let caller = caller.map_err(|denied| unauthenticated(&denied.to_string()))?;
        Ok(caller.tenant.map(|tenant| tenant.name.clone()))
    }

    /// Logs a refusal and gives it back.
    fn refused(&self, peer: Option<IpAddr>, refusal: Status) -> Status {
        self.transport.refusals().call(peer, refusal.message());
        refusal
    }

    fn ticket(&self, bytes: &[u8]) -> Result<cne_proto::v1::ResultTicket, Status> {
        let ticket = self.keys.verify(bytes, &self.pool_name, peers::now());
        ticket.map_err(|error| ticket_status(&error))
    }
}

fn ticket_status(error: &TicketError) -> Status {
    let code = match error {
        TicketError::Expired => codes::TICKET_EXPIRED,
        TicketError::WrongAudience => codes::TICKET_FOREIGN,
        _ => codes::TICKET_FORGED,
    };
    status(tonic::Code::Unauthenticated, code, &error.to_string(), "")
}

fn unauthenticated(text: &str) -> Status {
    status(tonic::Code::Unauthenticated, codes::NO_TENANT, text, "")
}

/// A status with the typed error in its trailer.
fn status(kind: tonic::Code, code: Code, message: &str, query_id: &str) -> Status {
    let detail = ErrorDetail {
        code: code.code.to_string(),
        message: message.to_string(),
        retryable: code.retryable,
        query_id: query_id.to_string(),
        ..Default::default()
    };
    let mut metadata = MetadataMap::new();
    metadata.insert_bin(
        "cne-error-bin",
        BinaryMetadataValue::from_bytes(&detail.encode_to_vec()),
    );
    Status::with_metadata(kind, format!("{}: {message}", code.code), metadata)
}

fn store_status(error: &StoreError, query_id: &str) -> Status {
    let (kind, code) = if error.is_lost_output() {
        (tonic::Code::NotFound, codes::RESULT_GONE)
    } else if error.retryable() {
        (tonic::Code::Unavailable, codes::STORAGE)
    } else {
        (tonic::Code::DataLoss, codes::STORAGE)
    };
    status(kind, code, &error.to_string(), query_id)
}

/// How many rows of the result the reader has already.
fn rows_to_skip(metadata: &MetadataMap) -> Result<u64, Status> {
    let Some(given) = metadata.get(SKIP_ROWS_HEADER) else {
        return Ok(0);
    };
    given
        .to_str()
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| {
            let text = format!("the header {SKIP_ROWS_HEADER} is not a number of rows: {given:?}");
            status(tonic::Code::InvalidArgument, codes::MALFORMED, &text, "")
        })
}

/// What of `batch` lies behind the next `skip` rows.
fn behind(batch: RecordBatch, skip: &mut u64) -> Option<RecordBatch> {
    let rows = batch.num_rows() as u64;
    let skipped = rows.min(*skip);
    *skip -= skipped;
    (skipped < rows).then(|| batch.slice(skipped as usize, (rows - skipped) as usize))
}

fn not_served(what: &str) -> Status {
    let text = format!(
        "{what} is not served by an executor (it serves DoGet and DoAction; queries go to the scheduler)"
    );
    status(tonic::Code::Unimplemented, codes::NOT_SERVED, &text, "")
}

fn one(body: Vec<u8>) -> Response<BoxStream<'static, Result<arrow_flight::Result, Status>>> {
    let answer = arrow_flight::Result { body: body.into() };
    Response::new(futures::stream::once(async { Ok(answer) }).boxed())
}

#[tonic::async_trait]
impl FlightService for ResultService {
    type HandshakeStream = BoxStream<'static, Result<HandshakeResponse, Status>>;
    type ListFlightsStream = BoxStream<'static, Result<FlightInfo, Status>>;
    type DoGetStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoPutStream = BoxStream<'static, Result<PutResult, Status>>;
    type DoActionStream = BoxStream<'static, Result<arrow_flight::Result, Status>>;
    type ListActionsStream = BoxStream<'static, Result<ActionType, Status>>;
    type DoExchangeStream = BoxStream<'static, Result<FlightData, Status>>;

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        let tenant = self.tenant(&request)?;
        let tenant =
            tenant.ok_or_else(|| unauthenticated("a member of the pool reads no results without a token"))?;
        let mut skip = rows_to_skip(request.metadata())?;
        let peer = Peer::of(&request).map(|peer| peer.address.ip());
        let ticket = self.ticket(&request.into_inner().ticket)?;
        if ticket_owner(&ticket.tenant) != tenant {
            let code = codes::TICKET_TENANT;
            let refusal = status(tonic::Code::PermissionDenied, code, code.summary, "");
            return Err(self.refused(peer, refusal));
        }
        let read = ResultPartition {
            namespace: ticket.namespace.clone(),
            partition: ticket.partition,
        };
        let version = OutputVersion {
            generation: ticket.generation,
            attempt: ticket.attempt,
        };
        let id = MapOutputId::new(ticket.namespace, ticket.stage_id, ticket.partition);
        let query_id = ticket.query_id;
        let output = id.written_by(version);
        if !ticket.holder.is_empty() {
            self.store.note_holder(output.clone(), &ticket.holder.into());
        }
        let rows = self
            .store
            .read(&output, 0)
            .await
            .map_err(|error| store_status(&error, &query_id))?;
        let unsendable = |text: &str| {
            status(
                tonic::Code::Internal,
                codes::TASK_FAILED,
                &format!("the result cannot be sent: {text}"),
                &query_id,
            )
        };
        let schema = client_schema(&rows.schema()).map_err(|found| unsendable(&found))?;
        let sent = Arc::clone(&schema);
        let serving = self.totals.serve();
        // An output that is read again has the same rows in the same order.
        let rows = rows.filter_map(move |batch| {
            let rest = match batch {
                Ok(batch) => behind(batch, &mut skip).map(Ok),
                Err(error) => Some(Err(error)),
            };
            futures::future::ready(rest)
        });
        let rows = rows.map(move |batch| {
            // The stream is dropped at its end, or when the client is gone.
            let _ = &serving;
            let batch = batch.map_err(|error| match StoreError::find(&error) {
                Some(error) => store_status(error, &query_id),
                None => status(
                    tonic::Code::Internal,
                    codes::STORAGE,
                    &error.to_string(),
                    &query_id,
                ),
            });
            let batch = batch.and_then(|batch| {
                let cast = client_batch(batch, &sent);
                cast.map_err(|error| {
                    status(
                        tonic::Code::Internal,
                        codes::TASK_FAILED,
                        &error.to_string(),
                        &query_id,
                    )
                })
            });
            batch.map_err(|status| FlightError::Tonic(Box::new(status)))
        });
        let reads = self.reads.clone();
        // Polled after the last batch, by a reader that is still there.
        let rows = rows.chain(futures::stream::poll_fn(move |_| {
            // Nobody takes it when the process ends.
            let _ = reads.send(read.clone());
            Poll::Ready(None)
        }));
        let data = FlightDataEncoderBuilder::new().with_schema(schema).build(rows);
        let data = data.map_err(|error| match error {
            FlightError::Tonic(status) => *status,
            other => status(
                tonic::Code::Internal,
                codes::RESULT_TOO_LARGE,
                &other.to_string(),
                "",
            ),
        });
        Ok(Response::new(data.boxed()))
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        let peer = Peer::of(&request).cloned();
        if request.get_ref().r#type != KEPT {
            self.tenant(&request)?;
        }
        let action = request.into_inner();
        match action.r#type.as_str() {
            HEALTH => {
                let mut health = self.totals.to_json();
                health["executor_id"] = json!(self.executor_id);
                health["task_slots"] = json!(self.task_slots);
                health["pool"] = json!(self.pool_name);
                if let Some(local) = self.store.local_usage() {
                    health["local_outputs"] = json!({
                        "bytes": local.bytes,
                        "kept_bytes": local.kept_bytes,
                        "parts": local.parts,
                        "waiting": self.store.waiting(),
                    });
                }
                health["version"] = json!(env!("CARGO_PKG_VERSION"));
                Ok(one(health.to_string().into_bytes()))
            }
            KEPT => {
                // Without TLS the signature alone tells a member.
                if self.transport.is_tls() && !peer.as_ref().is_some_and(Peer::is_member) {
                    let code = codes::MEMBERS_ONLY;
                    let refusal = status(tonic::Code::PermissionDenied, code, code.summary, "");
                    return Err(self.refused(peer.map(|peer| peer.address.ip()), refusal));
                }
                let ask = self.keys.verify_peer(&action.body, &self.pool_name, peers::now());
                let ask = ask.map_err(|error| ticket_status(&error))?;
                let answer = peers::answer(&self.store, ask).await;
                Ok(Response::new(
                    answer.map(|body| Ok(arrow_flight::Result { body })).boxed(),
                ))
            }
            other => Err(not_served(&format!("the action {other:?}"))),
        }
    }

    async fn list_actions(&self, _: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        let action = |name: &str, text: &str| {
            Ok(ActionType {
                r#type: name.to_string(),
                description: text.to_string(),
            })
        };
        let actions = [action(HEALTH, "What the executor is doing, as JSON.")];
        Ok(Response::new(futures::stream::iter(actions).boxed()))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        Err(not_served("Handshake"))
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        Err(not_served("ListFlights"))
    }

    async fn get_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        Err(not_served("GetFlightInfo"))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        Err(not_served("PollFlightInfo"))
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        Err(not_served("GetSchema"))
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        Err(not_served("DoPut"))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(not_served("DoExchange"))
    }
}
