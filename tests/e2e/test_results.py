"""Results over plain Flight: who may read them, and what is left of a client that goes away."""
import time
import uuid

import pytest
from pyarrow import ArrowException, flight

from cne_e2e import wire


@pytest.fixture(scope="module")
def result(live_pool):
    """Where the rows of a query are that is large enough not to fit into the buffers of a connection."""
    return wire.submit(live_pool.flight, wire.request(str(uuid.uuid4()), stages=[wire.rows_stage(3_000_000)]))


@pytest.fixture(params=[0, 1], ids=["one executor", "the other"])
def executor(live_pool, request):
    """A connection to an executor."""
    address = sorted(live_pool.executor_flight.values())[request.param]
    with flight.connect(f"grpc://{address}") as client:
        yield client


def ticket(result) -> dict:
    """What the one ticket of the result says."""
    return wire.fields(wire.fields(result.endpoints[0].ticket.ticket)[1])


def test_every_executor_serves_a_right_ticket(live_pool, result, executor):
    ours = flight.Ticket(wire.signed(ticket(result), live_pool.ticket_key))
    # The other tests mean something only when a ticket that is signed here is taken as it is.
    assert ours.ticket == result.endpoints[0].ticket.ticket
    first = executor.do_get(ours).read_chunk().data
    assert first.column(0)[1].as_py() == 1


@pytest.mark.parametrize("code, change, key", [
    ("CNE-4001", {}, "local:" + "00" * 32),
    ("CNE-4001", {}, "other:" + "00" * 32),
    ("CNE-4002", {4: 1}, None),
    ("CNE-4003", {5: b"another-pool"}, None),
], ids=["forged signature", "unknown key", "expired", "of another pool"])
def test_wrong_ticket(live_pool, result, executor, code, change, key):
    bad = wire.signed(ticket(result) | change, key or live_pool.ticket_key)
    with pytest.raises(ArrowException, match=code):
        executor.do_get(flight.Ticket(bad)).read_all()


def test_ticket_that_is_none(result, executor):
    data = bytearray(result.endpoints[0].ticket.ticket)
    data[8] ^= 1
    for bad in (bytes(data), b"no ticket", b""):
        with pytest.raises(ArrowException, match="CNE-4001"):
            executor.do_get(flight.Ticket(bad)).read_all()


def test_client_goes_away_in_the_middle_of_a_result(live_pool, result, idle):
    def open_results() -> int:
        return sum(h["results_open"] for h in live_pool.executor_health().values())

    client = flight.connect(result.endpoints[0].locations[0])
    reader = client.do_get(result.endpoints[0].ticket)
    assert reader.read_chunk().data.num_rows > 0
    assert open_results() == 1
    del reader
    client.close()
    end = time.monotonic() + 5
    while open_results():
        assert time.monotonic() < end, "the executor still holds the result open"
        time.sleep(0.05)
    idle()
    # The result is leased, not consumed: another client reads all of it.
    with flight.connect(result.endpoints[0].locations[-1]) as other:
        assert other.do_get(result.endpoints[0].ticket).read_all().num_rows == 3_000_000


@pytest.mark.parametrize("rows, jobs", [(1000, 1), (1001, 2)])
def test_a_small_result_takes_one_spark_job(spark, rows, jobs):
    """The task that waits for the query reads the rows too; the query runs once on the pool either way."""
    group = f"small-{rows}"
    spark.sparkContext.setJobGroup(group, group)
    try:
        df = spark.sql(f"SELECT id, CAST(id AS STRING) AS s FROM range({rows})")
        assert sorted(map(tuple, df.collect())) == [(i, str(i)) for i in range(rows)]
        assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(group)) == jobs
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        spark.sparkContext.setLocalProperty("spark.job.description", None)
    assert df.tail(2) == df.collect()[-2:] and df.take(3) == df.collect()[:3]
