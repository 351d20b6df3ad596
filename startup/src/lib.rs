//! What both binaries do around their own work: read the settings, answer `--help`, `--version` and `health`, set up the log, stop on a
//! signal, tell probes and monitoring how they are, and say on the error stream why they failed. [`Limits`] are those of their container.

mod health;
mod http;
mod limits;
mod probe;
mod status;

use std::error::Error;
use std::future::Future;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use cne_settings::{Invocation, LogFormat, SettingsError};
use futures::{Stream, StreamExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

pub use health::grpc_health;
pub use http::serve_http;
pub use limits::Limits;
pub use probe::ProbeError;
pub use status::{Pulse, Reason, Status};

/// How a process logs.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    /// What is logged, as `tracing` writes filters.
    pub level: &'a str,
    /// How lines are written.
    pub format: LogFormat,
}

/// Why a binary ends with a failure; its causes are printed too.
pub type Failed = Box<dyn Error + Send + Sync>;

/// Exit code of a process that was asked twice to stop, as a shell gives it for Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Runs the binary `name`. `read` gives its settings, `log` what they say about the log. `work` gets a token that SIGTERM or Ctrl-C
/// cancels: it ends then, with what it still has to do done. The second signal ends the process at once.
pub fn run<S, F>(
    name: &'static str,
    read: impl FnOnce() -> Result<Invocation<S>, SettingsError>,
    log: impl FnOnce(&S) -> Log<'_>,
    work: impl FnOnce(S, CancellationToken) -> F,
) -> ExitCode
where
    F: Future<Output = Result<(), Failed>>,
{
    match try_run(name, read, log, work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The log may not be set up yet.
            let _ = writeln!(std::io::stderr(), "{name}: {}", report(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn try_run<S, F>(
    name: &'static str,
    read: impl FnOnce() -> Result<Invocation<S>, SettingsError>,
    log: impl FnOnce(&S) -> Log<'_>,
    work: impl FnOnce(S, CancellationToken) -> F,
) -> Result<(), Failed>
where
    F: Future<Output = Result<(), Failed>>,
{
    let settings = match read()? {
        Invocation::Run(settings) => settings,
        Invocation::Help(text) | Invocation::Version(text) => {
            return Ok(std::io::stdout().write_all(text.as_bytes())?);
        }
        Invocation::Health(address) => {
            probe::probe(&address)?;
            return Ok(std::io::stdout().write_all(b"healthy\n")?);
        }
    };
    set_up_log(&log(&settings))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name(name)
        .build()?;
    runtime.block_on(async {
        let stop = CancellationToken::new();
        let asked = asked_to_stop()?;
        tokio::spawn(obey(asked, stop.clone(), || std::process::exit(INTERRUPTED)));
        work(settings, stop).await
    })
}

fn set_up_log(log: &Log<'_>) -> Result<(), Failed> {
    let lines = tracing_subscriber::fmt().with_env_filter(log.level.parse::<EnvFilter>()?);
    match log.format {
        // Colours are for people: scripts read the addresses out of the log.
        LogFormat::Text => lines.with_ansi(std::io::stdout().is_terminal()).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}

/// One item per signal.
fn asked_to_stop() -> std::io::Result<impl Stream<Item = ()> + Send + Unpin> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(futures::stream::poll_fn(move |context| {
        if terminate.poll_recv(context).is_ready() {
            return std::task::Poll::Ready(Some(()));
        }
        interrupt.poll_recv(context)
    }))
}

async fn obey(mut asked: impl Stream<Item = ()> + Unpin, stop: CancellationToken, at_once: impl FnOnce()) {
    if asked.next().await.is_some() {
        tracing::info!("stopping");
        stop.cancel();
    }
    if asked.next().await.is_some() {
        at_once();
    }
}

/// The error and its causes in one line.
fn report(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use cne_settings::Address;

    use super::*;

    #[derive(Debug)]
    struct Outer(std::io::Error);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the door does not open")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_report_names_the_causes() {
        let error = Outer(std::io::Error::other("the key is lost"));
        assert_eq!(report(&error), "the door does not open: the key is lost");
    }

    #[tokio::test]
    async fn the_first_signal_asks_and_the_second_does_not() {
        let (sender, receiver) = futures::channel::mpsc::unbounded();
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let at_once = ended.clone();
        tokio::spawn(obey(receiver, stop.clone(), move || at_once.cancel()));
        sender.unbounded_send(()).unwrap();
        stop.cancelled().await;
        assert!(!ended.is_cancelled());
        sender.unbounded_send(()).unwrap();
        ended.cancelled().await;
    }

    fn log(level: &String) -> Log<'_> {
        Log {
            level,
            format: LogFormat::Json,
        }
    }

    #[test]
    fn help_is_no_failure_and_bad_settings_are() {
        let work = |_: String, _| async { Err::<(), Failed>("it ran".into()) };
        let help = || Ok(Invocation::<String>::Help(String::new()));
        assert!(try_run("test", help, log, work).is_ok());
        let wrong = || {
            Err(SettingsError::Plaintext {
                env: "CNE_HOST",
                host: "example.org".into(),
            })
        };
        let error = try_run("test", wrong, log, work).unwrap_err();
        assert!(error.to_string().contains("CNE_HOST"), "{error}");
        let address = Address {
            host: "127.0.0.1".into(),
            port: 1,
        };
        let error = try_run("test", || Ok(Invocation::<String>::Health(address)), log, work).unwrap_err();
        assert!(
            error.to_string().contains("no answer from 127.0.0.1:1"),
            "{error}"
        );
    }
}
