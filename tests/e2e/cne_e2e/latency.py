"""How long the smallest query takes at the scheduler, from its submission over Flight to its first row; without Spark.

    python -m cne_e2e.latency [--queries 100]
"""
import argparse
import statistics
import sys
import time
import uuid

from . import pool, wire

WARM_UP = 20


def first_row_ms(p: pool.Pool, queries: int = 100) -> list[float]:
    """Milliseconds from submission to the first batch of one row, for each of `queries` queries one after the other over open connections."""
    from pyarrow import flight

    clients: dict[str, flight.FlightClient] = {}

    def client(uri: str) -> flight.FlightClient:
        if uri not in clients:
            clients[uri] = flight.connect(uri)
        return clients[uri]

    stage = wire.rows_stage(1)
    out = []
    try:
        for _ in range(WARM_UP + queries):
            request = wire.request(str(uuid.uuid4()), stages=[stage])
            start = time.perf_counter()
            info = client(p.url).get_flight_info(flight.FlightDescriptor.for_command(request), flight.FlightCallOptions(timeout=30))
            endpoint = info.endpoints[0]
            uri = endpoint.locations[0].uri
            batch = client(uri.decode() if isinstance(uri, bytes) else uri).do_get(endpoint.ticket).read_chunk().data
            out.append((time.perf_counter() - start) * 1000)
            assert batch.to_pydict() == {batch.schema.names[0]: [0]}, batch
    finally:
        for open_client in clients.values():
            open_client.close()
    return out[WARM_UP:]


def summary(times: list[float]) -> dict[str, float]:
    """Median and 95th percentile, in milliseconds."""
    return {"median": statistics.median(times), "p95": statistics.quantiles(times, n=20)[-1]}


def main() -> int:
    """Prints the figures of a pool of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=100)
    args = parser.parse_args()
    pool.interruptible()
    with pool.temporary(slots=1) as p:
        figures = summary(first_row_ms(p, args.queries))
    print(f"submission to first row of a one-row query: median {figures['median']:.1f} ms, 95th percentile {figures['p95']:.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
