"""Where things are and which versions they have. Everything downloaded or generated is below `CACHE`."""
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CACHE = Path(os.environ.get("CNE_CACHE") or Path.home() / ".cache" / "cne")
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or CACHE / "target")
SPARK_VERSION = "4.1.3"
COMET_VERSION = "1.2.0"
COMET_JAR = CACHE / "jars" / f"comet-spark-spark4.1_2.13-{COMET_VERSION}.jar"
TABLES = {
    "tpch": ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"),
    "tpcds": ("call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer", "customer_address", "customer_demographics",
              "date_dim", "household_demographics", "income_band", "inventory", "item", "promotion", "reason", "ship_mode", "store",
              "store_returns", "store_sales", "time_dim", "warehouse", "web_page", "web_returns", "web_sales", "web_site"),
}
# Spark's own tests: the texts of TPC-DS are in it.
SPARK_TESTS_JAR = CACHE / "jars" / f"spark-sql_2.13-{SPARK_VERSION}-tests.jar"


def profile() -> str:
    """The build profile whose binaries are run: CNE_PROFILE, `debug` unless set."""
    value = os.environ.get("CNE_PROFILE", "debug")
    if value not in ("debug", "release"):
        raise SystemExit(f"CNE_PROFILE must be debug or release, not {value}")
    return value


def binary(name: str) -> Path:
    """Path of a built binary of the pool; exits with the command that builds it when there is none."""
    path = TARGET / profile() / name
    if not path.exists():
        flag = " --release" if profile() == "release" else ""
        raise SystemExit(f"{path} is missing: run `cargo build --workspace --bins{flag}`")
    return path


def driver_jar() -> Path:
    """The shaded driver jar: CNE_DRIVER_JAR, or the one that Maven left in driver/target."""
    if os.environ.get("CNE_DRIVER_JAR"):
        return Path(os.environ["CNE_DRIVER_JAR"])
    other = re.compile(r"^original-|-(sources|javadoc|tests|unshaded)\.jar$")
    jars = [j for j in (ROOT / "driver" / "target").glob("*.jar") if not other.search(j.name)]
    if not jars:
        raise SystemExit("the driver jar is missing: run `mvn -f driver/pom.xml package`")
    return max(jars, key=lambda j: j.stat().st_mtime)


def data(suite: str, scale: str) -> Path:
    """Folder of the tables of `tpch` or `tpcds` at a scale factor; generates them when they are missing."""
    out = subprocess.run([ROOT / "tools" / "tpc-data", suite, str(scale)], check=True, stdout=subprocess.PIPE, text=True)
    return Path(out.stdout.strip().splitlines()[-1])
