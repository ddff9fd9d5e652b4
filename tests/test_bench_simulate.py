"""The benchmark of the simulator runs, tiny: it keeps meaning what it says."""

from __future__ import annotations

import pytest
from benches import simulate
from benches._python_arrays import with_heapq, with_simpy


def test_the_benchmark_runs_and_prints_its_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate.main(ios=4_000, rounds=1, day_share=0.00001) > 0
    said = capsys.readouterr().out
    assert "storscope / heapq" in said
    assert "storscope / SimPy" in said
    assert "a day at 5,000 IOPS" in said


def test_the_two_python_models_are_of_the_same_array() -> None:
    ours, theirs = with_heapq(30_000), with_simpy(30_000)
    assert ours.host_ios / ours.simulated_s == pytest.approx(theirs.host_ios / theirs.simulated_s, rel=0.03)
    assert ours.drive_ios == pytest.approx(1.33 * ours.host_ios, rel=0.02)
