"""Many access specifications that say the same, each too little by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storscope.cli.commands.compare import exit_code
from storscope.domain.comparison import Agreement, Comparison, Outcome
from storscope.domain.comparison_answer import answer, reasons_told
from tests.compare.evidence import compared, device, noisy, run

SLOWER = [1.5] * 12


def _sides(path: Path, factors: list[float], **settings: object) -> Comparison:
    """Access specifications of one value a side, whose latency changes by these factors."""
    rates = [1000.0 * 1.3**index for index in range(len(factors))]
    before = [run(f"spec {chr(65 + index)}", rate) for index, rate in enumerate(rates)]
    after = [
        run(f"spec {chr(65 + index)}", rate / factor)
        for index, (rate, factor) in enumerate(zip(rates, factors, strict=True))
    ]
    return compared(path, before, after, **settings)


def _latency(found: Comparison) -> Agreement:
    return next(one for one in found.agreements if one.metric == "latency")


def test_what_all_say_is_told_though_none_is_sure_alone(tmp_path: Path) -> None:
    found = _sides(tmp_path, SLOWER)
    assert not found.count(Outcome.WORSE)
    words, outcome = answer(found)
    assert words.startswith(
        "WORSE TAKEN TOGETHER: latency higher in 12 of 12 access specifications, median +50.0 %; iops"
    )
    assert outcome is Outcome.WORSE
    assert any("not why" in said for said in reasons_told(found))
    assert exit_code(found, "worse") == 1


def test_gains_are_told_as_well(tmp_path: Path) -> None:
    found = _sides(tmp_path, [0.7] * 12)
    assert answer(found)[0].startswith("BETTER TAKEN TOGETHER: latency lower in 12 of 12")
    assert exit_code(found, "worse") == 0


def test_one_that_is_far_off_changes_nothing(tmp_path: Path) -> None:
    found = _latency(_sides(tmp_path, [*SLOWER[:11], 0.01]))
    assert (found.higher, found.lower, found.outcome) == (11, 1, Outcome.WORSE)
    assert found.change_median == pytest.approx(0.5)


@pytest.mark.parametrize(
    "factors",
    [[1.5, 0.6] * 6, [1.02] * 12, [1.5] * 8 + [0.9] * 4, list(np.random.default_rng(3).lognormal(0, 0.2, 12))],
    ids=["half of them", "below the threshold", "a third went the other way", "noise"],
)
def test_what_does_not_agree_or_does_not_matter_is_not_told(factors: list[float], tmp_path: Path) -> None:
    found = _sides(tmp_path, factors)
    assert _latency(found).outcome is Outcome.UNDECIDED
    assert answer(found)[0].startswith("CANNOT TELL")
    assert not any("taken together" in said for said in reasons_told(found))


def test_a_few_are_not_pooled(tmp_path: Path) -> None:
    assert not _sides(tmp_path, SLOWER[:7]).agreements


def test_other_loads_and_failed_runs_give_no_sign(tmp_path: Path) -> None:
    names = [f"spec {chr(65 + index)}" for index in range(9)]
    before = [run(name, 1000.0, outstanding=16.0) for name in names]
    deeper = [run(name, 500.0, outstanding=32.0) for name in names]
    assert not compared(tmp_path / "load", before, deeper).agreements
    failed = [run(name, 500.0, status="error 5 (EIO)") for name in names]
    assert not compared(tmp_path / "failed", before, failed).agreements


def test_entities_of_a_running_system_are_not_pooled(tmp_path: Path) -> None:
    sides = [
        [device(f"sd{chr(97 + index)}", noisy(1000.0, 20, seed=index), noisy(latency, 20, seed=50 + index))
         for index in range(9)]
        for latency in (4e6, 6e6)
    ]  # fmt: skip
    assert not compared(tmp_path, *sides).agreements
