"""Bad input: a clear error that names what is wrong, and nothing left running."""
import uuid

import pytest
from pyarrow import ArrowException

from cne_e2e import pool, session, wire
from cne_e2e.paths import CACHE
from cne_e2e.semantics import Settings

# How long a driver goes on asking a scheduler that does not answer.
PATIENCE = [("spark.comet.nativeExecutors.scheduler.timeout", "2s")]
RECOVERY = "spark.comet.nativeExecutors.recoveryTimeout"


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
    ({"stages": [wire.nested_stage(3000)]}, "CNE-1007", ("2000",)),
    ({"stages": [wire.scan_stage({"fs.s3a.secret.key": "hush"})]}, "CNE-1010", ("fs.s3a.secret.key",)),
    ({"stages": [wire.scan_stage({"fs.s3a.bucket.b.session.token": "hush"})]}, "CNE-1010", ("fs.s3a.bucket.b.session.token",)),
    ({"stages": [wire.scan_stage({"fs.s3a.endpoint": "http://hush"})]}, "CNE-1010", ("fs.s3a.endpoint",)),
    ({"stages": [wire.scan_stage({"fs.s3a.comet.credential.provider.class": "hush"})]}, "CNE-1010", ("provider.class",)),
    ({"stages": [wire.scan_stage({}, "s3a://user:hush@bucket/t/a.parquet")]}, "CNE-1010", ("***@bucket",)),
    ({"config": {"spark.hadoop.fs.s3a.secret.key": "hush"}}, "CNE-1004", ("spark.hadoop.fs.s3a.secret.key",)),
    ({"stages": [wire.scan_stage({}, "hdfs://namenode/t/a.parquet")]}, "CNE-1012", ("hdfs",)),
    ({"stages": [wire.scan_stage({}, "file:///etc/passwd")]}, "CNE-1011", ("/etc/passwd",)),
    # Stage 0 reads stage 0: a cycle; stage 0 reads stage 7: not there.
    ({"stages": [wire.blob(1, "Union") + wire.blob(2, wire.number(1, 0) + wire.blob(2, b"")) + wire.blob(11, b"")]}, "CNE-1009", ()),
    ({"stages": [wire.blob(1, "Union") + wire.blob(2, wire.number(1, 7) + wire.blob(2, b"")) + wire.blob(11, b"")]}, "CNE-1009", ("7",)),
])
def test_request_is_refused(live_pool, idle, change, code, named):
    text = refused(live_pool, wire.request(str(uuid.uuid4()), **change))
    assert code in text and all(n in text for n in named), text
    assert "hush" not in text
    idle()


def test_truncated_request(live_pool):
    assert "CNE-1008" in refused(live_pool, wire.request(str(uuid.uuid4()))[:-2])


def test_too_large_request():
    with pool.temporary(executors=0, scheduler_env={"CNE_MAX_REQUEST_BYTES": "64KiB"}) as p:
        assert "CNE-1005" in refused(p, wire.request(str(uuid.uuid4()), stages=[wire.inline_stage(b"x" * 100_000)]))


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
    nowhere = f"grpc://127.0.0.1:{pool.free_port()}"
    spark.conf.set(session.URL, nowhere)
    try:
        with Settings(spark, PATIENCE), pytest.raises(Exception, match="CNE-5001") as e:
            spark.sql("SELECT count(*) AS c FROM nation").collect()
        assert nowhere in str(e.value)
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


def test_full_work_directory(spark, idle):
    """A sort that has to spill more than it may: a typed error, nothing left on the disk, and the next query works."""
    url = spark.conf.get(session.URL)
    env = {"CNE_SPILL_QUOTA": "1MiB"}
    with pool.temporary(executors=1, slots=1, memory_bytes=16 << 20, executor_env=env) as p:
        spark.conf.set(session.URL, p.url)
        try:
            with pytest.raises(Exception, match="CNE-2006"):
                spark.sql("SELECT l.*, r_comment FROM lineitem l, region ORDER BY l_comment, r_comment").tail(1)
            assert spark.sql("SELECT count(*) AS c FROM nation").collect()[0].c == 25
            left = [f for f in (p.state / "executor-1-work").rglob("*") if f.is_file() and f.name != ".lock"]
            assert not left and not any(h["tasks_running"] for h in p.executor_health().values()), left
        finally:
            spark.conf.set(session.URL, url)


def test_scheduler_stops_in_the_middle_and_does_not_come_back(spark):
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
            # Of an accepted query; it waits for a scheduler that is started again.
            spark.conf.set(RECOVERY, "2s")
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            end = time.monotonic() + 30
            while not any(h["tasks_running"] for h in p.executor_health().values()):
                assert thread.is_alive() and time.monotonic() < end, outcome
                time.sleep(0.05)
            p.kill("scheduler")
            thread.join(30)
            assert not thread.is_alive() and "CNE-5001" in outcome.get("error", ""), outcome
        finally:
            spark.conf.set(session.URL, url)
            spark.conf.unset(RECOVERY)
