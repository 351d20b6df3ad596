//! What the tests read: the packages and their edges, and the files that git knows.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use serde_json::Value;

/// The checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One package of the dependency graph.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: String,
    /// Ids of its normal dependencies: those of tests and build scripts do not count.
    normal: Vec<String>,
}

/// The graph that `cargo metadata` gives for the platforms that we build for.
pub(crate) struct Graph {
    packages: BTreeMap<String, Package>,
}

impl Graph {
    pub(crate) fn get() -> &'static Self {
        static GRAPH: OnceLock<Graph> = OnceLock::new();
        GRAPH.get_or_init(|| Self::read(&metadata()))
    }

    pub(crate) fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// Names of a package's direct dependencies.
    pub(crate) fn direct(&self, name: &str) -> BTreeSet<&str> {
        let package = self
            .packages()
            .find(|p| p.name == name)
            .unwrap_or_else(|| panic!("no package {name}"));
        package
            .normal
            .iter()
            .map(|id| self.packages[id].name.as_str())
            .collect()
    }

    /// A shortest way from a package to one that `wanted` accepts, as names.
    pub(crate) fn path_to(&self, name: &str, wanted: impl Fn(&str) -> bool) -> Option<Vec<&str>> {
        let start = self
            .packages
            .iter()
            .find(|(_, p)| p.name == name)
            .map(|(id, _)| id)?;
        let mut paths = std::collections::VecDeque::from([vec![start]]);
        let mut seen = BTreeSet::from([start]);
        while let Some(path) = paths.pop_front() {
            let package = &self.packages[path[path.len() - 1]];
            if path.len() > 1 && wanted(&package.name) {
                return Some(
                    path.into_iter()
                        .map(|id| self.packages[id].name.as_str())
                        .collect(),
                );
            }
            for next in package.normal.iter().filter(|id| seen.insert(id)) {
                paths.push_back(path.iter().copied().chain([next]).collect());
            }
        }
        None
    }

    fn read(metadata: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut packages: BTreeMap<String, Package> = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            packages.insert(
                text(&package["id"]),
                Package {
                    name: text(&package["name"]),
                    version: text(&package["version"]),
                    licence: text(&package["license"]),
                    normal: Vec::new(),
                },
            );
        }
        for node in list(&metadata["resolve"]["nodes"]) {
            let is_normal = |dep: &&Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let deps = list(&node["deps"]);
            let normal = deps
                .iter()
                .filter(is_normal)
                .map(|dep| text(&dep["pkg"]))
                .collect();
            packages
                .get_mut(text(&node["id"]).as_str())
                .expect("a node is a package")
                .normal = normal;
        }
        assert!(
            packages.len() > 100,
            "cargo metadata gave {} packages only",
            packages.len()
        );
        Self { packages }
    }
}

fn metadata() -> Value {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args([
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
            "--filter-platform",
            "aarch64-unknown-linux-gnu",
        ])
        .current_dir(root())
        .output()
        .expect("cargo can be started");
    assert!(
        output.status.success(),
        "cargo metadata failed; when Cargo.lock is stale, run `cargo build` and commit it:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// Tracked files that are text, with their content.
pub(crate) fn text_files() -> Vec<(String, String)> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .expect("git can be started");
    assert!(
        output.status.success(),
        "git ls-files failed: these tests need a git checkout"
    );
    let names = String::from_utf8(output.stdout).expect("file names are UTF-8");
    let names = names.split('\0').filter(|name| !name.is_empty());
    let read = |name: &str| {
        std::fs::read_to_string(root().join(name))
            .ok()
            .map(|text| (name.to_owned(), text))
    };
    let files: Vec<_> = names.filter_map(read).collect();
    assert!(
        files.len() > 50,
        "only {} tracked text files were found",
        files.len()
    );
    files
}
