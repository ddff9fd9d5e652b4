"""From where to where a level is said to go that has not settled."""

from __future__ import annotations

import numpy as np
import pytest

from storscope.bench.samples import Figure
from storscope.bench.settling import warm_up
from tests.bench.series import open_loop

_MEAN = Figure("mean")


@pytest.mark.parametrize("time_constant", [60, 70, 80])
def test_what_still_falls_has_come_no_farther_than_any_sample(time_constant: int) -> None:
    """A line through a curve that flattens out ends below all of it: 29 µs were told of 46."""
    rng = np.random.default_rng(1)
    level = 1e4 + 1e6 * np.exp(-np.arange(200) / time_constant) * (1 + 0.02 * rng.normal(size=200))
    samples = open_loop(level, np.full(200, 100))
    found = warm_up(samples)
    assert (found.samples, found.figure) == (None, _MEAN)
    seen = [value for one in samples if (value := _MEAN.of([one])) is not None]
    assert found.before is not None
    assert found.after is not None
    assert min(seen) <= found.after < found.before <= max(seen)
