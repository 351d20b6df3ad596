//! docs/configuration.md is what the tables say, and the tables name every variable that the scripts use.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::{fs, path::PathBuf};

use cne_settings::{ExecutorSettings, Registry, SchedulerSettings, configuration_markdown};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_configuration_page_is_up_to_date() {
    let path = root().join("docs/configuration.md");
    let expected = configuration_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(root().join("docs")).unwrap();
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/configuration.md is stale: run `UPDATE_DOCS=1 cargo test -p cne-settings` and commit it"
    );
}

#[test]
fn every_variable_of_scripts_and_tests_is_declared() {
    let page = configuration_markdown();
    let mut files = vec![root().join("Justfile"), root().join("justw")];
    for folder in ["tools", "tests/e2e", ".ci"] {
        collect(&root().join(folder), &mut files);
    }
    let mut undeclared = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        for name in variables(&text) {
            if !page.contains(&format!("`{name}`")) {
                undeclared.push(format!("{name} in {}", file.display()));
            }
        }
    }
    undeclared.sort();
    undeclared.dedup();
    assert!(
        undeclared.is_empty(),
        "a binary started with these would refuse them; add them to settings/src/tools.rs or roles.rs: {undeclared:#?}"
    );
}

fn collect(folder: &PathBuf, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn variables(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    text.split(move |c| !is_name(c))
        .filter(|word| word.starts_with("CNE_") && word.len() > 4)
}

#[test]
fn no_setting_is_named_like_a_variable_of_a_service() {
    let all = || SchedulerSettings::TABLE.iter().chain(ExecutorSettings::TABLE);
    for setting in all() {
        let name = setting.env;
        assert!(name.starts_with("CNE_"), "{name}");
        assert!(!name.ends_with("_PORT") && !name.contains("_SERVICE_"), "{name}");
        // The file that a secret is read from.
        let of_a_secret = name
            .strip_suffix("_FILE")
            .is_some_and(|of| all().any(|s| s.env == of));
        assert!(!of_a_secret, "{name}");
    }
}

#[test]
fn a_variable_of_both_binaries_means_the_same_in_both() {
    for setting in SchedulerSettings::TABLE {
        if let Some(other) = ExecutorSettings::TABLE.iter().find(|s| s.env == setting.env) {
            assert_eq!(
                (setting.default, setting.type_name),
                (other.default, other.type_name),
                "{}",
                setting.env
            );
        }
    }
}
