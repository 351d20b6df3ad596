"""Parquet scans against plain Spark: the table of cases in cne_e2e/parquet_table.py."""
import pytest

from cne_e2e import parquet_cases
from cne_e2e.parquet_table import CASES


@pytest.fixture(scope="module")
def folder():
    """For the files of all cases."""
    with parquet_cases.Folder() as path:
        yield path


@pytest.mark.parametrize("number, case", list(enumerate(CASES)), ids=[case.name for case in CASES])
def test_scan(spark, folder, number, case):
    verdict, reason = parquet_cases.judge(spark, case, folder / str(number))
    assert parquet_cases.expected(case, verdict), f"{verdict}: {reason}"
