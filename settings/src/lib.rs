//! Every setting of the pool, declared once: its type, default and text give the parser, `--help` and docs/configuration.md.
//!
//! A binary calls `SchedulerSettings::from_args_and_env` (or the executor's) once and hands the struct on: each setting is a
//! field, so code cannot ask for one that does not exist. A flag is the variable's name without `CNE_`, in lower case with dashes:
//! `CNE_TASK_SLOTS` is `--task-slots`. A flag wins over a variable, a variable over the default. What is unknown is an error that names the
//! nearest known name.

mod document;
mod driver;
mod error;
mod nearest;
mod parse;
mod registry;
mod roles;
mod tools;
mod value;

pub use document::configuration_markdown;
pub use driver::{DRIVER_SETTINGS, DriverSetting};
pub use error::SettingsError;
pub use parse::Invocation;
pub use registry::{Registry, Setting};
pub use roles::{ExecutorSettings, SchedulerSettings, Security};
pub use value::{Address, ByteSize, Durability, LogFormat, Secret, ShuffleCompression, Value};
