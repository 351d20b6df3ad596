//! `docs/compatibility.md`: each part of the contract, what the planner says of it, and whether a case proves it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

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
static EVIDENCE: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| include_str!("../evidence.txt").lines().collect());

/// A case that ended equal outweighs a probe with an empty message.
fn row(word: &str, name: &str, refusal: impl FnOnce() -> Option<String>) -> (String, State) {
    let state = if EVIDENCE.contains(format!("{word} {name}").as_str()) {
        State::Native
    } else {
        refusal().map_or(State::Unproven, State::Refused)
    };
    (name.to_owned(), state)
}

fn part<'n, T>(
    title: &'static str,
    word: &str,
    all: &'n [T],
    name: impl Fn(&'n T) -> &'n str,
    refusal: impl Fn(&T) -> Option<String>,
) -> Part {
    let rows = all.iter().map(|one| row(word, name(one), || refusal(one)));
    Part {
        title,
        rows: rows.collect(),
    }
}

/// All tables but that of the casts.
#[must_use]
pub fn parts() -> Vec<Part> {
    let kinds = |title, word, all: Vec<Field>, refusal: fn(&Field) -> Option<String>| {
        part(title, word, &all, |kind| &kind.name, refusal)
    };
    let names = |title, word, all: Vec<&str>, refusal: fn(&str) -> Option<String>| {
        part(title, word, &all, |name| name, |name| refusal(name))
    };
    let aggregates = contract::kinds("spark.spark_expression.AggExpr");
    let operators = contract::kinds("spark.spark_operator.Operator");
    let expressions = contract::kinds("spark.spark_expression.Expr");
    vec![
        kinds("Operators", "operator", operators, probe::operator),
        kinds("Expressions", "expression", expressions, probe::expression),
        names(
            "Scalar functions",
            "function",
            contract::functions(),
            probe::function,
        ),
        kinds("Aggregate functions", "aggregate", aggregates, probe::aggregate),
        names(
            "Window functions",
            "window",
            contract::window_functions(),
            probe::window_function,
        ),
        kinds(
            "Aggregate functions over windows",
            "window aggregate",
            contract::window_aggregates(),
            probe::window_aggregate,
        ),
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
