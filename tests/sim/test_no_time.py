"""A design without costs on the way of I/Os: what nothing delays is told, and a run in which no time passes ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.cli.main import run
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import ConfigError
from storscope.domain.load import Closed, Load, Open
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Stream, Workload
from storscope.workbench.no_time import check_time_passed
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of

_DESIGN = """\
name = "r5"
{cache}
group = [{{ name = "g", drive = "15k-sas", count = 8, layout = "raid5" }}]
volume = [{{ name = "v", group = "g", size = "200 GiB" }}]
controller = [{{ name = "A"{cost} }}]
host = [{{ name = "h", volumes = [{{ volume = "v" }}] }}]
"""
_HITS, _WRITES, _LARGE = (
    "cache = { read = { hit_ratio = 1.0 } }", 'cache = { write = { size = "1 GiB" } }',
    'cache = { write = { size = "1 TiB" } }',
)  # fmt: skip
_COST = ', cost_per_op = "100 us"'
_LOAD = """\
name = "w"
[[stream]]
outstanding = 4
line = [{{ size = "4k", read_share = {reads}, random_share = 1 }}]
"""


def _text(cache: str, cost: str = "") -> str:
    return _DESIGN.format(cache=cache, cost=cost)


def _simulated(cache: str, load: Load, cost: str = "", *, reads: float = 0.0, duration: str = "60s") -> Simulated:
    workload = Workload("w", (Stream(Mix((AccessSpec(4096, read_share=reads),)), load),))
    return simulate(plan_of(_text(cache, cost), workload, duration=duration), started_ns=0)


def _command(tmp_path: Path, cache: str, reads: int, *options: str) -> int:
    (tmp_path / "d.toml").write_text(_text(cache))
    (tmp_path / "w.toml").write_text(_LOAD.format(reads=reads))
    asked = [str(tmp_path / "d.toml"), "--workload", str(tmp_path / "w.toml"), "--store", str(tmp_path / "store")]
    return run(["simulate", *asked, *options])


@pytest.mark.parametrize(("cache", "reads"), [(_HITS, 1), (_LARGE, 0)])
def test_a_closed_loop_whose_ios_take_no_time_ends_with_words(
    cache: str, reads: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _command(tmp_path, cache, reads, "--duration", "10s") == 2
    said = capsys.readouterr().err
    assert "d.toml: 20,000,004 I/Os were done at one instant, since nothing on their way takes time: give " in said
    assert "Traceback" not in said


def test_so_does_a_number_of_ios_that_is_reached_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _command(tmp_path, _HITS, 1, "--ios", "300") == 2
    assert "d.toml: 300 I/Os were done at one instant, since nothing on their way takes time" in capsys.readouterr().err


def test_so_does_a_trace_of_one_instant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.toml").write_text(_text(_HITS))
    (tmp_path / "t.csv").write_text("time_s,volume,op,offset_bytes,length_bytes\n0,v,R,0,4096\n0,v,R,8192,4096\n")
    asked = [str(tmp_path / "d.toml"), "--trace", str(tmp_path / "t.csv"), "--store", str(tmp_path / "store")]
    assert run(["simulate", *asked]) == 2
    assert "2 I/Os were done at one instant" in capsys.readouterr().err


def test_a_run_that_is_stopped_before_its_first_interval_is_none_of_these() -> None:
    plan = plan_of(_text(_HITS), Workload("w", (Stream(Mix((AccessSpec(4096),)), Closed(4)),)), ios=300)
    found = {"error": None, "result": {"ending": {"completed": 300}}}
    check_time_passed(plan, found, 0, is_stopped=True)
    check_time_passed(plan, found, 1, is_stopped=False)
    check_time_passed(plan, {**found, "error": {"kind": "data_lost", "message": ""}}, 0, is_stopped=False)
    with pytest.raises(ConfigError, match="300 I/Os were done"):
        check_time_passed(plan, found, 0, is_stopped=False)


def test_data_that_is_lost_with_the_first_io_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failures = [f'[[at]]\ntime = "0s"\ndrive_fails = {{ group = "g", index = {index} }}\n' for index in (1, 2)]
    (tmp_path / "s.toml").write_text("".join(failures))
    assert _command(tmp_path, _WRITES.replace("1 GiB", "1 MiB"), 1, "--schedule", str(tmp_path / "s.toml")) == 2
    assert "DATA LOST: At " in capsys.readouterr().out


def test_answers_that_take_no_time_are_answers_and_are_doubted() -> None:
    """18,000 writes a minute were "no I/O in the time that counts"."""
    simulated = _simulated(_WRITES, Open(300.0))
    assert simulated.bottleneck.kind == "no_time"
    assert simulated.bottleneck.words.startswith(
        "Nothing in the design: I/Os take no time, since nothing on their way has a cost (cost_per_op of a controller, "
        "or a link). The most used: the 8 drives of g, to "
    )
    (doubt,) = (one for one in simulated.doubts if "took no time" in one)
    assert doubt.startswith(f"All {simulated.measured.all.ios:,} writes took no time, since nothing on their way has a")


@pytest.mark.parametrize(("load", "cost"), [(Open(300.0), _COST), (Closed(64), _COST)])
def test_with_a_cost_nothing_is_said(load: Load, cost: str) -> None:
    simulated = _simulated(_WRITES, load, cost)
    assert not any("took no time" in one for one in simulated.doubts)
    assert simulated.bottleneck.kind != "no_time"


def test_writes_that_take_no_time_beside_reads_that_do_are_doubted_too() -> None:
    simulated = _simulated(_WRITES, Open(100.0), reads=0.5, duration="10s")
    (doubt,) = (one for one in simulated.doubts if "took no time" in one)
    writes = simulated.measured.direction("writes")
    assert f"{writes.ios:,} writes" in doubt
    assert "reads" not in doubt
    assert simulated.bottleneck.kind == "load"
    assert simulated.judgement.to_ns == 10 * NS_PER_S


def test_drives_that_bound_a_full_cache_are_told_as_what_empties_it() -> None:
    """It said "I/Os spend 0 % of their time there. Another 100 % they wait for the cache, which it fills"."""
    full = _simulated(_WRITES.replace("1 GiB", "64 MiB"), Closed(64), _COST)
    assert full.bottleneck.kind == "drive"
    assert full.bottleneck.words.startswith("The 8 drives of g are used to 9")
    assert full.bottleneck.words.endswith(
        " and cannot empty the write cache faster: I/Os wait for room in it 99.9 % of their time."
    )
