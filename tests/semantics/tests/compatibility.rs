//! The page is what the code and the cases say.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;

use cne_semantics::compatibility::{State, page, parts};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compatibility.md");

#[test]
fn the_page_is_up_to_date() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let written = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        written == page,
        "docs/compatibility.md is not what the code says: UPDATE_DOCS=1 cargo test -p cne-semantics"
    );
}

/// What is executed is proven by a case; nothing is taken on trust.
#[test]
fn what_is_executed_has_a_case() {
    for part in parts() {
        let unproven: Vec<_> = part
            .rows
            .iter()
            .filter(|(_, state)| *state == State::Unproven)
            .collect();
        assert!(unproven.is_empty(), "{}: {unproven:?}", part.title);
    }
}
