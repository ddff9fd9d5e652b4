"""Simulations from Python: what can be caught, what a result says of itself, and tables that other programs read."""

from __future__ import annotations

import inspect
import pydoc
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import storscope
from storscope.cli.commands.demo import examples_folder
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.load import Closed, Region
from storscope.domain.workload import Stream, Workload
from tests.sim.designs import SMALL

_READS = Workload("reads", (Stream(Mix((AccessSpec(8192),)), Closed(4), name="reads"),))
_BOTH_OF_A_PAIR = "".join(
    f'[[at]]\ntime = "{second} s"\ndrive_fails = {{ group = "g", index = {index} }}\n'
    for second, index in ((1, 0), (2, 1))
)
_UNNAMED = "time_s,op,offset_bytes,length_bytes\n0,R,0,4096\n"
_NAMED = "time_s,volume,op,offset_bytes,length_bytes\n0,esx1/nope,R,0,4096\n"


def _result(path: Path, schedule: str = "", duration: str = "4s") -> storscope.Simulated:
    (path / "s.toml").write_text(schedule)
    told = path / "s.toml" if schedule else None
    (found,) = storscope.simulate_each([SMALL], _READS, duration=duration, schedule=told)
    return found


# What can be caught ---------------------------------------------------------------------------------------------------

_WRONG: dict[str, Callable[[Path], object]] = {
    "a design that is no file": lambda path: storscope.simulate(path / "none.toml", _READS),
    "a design with a NUL": lambda _: storscope.simulate("a\0b", _READS),
    "a workload of no name": lambda _: storscope.simulate(SMALL, "x" * 300),
    "a volume that is no text": lambda _: storscope.simulate(SMALL, {3: "oltp"}),  # type: ignore[dict-item]
    "no workload": lambda _: storscope.simulate(SMALL, {}),
    "a schedule that is no file": lambda _: storscope.simulate(SMALL, _READS, schedule=3),  # type: ignore[arg-type]
    "a schedule with a NUL": lambda _: storscope.simulate(SMALL, _READS, schedule="a\0b"),
    "no trace": lambda _: storscope.simulate_trace(SMALL, None),  # type: ignore[arg-type]
    "a list of traces": lambda path: storscope.simulate_trace(SMALL, [path / "t.csv"]),  # type: ignore[arg-type]
    "a trace with a NUL": lambda _: storscope.simulate_trace(SMALL, "a\0b"),
    "a trace for no text": lambda path: storscope.simulate_trace(SMALL, {3: path / "t.csv"}),  # type: ignore[dict-item]
    "a start without room": lambda _: storscope.simulate(SMALL, _READS, duration="1s", started_ns=2**63 - 1),
    "a late start of a trace": lambda path: storscope.simulate_trace(
        SMALL, {"esx1/data": path / "t.csv"}, started_ns=2**63 - 1
    ),
    "an end beyond all numbers": lambda _: storscope.simulate(SMALL, _READS, duration=1e300),
    "an end beyond all floats": lambda _: storscope.simulate(SMALL, _READS, duration=10**400),
    "half of a character": lambda _: storscope.load_design("name = '\ud800'\n"),
    "half of a character in a workload": lambda _: storscope.simulate(SMALL, "\ud800\n"),
    "a schedule without a name": lambda _: storscope.load_design(SMALL, ""),
    "half of a character in a schedule": lambda _: storscope.load_design(SMALL, "# \ud800\n"),
    "a span of NumPy": lambda _: storscope.simulate(SMALL, _READS, duration=np.timedelta64(1, "s")),  # type: ignore[arg-type]
    "a span of NumPy as a factor": lambda path: storscope.simulate_trace(
        SMALL,
        path / "t.csv",
        speed_up=np.timedelta64(1, "s"),  # type: ignore[arg-type]
    ),
    "a factor beyond all floats": lambda path: storscope.simulate_trace(SMALL, path / "t.csv", speed_up=10**400),
    "axes that are no text": lambda _: storscope.simulate_sweep(SMALL, 3),  # type: ignore[arg-type]
    "volumes that are no text": lambda _: storscope.simulate_sweep(SMALL, volumes=[3]),  # type: ignore[list-item]
    "a size that is none": lambda _: storscope.simulate_sweep(SMALL, size=0.1),  # type: ignore[arg-type]
    "a sweep of a mapping": lambda _: storscope.simulate_sweep(SMALL, "", {"data": "oltp"}),  # type: ignore[arg-type]
    "a sweep of no workload": lambda _: storscope.simulate_sweep(SMALL, "", "no such workload"),
    "an axis that there is not": lambda _: storscope.simulate_sweep(SMALL, ["dpth=3"]),
    "a load that no name has": lambda _: storscope.load_design("name = 'x'\ngroup = 3\n"),
}


@pytest.mark.parametrize("wrong", _WRONG)
def test_what_a_caller_gets_wrong_is_an_error_of_ours(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(_UNNAMED)
    with pytest.raises(storscope.StorscopeError) as raised:
        _WRONG[wrong](tmp_path)
    assert isinstance(raised.value, storscope.UsageError | storscope.ConfigError | storscope.InputError)


def test_a_schedule_may_be_text_as_a_design_is(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(_BOTH_OF_A_PAIR)
    by_text, by_file = (storscope.load_design(SMALL, one) for one in (_BOTH_OF_A_PAIR, tmp_path / "s.toml"))
    assert by_text == by_file
    assert len(by_text.form["changes"]) == 2
    (found,) = storscope.simulate_each([SMALL], _READS, duration="4s", schedule=_BOTH_OF_A_PAIR)
    assert found.status == "failed"


def test_a_mistake_in_the_text_of_a_schedule_is_told_with_its_line_and_without_all_of_it() -> None:
    wrong = {
        '[[at]]\ntime = "1s"\ndrive_fails = { group = "g", index = 99 }\n': "the schedule:53:38: at[0].drive_fails.",
        "[[stream]]\nname = 3\n": "the schedule:52: stream[0].name",
    }
    for mistake, place in wrong.items():
        with pytest.raises(storscope.ConfigError) as raised:
            storscope.load_design(SMALL, "# a remark\n" * 50 + mistake)
        assert str(raised.value).startswith(place)
        assert len(str(raised.value)) < 250


@pytest.mark.parametrize("duration", [".1s", " .1", "0.1s", 0.1])
def test_a_duration_may_begin_with_its_point(duration: str | float) -> None:
    (run,) = storscope.simulate(SMALL, _READS, duration=duration, started_ns=0)["runs"].to_pylist()
    assert dict(run["parameters"])["planned_s"] == "0.1"


def test_a_design_shows_itself_in_a_line() -> None:
    assert repr(storscope.load_design(SMALL)) == "<Design 'small' from the text: 1 group, 2 volumes>"


def test_a_start_that_leaves_no_room_for_the_run_is_told_with_the_last_one() -> None:
    with pytest.raises(storscope.UsageError) as raised:
        storscope.simulate(SMALL, _READS, duration="1s", started_ns=2**63 - 1)
    said = re.search(r"ns since 1970 for started_ns, a whole number from 0 to ([\d,]+), found", str(raised.value))
    assert said
    assert "which end in 2262" in str(raised.value)
    last = int(said[1].replace(",", ""))
    (row,) = storscope.simulate(SMALL, _READS, duration="1s", started_ns=last)["runs"]["time"].cast("int64").to_pylist()
    assert row == last


def test_a_trace_that_would_take_longer_than_times_can_tell_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(_UNNAMED + "5000,R,0,4096\n")
    with pytest.raises(storscope.UsageError, match=r"takes less than 1,000,000,000 s, found 1e-06"):
        storscope.simulate_trace(SMALL, {"esx1/data": tmp_path / "t.csv"}, speed_up=1e-6)


@pytest.mark.parametrize("trace", [_UNNAMED, _NAMED])
def test_a_trace_without_a_place_is_told_how_python_gives_it_one(trace: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(trace)
    with pytest.raises(storscope.UsageError) as raised:
        storscope.simulate_trace(SMALL, tmp_path / "t.csv")
    assert 'a mapping of volumes to files, {"VOLUME": "FILE"}' in str(raised.value)
    assert "--trace" not in str(raised.value)


@pytest.mark.parametrize("name", ["load_design", "simulate", "simulate_each", "simulate_sweep", "simulate_trace"])
def test_functions_have_their_public_name_and_say_what_they_raise(name: str) -> None:
    function = getattr(storscope, name)
    assert function.__name__ == name
    assert "Raises " in inspect.getdoc(function).replace("\n", " ")  # type: ignore[union-attr]


def test_a_design_is_read_once_for_many_runs_and_keeps_its_schedule(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(_BOTH_OF_A_PAIR)
    design = storscope.load_design(SMALL, tmp_path / "s.toml")
    assert isinstance(design, storscope.Design)
    assert storscope.load_design(design) is design
    assert [one.status for one in storscope.simulate_each([design, SMALL], _READS, duration="4s")] == ["failed", "ok"]


# What a result says of itself -----------------------------------------------------------------------------------------


def test_lost_data_shows_in_the_status_the_doubts_the_tables_and_the_short_form(tmp_path: Path) -> None:
    lost = _result(tmp_path, _BOTH_OF_A_PAIR)
    assert lost.status == "failed"
    assert [one.time_ns // 10**9 for one in lost.lost] == [2, 2], "both volumes lie on the pair"
    assert any("data of volume data is lost" in doubt for doubt in lost.doubts)
    (run,) = lost.tables()["runs"].select(["status", "parameters"]).to_pylist()
    assert run["status"] == lost.status
    assert "data of volume data is lost" in dict(run["parameters"])["doubts"]
    assert "; failed, doubts: " in repr(lost)


def test_a_sound_run_has_no_doubts_and_its_short_form_the_headline(tmp_path: Path) -> None:
    sound = _result(tmp_path)
    assert (sound.status, sound.lost, sound.doubts) == ("ok", (), ())
    assert re.fullmatch(
        r"<Simulated 'small' under 'reads', seed 1, 4\.00 s: [\d,]+ IOPS, [\d.]+ MB/s, "
        r"mean [\d.]+ ms, p99 [\d.]+ ms; ok>",
        repr(sound),
    )
    assert len(repr([sound, sound])) < 400


def test_the_names_of_the_figures_are_those_that_are_documented(tmp_path: Path) -> None:
    estimates = _result(tmp_path).judgement.estimates
    (mixed,) = storscope.simulate_each([SMALL], "random-8k-70-read", duration="2s")
    plain = {"iops", "bandwidth", "mean", "p50", "p99", "p99.9"}
    assert set(estimates) == plain
    assert set(mixed.judgement.estimates) == {f"{of}{name}" for of in ("", "read-", "write-") for name in plain}
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in plain)
    assert estimates["iops"].value * 8192 == pytest.approx(estimates["bandwidth"].value)


def test_array_is_of_the_whole_run_and_window_without_its_warm_up(tmp_path: Path) -> None:
    (found,) = storscope.simulate_each([SMALL], "oltp", duration="60s")
    begin, end = found.judgement.from_ns, found.judgement.to_ns
    assert found.array["duration_ns"] >= end
    assert (found.window["start_ns"], found.window["duration_ns"]) == (begin, end - begin)
    said = pydoc.getdoc(storscope.simulate_each)
    assert "`window`" in said
    assert "warm-up included" in said


# What other programs read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{"duration": "2s"}, {"duration": "7001777ns"}, {"ios": 3001}])
def test_every_time_of_a_table_but_of_events_is_one_that_datetime_has(asked: dict[str, Any]) -> None:
    tables = storscope.simulate(SMALL, "oltp", **asked)
    assert {name for name, table in tables.items() if name != "events" and not table.to_pylist()} == set()


def test_those_of_a_replay_too(tmp_path: Path) -> None:
    rows = "".join(f"{number * 0.0012345678:.10f},R,{number * 409600},4096\n" for number in range(300))
    (tmp_path / "t.csv").write_text("time_s,op,offset_bytes,length_bytes\n" + rows)
    tables = storscope.simulate_trace(SMALL, {"esx1/data": tmp_path / "t.csv"})
    assert {name for name, table in tables.items() if name != "events" and not table.to_pylist()} == set()


def test_the_examples_of_the_documentation_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With two small designs in place of those that it names, and shorter."""
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 10
    (tmp_path / "array.toml").write_text(SMALL.replace('"data"', '"vmfs1"').replace('"log"', '"dw"'))
    for name in ("old.toml", "new.toml"):
        (tmp_path / name).write_text(SMALL)
    (tmp_path / "failures.toml").write_text(_BOTH_OF_A_PAIR)
    (tmp_path / "captures").symlink_to(examples_folder() / "equallogic")
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    for block in blocks:
        shorter = block.replace('"10m"', '"5s"').replace('schedule="fail', 'duration="5s", schedule="fail')
        exec(shorter, known)
    said = capsys.readouterr().out
    assert re.search(r"data of volume (data|log) is lost", said)
    assert "a built-in workload or a file neither, of the name 'no such workload'" in said
    assert known["observed"].height == known["tables"]["observations"].num_rows
    assert {row["entity"] for row in known["rows"]} == {"vmfs1", "dw"}
    assert known["events"]
    assert len(known["points"]) == 6
    assert "CRITICAL: vmk2 carries no iSCSI traffic" in said
    assert known["failed"] and (tmp_path / "report.html").exists()
    assert known["comparison"].outcome in {"no difference shown", "cannot tell"}
    assert known["found"].not_read


# What ends many -------------------------------------------------------------------------------------------------------

_LONG = "30h"
"""Takes minutes; what ends it before is what is tested."""
_SOON_S = 30
"""On a machine that is busy with other tests, too."""


def _interrupt_what_runs() -> None:
    """Ctrl-C a second after a pool of threads has begun."""
    while not any(thread.name.startswith("ThreadPoolExecutor") for thread in threading.enumerate()):
        time.sleep(0.01)
    time.sleep(1)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_ctrl_c_ends_all_that_run_side_by_side() -> None:
    threading.Thread(target=_interrupt_what_runs, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        storscope.simulate_each([SMALL] * 3, _READS, duration=_LONG)
    assert time.monotonic() - began < _SOON_S


def test_what_is_wrong_with_one_is_raised_while_the_others_run() -> None:
    stream = Stream(Mix((AccessSpec(8192),)), Closed(4), region=Region(start_bytes=5 * 1024**3))
    small = SMALL.replace('size = "10 GiB"', 'size = "2 GiB"')
    assert small != SMALL
    began = time.monotonic()
    with pytest.raises(storscope.ConfigError, match="expected room for transfers"):
        storscope.simulate_each([SMALL, small], Workload("far", (stream,)), duration=_LONG)
    assert time.monotonic() - began < _SOON_S


# Many points ----------------------------------------------------------------------------------------------------------


def test_a_sweep_gives_each_point_in_the_order_of_the_matrix_with_what_a_single_run_gives() -> None:
    found = storscope.simulate_sweep(SMALL, ["modes=randread,randwrite", "depth=1,4"], volumes="log", duration="2s")
    assert [(one.point.mode, one.point.depth) for one in found] == [
        (mode, depth) for mode in ("randread", "randwrite") for depth in (1, 4)
    ]
    assert all(one.simulated.status == "ok" for one in found)
    assert len({one.simulated.about.run for one in found}) == 4
    assert repr(found[1]).startswith("<SimulatedPoint 'randread, 4 KiB, 1 job, depth 4': <Simulated 'small' under ")


def test_a_workload_is_swept_as_a_value_and_again_to_the_last_byte() -> None:
    def tables() -> list[Any]:
        found = storscope.simulate_sweep(SMALL, "depth=1,2", _READS, size=10 * 2**30, duration=2, started_ns=10**18)
        return [one.simulated.tables() for one in found]

    once, again = tables(), tables()
    assert len(once) == 2
    assert all(one[name].equals(other[name]) for one, other in zip(once, again, strict=True) for name in one)
