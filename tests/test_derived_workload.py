"""What was asked of volumes becomes a workload: a simulation of a known one is read back, and asks the same again."""

from __future__ import annotations

import contextlib
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storscope.bench.workloads import load_workload
from storscope.cli.main import run
from storscope.diagnose.case import Case
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.entity import EntityRef
from storscope.domain.errors import UsageError
from storscope.domain.load import Closed, Open, ThinkTime
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.domain.workload import Stream
from storscope.sim.assignment import Assignment, Attachment, assigned
from storscope.store import Store
from storscope.workbench.derived_words import Assumed
from storscope.workbench.derived_workload import Derived, derived_workload
from storscope.workbench.held_loads import held_loads
from storscope.workbench.importing import import_paths
from storscope.workbench.measured_loads import measured_loads
from tests.diagnose.limited_volume import Limits, iostat_json, serve, steady
from tests.sim.designs import SMALL
from tests.support.cases import make_case, make_store

_DESIGN = SMALL.partition('\n[[host]]\nname = "esx2"')[0]
"""With one host: there a volume's name alone says which is meant."""
_KNOWN = """\
targets = ["data", "log"]
[[workload]]
name = "known"
[[workload.stream]]
targets = [0]
rate_per_s = 300
line = [{ size = "8k", share = 7 }, { size = "64k", share = 3, read_share = 0 }]
[[workload.stream]]
targets = [1]
outstanding = 4
line = [{ size = "16k", read_share = "25%" }]
"""
_LIGHT = _KNOWN.replace("rate_per_s = 300", "rate_per_s = 100").replace("outstanding = 4", "rate_per_s = 200")
_SECONDS = 60
_START_NS = 1_795_132_800 * NS_PER_S


# There and back ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a design, a workload, and the store and figures of their simulation."""
    folder = tmp_path_factory.mktemp("derived")
    (folder / "design.toml").write_text(_DESIGN)
    (folder / "known.toml").write_text(_KNOWN)
    return folder


@pytest.fixture(scope="module")
def figures(simulated: Path) -> Mapping[str, Any]:
    return _simulate(simulated, "known.toml")


def _simulate(folder: Path, workload: str) -> Mapping[str, Any]:
    """The figures of a run, as JSON tells them; the run is in the store of the workload's name."""
    command = ["simulate", str(folder / "design.toml"), "--workload", str(folder / workload), "--json"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert run([*command, "--duration", f"{_SECONDS}s", "--store", str(folder / f"{workload}.store")]) == 0
    found: Mapping[str, Any] = json.loads(said.getvalue())
    return found


def _derive(folder: Path, of: str, *options: str) -> tuple[Stream, ...]:
    output = folder / "derived.toml"
    store = str(folder / f"{of}.store")
    assert run(["workload", "derive", "--store", store, *options, "-o", str(output), "--replace"]) == 0
    definition = load_workload(str(output))
    assert definition.targets == ("data", "log")
    return definition.workloads[0].streams


@pytest.mark.usefixtures("figures")
def test_rates_sizes_and_shares_of_reads_of_a_known_workload_are_read_back(simulated: Path) -> None:
    pages, log = _derive(simulated, "known.toml")
    assert isinstance(pages.load, Open)
    arrivals = 300 * _SECONDS
    assert pages.load.rate_per_s * _SECONDS == pytest.approx(arrivals, abs=4 * math.sqrt(arrivals))
    assert isinstance(pages.access, Mix)
    reads, writes = pages.access.lines
    assert (reads.size_bytes, reads.read_share, writes.size_bytes, writes.read_share) == (8192, 1.0, 65536, 0.0)
    assert reads.share == pytest.approx(0.7, abs=4 * math.sqrt(0.7 * 0.3 / arrivals))
    assert isinstance(log.access, Mix)
    (both,) = log.access.lines
    assert both.size_bytes == 16384
    assert both.read_share == pytest.approx(0.25, abs=0.03)


def test_what_is_in_flight_is_what_was_asked_for_or_the_figures_of_the_run_say(
    simulated: Path, figures: Mapping[str, Any]
) -> None:
    pages, log = _derive(simulated, "known.toml", "--closed")
    assert log.load == Closed(4)
    assert log.think_time is None
    told = sum(
        cell[way]["ops_per_s"] * cell[way]["response"]["mean_ns"] / NS_PER_S
        for cell in figures["cells"] if cell["volume"] == "data"
        for way in ("read", "write") if cell[way]["ios"]
    )  # fmt: skip
    assert isinstance(pages.load, Closed)
    assert pages.think_time is not None, "an open loop has no whole number in flight"
    thinking = 300 * pages.think_time.mean_ns / NS_PER_S
    assert pages.load.outstanding - thinking == pytest.approx(told, rel=0.05)


def test_a_derived_workload_asks_the_same_of_the_design_again(simulated: Path, figures: Mapping[str, Any]) -> None:
    _derive(simulated, "known.toml", "--closed")
    _holds_again(simulated, figures, "iops", "bandwidth", "mean")


def test_a_derived_rate_moves_as_much_again_however_near_the_limit_it_was(
    simulated: Path, figures: Mapping[str, Any]
) -> None:
    """Not the latency: the log's loop keeps the drives at their limit, where an open loop's queue goes by chance."""
    _derive(simulated, "known.toml")
    _holds_again(simulated, figures, "iops", "bandwidth")


def test_a_derived_rate_below_the_limit_waits_as_long_again(simulated: Path) -> None:
    (simulated / "light.toml").write_text(_LIGHT)
    figures = _simulate(simulated, "light.toml")
    _derive(simulated, "light.toml")
    _holds_again(simulated, figures, "iops", "bandwidth", "mean")


def _holds_again(folder: Path, figures: Mapping[str, Any], *names: str) -> None:
    again = _simulate(folder, "derived.toml")
    for name in names:
        assert again["figures"][name]["value"] == pytest.approx(figures["figures"][name]["value"], rel=0.1), name


# At a limit ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def limited(tmp_path: Path) -> Path:
    """What iostat tells of 20 minutes: light at first, then twice as much asked as the 400 I/Os per second allowed."""
    rng = np.random.default_rng(2)
    load = steady(120, 50, reads=1.0, most=32)
    load.ops_per_s[40:] = 800
    file = tmp_path / "iostat.json"
    file.write_text(iostat_json({"sdb": serve(load, Limits(ops_per_s=400), rng)}))
    return file


def test_what_a_limit_let_through_is_told_as_less_than_was_wanted(
    limited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["workload", "derive", str(limited)]) == 0
    said = capsys.readouterr()
    assert "# sdb: held at 400 IOPS for 67 % of the time (throughput-cap). What more was wanted" in said.out
    assert "# With --closed as many I/Os are in flight" in said.out
    assert "lost  sdb: asked for beyond its limit: held at 400 IOPS" in said.err


def test_as_many_in_flight_as_waited_are_nearly_what_was_asked(
    limited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["workload", "derive", str(limited), "--closed"]) == 0
    said = capsys.readouterr()
    assert "held at 400 IOPS" in said.out
    assert "With --closed" not in said.out
    assert "approximated  sdb: asked for beyond its limit" in said.err


def test_of_a_time_before_the_limit_nothing_is_said(limited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "derive", str(limited), "--until", "2026-11-21T00:06"]) == 0
    assert "held at" not in "".join(capsys.readouterr())


def test_only_the_time_of_the_load_counts(limited: Path) -> None:
    store = Store.open(limited.parent / "store", create=True)
    assert not import_paths(store, [limited]).failures
    case = Case(store)
    (held,) = held_loads(case, measured_loads(case, at_peak=True, window_ns=60 * NS_PER_S))
    assert held.share == pytest.approx(1, abs=0.01)
    assert (held.level, held.is_shown) == ("400 IOPS", True)


# Of any evidence -----------------------------------------------------------------------------------------------------


def _volume(
    name: str, rates: tuple[float, ...], *, system: str = "array", kind: str = "vdisk", **columns: float
) -> Any:
    """Ten-second intervals, all reads of 8 KiB with a latency of 15 ms unless told."""
    told = {"latency_ns_mean": 15e6} | columns

    def write(recorder: Recorder) -> None:
        for number, rate in enumerate(rates):
            parts = {"read_ops_per_s": rate, "write_ops_per_s": 0.0, "read_bytes_per_s": rate * 8192,
                     "write_bytes_per_s": 0.0}  # fmt: skip
            start_ns = _START_NS + number * 10 * NS_PER_S
            recorder.observe(EntityRef(system, kind, name), start_ns, 10 * NS_PER_S, told | parts)

    return write


def _derived(case: Case, entity: str | None = None, *, is_closed: bool = False, at_peak: bool = False) -> Derived:
    return derived_workload(measured_loads(case, entity, at_peak=at_peak), is_closed=is_closed)


def _streams(derived: Derived) -> tuple[Stream, ...]:
    return derived.definition.workloads[0].streams


def test_a_number_in_flight_that_is_not_whole_keeps_the_rate_by_think_time(tmp_path: Path) -> None:
    (stream,) = _streams(_derived(make_case(tmp_path / "s", _volume("v", (100.0, 100.0))), is_closed=True))
    assert stream.load == Closed(2)
    assert stream.think_time == ThinkTime(5 * NS_PER_MS), "2 / (15 ms + 5 ms) is 100 a second, 1.5 in flight"


def test_the_peak_is_the_busiest_time_of_all_together(tmp_path: Path) -> None:
    volumes = _volume("a", (900.0, 10.0, 700.0)), _volume("b", (10.0, 900.0, 700.0))
    case = make_case(tmp_path / "s", *volumes)
    assert [one.load for one in _streams(_derived(case, at_peak=True))] == [Open(700.0), Open(700.0)]
    assert [one.load for one in _streams(_derived(case))] == [Open(536.667), Open(536.667)]
    wide = measured_loads(case, at_peak=True, window_ns=20 * NS_PER_S)
    assert [round(load.ops_per_s) for load in wide.loads] == [355, 800]


def test_hosts_are_left_out_beside_the_volumes_they_use_and_that_is_said(tmp_path: Path) -> None:
    case = make_case(tmp_path / "s", _volume("v", (100.0,)), _volume("sda", (100.0,), system="esx", kind="device"))
    derived = _derived(case)
    assert [one.name for one in _streams(derived)] == ["v"]
    assert [one.what for one in derived.definition.losses if one.where == "other counters"] == ["device"]
    assert [one.name for one in _streams(_derived(case, "esx/device/*"))] == ["sda"]


def test_a_volume_that_did_nothing_is_named(tmp_path: Path) -> None:
    derived = _derived(make_case(tmp_path / "s", _volume("v", (100.0,)), _volume("still", (0.0,))))
    assert [one.what for one in derived.definition.losses if one.where == "idle"] == ["still"]


def _rates_alone(recorder: Recorder) -> None:
    recorder.observe(EntityRef("vm", "device", "vda"), _START_NS, 10 * NS_PER_S, {"ops_per_s": 50.0})


def test_volumes_seen_for_different_times_say_how_long_each(tmp_path: Path) -> None:
    gap = float("nan")
    case = make_case(tmp_path / "s", _volume("all", (100.0,) * 4), _volume("part", (gap, 50.0, gap, 50.0)))
    derived = _derived(case)
    assert [one.load for one in _streams(derived)] == [Open(100.0), Open(50.0)]
    assert "(40 s, of which 20 s to 40 s were measured, as the volumes differ)" in derived.comment[0]
    cells = [line.split() for line in derived.comment[1:4]]
    assert [row[0] for row in cells] == ["volume", "all", "part"]
    assert [row[1] for row in cells] == ["measured", "40", "20"]
    assert [one.where for one in derived.definition.losses if one.what == "rate"] == ["part"]


def test_volumes_seen_for_the_same_part_of_a_time_say_it_once(tmp_path: Path) -> None:
    rates = (100.0, float("nan"), float("nan"), 50.0)
    derived = _derived(make_case(tmp_path / "s", _volume("a", rates), _volume("b", rates)))
    assert "(40 s, of which 20 s were measured)" in derived.comment[0]
    assert "measured" not in derived.comment[1]
    assert not [one for one in derived.definition.losses if one.what == "rate"]


@pytest.mark.parametrize(("told", "untold"), [("read", "write"), ("write", "read")])
def test_rates_of_one_direction_alone_are_told_from_none(told: str, untold: str, tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        values = {f"{told}_ops_per_s": 10.0, f"{untold}_bytes_per_s": 4e8}
        recorder.observe(EntityRef("array", "vdisk", "v"), _START_NS, 10 * NS_PER_S, values)

    case = make_case(tmp_path / "s", write)
    for entity in (None, "v"):
        with pytest.raises(UsageError, match=rf"{told}s per second of v, but no {untold}s per second") as raised:
            _derived(case, entity)
        assert "Export the other rate too" in raised.value.hint


def test_what_the_evidence_does_not_tell_is_asked_for_and_not_made_up(tmp_path: Path) -> None:
    measured = measured_loads(make_case(tmp_path / "s", _rates_alone))
    with pytest.raises(UsageError, match=r"vda: left out, as its share of reads is not told \(--read-share\)"):
        derived_workload(measured)
    with pytest.raises(UsageError, match=r"vda: left out, as the size of a read is not told \(--size\)"):
        derived_workload(measured, assumed=Assumed(read_share=0.7))
    told = derived_workload(measured, assumed=Assumed(read_share=0.7, size_bytes=4096))
    (stream,) = _streams(told)
    assert stream.access == Mix((AccessSpec(4096, read_share=0.7),))
    assert {"share of reads", "size of reads"} <= {one.what for one in told.definition.losses}
    with pytest.raises(UsageError, match="neither latency nor queue is told"):
        derived_workload(measured, is_closed=True, assumed=Assumed(read_share=0.7, size_bytes=4096))


def test_what_is_told_already_is_not_assumed(tmp_path: Path) -> None:
    measured = measured_loads(make_case(tmp_path / "s", _volume("v", (100.0,))))
    with pytest.raises(UsageError, match="--read-share where evidence does not tell it"):
        derived_workload(measured, assumed=Assumed(read_share=0.5))


def test_names_are_names_and_no_patterns_and_no_lines_of_the_file(tmp_path: Path) -> None:
    names = ["lun[1]", "lun*", 'a\n[sweep]\nx = "']
    derived = _derived(make_case(tmp_path / "s", *(_volume(name, (100.0,)) for name in names)))
    (tmp_path / "w.toml").write_text(derived.toml())
    definition = load_workload(str(tmp_path / "w.toml"))
    volumes = [Attachment("esx", name, 2**30) for name in ("lun1", *names)]
    placed = assigned([Assignment(definition.workloads[0], target_names=definition.targets)], volumes)
    assert {one.name: volumes[one.targets[0]].volume for one in placed.streams} == {name: name for name in names}


def test_a_volume_of_several_hosts_is_named_with_its_host(tmp_path: Path) -> None:
    hosts = (_volume("naa.6", (rate,), system=host, kind="device") for host, rate in (("esx1", 100.0), ("esx2", 50.0)))
    assert _derived(make_case(tmp_path / "s", *hosts)).definition.targets == ("esx1/naa.6", "esx2/naa.6")


# On the command line -------------------------------------------------------------------------------------------------


def test_the_file_says_the_time_and_both_it_and_the_losses_say_what_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_store(tmp_path / "s", _volume("v", (100.0, 300.0)))
    assert run(["workload", "derive", str(store.path), "--since", "2026-11-20T00:00:10"]) == 0
    printed = capsys.readouterr()
    assert "# Measured, the mean: 2026-11-20 00:00:10Z to 2026-11-20 00:00:20Z (10 s)" in printed.out
    assert "rate_per_s = 300.0" in printed.out
    for said in (printed.out, printed.err):
        assert "random" in said
    assert "lost  all streams: offsets and working set" in printed.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--entity", "nope*"], "found 1 vdisk (v)"),
        (["--window", "5m"], "--window with --at peak"),
        (["--size", "0"], "--size: expected a size of at least 512 bytes"),
        (["--json", "-o", "w.toml"], "--json or --output"),
        (["--until", "2020-01-01"], "there is some from 2026-11-20"),
        (["--timezone", "UTC"], "evidence to read for --timezone"),
    ],
)
def test_what_makes_no_sense_is_refused(
    options: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_store(tmp_path / "s", _volume("v", (100.0,)))
    assert run(["workload", "derive", str(store.path), *options]) == 2
    assert expected in capsys.readouterr().err


def test_a_benchmark_alone_has_no_measured_load(capsys: pytest.CaptureFixture[str]) -> None:
    sample = Path(__file__).parent / "importers" / "fio_json" / "fio_3.33_jsonplus.json"
    assert run(["workload", "derive", str(sample)]) == 2
    said = capsys.readouterr().err
    assert "benchmark runs, whose load is what they were told" in said
    assert "storscope simulate DESIGN --workload FILE" in said


def test_a_diagnosis_of_volumes_names_the_next_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = _volume("v", (100.0,) * 60, latency_ns_mean=200e6)
    run(["diagnose", str(make_store(tmp_path / "slow", slow).path)])
    assert "Next: storscope workload derive" in capsys.readouterr().out
    drives = _volume("d", (100.0,) * 60, kind="disk", latency_ns_mean=200e6)
    run(["diagnose", str(make_store(tmp_path / "drives", drives).path)])
    said = capsys.readouterr().out
    assert "More: --verbose" in said
    assert "derive" not in said
