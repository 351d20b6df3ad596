"""Bad input: a clear error that names what is wrong, and nothing left running."""
import uuid

import pytest
from pyarrow import ArrowException, flight

from cne_e2e import pool, session, wire
from cne_e2e.paths import CACHE


def refused(live_pool, data: bytes) -> str:
    # pyarrow has classes of its own for some status codes, not all of them Flight errors.
    with pytest.raises(ArrowException) as e:
        wire.submit(live_pool.flight, data)
    return str(e.value)


def test_a_right_request_is_not_refused_for_its_head(live_pool):
    """The other tests mean something only when the unchanged request gets past the checks they are about."""
    text = refused(live_pool, wire.request(str(uuid.uuid4())))
    assert not any(c in text for c in ("CNE-1001", "CNE-1002", "CNE-1003", "CNE-1004", "CNE-1006", "CNE-1007", "CNE-1009")), text


@pytest.mark.parametrize("change, code, named", [
    ({"comet_version": "1.1.0"}, "CNE-1001", ("1.1.0", "1.2.0")),
    ({"schema_fingerprint": "0" * 64}, "CNE-1002", ("0" * 64, "f6ffd54c")),
    ({"spark_version": "3.5.9"}, "CNE-1003", ("3.5.9", "4.1.3")),
    ({"config": {"spark.sql.legacy.no.such": "true"}}, "CNE-1004", ("spark.sql.legacy.no.such",)),
    ({"extra": wire.blob(500, "x")}, "CNE-1006", ("500",)),
    ({"stages": []}, "CNE-1008", ()),
    # Stage 0 reads stage 0: a cycle; stage 0 reads stage 7: not there.
    ({"stages": [wire.blob(1, "Union") + wire.blob(2, wire.number(1, 0) + wire.blob(2, b"")) + wire.blob(11, b"")]}, "CNE-1009", ()),
    ({"stages": [wire.blob(1, "Union") + wire.blob(2, wire.number(1, 7) + wire.blob(2, b"")) + wire.blob(11, b"")]}, "CNE-1009", ("7",)),
])
def test_request_is_refused(live_pool, idle, change, code, named):
    text = refused(live_pool, wire.request(str(uuid.uuid4()), **change))
    assert code in text and all(n in text for n in named), text
    idle()


def test_truncated_request(live_pool):
    assert "CNE-1008" in refused(live_pool, wire.request(str(uuid.uuid4()))[:-2])


def test_too_large_request():
    with pool.temporary(executors=0, scheduler_env={"CNE_MAX_REQUEST_BYTES": "64KiB"}) as p:
        assert "CNE-1005" in refused(p, wire.request(str(uuid.uuid4()), stages=[wire.inline_stage(b"x" * 100_000)]))


def test_forged_ticket(live_pool):
    for address in live_pool.executor_flight.values():
        with flight.connect(f"grpc://{address}") as client, pytest.raises(flight.FlightError, match="CNE-4001"):
            client.do_get(flight.Ticket(wire.blob(1, b"ticket") + wire.blob(2, "local") + wire.blob(3, b"\0" * 32))).read_all()


@pytest.mark.parametrize("query, named", [
    ("SELECT java_method('java.lang.Math', 'abs', n_nationkey) AS x FROM nation", ("reflect", "java_method", "CallMethodViaReflection")),
    ("SELECT upper(n_name) AS x, months_between(DATE'2020-01-01', DATE'2019-01-01' + n_nationkey) AS m FROM nation", ("months", "jvm_scalar_udf")),
    ("SELECT n_nationkey, ntile(3) OVER (ORDER BY n_name) AS x FROM nation", ("window", "Window")),
])
def test_a_query_that_is_not_run_is_refused_by_name(spark, idle, query, named):
    with pytest.raises(Exception) as e:
        spark.sql(query).collect()
    assert any(n.lower() in str(e.value).lower() for n in named), str(e.value)[:1500]
    idle()


def test_python_udf_is_refused(spark):
    from pyspark.sql import functions as f

    twice = f.udf(lambda v: v * 2, "int")
    with pytest.raises(Exception, match="(?i)python"):
        spark.table("nation").select(twice("n_nationkey")).collect()


def test_write_is_refused(spark, tmp_path):
    with pytest.raises(Exception, match="(?i)write|insert"):
        spark.table("nation").write.parquet(str(tmp_path / "out"))


def test_path_outside_the_roots(spark, tmp_path):
    spark.conf.set(session.ENABLED, "false")
    spark.range(3).write.parquet(str(tmp_path / "t"))
    spark.conf.set(session.ENABLED, "true")
    with pytest.raises(Exception, match="CNE-1011"):
        spark.read.parquet(str(tmp_path / "t")).collect()


@pytest.fixture
def table(spark):
    """A Parquet table of ours inside the roots that a test may damage: (folder, its one data file)."""
    folder = CACHE / "run" / f"table-{uuid.uuid4()}"
    spark.conf.set(session.ENABLED, "false")
    spark.range(1000).repartition(1).write.parquet(str(folder))
    spark.conf.set(session.ENABLED, "true")
    yield folder, next(folder.glob("*.parquet"))
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


@pytest.mark.parametrize("damage, code", [
    ("missing", "CNE-2003"), ("empty", "CNE-2004"), ("text", "CNE-2004"), ("truncated", "CNE-2004"), ("flipped", "CNE-2004")])
def test_damaged_file(spark, idle, table, damage, code):
    folder, file = table
    # The schema is given, so that Spark itself does not look into the file.
    df = spark.read.schema("id BIGINT").parquet(str(folder))
    data = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        middle = len(data) // 3
        file.write_bytes({"empty": b"", "text": b"id\n1\n" * 400, "truncated": data[:-50],
                          "flipped": data[:4] + bytes(b ^ 255 for b in data[4:middle]) + data[middle:]}[damage])
    with pytest.raises(Exception, match=code) as e:
        df.selectExpr("sum(id) AS s").collect()
    assert file.name in str(e.value), str(e.value)[:1500]
    idle()


def test_no_scheduler(spark):
    url = spark.conf.get(session.URL)
    spark.conf.set(session.URL, f"grpc://127.0.0.1:{pool.free_port()}")
    try:
        with pytest.raises(Exception, match="(?i)scheduler|unavailable"):
            spark.sql("SELECT count(*) AS c FROM nation").collect()
    finally:
        spark.conf.set(session.URL, url)


def test_no_executor(spark):
    url = spark.conf.get(session.URL)
    with pool.temporary(executors=0, scheduler_env={"CNE_EXECUTOR_WAIT": "1s"}) as p:
        spark.conf.set(session.URL, p.url)
        try:
            with pytest.raises(Exception, match="CNE-3003"):
                spark.sql("SELECT count(*) AS c FROM nation").collect()
        finally:
            spark.conf.set(session.URL, url)


def test_scheduler_stops_in_the_middle(spark):
    import threading
    import time

    url = spark.conf.get(session.URL)
    with pool.temporary() as p:
        spark.conf.set(session.URL, p.url)
        outcome: dict = {}

        def run():
            try:
                outcome["value"] = spark.sql(
                    "SELECT sum(a.l_tax) AS s FROM lineitem a JOIN lineitem b ON a.l_quantity = b.l_quantity AND a.l_comment < b.l_comment").collect()
            except Exception as e:  # what the client sees
                outcome["error"] = str(e)

        try:
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            end = time.monotonic() + 30
            while not any(h["tasks_running"] for h in p.executor_health().values()):
                assert thread.is_alive() and time.monotonic() < end, outcome
                time.sleep(0.05)
            p.kill("scheduler")
            thread.join(30)
            assert not thread.is_alive() and "error" in outcome, outcome
        finally:
            spark.conf.set(session.URL, url)
