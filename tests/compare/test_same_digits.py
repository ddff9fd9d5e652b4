"""Two runs that agree to the last digit are told as what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compare.evidence import compared, noisy, run


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("storscope-sim", "what was changed, if anything, has no effect at all on it"),
        ("fio", "as copies of one run do: measure again"),
    ],
)
def test_runs_that_agree_in_each_interval_are_told(engine: str, words: str, tmp_path: Path) -> None:
    """It was "could be anything from -80 % to +500 %" of a change of 0."""
    sides = [[run("a", noisy(1000.0, rho=0.9), id=name, engine=engine)] for name in ("one", "two")]
    (note,) = [one for one in compared(tmp_path, *sides).notes if "last digit" in one]
    assert note.startswith("a: Both sides agree to the last digit, interval by interval")
    assert words in note


def test_what_differs_anywhere_is_no_copy(tmp_path: Path) -> None:
    rates = noisy(1000.0)
    for name, after in (
        ("value", run("a", [*rates[:-1], rates[-1] * 1.001])),
        ("latency", run("a", rates, latency_ns=1e6)),
        ("length", run("a", rates[:-1])),
    ):
        notes = compared(tmp_path / name, [run("a", rates)], [after]).notes
        assert not [one for one in notes if "last digit" in one]


def test_a_single_value_that_is_alike_is_no_copy(tmp_path: Path) -> None:
    """Rounded figures of two rows of a table are often equal."""
    notes = compared(tmp_path, [run("a", 1000.0)], [run("a", 1000.0)]).notes
    assert not [one for one in notes if "last digit" in one]
