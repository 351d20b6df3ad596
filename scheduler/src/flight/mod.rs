//! What drivers call: Arrow Flight, without any row. Rows are fetched from executors with the tickets given out here.

mod actions;
mod answer;
mod gate;

use std::{pin::Pin, sync::Arc, time::Duration};

use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest,
    HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket, flight_descriptor::DescriptorType,
    flight_service_server::FlightService,
};
use cne_task::codes;
use cne_transport::Tenant;
use futures::{Stream, stream};
use tonic::{Request, Response, Status, Streaming};

pub use gate::Gate;
use gate::{caller_of, tenant_of};

use crate::{
    demand::Demand,
    error::Failure,
    options::Options,
    pool::Pool,
    query::{Queries, Query, Resume, State, Told},
};

/// First element of the path by which an accepted query is named.
pub const QUERY_PATH: &str = "query";
/// Header of a first submission: what `comet.prepare` has answered.
pub const PLAN_HEADER: &str = "cne-plan";
/// Header of a repeated submission: `QueryProgress.resume` as the driver heard it last, or else what `comet.prepare` has answered.
pub const RESUME_HEADER: &str = "cne-resume";

/// The drivers' service.
#[derive(Clone)]
pub struct FrontEnd {
    queries: Queries,
    pool: Pool,
    demand: Demand,
    options: Arc<Options>,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl FrontEnd {
    /// The service over the queries of a scheduler.
    pub fn new(queries: Queries, pool: Pool, demand: Demand, options: Options) -> Self {
        Self {
            queries,
            pool,
            demand,
            options: Arc::new(options),
        }
    }

    // A command submits (or joins), a path names a query that was accepted before.
    async fn query(&self, request: Request<FlightDescriptor>) -> Result<Arc<Query>, Failure> {
        let told = |header| {
            let text = request.metadata().get(header)?.to_str().ok()?;
            Resume::parse(text)
        };
        let told = match (told(RESUME_HEADER), told(PLAN_HEADER)) {
            (Some(resume), _) => Told::Again(resume),
            (None, Some(plan)) => Told::First(plan),
            (None, None) => Told::Nothing,
        };
        let tenant = tenant_of(caller_of(&request)?)?;
        let descriptor = request.into_inner();
        match DescriptorType::try_from(descriptor.r#type) {
            Ok(DescriptorType::Cmd) => self.queries.submit(tenant, descriptor.cmd, told).await,
            Ok(DescriptorType::Path) => self.named(&tenant, &descriptor),
            _ => Err(Failure::new(
                codes::MALFORMED,
                "the descriptor is neither a command nor a path",
            )),
        }
    }

    fn named(&self, tenant: &Tenant, descriptor: &FlightDescriptor) -> Result<Arc<Query>, Failure> {
        match descriptor.path.as_slice() {
            [kind, id] if kind == QUERY_PATH => self.queries.get(&tenant.name, id),
            path => Err(Failure::new(
                codes::MALFORMED,
                format!("the path {path:?} is not [\"{QUERY_PATH}\", id]"),
            )),
        }
    }
}

fn path(id: &str) -> FlightDescriptor {
    FlightDescriptor::new_path(vec![QUERY_PATH.into(), id.into()])
}

fn not_served<T>(call: &str) -> Result<Response<T>, Status> {
    let text = format!(
        "comet-scheduler does not serve {call}; rows are fetched from executors, queries submitted by PollFlightInfo"
    );
    Err(Failure::new(codes::NOT_SERVED, text).to_status())
}

fn listed<T: Send + 'static>(items: Vec<T>) -> Response<Answers<T>> {
    Response::new(Box::pin(stream::iter(items.into_iter().map(Ok))))
}

#[tonic::async_trait]
impl FlightService for FrontEnd {
    type HandshakeStream = Answers<HandshakeResponse>;
    type ListFlightsStream = Answers<FlightInfo>;
    type DoGetStream = Answers<FlightData>;
    type DoPutStream = Answers<PutResult>;
    type DoExchangeStream = Answers<FlightData>;
    type DoActionStream = Answers<arrow_flight::Result>;
    type ListActionsStream = Answers<ActionType>;

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let query = self.query(request).await?;
        let _caller = query.call();
        // Its own deadline ends the query before this.
        let longest = self.options.query_deadline + Duration::from_secs(5);
        match query.wait(longest).await {
            State::Succeeded(outcome) => Ok(Response::new(self.result(&query, &outcome).await?)),
            State::Failed(failure) => Err(failure.to_status()),
            _ => Err(Failure::new(codes::DEADLINE, codes::DEADLINE.summary)
                .of_query(&query.id)
                .to_status()),
        }
    }

    async fn poll_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        // The answer to a submission tells that it was accepted, so that it can be cancelled; refusals come at once too.
        let submission = request.get_ref().r#type == DescriptorType::Cmd as i32;
        let query = self.query(request).await?;
        let _caller = query.call();
        let wait = if submission {
            self.options.poll_wait.min(Duration::from_millis(50))
        } else {
            self.options.poll_wait
        };
        match query.wait(wait).await {
            State::Succeeded(outcome) => {
                let info = self.result(&query, &outcome).await?;
                Ok(Response::new(PollInfo::new().with_info(info)))
            }
            State::Failed(failure) => Err(failure.to_status()),
            state => Ok(Response::new(self.pending(&query, &state).await)),
        }
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        let tenant = tenant_of(caller_of(&request)?)?;
        let query = self.named(&tenant, &request.into_inner())?;
        match query.state() {
            State::Succeeded(outcome) => {
                let schema = answer::schema_bytes(&outcome.schema)?;
                Ok(Response::new(SchemaResult { schema }))
            }
            State::Failed(failure) => Err(failure.to_status()),
            _ => Err(Status::failed_precondition("the query has not ended")),
        }
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        let caller = caller_of(&request)?.clone();
        let action = request.into_inner();
        Ok(listed(vec![arrow_flight::Result {
            body: self.act(&caller, action).await?,
        }]))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        let types = actions::ALL.iter().map(|(kind, text)| ActionType {
            r#type: (*kind).into(),
            description: (*text).into(),
        });
        Ok(listed(types.collect()))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        not_served("Handshake")
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        not_served("ListFlights")
    }

    async fn do_get(&self, _: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        not_served("DoGet")
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        not_served("DoPut")
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        not_served("DoExchange")
    }
}
