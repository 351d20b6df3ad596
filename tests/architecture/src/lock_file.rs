//! One copy of each big dependency: two would be two incompatible sets of types, and twice the build.

use std::collections::BTreeMap;

use crate::repository::root;

/// Beginnings of versions that Comet 1.2.0, Ballista 55 and we agree on.
const REQUIRED: &[(&str, &str)] = &[
    ("ballista-core", "55.0."),
    ("ballista-executor", "55.0."),
    ("ballista-scheduler", "55.0."),
    ("datafusion", "55."),
    ("datafusion-proto", "55."),
    ("datafusion-spark", "55."),
    ("arrow", "59."),
    ("arrow-flight", "59."),
    ("parquet", "59."),
    ("object_store", "0.13."),
    ("tonic", "0.14."),
    ("prost", "0.14."),
];

/// Families of packages that are released together.
const FAMILIES: &[&str] = &[
    "ballista",
    "datafusion",
    "arrow",
    "parquet",
    "tonic",
    "prost",
    "opentelemetry",
    "object_store",
];

/// Versions by name, from Cargo.lock.
fn locked() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(root().join("Cargo.lock")).expect("there is a Cargo.lock");
    let mut versions = BTreeMap::<String, Vec<String>>::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(value) = quoted(line, "name = ") {
            name = value.to_owned();
        } else if let Some(value) = quoted(line, "version = ") {
            versions
                .entry(std::mem::take(&mut name))
                .or_default()
                .push(value.to_owned());
        }
    }
    versions
}

fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix('"')?.strip_suffix('"')
}

#[test]
fn each_big_dependency_is_there_once() {
    let locked = locked();
    let in_family = |name: &str| {
        FAMILIES.iter().any(|family| {
            name.strip_prefix(family)
                .is_some_and(|r| r.is_empty() || r.starts_with('-'))
        })
    };
    let twice: Vec<_> = locked
        .iter()
        .filter(|(name, v)| in_family(name) && v.len() > 1)
        .collect();
    assert!(
        twice.is_empty(),
        "more than one version of {twice:?}: `cargo tree -d` shows who wants which; choose dependencies that agree"
    );
    assert!(
        locked.keys().filter(|name| in_family(name)).count() > 20,
        "Cargo.lock was not understood"
    );
}

#[test]
fn versions_are_the_required_ones() {
    let locked = locked();
    for (name, prefix) in REQUIRED {
        let versions = locked.get(*name).cloned().unwrap_or_default();
        assert!(
            versions.iter().all(|v| v.starts_with(prefix)) && versions.len() == 1,
            "{name} is locked at {versions:?}, required is one {prefix}*: change the root Cargo.toml, and this list \
             together with everything that relies on the release's behaviour (facts in ARCHITECTURE.md)"
        );
    }
    assert_eq!(
        locked["arrow"], locked["parquet"],
        "arrow and parquet are released together"
    );
}
