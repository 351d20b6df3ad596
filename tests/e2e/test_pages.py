"""Sections of docs/performance.md come from different recipes: each leaves the other's."""
from cne_e2e import bench_s3, pages

PAGE = "# P\n\ntext\n\n## A\n\n1\n\n## B\n\n2\n"


def test_sections_are_replaced_and_added():
    assert pages.section(PAGE, "## A") == "## A\n\n1\n"
    assert pages.with_section(PAGE, "## A", "## A\n\n3\n") == "# P\n\ntext\n\n## A\n\n3\n\n## B\n\n2\n"
    assert pages.with_section(PAGE, "## C", "## C\n\n3\n") == PAGE + "\n## C\n\n3\n"
    assert pages.with_section(PAGE, "## C", pages.section(PAGE, "## C")) == PAGE


def test_ratios_are_of_pairs():
    text = bench_s3.report({"local": [1, 2, 4], "write-behind": [1.1, 2.2, 8], "store": [1.5, 3.2, 6]},
                           {"local": [0, 0, 0], "write-behind": [0.25, 0.5, 4], "store": [0, 0, 0]}, {d: (2_000_000, 3, 4) for d in bench_s3.DURABILITIES}, "1", "write-behind")
    assert "| write-behind | 2.20 | 1.10 | 1.10 to 2.00 | 0.50 | 2.0 MB | 3 | 4 |" in text
    assert "the default, which is `write-behind`, at most 1.15 times the time of `local`. Measured: 1.10, met." in text
    assert "`store`, at most 1.4 times the time of `local`. Measured: 1.50, **missed**." in text
