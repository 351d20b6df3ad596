# Shared by the scripts in tools/: where things are. Source it; it changes nothing.
# shellcheck shell=bash
CNE_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export CNE_ROOT
export CNE_CACHE="${CNE_CACHE:-$HOME/.cache/cne}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$CNE_CACHE/target}"
export CNE_VENV="$CNE_CACHE/venv"
export CNE_COMET_VERSION=1.2.0
export CNE_SPARK_VERSION=4.1.3
export CNE_COMET_JAR="$CNE_CACHE/jars/comet-spark-spark4.1_2.13-$CNE_COMET_VERSION.jar"
export CNE_SPARK_TESTS_JAR="$CNE_CACHE/jars/spark-sql_2.13-$CNE_SPARK_VERSION-tests.jar"
# Spark resolves the machine's name at start, which fails or is slow on machines without a resolver entry.
export SPARK_LOCAL_IP="${SPARK_LOCAL_IP:-127.0.0.1}"

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
