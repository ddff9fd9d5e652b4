"""The benchmarks of the load generator run, tiny, and compute what they say. No figure of speed is judged here."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from benches import load_cpu, load_rates
from benches._load_processes import Run, Runs

from storscope.domain.units import MIB


@pytest.mark.needs("fio")
def test_costs_are_compared_on_the_same_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratios = load_cpu.main(("nop", "cache"), rounds=2, seconds=0.1, size_bytes=8 * MIB, directory=tmp_path)
    said = capsys.readouterr().out
    assert [(ratio.ours, ratio.theirs, ratio.target) for ratio in ratios] == [
        ("storscope no-ops", "fio null", 0.15),
        ("storscope null", "fio null", None),
        ("storscope", "fio", 0.75),
        ("storscope", "fio, all registered", None),
    ]
    for ratio in ratios:  # what is taken off for starting up varies by more than so short a run takes: below 0 is noise
        assert ratio.cpu_low <= ratio.cpu <= ratio.cpu_high
        assert math.isfinite(ratio.cpu_low + ratio.cpu_high)
        assert (ratio.iops is None) == (ratio.iops_below is None) == ("null" in ratio.theirs)
    assert "io_uring" in said
    assert list(tmp_path.iterdir()) == []


def test_starting_up_is_taken_off() -> None:
    runs = Runs([Run(1.5, 1_000, 500.0, {}), Run(2.5, 1_000, 500.0, {})], [0.4, 0.5, 0.9])
    assert runs.cpu_ns_per_io == pytest.approx([1e6, 2e6])


def test_rates_are_those_asked_for() -> None:
    made, gaps = load_rates.main(("null",), seconds=0.3, rates=(2_000.0,), size_bytes=MIB)
    assert gaps == []
    assert [(one.rate_per_s, one.process) for one in made] == 2 * [(2_000.0, "fixed"), (2_000.0, "poisson")]
    for one in made:
        told = one.run.told
        assert told["submitted"] + told["unsent"] == pytest.approx(600 * (1 + one.error))
        # Four standard deviations; nothing here depends on how busy the machine is.
        assert abs(one.error) < (4 / math.sqrt(600) if one.process == "poisson" else 2 / 600)
        assert sum(told["counts"]) <= told["submitted"]


def test_the_distance_from_exponential_gaps() -> None:
    shares = (np.arange(10_000) + 0.5) / 10_000
    exponential = -np.log1p(-shares) * 1e-3
    assert load_rates.ks_distance(exponential, 1e-3) == pytest.approx(0.5e-4)
    assert load_rates.ks_distance(exponential, 1.1e-3) > 0.03
    assert load_rates.ks_distance(np.full(1_000, 1e-3), 1e-3) == pytest.approx(1 - math.exp(-1))
