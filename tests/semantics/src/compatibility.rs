//! `docs/compatibility.md`: each part of the contract, what the planner says of it, and whether a case proves it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::contract::{self, Field};
use crate::probe;

/// What became of one part of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Executed; a case ended equal to plain Spark.
    Native,
    /// The planner takes it, and no case proves it.
    Unproven,
    /// Refused at submission, for this reason.
    Refused(String),
}

impl State {
    fn cells(&self) -> (&'static str, String) {
        match self {
            Self::Native => ("native", String::new()),
            Self::Unproven => (
                "unproven",
                "executed, but no case over columns ended equal".into(),
            ),
            Self::Refused(reason) => ("refused", reason.replace('|', "\\|")),
        }
    }
}

/// A table of the page.
#[derive(Debug)]
pub struct Part {
    /// Its title.
    pub title: &'static str,
    /// Names and what became of them.
    pub rows: Vec<(String, State)>,
}

impl Part {
    /// Number of rows that are native.
    #[must_use]
    pub fn native(&self) -> usize {
        self.rows
            .iter()
            .filter(|(_, state)| *state == State::Native)
            .count()
    }
}

/// What the cases prove: the lines of `evidence.txt`.
#[must_use]
pub fn evidence() -> BTreeSet<&'static str> {
    include_str!("../evidence.txt").lines().collect()
}

fn state(proof: &str, refusal: Option<String>) -> State {
    match refusal {
        Some(reason) => State::Refused(reason),
        None if evidence().contains(proof) => State::Native,
        None => State::Unproven,
    }
}

fn of_kinds(
    kinds: Vec<Field>,
    word: &str,
    refusal: impl Fn(&Field) -> Option<String>,
) -> Vec<(String, State)> {
    kinds
        .into_iter()
        .map(|kind| {
            let proof = format!("{word} {}", kind.name);
            // A case that ended equal outweighs a probe with an empty message.
            let refusal = (!evidence().contains(proof.as_str()))
                .then(|| refusal(&kind))
                .flatten();
            (kind.name.clone(), state(&proof, refusal))
        })
        .collect()
}

/// All tables but that of the casts.
#[must_use]
pub fn parts() -> Vec<Part> {
    let named = |names: Vec<&'static str>, word: &'static str, refusal: fn(&str) -> Option<String>| {
        let rows = names.into_iter().map(move |name| {
            let proof = format!("{word} {name}");
            let refusal = (!evidence().contains(proof.as_str()))
                .then(|| refusal(name))
                .flatten();
            (name.to_owned(), state(&proof, refusal))
        });
        rows.collect::<Vec<_>>()
    };
    vec![
        Part {
            title: "Operators",
            rows: of_kinds(
                contract::kinds("spark.spark_operator.Operator"),
                "operator",
                probe::operator,
            ),
        },
        Part {
            title: "Expressions",
            rows: of_kinds(
                contract::kinds("spark.spark_expression.Expr"),
                "expression",
                probe::expression,
            ),
        },
        Part {
            title: "Scalar functions",
            rows: named(contract::functions(), "function", probe::function),
        },
        Part {
            title: "Aggregate functions",
            rows: of_kinds(
                contract::kinds("spark.spark_expression.AggExpr"),
                "aggregate",
                probe::aggregate,
            ),
        },
        Part {
            title: "Window functions",
            rows: named(contract::window_functions(), "window", probe::window_function),
        },
        Part {
            title: "Aggregate functions over windows",
            rows: of_kinds(
                contract::window_aggregates(),
                "window aggregate",
                probe::window_aggregate,
            ),
        },
    ]
}

/// The page.
#[must_use]
pub fn page() -> String {
    let parts = parts();
    let mut page = String::from(HEAD);
    page.push_str("| part of Comet 1.2.0's contract | native | of |\n|---|--:|--:|\n");
    for part in &parts {
        _ = writeln!(
            page,
            "| {} | {} | {} |",
            part.title.to_lowercase(),
            part.native(),
            part.rows.len()
        );
    }
    let (casts, native, of) = casts();
    _ = writeln!(page, "| casts (pair of types and mode) | {native} | {of} |");
    for part in &parts {
        _ = write!(
            page,
            "\n## {}\n\n| name | state | reason |\n|---|---|---|\n",
            part.title
        );
        for (name, state) in &part.rows {
            let (word, reason) = state.cells();
            _ = writeln!(page, "| `{name}` | {word} | {reason} |");
        }
    }
    page.push_str(&casts);
    page.push_str(&settings());
    page
}

const HEAD: &str = "# Compatibility

What of Comet 1.2.0's plans the pool executes, exactly as Spark 4.1.3 does, and what it refuses at submission. Written by `UPDATE_DOCS=1 cargo test
-p cne-semantics`: the contract is that of Comet's messages, `refused` and its reason come from the planner, and `native` is only what a case over
columns has shown equal to plain Spark (`tests/semantics/evidence.txt`, made by `just evidence`).

A name that is native may still be refused for some types of its arguments: the refusal says which. Expressions without a message in Comet's plan
(those that Comet would run in a JVM) are refused by the driver, by the name of the expression.

";

fn casts() -> (String, usize, usize) {
    let types = probe::cast_types();
    let mut text = String::from(
        "\n## Casts\n\nFrom the rows to the columns: `x` in all three modes, `-` refused, else the modes that are executed (`L` legacy, `A` ANSI, `T` try). \
         Arrays, maps and structs are cast by their parts.\n\n",
    );
    let names: Vec<&str> = types.iter().map(|(name, _)| *name).collect();
    _ = writeln!(
        text,
        "| from | {} |\n|---|{}",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    let (mut native, mut of) = (0, 0);
    for (name, from) in &types {
        let cells = types.iter().map(|(_, to)| {
            let modes = probe::cast_modes(from, to);
            native += modes.len();
            of += 3;
            match modes.len() {
                3 => "x".to_owned(),
                0 => "-".to_owned(),
                _ => modes,
            }
        });
        let cells: Vec<String> = cells.collect();
        _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    (text, native, of)
}

/// The driver's own list.
const SETTINGS: &str =
    include_str!("../../../driver/src/main/resources/org/apache/comet/nativeexecutors/session-settings.tsv");

fn settings() -> String {
    let mut text = String::from(
        "\n## Settings of the session\n\nA `spark.sql.legacy.*` setting away from its default that is not in this list is refused by its name. With `any` every value \
         is right.\n\n| setting | accepted | why |\n|---|---|---|\n",
    );
    for line in SETTINGS.lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().unwrap_or_default();
        let (key, accepted, why) = (cell(), cell(), cell());
        _ = writeln!(text, "| `{key}` | {accepted} | {why} |");
    }
    text
}
