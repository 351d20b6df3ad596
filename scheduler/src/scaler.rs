//! The demand as KEDA asks for it: an external scaler with one metric, the wanted number of executors, and a target of 1 for each replica.
//! So the autoscaler, which divides the one by the other, comes to that number.

use std::pin::Pin;

use futures::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::demand::{Answer, Demand};

/// The contract, generated from `proto/externalscaler.proto`.
pub mod contract {
    #![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
    tonic::include_proto!("externalscaler");
}

use contract::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef, external_scaler_server::ExternalScaler,
};

/// Name of the metric.
pub const METRIC: &str = "comet_executors_wanted";

/// The service.
#[derive(Clone)]
pub struct Scaler {
    demand: Demand,
    stop: CancellationToken,
}

impl Scaler {
    /// Streams end at `stop`.
    pub fn new(demand: Demand, stop: CancellationToken) -> Self {
        Self { demand, stop }
    }
}

fn active(answer: &Answer) -> bool {
    answer.wanted > 0
}

#[tonic::async_trait]
impl ExternalScaler for Scaler {
    type StreamIsActiveStream = Pin<Box<dyn Stream<Item = Result<IsActiveResponse, Status>> + Send>>;

    /// Whether there should be any executor.
    async fn is_active(&self, _: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        let result = active(&self.demand.answer());
        Ok(Response::new(IsActiveResponse { result }))
    }

    /// The same at once and at each change, so that the first executor does not wait for the next poll.
    async fn stream_is_active(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamIsActiveStream>, Status> {
        let changes =
            futures::stream::unfold((self.demand.answers(), None), |(mut answers, told)| async move {
                let wanted = |answer: &Answer| Some(active(answer)) != told;
                let result = active(&*answers.wait_for(wanted).await.ok()?);
                Some((Ok(IsActiveResponse { result }), (answers, Some(result))))
            });
        let changes = changes.take_until(self.stop.clone().cancelled_owned());
        Ok(Response::new(Box::pin(changes)))
    }

    async fn get_metric_spec(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<GetMetricSpecResponse>, Status> {
        let spec = MetricSpec {
            metric_name: METRIC.into(),
            target_size: 1,
            target_size_float: 1.0,
        };
        Ok(Response::new(GetMetricSpecResponse {
            metric_specs: vec![spec],
        }))
    }

    async fn get_metrics(
        &self,
        request: Request<GetMetricsRequest>,
    ) -> Result<Response<GetMetricsResponse>, Status> {
        let asked = request.into_inner().metric_name;
        if asked != METRIC {
            return Err(Status::invalid_argument(format!(
                "there is no metric {asked:?}, only {METRIC:?}"
            )));
        }
        let wanted = self.demand.answer().wanted;
        let value = MetricValue {
            metric_name: METRIC.into(),
            metric_value: wanted.into(),
            metric_value_float: wanted.into(),
        };
        Ok(Response::new(GetMetricsResponse {
            metric_values: vec![value],
        }))
    }
}
