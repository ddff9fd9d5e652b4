"""A CPU quota that held a measurement up is told, from what the kernel counts of control groups."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from storscope.bench.cpu_quota import HeldUp, Quota, QuotaWatch, quotas
from storscope.bench.figures import Outcome
from storscope.cli.main import run
from storscope.domain.units import NS_PER_MS
from storscope.workbench import benchmarking, knee_search

_OUTCOME = Outcome({"valid": True, "invalid_streams": []}, ("Another doubt.",), None)
_SECOND = "usage_usec 900\nuser_usec 400\nsystem_usec 500\nnr_periods {}\nnr_throttled {}\nthrottled_usec {}\n"


def _tree(root: Path, groups: str, files: dict[str, str]) -> Path:
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def _quota(periods: int, used_up: int, kept_ms: int, busy_ms: int | None = None) -> Quota:
    busy_ns = None if busy_ms is None else busy_ms * NS_PER_MS
    return Quota("/box", periods, used_up, kept_ms * NS_PER_MS, busy_ns)


def _told(quota: Quota, *, own_ms: int = 1000, run_ms: int = 5000) -> Outcome:
    return HeldUp([quota], run_ms * NS_PER_MS, own_ms * NS_PER_MS).told(_OUTCOME)


def test_of_version_2_the_group_and_all_above_it_count(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/a.slice/box/cpu.stat": _SECOND.format(0, 0, 0),
        "sys/fs/cgroup/a.slice/cpu.stat": _SECOND.format(50, 40, 123),
        "sys/fs/cgroup/cpu.stat": "usage_usec 5\n",
    }
    found = quotas(_tree(tmp_path, "0::/a.slice/box\n", files))
    assert found == {"/a.slice": Quota("/a.slice", 50, 40, 123_000, 900_000)}


def test_of_version_1_times_are_nanoseconds(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/cpu/box/cpu.stat": "nr_periods 378\nnr_throttled 376\nthrottled_time 32129184901\n"}
    found = quotas(_tree(tmp_path, "9:name=systemd:/\n2:cpu,cpuacct:/box\n0::/\n", files))
    assert found == {"/box": Quota("/box", 378, 376, 32_129_184_901, None)}


@pytest.mark.parametrize("groups", ["0::/../../other\n", "2:cpu:/kubepods/pod1/c2\n0::/\n"])
def test_in_a_container_its_own_group_is_at_the_top_of_the_mount(groups: str, tmp_path: Path) -> None:
    mount = "sys/fs/cgroup/cpu" if "cpu" in groups else "sys/fs/cgroup"
    found = quotas(_tree(tmp_path, groups, {f"{mount}/cpu.stat": "nr_periods 5\nnr_throttled 1\nthrottled_usec 7\n"}))
    assert found["/"].kept_ns == 7000


@pytest.mark.parametrize("text", ["", "usage_usec 5\n", "nr_periods 0\n", "nr_periods many\n", "\0\n"])
def test_groups_without_a_quota_say_nothing(text: str, tmp_path: Path) -> None:
    assert quotas(_tree(tmp_path, "0::/box\n", {"sys/fs/cgroup/box/cpu.stat": text})) == {}


@pytest.mark.parametrize("groups", ["", "nonsense\n", "3:memory:/box\n", ":\n"])
def test_groups_that_are_not_told_say_nothing(groups: str, tmp_path: Path) -> None:
    assert quotas(_tree(tmp_path, groups, {})) == {}
    assert quotas(tmp_path / "nothing") == {}


def test_what_came_before_the_run_is_not_of_it(tmp_path: Path) -> None:
    stat = {"sys/fs/cgroup/box/cpu.stat": _SECOND.format(100, 90, 9_000_000)}
    watch = QuotaWatch(_tree(tmp_path, "0::/box\n", stat))
    assert watch.so_far().told(_OUTCOME) == _OUTCOME
    _tree(tmp_path, "0::/box\n", {"sys/fs/cgroup/box/cpu.stat": _SECOND.format(110, 95, 9_400_000)})
    (quota,) = watch.so_far().quotas
    assert quota == Quota("/box", 10, 5, 400 * NS_PER_MS, 0)


def test_a_quota_that_is_never_used_up_says_nothing() -> None:
    assert _told(_quota(50, 0, 0)).doubts == _OUTCOME.doubts
    assert _told(_quota(50, 1, 2)).doubts == _OUTCOME.doubts, "2 ms of 5 s are in no percentile that is told"


def test_a_quota_that_is_used_up_now_and_then_is_a_doubt() -> None:
    told = _told(_quota(50, 2, 100))
    assert told.is_valid
    assert told.doubts[0] == "Another doubt."
    assert "control group /box was used up in 2 of 50 periods" in told.doubts[1]
    assert "stood still for up to 2 % of the time" in told.doubts[1]


def test_a_quota_that_took_much_of_the_run_makes_it_invalid() -> None:
    told = _told(_quota(50, 50, 2690))
    assert not told.is_valid
    assert not told.is_valid_of(0), "all streams stood still"
    assert "up to 54 % of the time" in told.doubts[1]


@pytest.mark.parametrize(("busy_ms", "own_ms"), [(20_000, 1), (None, 20_000)])
def test_many_cpus_that_are_kept_at_once_do_not_add_up(busy_ms: int | None, own_ms: int) -> None:
    """Of eight, for a fifth of 25 s of work that they wanted in 5 s."""
    assert "up to 20 % of the time" in _told(_quota(50, 50, 5000, busy_ms), own_ms=own_ms).doubts[1]


def test_more_than_the_periods_in_which_it_was_used_up_it_cannot_be() -> None:
    assert "up to 10 % of the time" in _told(_quota(50, 5, 5000), own_ms=1).doubts[1]


class _UsedUp:
    """A quota that keeps a process waiting for half of any time."""

    def so_far(self) -> HeldUp:
        return HeldUp([_quota(50, 50, 2500)], 5000 * NS_PER_MS, 1000 * NS_PER_MS)


def test_a_measurement_says_what_a_quota_did(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmarking, "QuotaWatch", _UsedUp)
    arguments = ["bench", str(data), "--workload", "random-8k-70-read", "--size", "8M", "--duration", "0.2s"]
    assert run([*arguments, "--store", str(data.parent / "store")]) == 0
    said = capsys.readouterr().out
    assert "INVALID" in said
    assert "The CPU quota of the control group /box was used up in 50 of 50 periods" in said


def test_a_search_for_the_knee_says_what_a_quota_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knee_search, "machine_load", lambda: None)
    search: Any = SimpleNamespace(_machine=None, _quotas=_UsedUp())
    (doubt,) = knee_search._Hunt._machine_doubts(search)
    assert "The CPU quota of the control group /box" in doubt
