//! Reads flags and environment variables into the settings of one binary.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::PathBuf,
};

use crate::{
    Address, ExecutorSettings, Registry, SchedulerSettings, Setting, SettingsError, Value,
    document::help_text, nearest::nearest, tools::TOOL_VARIABLES,
};

/// What the command line asks for.
#[derive(Debug)]
pub enum Invocation<T> {
    /// To run with these settings.
    Run(T),
    /// To print this text, the answer to `--help`.
    Help(String),
    /// To print this text, the answer to `--version`.
    Version(String),
    /// `health`: to ask the process that answers probes at this address.
    Health(Address),
}

/// A value as it was given.
struct Given {
    /// "flag --task-slots" or the variable's name.
    origin: String,
    text: String,
}

/// Everything that was given, by variable name.
pub struct Source {
    given: BTreeMap<&'static str, Given>,
}

impl Source {
    /// One setting: what was given, or its default.
    pub(crate) fn get<T: Value>(
        &self,
        env: &'static str,
        default: Option<&'static str>,
    ) -> Result<T, SettingsError> {
        let (origin, text) = match (self.given.get(env), default) {
            (Some(given), _) => (given.origin.as_str(), given.text.as_str()),
            (None, Some(default)) => (env, default),
            (None, None) => {
                let flag = flag_of::<T>(env);
                return T::absent().ok_or(SettingsError::Missing { env, flag });
            }
        };
        T::parse(text).map_err(|expected| SettingsError::Invalid {
            origin: origin.to_owned(),
            expected,
            value: (!T::SECRET).then(|| text.to_owned()),
        })
    }
}

fn flag_of<T: Value>(env: &str) -> String {
    let name = env
        .trim_start_matches("CNE_")
        .to_ascii_lowercase()
        .replace('_', "-");
    if T::SECRET { format!("{name}-file") } else { name }
}

/// Reads the settings of one binary and checks them.
pub(crate) fn invocation<T: Registry>(
    args: impl Iterator<Item = OsString>,
    env: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Invocation<T>, SettingsError> {
    let args = args
        .map(|arg| {
            arg.into_string().map_err(|arg| SettingsError::NotUnicode {
                origin: format!("argument {:?}", arg.to_string_lossy()),
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return Ok(Invocation::Help(help_text::<T>()));
    }
    if args.iter().any(|arg| arg == "--version") {
        return Ok(Invocation::Version(format!(
            "{} {}",
            T::BINARY,
            env!("CARGO_PKG_VERSION")
        )));
    }
    if args.first().is_some_and(|arg| arg == "health") {
        return probed::<T>(args.into_iter().skip(1).collect(), env).map(Invocation::Health);
    }
    let mut source = Source {
        given: variables(T::TABLE, env)?,
    };
    flags(T::TABLE, args, &mut source.given)?;
    let settings = T::read(&source)?;
    settings.validate()?;
    Ok(Invocation::Run(settings))
}

/// Where a running process answers probes. No other setting is looked at: a probe must not fail for a secret that cannot be read any more.
fn probed<T: Registry>(
    args: Vec<String>,
    env: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Address, SettingsError> {
    let all = T::TABLE;
    let at = all.iter().position(|setting| setting.env == T::PROBED);
    let table = at.and_then(|at| all.get(at..=at)).unwrap_or_default();
    let mut source = Source {
        given: variables(table, env.filter(|(name, _)| name == T::PROBED))?,
    };
    flags(table, args, &mut source.given)?;
    let default = table.first().and_then(|setting| setting.default);
    let address: Address = source.get(T::PROBED, default)?;
    match address.port {
        0 => Err(SettingsError::AnyPort { env: T::PROBED }),
        _ => Ok(address),
    }
}

fn variables(
    table: &'static [Setting],
    env: impl Iterator<Item = (OsString, OsString)>,
) -> Result<BTreeMap<&'static str, Given>, SettingsError> {
    let mut given = BTreeMap::new();
    let mut from_value = BTreeSet::new();
    let mut from_file = BTreeSet::new();
    for (name, value) in env {
        let Some(name) = name
            .to_str()
            .filter(|name| name.starts_with("CNE_") && !is_service_link(name))
        else {
            continue;
        };
        let own = table.iter().find_map(|s| match name.strip_prefix(s.env)? {
            "" => Some((s, false)),
            "_FILE" if s.secret => Some((s, true)),
            _ => None,
        });
        let Some((setting, is_file)) = own else {
            if known_variables().any(|known| known == name) {
                continue;
            }
            let nearest = nearest(
                name,
                known_variables().collect::<Vec<_>>().iter().map(String::as_str),
            )
            .map(str::to_owned);
            return Err(SettingsError::UnknownVariable {
                variable: name.to_owned(),
                nearest,
            });
        };
        let value = value.into_string().map_err(|_| SettingsError::NotUnicode {
            origin: name.to_owned(),
        })?;
        let text = if is_file {
            read_secret(name, &value)?
        } else {
            value
        };
        let first = if is_file {
            from_file.insert(setting.env)
        } else {
            from_value.insert(setting.env)
        };
        if first && from_file.contains(setting.env) && from_value.contains(setting.env) {
            return Err(SettingsError::SecretTwice { env: setting.env });
        }
        given.insert(
            setting.env,
            Given {
                origin: name.to_owned(),
                text,
            },
        );
    }
    Ok(given)
}

/// Every variable of both binaries and of the tools: one environment may serve all of them.
fn known_variables() -> impl Iterator<Item = String> {
    let settings = SchedulerSettings::TABLE.iter().chain(ExecutorSettings::TABLE);
    let files = settings
        .clone()
        .filter(|s| s.secret)
        .map(|s| format!("{}_FILE", s.env));
    let tools = TOOL_VARIABLES.iter().map(|(name, _)| (*name).to_owned());
    settings.map(|s| s.env.to_owned()).chain(files).chain(tools)
}

/// Kubernetes puts variables for every service into each container (`CNE_SCHEDULER_SERVICE_HOST`, `CNE_SCHEDULER_PORT_50050_TCP`).
pub(crate) fn is_service_link(name: &str) -> bool {
    name.ends_with("_PORT")
        || name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || name
            .split_once("_PORT_")
            .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn flags(
    table: &'static [Setting],
    args: Vec<String>,
    given: &mut BTreeMap<&'static str, Given>,
) -> Result<(), SettingsError> {
    let mut seen = BTreeSet::new();
    let mut args = args.into_iter().peekable();
    while let Some(argument) = args.next() {
        let Some(flag) = argument.strip_prefix("--").filter(|rest| !rest.is_empty()) else {
            return Err(SettingsError::UnexpectedArgument { argument });
        };
        let (flag, value) = match flag.split_once('=') {
            Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
            None => (flag.to_owned(), None),
        };
        let (setting, is_file) = find_flag(table, &flag)?;
        let value = match value {
            Some(value) => value,
            None if setting.type_name == bool::TYPE => args
                .next_if(|next| next.parse::<bool>().is_ok())
                .unwrap_or_else(|| "true".to_owned()),
            None => args
                .next_if(|next| !next.starts_with("--"))
                .ok_or_else(|| SettingsError::FlagWithoutValue { flag: flag.clone() })?,
        };
        if !seen.insert(setting.env) {
            return Err(SettingsError::RepeatedFlag { flag });
        }
        let origin = format!("flag --{flag}");
        let text = if is_file {
            read_secret(&origin, &value)?
        } else {
            value
        };
        given.insert(setting.env, Given { origin, text });
    }
    Ok(())
}

fn find_flag(table: &'static [Setting], flag: &str) -> Result<(&'static Setting, bool), SettingsError> {
    for setting in table {
        let name = setting.flag();
        match flag.strip_prefix(name.as_str()) {
            Some("") if setting.secret => {
                return Err(SettingsError::SecretAsFlag {
                    flag: name,
                    env: setting.env,
                });
            }
            Some("") => return Ok((setting, false)),
            Some("-file") if setting.secret => return Ok((setting, true)),
            _ => {}
        }
    }
    let known: Vec<_> = table
        .iter()
        .map(|s| {
            if s.secret {
                format!("{}-file", s.flag())
            } else {
                s.flag()
            }
        })
        .collect();
    let nearest = nearest(flag, known.iter().map(String::as_str)).map(|name| format!("--{name}"));
    Err(SettingsError::UnknownFlag {
        flag: flag.to_owned(),
        nearest,
    })
}

fn read_secret(origin: &str, path: &str) -> Result<String, SettingsError> {
    std::fs::read_to_string(path).map_err(|source| SettingsError::SecretFile {
        origin: origin.to_owned(),
        path: PathBuf::from(path),
        source,
    })
}
