//! What can be wrong with flags and variables. No message repeats a secret.

use std::path::PathBuf;

/// Why a binary does not start with the settings that it was given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    #[error("unknown flag --{flag}{}", did_you_mean(nearest.as_deref()))]
    UnknownFlag { flag: String, nearest: Option<String> },
    #[error("unknown environment variable {variable}{}", did_you_mean(nearest.as_deref()))]
    UnknownVariable {
        variable: String,
        nearest: Option<String>,
    },
    #[error("unexpected argument {argument:?}: settings are given as --name value or --name=value")]
    UnexpectedArgument { argument: String },
    #[error("flag --{flag} is given twice")]
    RepeatedFlag { flag: String },
    #[error("flag --{flag} has no value")]
    FlagWithoutValue { flag: String },
    #[error("{origin} is not valid UTF-8")]
    NotUnicode { origin: String },
    #[error("{origin}: expected {expected}{}", got(value.as_deref()))]
    Invalid {
        origin: String,
        expected: &'static str,
        value: Option<String>,
    },
    #[error("{env} is not set and has no default (flag --{flag})")]
    Missing { env: &'static str, flag: String },
    #[error("--{flag} would show a secret to everybody on this machine: use --{flag}-file or {env}")]
    SecretAsFlag { flag: String, env: &'static str },
    #[error("{env} and {env}_FILE are both set: keep one")]
    SecretTwice { env: &'static str },
    #[error("cannot read {origin} from {path}", path = path.display())]
    SecretFile {
        origin: String,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{env} = {host} is not a loopback address: its traffic would not be encrypted; set CNE_TLS_CERT, CNE_TLS_KEY and CNE_TLS_CA (for the scaler CNE_SCALER_TLS too), or allow it by CNE_ALLOW_PLAINTEXT=true"
    )]
    Plaintext { env: &'static str, host: String },
    #[error(
        "{env} has port 0, so that the port of a running process is not known: give it a fixed port to ask for its health"
    )]
    AnyPort { env: &'static str },
    #[error("{0}")]
    Contradiction(&'static str),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!("; did you mean {name}?"))
        .unwrap_or_default()
}

fn got(value: Option<&str>) -> String {
    value.map(|value| format!(", got {value:?}")).unwrap_or_default()
}
