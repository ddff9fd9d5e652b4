"""A point of a sweep that was interrupted and measured again is one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compare.evidence import Writer, compared, noisy, only, row, run


def _point(id: str, iops: float, status: str, *, block: int = 0, start: float = 0.0) -> Writer:  # noqa: A002
    parameters = {"sweep": "sweep-1", "sweep_point": "randread size=4096 jobs=1 depth=16", "sweep_block": str(block)}
    return run(
        "a", noisy(iops, seed=3), id=id, start=start, status=status, parameters=parameters, engine="storscope"
    )  # fmt: skip


_AFTER = run("a", noisy(1000, seed=2), engine="storscope")


@pytest.mark.parametrize("status", ["interrupted", "killed", "failed"])
def test_what_was_cut_off_is_no_repetition_of_what_was_measured_in_its_place(tmp_path: Path, status: str) -> None:
    whole = _point("bench-2", 1000, "ok", start=600)
    pair = only(compared(tmp_path, [_point("bench-1", 500, status), whole], [_AFTER]))
    assert row(pair, "iops").before == pytest.approx(1000, rel=0.02)
    assert "Left out before: 1 run that was cut off and that the sweep made again." in pair.notes
    assert not [warning for warning in pair.warnings if "Did not end well" in warning]


def test_what_was_cut_off_stays_where_nothing_is_in_its_place(tmp_path: Path) -> None:
    alone = only(compared(tmp_path, [_point("bench-1", 500, "interrupted")], [_AFTER]))
    assert row(alone, "iops").before == pytest.approx(500, rel=0.02)
    repetitions = [_point("bench-1", 500, "interrupted", block=1), _point("bench-2", 1000, "ok", start=600)]
    both = only(compared(tmp_path / "both", repetitions, [_AFTER]))
    assert row(both, "iops").before == pytest.approx(750, rel=0.02)
    assert not [note for note in both.notes if "Left out" in note]


def test_an_invalid_run_was_measured_to_its_end(tmp_path: Path) -> None:
    runs = [_point("bench-1", 500, "invalid"), _point("bench-2", 1000, "ok", start=600)]
    assert row(only(compared(tmp_path, runs, [_AFTER])), "iops").before == pytest.approx(750, rel=0.02)
