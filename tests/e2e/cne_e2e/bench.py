"""TPC-H on five engines, or TPC-DS on three, with two cores each, same files, one run; writes docs/performance.md.

    python -m cne_e2e.bench [--suite tpch|tpcds] [--scale 1] [--engines pool,spark,comet,sail,duckdb] [--no-write]

Every engine runs in a process of its own, one after the other. One query over scale 0.01 warms it up (class loading, connections);
then each of the queries is timed once, from the text to the last row in the client.
"""
import argparse
import datetime
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

from . import bench_s3, golden, latency, pages, paths, pool, queries, session
from .compare import Answer, difference

ENGINES = {
    "pool": "pool, 2 task slots",
    "spark": "Spark 4.1.3 local[2]",
    "comet": "Comet 1.2.0 in Spark local[2]",
    "sail": "Sail 0.7.2, 2 threads",
    "duckdb": "DuckDB 1.5.5, 2 threads",
}
# Beside the queries: a one-row query at the scheduler.
LATENCY = "latency"
# The engines that run the texts as they are.
SUITE_ENGINES = {"tpch": list(ENGINES), "tpcds": ["pool", "spark", "comet"]}
TPCDS_TITLE = "## TPC-DS"
# How far the pool is to be ahead of Comet in Spark, on the geometric mean.
TARGET = 1.5


def _time_all(run, suite: str, scale: str) -> None:
    """Times the queries; one JSON line each, so that a failure late loses nothing."""
    for name, text in golden.SUITES[suite].texts().items():
        start = time.monotonic()
        try:
            answer = run(text)
        except Exception as e:  # an engine that fails one query is still measured on the others
            print(json.dumps({"query": name, "error": f"{type(e).__name__}: {str(e)[:300]}"}), flush=True)
            continue
        seconds = time.monotonic() - start
        wrong = None
        if isinstance(answer, Answer):
            wrong = difference(golden.load(golden.SUITES[suite].path_of(scale, "true", text)), answer)
        print(json.dumps({"query": name, "seconds": seconds, "wrong": wrong}), flush=True)


def _spark(spark, suite: str, scale: str) -> None:
    session.views(spark, suite, "0.01")
    spark.sql(golden.SUITES[suite].texts()["q3"]).collect()
    session.views(spark, suite, scale)
    _time_all(lambda text: session.answer(spark.sql(text)), suite, scale)
    spark.stop()


def engine_pool(suite: str, scale: str) -> None:
    """The pool: two executors with one slot each, planning by the real driver included."""
    with pool.temporary(slots=1) as p:
        _spark(session.classic(session.pool_conf(p.url) | session.BENCH_MEMORY), suite, scale)
        print(json.dumps({"query": LATENCY} | latency.summary(latency.first_row_ms(p))), flush=True)


def engine_spark(suite: str, scale: str) -> None:
    """Plain Spark."""
    _spark(session.classic({"spark.driver.memory": "8g"}), suite, scale)


def engine_comet(suite: str, scale: str) -> None:
    """Comet inside Spark."""
    _spark(session.classic(session.comet_conf() | session.BENCH_MEMORY), suite, scale)


def engine_sail(suite: str, scale: str) -> None:
    """Sail's server and a Connect client, in Sail's own Python environment."""
    port = pool.free_port()
    venv = paths.CACHE / "venv-sail" / "bin"
    env = os.environ | {"RAYON_NUM_THREADS": "2", "TOKIO_WORKER_THREADS": "2", "SAIL_EXECUTION__DEFAULT_PARALLELISM": "2",
                        "PATH": f"{venv}:{os.environ['PATH']}"}
    server = subprocess.Popen([str(venv / "sail"), "spark", "server", "--port", str(port)], env=env, stdin=subprocess.DEVNULL,
                              stdout=sys.stderr, stderr=sys.stderr, preexec_fn=pool.die_with_parent)
    try:
        # The texts come from DuckDB's extension, which Sail's environment does not have.
        script = Path(__file__).with_name("sail_client.py")
        job = {"remote": f"sc://127.0.0.1:{port}", "queries": golden.SUITES[suite].texts(), "warm": str(paths.data(suite, "0.01")),
               "data": str(paths.data(suite, scale)), "tables": paths.TABLES[suite]}
        subprocess.run([str(venv / "python"), str(script)], input=json.dumps(job), text=True, check=True)
    finally:
        server.kill()
        server.wait()


def engine_duckdb(suite: str, scale: str) -> None:
    """DuckDB over the same Parquet files."""
    import duckdb

    db = duckdb.connect(config={"threads": "2"})

    def views(data: Path) -> None:
        for table in paths.TABLES[suite]:
            db.execute(f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM read_parquet('{data / table}/*.parquet')")

    views(paths.data(suite, "0.01"))
    db.execute(golden.SUITES[suite].texts()["q3"]).fetchall()
    views(paths.data(suite, scale))
    _time_all(lambda text: db.execute(text).fetchall(), suite, scale)


def measure(engine: str, suite: str, scale: str) -> dict[str, dict]:
    """Runs one engine in a process of its own; its results by query."""
    print(f"{ENGINES[engine]} ...", file=sys.stderr, flush=True)
    process = subprocess.Popen([sys.executable, "-m", "cne_e2e.bench", "--engine", engine, "--suite", suite, "--scale", scale],
                               stdout=subprocess.PIPE, text=True)
    out = {}
    for line in process.stdout:
        if line.startswith("{"):
            one = json.loads(line)
            out[one["query"]] = one
            text = one.get("error") or one.get("wrong") or (f"{one['seconds']:.2f} s" if "seconds" in one else f"{one['median']:.1f} ms")
            print(f"  {one['query']:<4} {text}", file=sys.stderr, flush=True)
    if process.wait() != 0:
        print(f"  {engine} ended with {process.returncode}", file=sys.stderr)
    return out


def read_files(suite: str, scale: str) -> None:
    """Brings the tables into the page cache, so that the engine that comes first does not pay for the disk."""
    for file in paths.data(suite, scale).rglob("*.parquet"):
        file.read_bytes()


def geometric_mean(values) -> float:
    """Of positive numbers; NaN of none."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _how(suite: str, scale: str) -> str:
    """What was measured, where and how."""
    name, recipe = {"tpch": ("TPC-H", "bench-quick"), "tpcds": ("TPC-DS", "bench-tpcds")}[suite]
    return (f"{name}, scale factor {scale}, on one machine with {os.cpu_count()} cores, {datetime.date.today().isoformat()}. "
            f"Made by `SF={scale} just {recipe}`: the same Parquet files, in the page cache, for all engines, two cores (threads, slots) each, one engine after the "
            "other, one warm-up query over a small data set, then **one** timed run of each query from its text to the last row in the "
            "client. One run of one machine: differences below a fifth say little.")


def _seconds(results: dict[str, dict]) -> dict[str, dict[str, float]]:
    """Seconds by engine and query of what ended with the right answer."""
    return {e: {q: r["seconds"] for q, r in of.items() if "seconds" in r and not r.get("wrong")} for e, of in results.items()}


def _tables(results: dict[str, dict], names, level: str) -> list[str]:
    """Lines of the tables: seconds, ratios to the pool with their geometric means, the target, and what went wrong."""
    engines, good = list(results), _seconds(results)
    # Sums of different queries cannot be compared.
    common = [q for q in names if all(q in good[e] for e in engines)]
    lines = [f"{level} Seconds", "", "| query | " + " | ".join(ENGINES[e] for e in engines) + " |", "|---|" + "--:|" * len(engines)]
    for q in names:
        lines.append(f"| {q} | " + " | ".join(f"{good[e][q]:.2f}" if q in good[e] else "-" for e in engines) + " |")
    lines.append(f"| the {len(common)} that all ran | " + " | ".join(f"{sum(good[e][q] for q in common):.2f}" for e in engines) + " |")
    others = [e for e in engines if e != "pool"]
    if "pool" in good:
        lines += ["", f"{level} How many times faster the pool is", "", "Below 1 the other engine is ahead.", "",
                  "| query | " + " | ".join(ENGINES[e] for e in others) + " |", "|---|" + "--:|" * len(others)]
        ratios = {e: {q: good[e][q] / s for q, s in good["pool"].items() if q in good[e]} for e in others}
        for q in names:
            lines.append(f"| {q} | " + " | ".join(f"{ratios[e][q]:.2f}" if q in ratios[e] else "-" for e in others) + " |")
        lines.append("| **geometric mean** | " + " | ".join(f"**{geometric_mean(ratios[e].values()):.2f}**" for e in others) + " |")
        if ratios.get("comet"):
            mean = geometric_mean(ratios["comet"].values())
            behind = [q for q, ratio in ratios["comet"].items() if ratio < 1]
            lines += ["", f"Target of this version: {TARGET} times ahead of Comet in Spark on the geometric mean. Measured: {mean:.2f}, "
                          + ("met." if mean >= TARGET else "**missed**.")
                          + (f" Behind Comet in Spark: {', '.join(behind)}." if behind else "")]
    bad = [f"- {ENGINES[e]}, {q}: {' '.join((r.get('error') or r.get('wrong')).split())}" for e in engines for q, r in results[e].items()
           if r.get("error") or r.get("wrong")]
    return lines + (["", f"{level} Failed, refused or wrong", ""] + bad if bad else [])


def report(results: dict[str, dict], scale: str) -> str:
    """The page of TPC-H."""
    lines = ["# Performance", "", _how("tpch", scale), ""] + _tables(results, queries.tpch(), "##")
    found = results.get("pool", {}).get(LATENCY)
    if found:
        lines += ["", "## Latency", "", "A query of one row without Spark, from its submission at the scheduler to its first row at the client, 100 one "
                  f"after the other: median {found['median']:.1f} ms, 95th percentile {found['p95']:.1f} ms. Target: under 50 ms, "
                  + ("met." if found["p95"] < 50 else "**missed**.")]
    lines += ["", "Answers of the pool, Spark and Comet are compared with plain Spark's; those of Sail and DuckDB are not."]
    return "\n".join(lines) + "\n"


def tpcds_section(results: dict[str, dict], scale: str) -> str:
    """The section of TPC-DS."""
    lines = [TPCDS_TITLE, "", _how("tpcds", scale) + " All answers are compared with plain Spark's.", ""]
    return "\n".join(lines + _tables(results, queries.tpcds(), "###")) + "\n"


def write_page(page: Path, suite: str, results: dict[str, dict], scale: str) -> str:
    """Writes what was measured and leaves what other recipes measured; the new text."""
    if suite == "tpcds":
        text = tpcds_section(results, scale)
        pages.write_section(page, TPCDS_TITLE, text)
        return text
    text = report(results, scale)
    old = page.read_text() if page.exists() else ""
    whole = text
    for title in (TPCDS_TITLE, bench_s3.TITLE):
        whole = pages.with_section(whole, title, pages.section(old, title))
    page.write_text(whole)
    return text


def main() -> int:
    """Runs the benchmark, or one engine of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="tpch", choices=SUITE_ENGINES)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--engines")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    pool.interruptible()
    if args.engine:
        globals()[f"engine_{args.engine}"](args.suite, args.scale)
        return 0
    engines = args.engines.split(",") if args.engines else SUITE_ENGINES[args.suite]
    odd = set(engines) - set(SUITE_ENGINES[args.suite])
    if odd:
        parser.error(f"{args.suite} runs on {', '.join(SUITE_ENGINES[args.suite])}, not on {', '.join(sorted(odd))}")
    golden.answers(args.suite, args.scale)
    read_files(args.suite, args.scale)
    results = {e: measure(e, args.suite, args.scale) for e in engines}
    if args.no_write:
        print(report(results, args.scale) if args.suite == "tpch" else tpcds_section(results, args.scale))
        return 0
    (paths.ROOT / "docs").mkdir(exist_ok=True)
    print(write_page(paths.ROOT / "docs" / "performance.md", args.suite, results, args.scale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
