//! Notices the end of an executor's process at once, by an open connection to it. A machine that vanishes, or a process that is paused, is
//! noticed by its heartbeats alone.

use std::{sync::Arc, time::Duration};

use ballista_core::serde::scheduler::ExecutorMetadata;
use ballista_scheduler::cluster::ClusterState;
use cne_transport::{ConnectError, Connector, Io};
use tokio::{io::AsyncReadExt, time::timeout};

use super::PoolCluster;

const CONNECT: Duration = Duration::from_secs(2);
/// Between connections that end.
const PAUSE: Duration = Duration::from_millis(100);
/// An executor may refuse a connection now and then, e.g. for want of file descriptors; so often in a row it is not there.
const REFUSALS: u32 = 3;
/// How often it is looked whether the executor is still registered.
const LOOK: Duration = Duration::from_secs(5);

/// Watches an executor until it is not registered any more. When its process ends, its heartbeat is said to be over.
pub(super) async fn watch(cluster: Arc<PoolCluster>, executor: ExecutorMetadata, connector: Connector) {
    let mut refusals = 0;
    loop {
        match timeout(CONNECT, connector.open(&executor.host, executor.grpc_port)).await {
            Ok(Ok(open)) => {
                refusals = 0;
                if !lasts(open, &cluster, &executor.id).await {
                    return;
                }
            }
            // Refused: nobody listens. What else keeps a connection from opening may be the network's.
            Ok(Err(ConnectError::Tcp { source, .. }))
                if source.kind() == std::io::ErrorKind::ConnectionRefused =>
            {
                refusals += 1
            }
            _ => tokio::time::sleep(CONNECT).await,
        }
        if refusals == REFUSALS {
            if cluster.end_heartbeat(&executor.id) {
                tracing::warn!(executor = %executor.id, "the executor's process has ended");
            }
            return;
        }
        if cluster.get_executor_metadata(&executor.id).await.is_err() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until the connection ends; `false` when the executor is not registered any more.
async fn lasts(mut open: Io, cluster: &PoolCluster, id: &str) -> bool {
    let mut bytes = [0; 256];
    loop {
        match timeout(LOOK, open.read(&mut bytes)).await {
            Ok(Ok(0) | Err(_)) => return true,
            // The greeting of HTTP/2.
            Ok(Ok(_)) => {}
            Err(_) if cluster.get_executor_metadata(id).await.is_err() => return false,
            Err(_) => {}
        }
    }
}
