"""Points and knees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.domain.finding import Finding
from storscope.report.layers import layers_of
from storscope.report.pack import Packer
from storscope.report.reading import Judged, read_evidence
from storscope.report.scatter import Scatter, scatters, thinned
from tests.report.evidence import day_of_volumes, knee_finding
from tests.support.cases import make_store


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(1, 1e12), st.booleans()), min_size=1, max_size=300))
def test_thinning_keeps_the_extremes_and_makes_no_point_up(points: list[tuple[float, float, bool]]) -> None:
    x, y = (np.asarray([point[axis] for point in points]) for axis in (0, 1))
    kept = thinned(x, y, np.asarray([point[2] for point in points]))
    assert len(set(kept)) == len(kept) <= len(points)
    for values in (x, y):
        assert values[kept].min() == values.min()
        assert values[kept].max() == values.max()


def test_a_marked_point_is_not_hidden_by_an_unmarked_one() -> None:
    same = np.ones(10)
    kept = thinned(same, same, np.arange(10) == 7)
    assert 7 in kept


def drawn(path: Path, finding: Finding) -> list[Scatter]:
    store = make_store(path, day_of_volumes(9, 60, 4))
    return scatters(layers_of(read_evidence(Judged(store))), [finding], {}, Packer())


@pytest.mark.parametrize(
    ("numbers", "knee"),
    [
        (
            {"knee_ops_per_s": 4900.0, "knee_low_ops_per_s": 4700.0, "knee_high_ops_per_s": 5120.0},
            {"x": 4900.0, "low": 4700.0, "high": 5120.0},
        ),
        ({"knee_ops_per_s": 4900.0}, {"x": 4900.0, "low": None, "high": None}),
        ({"knee_ops_per_s": float("nan")}, None),
        ({}, None),
    ],
)
def test_a_knee_is_drawn_as_far_as_the_finding_gives_it(
    tmp_path: Path, numbers: dict[str, float], knee: dict[str, float] | None
) -> None:
    found = knee_finding()
    finding = Finding(**{name: getattr(found, name) for name in Finding.__slots__} | {"numbers": numbers})
    (scatter,) = drawn(tmp_path, finding)
    assert scatter.chart["knee"] == knee
    assert ("vol-07" in scatter.title) == (knee is not None), "without a knee the system as a whole is drawn"
