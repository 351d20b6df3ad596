//! The `comet-scheduler` binary: settings, log, signals.

use std::{
    error::Error,
    io::Write,
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    process::ExitCode,
};

use cne_proto::decode::Limits;
use cne_scheduler::{Options, start};
use cne_settings::{Address, Invocation, SchedulerSettings};
use cne_task::ticket::TicketKeys;
use tokio_util::sync::CancellationToken;

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = format!("comet-scheduler: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                text.push_str(&format!(": {cause}"));
                source = cause.source();
            }
            // The log may not be set up yet.
            let _ = writeln!(std::io::stderr(), "{text}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failed> {
    let settings =
        match SchedulerSettings::from_args_and_env(std::env::args_os().skip(1), std::env::vars_os())? {
            Invocation::Run(settings) => settings,
            Invocation::Help(text) | Invocation::Version(text) => {
                return Ok(std::io::stdout().write_all(text.as_bytes())?);
            }
        };
    tracing_subscriber::fmt()
        .with_env_filter(settings.log_level.parse::<tracing_subscriber::EnvFilter>()?)
        .init();
    let options = options(&settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("comet-scheduler")
        .build()?;
    runtime.block_on(async {
        let drain = CancellationToken::new();
        let handle = start(options, drain.clone()).await?;
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            tracing::info!("stopping");
            drain.cancel();
        });
        handle.stopped().await?;
        Ok(())
    })
}

fn options(settings: &SchedulerSettings) -> Result<Options, Failed> {
    let keys = TicketKeys::parse(settings.ticket_key.expose())?;
    Ok(Options {
        flight_address: resolve(&settings.flight_address)?,
        executor_address: resolve(&settings.executor_address)?,
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
        target_partition_bytes: settings.target_partition_bytes.bytes(),
        ..Options::local(keys)
    })
}

fn resolve(address: &Address) -> Result<SocketAddr, Failed> {
    let mut found = (address.host.as_str(), address.port).to_socket_addrs()?;
    found
        .next()
        .ok_or_else(|| format!("{address} has no address").into())
}
