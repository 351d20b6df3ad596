"""TPC-H on five engines with two cores each, same files, one run; writes docs/performance.md.

    python -m cne_e2e.bench [--scale 1] [--engines pool,spark,comet,sail,duckdb] [--no-write]

Every engine runs in a process of its own, one after the other. One query over scale 0.01 warms it up (class loading, connections);
then each of the 22 queries is timed once, from the text to the last row in the client.
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


def _time_all(run, scale: str) -> None:
    """Times the 22 queries; one JSON line each, so that a failure late loses nothing."""
    for name, text in queries.tpch().items():
        start = time.monotonic()
        try:
            answer = run(text)
        except Exception as e:  # an engine that fails one query is still measured on the others
            print(json.dumps({"query": name, "error": f"{type(e).__name__}: {str(e)[:300]}"}), flush=True)
            continue
        seconds = time.monotonic() - start
        wrong = None
        if isinstance(answer, Answer):
            wrong = difference(golden.load(golden.SUITES["tpch"].path_of(scale, "true", text)), answer)
        print(json.dumps({"query": name, "seconds": seconds, "wrong": wrong}), flush=True)


def _spark(spark, scale: str) -> None:
    session.tpch_views(spark, "0.01")
    spark.sql(queries.tpch()["q3"]).collect()
    session.tpch_views(spark, scale)
    _time_all(lambda text: session.answer(spark.sql(text)), scale)
    spark.stop()


def engine_pool(scale: str) -> None:
    """The pool: two executors with one slot each, planning by the real driver included."""
    with pool.temporary(slots=1) as p:
        _spark(session.classic(session.pool_conf(p.url) | session.BENCH_MEMORY), scale)
        print(json.dumps({"query": LATENCY} | latency.summary(latency.first_row_ms(p))), flush=True)


def engine_spark(scale: str) -> None:
    """Plain Spark."""
    _spark(session.classic({"spark.driver.memory": "8g"}), scale)


def engine_comet(scale: str) -> None:
    """Comet inside Spark."""
    _spark(session.classic(session.comet_conf() | session.BENCH_MEMORY), scale)


def engine_sail(scale: str) -> None:
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
        job = {"remote": f"sc://127.0.0.1:{port}", "queries": queries.tpch(), "warm": str(paths.data("tpch", "0.01")),
               "data": str(paths.data("tpch", scale)), "tables": paths.TABLES["tpch"]}
        subprocess.run([str(venv / "python"), str(script)], input=json.dumps(job), text=True, check=True)
    finally:
        server.kill()
        server.wait()


def engine_duckdb(scale: str) -> None:
    """DuckDB over the same Parquet files."""
    import duckdb

    db = duckdb.connect(config={"threads": "2"})

    def views(data: Path) -> None:
        for table in paths.TABLES["tpch"]:
            db.execute(f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM read_parquet('{data / table}/*.parquet')")

    views(paths.data("tpch", "0.01"))
    db.execute(queries.tpch()["q3"]).fetchall()
    views(paths.data("tpch", scale))
    _time_all(lambda text: db.execute(text).fetchall(), scale)


def measure(engine: str, scale: str) -> dict[str, dict]:
    """Runs one engine in a process of its own; its results by query."""
    print(f"{ENGINES[engine]} ...", file=sys.stderr, flush=True)
    process = subprocess.Popen([sys.executable, "-m", "cne_e2e.bench", "--engine", engine, "--scale", scale],
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


def geometric_mean(values) -> float:
    """Of positive numbers; NaN of none."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def report(results: dict[str, dict], scale: str) -> str:
    """The page: seconds per query and engine, ratios to the pool, geometric means, what went wrong."""
    engines = list(results)
    good = {e: {q: r["seconds"] for q, r in results[e].items() if "seconds" in r and not r.get("wrong")} for e in engines}
    lines = [
        "# Performance", "",
        f"TPC-H, scale factor {scale}, on one machine with {os.cpu_count()} cores, {datetime.date.today().isoformat()}. "
        "Made by `SF=" + scale + " just bench-quick`: the same Parquet files for all engines, two cores (threads, slots) each, one engine after the "
        "other, one warm-up query over a small data set, then **one** timed run of each query from its text to the last row in the "
        "client. One run of one machine: differences below a fifth say little.", "",
        "## Seconds", "",
        "| query | " + " | ".join(ENGINES[e] for e in engines) + " |", "|---|" + "--:|" * len(engines)]
    for q in queries.tpch():
        lines.append(f"| {q} | " + " | ".join(f"{good[e][q]:.2f}" if q in good[e] else "-" for e in engines) + " |")
    lines.append("| all | " + " | ".join(f"{sum(good[e].values()):.2f}" for e in engines) + " |")
    others = [e for e in engines if e != "pool"]
    if "pool" in good:
        lines += ["", "## How many times faster the pool is", "", "Below 1 the other engine is ahead.", "",
                  "| query | " + " | ".join(ENGINES[e] for e in others) + " |", "|---|" + "--:|" * len(others)]
        ratios = {e: {q: good[e][q] / s for q, s in good["pool"].items() if q in good[e]} for e in others}
        for q in queries.tpch():
            lines.append(f"| {q} | " + " | ".join(f"{ratios[e][q]:.2f}" if q in ratios[e] else "-" for e in others) + " |")
        lines.append("| **geometric mean** | " + " | ".join(f"**{geometric_mean(ratios[e].values()):.2f}**" for e in others) + " |")
        if ratios.get("comet"):
            mean = geometric_mean(ratios["comet"].values())
            lines += ["", f"Target of this version: 1.5 times ahead of Comet in Spark on the geometric mean. Measured: {mean:.2f}, "
                          + ("met." if mean >= 1.5 else "**missed**.")]
    found = results.get("pool", {}).get(LATENCY)
    if found:
        lines += ["", "## Latency", "", "A query of one row without Spark, from its submission at the scheduler to its first row at the client, 100 one "
                  f"after the other: median {found['median']:.1f} ms, 95th percentile {found['p95']:.1f} ms. Target: under 50 ms, "
                  + ("met." if found["p95"] < 50 else "**missed**.")]
    bad = [f"- {ENGINES[e]}, {q}: {r.get('error') or r.get('wrong')}" for e in engines for q, r in results[e].items()
           if r.get("error") or r.get("wrong")]
    if bad:
        lines += ["", "## Failed or wrong", ""] + bad
    lines += ["", "Answers of the pool, Spark and Comet are compared with plain Spark's; those of Sail and DuckDB are not."]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Runs the benchmark, or one engine of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    pool.interruptible()
    if args.engine:
        globals()[f"engine_{args.engine}"](args.scale)
        return 0
    golden.tpch_answers(args.scale)
    results = {e: measure(e, args.scale) for e in args.engines.split(",")}
    text = report(results, args.scale)
    print(text)
    if not args.no_write:
        (paths.ROOT / "docs").mkdir(exist_ok=True)
        page = paths.ROOT / "docs" / "performance.md"
        # What another recipe measured stays.
        kept = pages.section(page.read_text(), bench_s3.TITLE) if page.exists() else ""
        page.write_text(pages.with_section(text, bench_s3.TITLE, kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
