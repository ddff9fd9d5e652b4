"""Parts of a run by the time since its start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storscope.cli.main import run as storscope
from storscope.compare import compare_sides, parse_side
from storscope.domain.comparison import Comparison, Outcome, Settings
from storscope.domain.errors import InputError
from storscope.domain.units import NS_PER_S
from storscope.store import Store
from tests.compare.evidence import Writer, device, noisy, only, row, run
from tests.sim.designs import SMALL
from tests.support.cases import make_store

FAILURE = '[[at]]\ntime = "10s"\ndrive_fails = { group = "g", index = 0 }\n'

_HOG = """\
targets = ["esx1/data", "esx1/log"]
[[workload]]
name = "users and a hog"
[[workload.stream]]
name = "users"
targets = [1]
rate_per_s = 50
line = [{ size = "8k", read_share = "100%" }]
[[workload.stream]]
name = "hog"
targets = [0]
outstanding = 64
line = [{ size = "64k" }]
"""


def _compared(store: Store, before: str, after: str) -> Comparison:
    sides = [(store, parse_side(text)) for text in (before, after)]
    return compare_sides(sides[0], sides[1], Settings(), version="test")


def _with_warm_up(name: str, start: float) -> Writer:
    """40 s of warm-up without figures, 60 s at 1,000, 60 s at 500; the run is what follows the warm-up."""
    rates = [*noisy(1000, 60, seed=1), *noisy(500, 60, seed=2)]
    return run(name, rates, start=start, duration_s=120.0, parameters={"warm_up_s": "40"}, engine="storscope")


def test_the_start_of_a_run_is_that_of_its_warm_up(tmp_path: Path) -> None:
    store = make_store(tmp_path, _with_warm_up("a", 1_000.0), _with_warm_up("b", 5_000.0))
    pair = only(_compared(store, "run=a,since=40s,until=1m40s", "run=b,since=0:01:40"))
    assert row(pair, "iops").outcome is Outcome.WORSE
    assert row(pair, "iops").change == pytest.approx(-0.5, abs=0.03)
    assert (row(pair, "iops").values_before, row(pair, "iops").values_after) == (60, 60)


def test_when_a_part_of_a_run_began_is_told_and_not_when_the_run_did(tmp_path: Path) -> None:
    store = make_store(tmp_path, _with_warm_up("a", 1_000.0))
    before, after = only(_compared(store, "run=a,since=40s,until=1m40s", "run=a,since=1m40s")).subjects
    assert before.began_ns is not None
    assert after.began_ns is not None
    assert after.began_ns - before.began_ns == 60 * NS_PER_S
    assert (before.duration_ns, after.duration_ns) == (60 * NS_PER_S, 60 * NS_PER_S)


def test_of_a_run_that_failed_what_lies_before_its_end_counts(tmp_path: Path) -> None:
    """What fails a run of our own ends it at once: until then it did its load."""
    runs = [
        run(name, [*noisy(1000, 60, seed=seed), *noisy(500, 60, seed=9)], start=start, duration_s=120.0,
            status="failed", engine="storscope")
        for name, seed, start in (("a", 1, 1_000.0), ("b", 2, 5_000.0))
    ]  # fmt: skip
    store = make_store(tmp_path, *runs)
    part = only(_compared(store, "run=a,until=1m", "run=a,since=1m,until=1m59s"))
    assert (row(part, "iops").outcome, part.warnings) == (Outcome.WORSE, [])
    rest = only(_compared(store, "run=a,until=1m", "run=a,since=1m"))
    assert row(rest, "iops").reason == "the run after failed or lost data"
    assert row(only(_compared(store, "run=a,until=1m", "run=b")), "iops").outcome is Outcome.UNDECIDED


def test_counters_of_running_systems_have_no_start(tmp_path: Path) -> None:
    store = make_store(tmp_path, device("sda", noisy(100), noisy(1e6)))
    with pytest.raises(InputError, match="The time since the start is that of a run; these are counters: give a time"):
        _compared(store, "entity=device/sda,until=30s", "entity=device/sda,since=30s")


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run in which a drive fails after 10 of 20 seconds."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / "small.toml").write_text(SMALL)
    (folder / "failure.toml").write_text(FAILURE)
    store = folder / "store"
    arguments = ["simulate", str(folder / "small.toml"), "--workload", "oltp", "--duration", "20s"]
    assert storscope([*arguments, "--schedule", str(folder / "failure.toml"), "--store", str(store)]) == 0
    return store


def test_a_simulated_run_before_and_after_a_drive_fails(failing: Path) -> None:
    store = Store.open(failing)
    pair = only(_compared(store, "until=10s", "since=10s"))
    assert not [warning for warning in pair.warnings if "during the run" in warning]
    parameters = dict(store.query("SELECT parameters FROM runs").to_pylist()[0]["parameters"])
    degraded = json.loads(parameters["phases"])[1]
    assert degraded["from_ns"] == 10 * 10**9
    assert row(pair, "iops").after == pytest.approx(degraded["ops_per_s"], rel=0.001)
    whole = only(_compared(store, "until=5s", "since=5s"))
    assert any("Changed after, during the run: 'drive g/0 fails" in warning for warning in whole.warnings)


def test_a_volume_of_a_simulated_run_at_two_times(failing: Path) -> None:
    found = _compared(Store.open(failing), "entity=vdisk/log,until=10s", "entity=vdisk/log,since=10s")
    assert row(only(found), "iops").values_after == pytest.approx(row(only(found), "iops").values_before, abs=1)
    assert not found.notes


def test_a_drive_has_a_queue_alone_which_is_said(failing: Path) -> None:
    found = _compared(Store.open(failing), "entity=disk/g/1,until=10s", "entity=disk/g/1,since=10s")
    assert only(found).rows == []
    assert found.notes == ["Both sides have queue_depth: --metric queue_depth."]


def test_a_time_behind_the_end_says_that_the_run_is_there(failing: Path) -> None:
    with pytest.raises(InputError, match="There is something at other times: simulated runs, until start \\+ 20"):
        _compared(Store.open(failing), "until=10s", "since=30s")


def test_the_end_of_a_hog_is_no_loss_of_the_array(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "hog.toml").write_text(_HOG)
    (tmp_path / "schedule.toml").write_text('[[stream]]\nname = "hog"\nend = "10s"\n')
    files = [str(tmp_path / f"{name}.toml") for name in ("small", "hog", "schedule")]
    arguments = ["simulate", files[0], "--workload", files[1], "--schedule", files[2], "--duration", "20s"]
    assert storscope([*arguments, "--store", str(tmp_path / "store")]) == 0
    store = Store.open(tmp_path / "store")
    pair = only(_compared(store, "until=10s", "since=10s"))
    assert "number of streams 2 before, 1 after ('hog' before alone)" in pair.warnings[0]
    assert {one.outcome for one in pair.rows} <= {Outcome.UNDECIDED, None}
    victim = only(_compared(store, "entity=vdisk/log,until=10s", "entity=vdisk/log,since=10s"))
    assert row(victim, "latency").outcome is Outcome.BETTER
