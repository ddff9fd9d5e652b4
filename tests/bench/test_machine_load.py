"""What else a machine did, from its own counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.bench.machine_load import MachineLoad, machine_load


def _stat(folder: Path, *ticks: int) -> Path:
    path = folder / "stat"
    path.write_text(f"cpu  {' '.join(map(str, ticks))}\ncpu0 1 2 3 4\n")
    return path


def test_time_is_the_others_or_stolen_as_the_kernel_counts_it(tmp_path: Path) -> None:
    before = machine_load(_stat(tmp_path, 100, 0, 0, 100, 0, 0, 0, 0, 0, 0))
    after = machine_load(_stat(tmp_path, 400, 100, 100, 400, 50, 25, 25, 100, 7, 7))
    assert before is not None
    assert after is not None
    spent = after.since(before)
    assert spent.stolen_ratio == pytest.approx(0.1)
    assert spent.others_ratio == pytest.approx(0.55, abs=0.05)


def test_own_time_is_not_that_of_others() -> None:
    assert MachineLoad(total_s=100, idle_s=40, stolen_s=0, own_s=60).others_ratio == 0


def test_a_quiet_machine_raises_no_doubt_and_a_busy_one_says_by_how_much() -> None:
    assert list(MachineLoad(total_s=100, idle_s=85, stolen_s=1, own_s=10).doubts()) == []
    stolen, others = MachineLoad(total_s=100, idle_s=30, stolen_s=20, own_s=10).doubts()
    assert "20 %" in stolen
    assert "40 %" in others
    (most,) = MachineLoad(total_s=100, idle_s=5, stolen_s=0, own_s=10).doubts()
    assert "of a busy machine more than of the storage" in most


def test_without_counters_nothing_is_known(tmp_path: Path) -> None:
    assert machine_load(tmp_path / "missing") is None
    assert machine_load(_stat(tmp_path, 1, 2, 3)) is None
