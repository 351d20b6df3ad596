//! The `comet-scheduler` binary.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    process::ExitCode,
};

use cne_proto::decode::Limits;
use cne_scheduler::{Options, demand::Policy, start};
use cne_settings::{Address, SchedulerSettings};
use cne_startup::Failed;
use cne_task::{Durability, ticket::TicketKeys};
use cne_transport::Transport;

fn main() -> ExitCode {
    cne_startup::run(
        "comet-scheduler",
        || SchedulerSettings::from_args_and_env(std::env::args_os().skip(1), std::env::vars_os()),
        |settings| cne_startup::Log {
            level: &settings.log_level,
            format: settings.log_format,
        },
        |settings, stop| async move { Ok(start(options(&settings)?, stop).await?.stopped().await?) },
    )
}

fn options(settings: &SchedulerSettings) -> Result<Options, Failed> {
    let local = Options::local(TicketKeys::parse(settings.ticket_key.expose())?);
    let further = settings.accepted_spark_versions.iter().cloned();
    Ok(Options {
        spark_versions: local.spark_versions.iter().cloned().chain(further).collect(),
        flight_address: resolve(&settings.flight_address)?,
        executor_address: resolve(&settings.executor_address)?,
        http_address: resolve(&settings.http_address)?,
        scaler_address: resolve(&settings.scaler_address)?,
        scaler_tls: settings.scaler_tls,
        transport: Transport::open(&settings.security())?,
        scale: Policy::from_settings(settings),
        pool_name: settings.pool_name.clone(),
        limits: Limits {
            bytes: settings.max_request_bytes.to_usize(),
            depth: settings.max_request_depth,
            ..Limits::default()
        },
        max_stages: settings.max_stages,
        max_queries: settings.max_queries,
        file_roots: Some(settings.file_roots.iter().map(PathBuf::from).collect()),
        query_deadline: settings.query_deadline,
        executor_wait: settings.executor_wait,
        executor_timeout: settings.executor_timeout,
        poll_wait: settings.poll_wait,
        client_timeout: settings.client_timeout,
        stuck_timeout: settings.stuck_timeout,
        results_lease: settings.results_lease,
        durability: match settings.durability {
            cne_settings::Durability::Local => Durability::Local,
            cne_settings::Durability::WriteBehind => Durability::WriteBehind,
            cne_settings::Durability::Store => Durability::Store,
        },
        target_partition_bytes: settings.target_partition_bytes.bytes(),
        ..local
    })
}

fn resolve(address: &Address) -> Result<SocketAddr, Failed> {
    let mut found = (address.host.as_str(), address.port).to_socket_addrs()?;
    found
        .next()
        .ok_or_else(|| format!("{address} has no address").into())
}
