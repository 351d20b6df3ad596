"""Spark executors that are processes of their own: they submit the query, wait for it and read its rows. Without one there is an error, not a wait for ever."""
import shutil
from pathlib import Path

from cne_e2e import cluster, pool, session
from cne_e2e.certificates import Authority
from cne_e2e.security import Security

PREFIX = "spark.comet.nativeExecutors."
TIMEOUT = PREFIX + "sparkExecutorTimeout"
FEW = "SELECT count(*) FROM range(3)"


def test_standalone_cluster_without_and_with_a_worker(live_pool):
    with cluster.Standalone() as standalone, cluster.Driver(cluster.executor_conf(live_pool.url, standalone.master) | {TIMEOUT: "3s"}) as driver:
        without = driver.ask(sql=FEW)
        assert "CNE-5006" in without["error"] and TIMEOUT in without["error"], without
        assert without["executors"] == 0 and 3 <= without["seconds"] < 60, without
        standalone.add_worker()
        # The executor of the worker may still be starting.
        first = driver.ask(sql="SELECT sum(id) FROM range(1000)", conf={TIMEOUT: "60s"})
        assert first["rows"] == [["499500"]] and first["executors"] == 1, first
        equal(driver, "q3", "q15")
        many(driver)


def test_tls_with_tokens_and_certificates():
    served = {"CNE_ACCEPTED_SPARK_VERSIONS": "4.1.1-amzn-0"}
    with pool.temporary(executors=1, security=Security, scheduler_env=served) as p:
        assert p.health()["spark_versions"] == ["4.1.3", "4.1.1-amzn-0"]
        local_cluster_with_a_token(p)
        local_with_a_certificate(p)


def local_cluster_with_a_token(p: pool.Pool) -> None:
    """Dynamic allocation: the first executor is asked for only when there is a task for it. Spark ships the CA to it."""
    conf = cluster.executor_conf(p.url, "local-cluster[1,1,1024]") | cluster.FROM_ZERO | p.security.driver_conf()
    ca = {"spark.files": conf[PREFIX + "tls.ca"], PREFIX + "tls.ca": Path(conf[PREFIX + "tls.ca"]).name}
    with cluster.Driver(conf | ca | {TIMEOUT: "60s"}) as driver:
        equal(driver, "q4", "q22")
        token = Path(conf[PREFIX + "auth.tokenFile"])
        right = token.read_text()
        token.write_text("hush")
        refused = driver.ask(sql=FEW)
        assert "CNE-4005" in refused["error"] and PREFIX + "auth.tokenFile" in refused["error"] and "hush" not in refused["error"], refused
        token.write_text(right)
        many(driver)
        # The session may not send the token elsewhere.
        elsewhere = driver.ask(sql=FEW, conf={PREFIX + "scheduler.url": "grpc://127.0.0.1:1"})
        assert "scheduler.url is set when the application starts" in elsewhere["error"], elsewhere


def local_with_a_certificate(p: pool.Pool) -> None:
    """A certificate that is replaced counts for the next connection."""
    conf = p.security.driver_conf(token=False)
    with cluster.Driver(session.pool_conf(p.url) | conf) as driver:
        many(driver)
        stranger = Authority(p.security.folder / "strangers", "strangers").issue(p.security.folder / "stranger", "DNS:acme.drivers.internal")
        shutil.copy(stranger.cert, conf[PREFIX + "tls.cert"])
        shutil.copy(stranger.key, conf[PREFIX + "tls.key"])
        refused = driver.ask(sql=FEW)
        # The JVM does not show a certificate of an authority that the pool does not ask for.
        assert "CNE-4005" in refused["error"] and PREFIX + "tls.cert" in refused["error"], refused


def equal(driver: cluster.Driver, *names: str) -> None:
    """Queries of TPC-H are plain Spark's, with one executor of Spark."""
    for name in names:
        got = driver.ask(tpch=name)
        assert got["difference"] is None and got["executors"] == 1, got


def many(driver: cluster.Driver) -> None:
    """More rows than the waiting task reads itself: a second job of Spark does."""
    got = driver.ask(sql="SELECT id FROM range(5000)")
    assert "rows" in got and sorted(int(row[0]) for row in got["rows"]) == list(range(5000)), got
