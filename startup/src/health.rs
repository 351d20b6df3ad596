use tokio_util::sync::CancellationToken;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::server::HealthReporter;

use crate::Status;

/// The standard gRPC health service, for as many servers as there are: the whole process (the service "") serves while it is ready.
/// At `stop` the calls that watch it end, so that they keep no server open.
pub async fn grpc_health(status: &Status, stop: CancellationToken) -> HealthServer<impl Health> {
    let (reporter, service) = tonic_health::server::health_reporter();
    let mut readiness = status.readiness();
    let ready = readiness.borrow_and_update().is_none();
    set(&reporter, ready).await;
    tokio::spawn(async move {
        let mut reporter = reporter;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                changed = readiness.changed() => {
                    if changed.is_err() {
                        break;
                    }
                }
            }
            let ready = readiness.borrow_and_update().is_none();
            set(&reporter, ready).await;
        }
        // Ends the calls that watch, and still answers the others.
        set(&reporter, false).await;
        reporter.clear_service_status("").await;
        set(&reporter, false).await;
    });
    service
}

async fn set(reporter: &HealthReporter, ready: bool) {
    let status = match ready {
        true => ServingStatus::Serving,
        false => ServingStatus::NotServing,
    };
    reporter.set_service_status("", status).await;
}
