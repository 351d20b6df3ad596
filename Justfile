# What can be done here: `./justw --list`. Downloads and builds go to $CNE_CACHE (~/.cache/cne), nothing into the checkout
# but driver/target.

export CNE_CACHE := env("CNE_CACHE", home_directory() / ".cache/cne")
export CARGO_TARGET_DIR := env("CARGO_TARGET_DIR", CNE_CACHE / "target")
export PYTHONPATH := justfile_directory() / "tests/e2e:" + justfile_directory() / "tests/chaos:" + justfile_directory() / "tests/terraform:" + justfile_directory() / "images"
# Which build of the binaries the recipes run that name no other: debug or release.
export CNE_PROFILE := env("CNE_PROFILE", "debug")
python := CNE_CACHE / "venv/bin/python"
sf := env("SF", "")

[private]
default:
    @just --list

# linker, Python environment with PySpark, Comet jar (idempotent)
setup:
    @tools/setup

# scheduler and executor binaries of CNE_PROFILE
[private]
binaries:
    tools/build-binaries

# the shaded driver jar, without its tests
[private]
driver:
    tools/build-driver

# 22 TPC-H queries through the pool and on plain Spark (SF=1 for more); about half an hour cold on 2 cores (release build)
demo: setup
    @echo "== release build: about half an hour on 2 cores the first time, seconds afterwards" >&2
    CNE_PROFILE=release tools/build-binaries
    tools/build-driver
    CNE_PROFILE=release {{python}} -m cne_e2e.tpch --scale {{ if sf == "" { "0.1" } else { sf } }}

# every test (debug build)
test: setup
    tools/test

# start a local pool that stays: one scheduler, two executors (`--tls`: with mutual TLS and a tenant)
up *args: setup binaries driver
    @{{python}} -m cne_e2e.pool up {{args}}

# stop the local pool
down:
    @{{python}} -m cne_e2e.pool down

# is the local pool up, and what do its processes say of themselves
status:
    @{{python}} -m cne_e2e.pool status

# a PySpark shell attached to the local pool
spark scale="0.01":
    @{{python}} -m cne_e2e.shell {{scale}}

# a Spark Connect server attached to the local pool
connect port="15002":
    @{{python}} -m cne_e2e.connect serve --port {{port}}

# TPC-H under default settings, AQE off, ANSI off, no broadcast joins, Spark Connect; last line `N/N equal`
tpch-matrix *args: setup binaries driver
    {{python}} -m cne_e2e.matrix --scale {{ if sf == "" { "0.01" } else { sf } }} {{args}}

# the 103 TPC-DS queries of Spark's own tests through the pool and on plain Spark; last line `tpcds: E/103 equal, refused R, wrong W`
tpcds *args: setup binaries driver
    {{python}} -m cne_e2e.tpcds --scale {{ if sf == "" { "1" } else { sf } }} {{args}}

# TPC-DS with AQE on and off, ANSI off, and without broadcast joins
tpcds-matrix *args: setup binaries driver
    {{python}} -m cne_e2e.tpcds --matrix --scale {{ if sf == "" { "0.01" } else { sf } }} {{args}}

# kill -9 one of two executors in the middle of TPC-H queries, `runs` times
kill-one runs="20" *args: setup binaries driver
    {{python}} -m cne_e2e.kill_one {{runs}} --scale {{ if sf == "" { "0.1" } else { sf } }} {{args}}

# faults in the middle of `runs` queries, on an S3 server: `just chaos 500 1` (see tests/chaos/README.md)
chaos runs="20" seed="1" *args: setup binaries driver
    @tools/setup versitygw
    {{python}} -m cne_chaos {{runs}} {{seed}} {{args}}

# executors are drained in the middle of TPC-H queries, sometimes all of them, `runs` times
scale-in runs="50" *args: setup binaries driver
    @tools/setup versitygw
    {{python}} -m cne_chaos.scale_in {{runs}} --scale {{ if sf == "" { "1" } else { sf } }} {{args}}

# the scheduler is killed and started again in the middle of TPC-H queries, `runs` times
restart-scheduler runs="10" *args: setup binaries driver
    @tools/setup versitygw
    {{python}} -m cne_chaos.restart_scheduler {{runs}} --scale {{ if sf == "" { "1" } else { sf } }} {{args}}

# a shuffle of 200 x 200 tasks and 1 GiB (SF=0.02 for less) on an S3 server: how many requests it makes
shuffle-requests *args: setup binaries driver
    @tools/setup versitygw
    {{python}} -m cne_e2e.shuffle_requests --scale {{ if sf == "" { "1" } else { sf } }} {{args}}

# from no executor to some and back under TPC-H, by the answers of the scheduler's external scaler; last line `scale 0->N->0: ok, ...`
autoscale-demo *args: setup binaries driver
    {{python}} -m cne_e2e.autoscale --scale {{ if sf == "" { "0.1" } else { sf } }} {{args}}

# how fast an executor starts and how small it is at rest: release binaries, best of 3 rounds of 100 starts
coldstart *args: setup
    CNE_PROFILE=release tools/build-binaries
    CNE_PROFILE=release {{python}} -m cne_e2e.coldstart {{args}}

# plain Spark's answers to the semantics cases, made again
golden *args: setup
    {{python}} -m cne_e2e.semantics golden --fresh {{args}}

# the semantics cases on the pool against plain Spark, under nine combinations of zone, partitions and batch size (`--cells all`: eighteen)
semantics *args: setup binaries driver
    {{python}} -m cne_e2e.semantics run --cells pairs {{args}}

# what the semantics cases prove, written down: tests/semantics/evidence.txt and docs/compatibility.md
evidence: setup binaries driver
    {{python}} -m cne_e2e.semantics evidence
    UPDATE_DOCS=1 cargo test --locked -q -p cne-semantics -p workspace-features --test compatibility

# requests of the semantics cases with plain Spark's answers, for `cargo test`: tests/semantics/corpus
corpus: setup binaries driver
    {{python}} -m cne_e2e.corpus

# TPC-H's requests of a real driver, run again in one process without pool and JVM; last line `N/N equal`
replay: setup binaries driver
    {{python}} -m cne_e2e.replay --scale {{ if sf == "" { "0.01" } else { sf } }}

# every link under mutual TLS with real processes: refusals, tenants, and certificates that are exchanged under queries; last line `tls: links L, refusals R of R, ...`
tls-test *args: setup binaries driver
    {{python}} -m cne_e2e.tls {{args}}

# the storage tests that need an S3 server, against a real one on loopback: versitygw or seaweedfs
test-s3 server="versitygw":
    tools/test-s3 {{server}}

# terraform/ with mocks, on a local AWS API and on a real Kubernetes API server; last line `terraform: modules M, ...` (twenty minutes of builds the first time)
terraform-test what="all": setup binaries
    @tools/terraform/setup {{what}}
    @{{python}} -m cne_terraform {{what}}

# the tables of inputs and outputs in the READMEs of terraform/
terraform-docs:
    @{{python}} -m cne_terraform docs
# executors with web identity tokens against a real S3 server and token service: what is right, what is wrong, 50 of them throttled; last line `irsa: cases N, right N, ...`
irsa-test *args: setup binaries driver
    @tools/setup seaweedfs
    {{python}} -m cne_e2e.irsa {{args}}

# TPC-H at scale 1 on the pool, Spark, Comet in Spark, Sail and DuckDB; writes docs/performance.md
bench-quick *args:
    tools/setup peers
    CNE_PROFILE=release tools/build-binaries
    tools/build-driver
    CNE_PROFILE=release {{python}} -m cne_e2e.bench --scale {{ if sf == "" { "1" } else { sf } }} {{args}}

# TPC-DS at scale 1 on the pool, Spark and Comet in Spark; writes a section of docs/performance.md
bench-tpcds *args: setup
    CNE_PROFILE=release tools/build-binaries
    tools/build-driver
    CNE_PROFILE=release {{python}} -m cne_e2e.bench --suite tpcds --scale {{ if sf == "" { "1" } else { sf } }} {{args}}

# TPC-H at scale 1 on an S3 server under each durability; writes a section of docs/performance.md
bench-s3 *args: setup
    @tools/setup versitygw
    CNE_PROFILE=release tools/build-binaries
    tools/build-driver
    CNE_PROFILE=release {{python}} -m cne_e2e.bench_s3 --scale {{ if sf == "" { "1" } else { sf } }} {{args}}

# images of scheduler, executor, Spark driver and S3 server, with bills of materials and archives; installs and starts a container engine
# where there is none; last line `images: ...`
images *args: setup
    tools/build-driver
    {{python}} -m cne_images.build {{args}}

# our crates compiled twice in containers, from checkouts at two paths, and compared (`--whole`: also the dependencies, some hours);
# last line `images-reproducible: ...`
images-reproducible *args: setup
    {{python}} -m cne_images.reproducible {{args}}

# TPC-H at scale 1 through containers of 512 MiB each with mutual TLS; last line `compose-demo: ..., 22/22 equal`
compose-demo *args: setup
    tools/build-driver
    {{python}} -m cne_images.compose --scale {{ if sf == "" { "1" } else { sf } }} {{args}}

# format everything
fmt:
    cargo fmt --all
    tools/driver-format apply

# formatting, lints and documentation, warnings are errors
lint: setup
    tools/lint
