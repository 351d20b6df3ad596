"""Spark executors that are processes of their own: they submit the query, wait for it and read its rows. Without one there is an error, not a wait for ever."""
from cne_e2e import cluster

TIMEOUT = "spark.comet.nativeExecutors.sparkExecutorTimeout"


def test_standalone_cluster_without_and_with_a_worker(live_pool):
    with cluster.Standalone() as standalone, cluster.Driver(cluster.executor_conf(live_pool.url, standalone.master) | {TIMEOUT: "3s"}) as driver:
        without = driver.ask(sql="SELECT count(*) FROM range(3)")
        assert "CNE-5006" in without["error"] and TIMEOUT in without["error"], without
        assert without["executors"] == 0 and 3 <= without["seconds"] < 60, without
        standalone.add_worker()
        # The executor of the worker may still be starting.
        first = driver.ask(sql="SELECT sum(id) FROM range(1000)", conf={TIMEOUT: "60s"})
        assert first["rows"] == [["499500"]] and first["executors"] == 1, first
        for name in ("q3", "q15"):
            got = driver.ask(tpch=name)
            assert got["difference"] is None, got
        # More than the waiting task reads itself: a second job of Spark does.
        many = driver.ask(sql="SELECT id FROM range(5000)")
        assert sorted(int(row[0]) for row in many["rows"]) == list(range(5000))


def test_local_cluster_from_no_executor(live_pool):
    """With dynamic allocation: the first executor is asked for only when there is a task for it."""
    conf = cluster.executor_conf(live_pool.url, "local-cluster[1,1,1024]") | cluster.FROM_ZERO | {TIMEOUT: "60s"}
    with cluster.Driver(conf) as driver:
        for name in ("q4", "q13", "q22"):
            got = driver.ask(tpch=name)
            assert got["difference"] is None and got["executors"] == 1, got
