//! The `comet-executor` binary.

use std::process::ExitCode;

use cne_executor::Options;
use cne_settings::ExecutorSettings;

fn main() -> ExitCode {
    cne_startup::run(
        "comet-executor",
        || ExecutorSettings::from_args_and_env(std::env::args_os().skip(1), std::env::vars_os()),
        |settings| cne_startup::Log {
            level: &settings.log_level,
            format: settings.log_format,
        },
        |settings, drain| async move { Ok(cne_executor::run(Options::from_settings(&settings)?, drain).await?) },
    )
}
