"""The same figures in each shape of a table are the same observations."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storscope.sources.evidence import Evidence
from storscope.sources.importers import recognise
from tests.support.tables import read_tables

START = 1_795_168_800
COUNTERS = (("Read IOPS", "io/s"), ("Write Latency", "ms"), ("Read Throughput", "MiB/s"))
numbers = st.floats(0.01, 1e5).map(lambda value: round(value, 2))
figures = st.lists(st.tuples(*[st.tuples(numbers, numbers, numbers)] * 2), min_size=2, max_size=8)


def by_rows(rows: list[tuple[tuple[float, ...], ...]], step_s: int) -> str:
    lines = ["time,volume," + ",".join(f"{name} ({unit})" for name, unit in COUNTERS)]
    for n, things in enumerate(rows):
        lines += [f"{START + step_s * n},LUN {i}," + ",".join(map(str, row)) for i, row in enumerate(things)]
    return "\n".join(lines) + "\n"


def wide(rows: list[tuple[tuple[float, ...], ...]], step_s: int) -> str:
    lines = ["Time," + ",".join(f"LUN {i} - {name} ({unit})" for i in range(2) for name, unit in COUNTERS)]
    lines += [
        f"{START + step_s * n}," + ",".join(str(value) for row in things for value in row)
        for n, things in enumerate(rows)
    ]
    return "\n".join(lines) + "\n"


def wide_with_units(rows: list[tuple[tuple[float, ...], ...]], step_s: int) -> str:
    units = [unit for _, unit in COUNTERS] * 2
    lines = ["Time," + ",".join(f"LUN {i} {name}" for i in range(2) for name, _ in COUNTERS)]
    for n, things in enumerate(rows):
        values = [value for row in things for value in row]
        lines.append(
            f"{START + step_s * n}," + ",".join(f"{value} {unit}" for value, unit in zip(values, units, strict=True))
        )
    return "\n".join(lines) + "\n"


def long(rows: list[tuple[tuple[float, ...], ...]], step_s: int) -> str:
    lines = ["time,volume,metric,unit,value"]
    for at, (name, unit) in enumerate(COUNTERS):
        for i in range(2):
            for n, things in reversed(list(enumerate(rows))):
                lines.append(f"{START + step_s * n},LUN {i},{name},{unit},{things[i][at]}")
    return "\n".join(lines) + "\n"


@settings(max_examples=30, deadline=None)
@given(rows=figures, step_s=st.integers(1, 3600))
def test_the_same_figures_are_the_same_observations(
    rows: list[tuple[tuple[float, ...], ...]], step_s: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = []
    for write in (by_rows, wide, wide_with_units, long):
        path: Path = tmp_path_factory.mktemp("t") / "evidence"
        path.write_text(write(rows, step_s))
        importer = recognise(Evidence(path).head)
        assert importer is not None, write.__name__
        observations = read_tables(importer, path).rows("observations")
        found.append(sorted(observations, key=lambda row: (row["entity"], row["time"])))
    first, *others = found
    assert len(first) == 2 * len(rows)
    for other in others:
        for one, two in zip(first, other, strict=True):
            for column, value in one.items():
                assert two[column] == (pytest.approx(value) if isinstance(value, float) else value), column
