//! The `comet-executor` binary: settings, log, signals.

use std::error::Error;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use cne_executor::Options;
use cne_settings::{ExecutorSettings, Invocation};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = format!("comet-executor: {error}");
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
        match ExecutorSettings::from_args_and_env(std::env::args_os().skip(1), std::env::vars_os())? {
            Invocation::Run(settings) => settings,
            Invocation::Help(text) | Invocation::Version(text) => {
                return Ok(std::io::stdout().write_all(text.as_bytes())?);
            }
        };
    let filter = settings.log_level.parse::<tracing_subscriber::EnvFilter>()?;
    // Colours are for people: scripts read the addresses out of the log.
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stdout().is_terminal())
        .init();
    let options = Options::from_settings(&settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("comet-executor")
        .build()?;
    runtime.block_on(async {
        let drain = CancellationToken::new();
        let asked = drain.clone();
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                if asked.is_cancelled() {
                    // Asked twice: at once.
                    std::process::exit(130);
                }
                asked.cancel();
            }
        });
        cne_executor::run(options, drain).await?;
        Ok(())
    })
}
