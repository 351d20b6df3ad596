//! The arrows between the crates go down, and Ballista stays in three of them.

use std::collections::BTreeSet;

use crate::repository::Graph;

/// Own crates that each crate may name as a dependency: the table of ARCHITECTURE.md.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("cne-proto", &[]),
    ("cne-settings", &[]),
    ("cne-startup", &["cne-settings"]),
    ("cne-spark-functions", &[]),
    ("cne-fragment", &["cne-proto", "cne-spark-functions"]),
    ("cne-identity", &[]),
    ("cne-storage", &["cne-proto", "cne-identity"]),
    ("cne-task", &["cne-proto", "cne-fragment"]),
    (
        "cne-scheduler",
        &[
            "cne-proto",
            "cne-settings",
            "cne-startup",
            "cne-spark-functions",
            "cne-fragment",
            "cne-task",
        ],
    ),
    (
        "cne-executor",
        &[
            "cne-proto",
            "cne-settings",
            "cne-startup",
            "cne-spark-functions",
            "cne-fragment",
            "cne-storage",
            "cne-task",
        ],
    ),
    (
        "cne-semantics",
        &["cne-proto", "cne-spark-functions", "cne-fragment"],
    ),
];

/// Crates, and beginnings of package names that they never reach, however far away.
const NEVER_REACH: &[(&str, &[&str])] = &[
    (
        "cne-proto",
        &[
            "ballista",
            "datafusion",
            "arrow",
            "tonic",
            "tokio",
            "object_store",
        ],
    ),
    (
        "cne-settings",
        &["ballista", "datafusion", "arrow", "tonic", "tokio", "prost"],
    ),
    (
        "cne-startup",
        &["ballista", "datafusion", "arrow", "object_store"],
    ),
    ("cne-spark-functions", &["ballista", "cne-"]),
    ("cne-fragment", &["ballista", "cne-storage", "cne-task"]),
    (
        "cne-identity",
        &["ballista", "datafusion", "arrow", "tonic", "prost", "cne-"],
    ),
    ("cne-storage", &["ballista", "cne-fragment", "cne-task"]),
    ("cne-task", &["ballista-scheduler", "ballista-executor"]),
    (
        "cne-scheduler",
        // It has no access to storage.
        &[
            "ballista-executor",
            "cne-executor",
            "cne-storage",
            "cne-identity",
            "aws-",
            "jni",
        ],
    ),
    ("cne-executor", &["ballista-scheduler", "cne-scheduler", "jni"]),
    ("cne-semantics", &["ballista", "cne-task", "cne-storage"]),
];

#[test]
fn crates_depend_downwards_only() {
    let mut wrong = Vec::new();
    for (name, allowed) in MAY_DEPEND_ON {
        for dependency in Graph::get().direct(name) {
            if dependency.starts_with("cne-") && !allowed.contains(&dependency) {
                wrong.push(format!("{name} -> {dependency}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "against the table of ARCHITECTURE.md: {wrong:?}. Move the code to the lower crate, or change the table, here and there."
    );
}

#[test]
fn what_must_stay_apart_is_not_even_reached_indirectly() {
    let mut wrong = Vec::new();
    for (name, forbidden) in NEVER_REACH {
        for prefix in *forbidden {
            if let Some(path) = Graph::get().path_to(name, |package| package.starts_with(prefix)) {
                wrong.push(path.join(" -> "));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "remove the first arrow of your own making:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_crate_has_its_row() {
    let rows: BTreeSet<_> = MAY_DEPEND_ON.iter().map(|(name, _)| *name).collect();
    assert_eq!(rows, NEVER_REACH.iter().map(|(name, _)| *name).collect());
    let crates = Graph::get().packages().map(|p| p.name.as_str());
    let crates: BTreeSet<_> = crates
        .filter(|name| name.starts_with("cne-") && *name != "cne-architecture")
        .collect();
    assert_eq!(
        crates, rows,
        "a new crate gets a row in tests/architecture/src/directions.rs and in ARCHITECTURE.md"
    );
    let page = std::fs::read_to_string(crate::repository::root().join("ARCHITECTURE.md")).unwrap_or_default();
    for name in rows {
        assert!(
            page.contains(&format!("`{name}`")),
            "{name} is missing in the table of ARCHITECTURE.md"
        );
    }
}

#[test]
fn ways_through_the_graph_are_found() {
    let path = Graph::get().path_to("cne-task", |name| name == "cne-spark-functions");
    assert_eq!(
        path,
        Some(vec!["cne-task", "cne-fragment", "cne-spark-functions"])
    );
}
