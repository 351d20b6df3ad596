//! What executors report beside Ballista's own calls.

use cne_task::reports::{ResultsReadRequest, ResultsReadResponse, reports_server::Reports};
use tonic::{Request, Response, Status};

use crate::demand::Demand;

/// Takes the reports.
#[derive(Clone)]
pub struct ReportService {
    demand: Demand,
}

impl ReportService {
    /// What was read changes the demand.
    pub fn new(demand: Demand) -> Self {
        Self { demand }
    }
}

#[tonic::async_trait]
impl Reports for ReportService {
    async fn results_read(
        &self,
        request: Request<ResultsReadRequest>,
    ) -> Result<Response<ResultsReadResponse>, Status> {
        for read in request.into_inner().partitions {
            self.demand.reads().read(read.namespace, read.partition);
        }
        Ok(Response::new(ResultsReadResponse {}))
    }
}
