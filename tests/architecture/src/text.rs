//! What the tracked files may contain, and how long they may be.

use crate::repository::text_files;

/// Lines from which a Rust file should become two, and from which it has to.
const LONG: usize = 400;
const TOO_LONG: usize = 800;

/// In pieces, or this file would break its own rule.
const REGISTRY_HOSTS: &[&[&str]] = &[
    &["crates", "io"],
    &["pypi", "org"],
    &["pythonhosted", "org"],
    &["repo1", "maven", "org"],
    &["repo", "maven", "apache", "org"],
    &["registry", "npmjs", "org"],
    &["registry", "yarnpkg", "com"],
    &["proxy", "golang", "org"],
    &["rubygems", "org"],
    &["registry", "terraform", "io"],
];

#[test]
fn no_file_names_the_host_of_a_package_registry() {
    let hosts: Vec<_> = REGISTRY_HOSTS.iter().map(|pieces| pieces.join(".")).collect();
    let mut found = Vec::new();
    for (name, text) in text_files() {
        for (number, line) in text.lines().enumerate() {
            // Cargo writes it into its lock file.
            let is_lock = name == "Cargo.lock" && line.starts_with("source = \"registry+");
            if !is_lock && hosts.iter().any(|host| line.contains(host.as_str())) {
                found.push(format!("{name}:{}", number + 1));
            }
        }
    }
    assert!(
        found.is_empty(),
        "{found:#?} name the host of a package registry: use the client's own configuration (cargo, pip, Maven), so that a mirror works"
    );
}

#[test]
fn rust_files_stay_readable() {
    let mut files: Vec<_> = text_files()
        .into_iter()
        .filter(|(name, _)| name.ends_with(".rs"))
        .map(|(name, text)| (text.lines().count(), name))
        .filter(|(lines, _)| *lines > LONG)
        .collect();
    files.sort();
    for (lines, name) in &files {
        println!("{name} has {lines} lines: over {LONG} it wants to be two files");
    }
    files.retain(|(lines, _)| *lines > TOO_LONG);
    assert!(
        files.is_empty(),
        "over {TOO_LONG} lines, split them by idea: {files:#?}"
    );
}
