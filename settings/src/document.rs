//! `--help` and docs/configuration.md, from the tables.

use std::fmt::Write as _;

use crate::{DRIVER_SETTINGS, ExecutorSettings, Registry, SchedulerSettings, Setting, tools::TOOL_VARIABLES};

/// The answer of a binary to `--help`.
pub(crate) fn help_text<T: Registry>() -> String {
    let mut text = format!("{}\n\nSettings, as flags or environment variables:\n", T::BINARY);
    for setting in T::TABLE {
        let file = if setting.secret { "-file" } else { "" };
        let value = if setting.secret { "path" } else { setting.type_name };
        let default = match default_of(setting) {
            Some(default) => format!(" [default: {default}]"),
            None if setting.optional => String::new(),
            None => " [required]".to_owned(),
        };
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "\n  --{}{file} <{value}>{default}\n      {} ({}{})\n",
            setting.flag(),
            setting.doc.trim(),
            setting.env,
            if setting.secret {
                format!(", or {}_FILE", setting.env)
            } else {
                String::new()
            },
        );
    }
    let _ = write!(
        text,
        "\n  --help, --version\n\nA flag wins over a variable, a variable over the default.\n\n\
         `{} health` asks a running process at {} whether it is healthy: exit code 0 or 1.\n",
        T::BINARY,
        T::PROBED,
    );
    text
}

fn default_of(setting: &Setting) -> Option<&'static str> {
    setting.default.filter(|_| !setting.secret)
}

/// The whole of docs/configuration.md.
pub fn configuration_markdown() -> String {
    let mut text = String::from(
        "# Configuration\n\n\
         Generated from the settings registry (`settings/`): do not edit. `UPDATE_DOCS=1 cargo test -p cne-settings` writes it anew.\n\n\
         ## How a value is found\n\n\
         `comet-scheduler` and `comet-executor` take each setting from a flag, else from an environment variable, else from the default. \
         The flag is the variable's name without `CNE_`, in lower case with dashes: `CNE_TASK_SLOTS=2` is `--task-slots 2` or `--task-slots=2`.\n\n\
         An unknown flag or `CNE_*` variable, or a value that cannot be read, stops the start with an error that names it. Variables of the \
         other binary are let pass, so one environment can serve both; so are those that Kubernetes makes for services.\n\n\
         A secret is never printed and cannot be a flag: give the variable, or a file by `<variable>_FILE` or `--<flag>-file`.\n\n\
         Sizes are bytes or have a unit (`KiB`, `MiB`, `GiB`, `TiB`); durations have a unit (`ms`, `s`, `m`, `h`).\n",
    );
    binary::<SchedulerSettings>(&mut text);
    binary::<ExecutorSettings>(&mut text);
    let _ = writeln!(
        text,
        "\n`comet-scheduler health` and `comet-executor health` ask a running process at `{}` or `{}` (or the flag) for `/healthz` and end with exit code 0 \
         or 1: for the health check of a container, which has no other program in it. The port has to be a fixed one.",
        SchedulerSettings::PROBED,
        ExecutorSettings::PROBED,
    );
    text.push_str("\n## The driver\n\nSpark settings, given with `--conf`, in `spark-defaults.conf` or on the session.\n\n");
    text.push_str("| Key | Type | Default | What it is for |\n|---|---|---|---|\n");
    for setting in DRIVER_SETTINGS {
        let default = if setting.default.is_empty() {
            "-".to_owned()
        } else {
            format!("`{}`", setting.default)
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {default} | {} |",
            setting.key, setting.type_name, setting.doc
        );
    }
    text.push_str("\n## Tools\n\n| Variable | What it is for |\n|---|---|\n");
    for (name, doc) in TOOL_VARIABLES {
        let _ = writeln!(text, "| `{name}` | {doc} |");
    }
    text
}

fn binary<T: Registry>(text: &mut String) {
    let _ = writeln!(text, "\n## {}\n", T::BINARY);
    text.push_str("| Variable | Flag | Type | Default | What it is for |\n|---|---|---|---|---|\n");
    for setting in T::TABLE {
        let default = match default_of(setting) {
            Some(default) => format!("`{default}`"),
            None if setting.optional => "-".to_owned(),
            None => "**required**".to_owned(),
        };
        let file = if setting.secret { "-file" } else { "" };
        let _ = writeln!(
            text,
            "| `{}` | `--{}{file}` | {} | {default} | {} |",
            setting.env,
            setting.flag(),
            setting.type_name,
            setting.doc.trim(),
        );
    }
}
