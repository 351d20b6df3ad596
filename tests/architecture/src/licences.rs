//! Everything that goes into a binary may be given on under Apache-2.0.

use crate::{repository::Graph, spdx::is_met};

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

#[test]
fn every_package_has_an_allowed_licence() {
    let allowed = |name: &str| ALLOWED.contains(&name);
    let wrong: Vec<_> = Graph::get()
        .packages()
        .filter(|p| !is_met(&p.licence, &allowed))
        .map(|p| format!("{} {} ({:?})", p.name, p.version, p.licence))
        .collect();
    assert!(
        wrong.is_empty(),
        "no allowed licence: {wrong:#?}. Choose another package, or read the licence and add it to the list"
    );
}
