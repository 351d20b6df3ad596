//! Ballista's own connections to executors, under TLS. It makes one to each executor and keeps it.

use std::sync::{Arc, Weak};

use ballista_core::{
    extension::{EndpointOverrideFn, SessionConfigExt},
    utils::{GrpcClientConfig, create_grpc_client_endpoint},
};
use ballista_scheduler::{cluster::ClusterState, state::SchedulerState};
use cne_task::session_config;
use cne_transport::Transport;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::sync::watch;

use super::PoolCluster;

/// What Ballista makes of the endpoints that it connects to; `None` leaves them plain. Their URLs say http.
pub(super) fn endpoints(transport: &Transport) -> Option<EndpointOverrideFn> {
    if !transport.is_tls() {
        return None;
    }
    let transport = transport.clone();
    let config = GrpcClientConfig::from(&session_config().ballista_config());
    Some(Arc::new(move |endpoint| {
        let authority = endpoint.uri().authority();
        let authority = authority.ok_or_else(|| format!("{} has no host", endpoint.uri()))?;
        let endpoint = create_grpc_client_endpoint(format!("https://{authority}"), Some(&config))?;
        Ok(transport.secured(endpoint)?)
    }))
}

/// Has Ballista connect anew when there are other certificates: a connection that is lost later would be made with the certificate that it was
/// made with first. Calls that are open go on.
pub(super) async fn reconnect(
    mut changes: watch::Receiver<u64>,
    state: Weak<SchedulerState<LogicalPlanNode, PhysicalPlanNode>>,
    cluster: Arc<PoolCluster>,
) {
    while changes.changed().await.is_ok() {
        let Some(state) = state.upgrade() else {
            return;
        };
        for executor in cluster.registered_executor_metadata().await {
            // There is no other way to make it drop a connection.
            cluster.keep(&executor.id, true);
            let reason = Some("certificates have changed; it stays registered".to_string());
            let dropped = state.executor_manager.remove_executor(&executor.id, reason).await;
            cluster.keep(&executor.id, false);
            if let Err(error) = dropped {
                tracing::error!(executor = %executor.id, %error, "the connection was not dropped");
            }
        }
    }
}
