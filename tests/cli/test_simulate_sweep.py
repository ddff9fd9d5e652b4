"""`storscope simulate --sweep`: a matrix on a design, against drives that are known and against single runs."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import storscope
from storscope.cli.main import run
from storscope.domain.comparison import Settings
from storscope.domain.units import GIB
from storscope.store import Store
from storscope.workbench.comparing import compare
from tests.sim.designs import SMALL

_IOPS = {1: 100, 2: 150, 4: 200}
"""What the drive does with so many in flight, each as long as the others: a closed loop cannot be off it."""
_CURVE = """\
name = "{name}"
group = [{{ name = "g", drive = "d", count = {count}, layout = "raid0", segment = "64 KiB" }}]
volume = [{{ name = "v", group = "g", size = "10 GiB" }}]
host = [{{ name = "h", volumes = [{{ volume = "v" }}] }}]
[drives.d]
kind = "curve"
size = "100 GiB"
block = "4k"
cv = 0
reads = [{{ qd = 1, iops = 100 }}, {{ qd = 2, iops = 150 }}, {{ qd = 4, iops = 200 }}]
writes = [{{ qd = 1, iops = 50 }}, {{ qd = 2, iops = 50 }}, {{ qd = 4, iops = 50 }}]
"""
_THREE_JOBS = """\
[global]
bs=4k
ioengine=libaio
direct=1
[one]
rw=randread
iodepth=1
stonewall
[four]
rw=randread
iodepth=4
stonewall
[write]
rw=randwrite
iodepth=4
stonewall
"""
_REPEATED = """\
[sweep]
outstanding = [1, 2, 4]
duration = "9s"
ramp_up = "2s"
[[workload]]
name = "reads"
stream = [{ outstanding = 8, line = [{ size = "4k" }] }]
"""
_LONG = """\
[[workload]]
name = "short"
stream = [{ outstanding = 1, line = [{ size = "4k" }] }]
[[workload]]
name = "long"
stream = [{ line = [{ size = "4k" }], steps = [{ rate_per_s = 90, duration = "9000h" }] }]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the drive of the curve, a design of three volumes, and workloads that are several."""
    (tmp_path / "curve.toml").write_text(_CURVE.format(name="curve", count=1))
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "three.fio").write_text(_THREE_JOBS)
    (tmp_path / "repeated.toml").write_text(_REPEATED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STORSCOPE_STORE", raising=False)
    return tmp_path


def _cells(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    return list(_form(capsys, *arguments, code=code)["cells"])


def _form(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run(["simulate", *arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def _value(cell: dict[str, Any], name: str = "ops_per_s") -> float:
    return float(cell["figures"][name]["value"])


# Against what is known ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_each_point_does_what_the_curve_of_its_drive_says(capsys: pytest.CaptureFixture[str]) -> None:
    cells = _cells(capsys, "curve.toml", "--sweep", "modes=randread,randwrite", "depths=1,2,4", "--duration", "60s")
    assert [(cell["mode"], cell["depth"]) for cell in cells] == [
        (mode, depth) for mode in ("randread", "randwrite") for depth in (1, 2, 4)
    ]
    for cell in cells:
        known = _IOPS[cell["depth"]] if cell["mode"] == "randread" else 50
        assert _value(cell) == pytest.approx(known, rel=0.01), cell["words"]
        little_ns = cell["depth"] / _value(cell) * 1e9
        assert _value(cell, "latency_ns_mean") == pytest.approx(little_ns, rel=0.01)
        assert _value(cell, "bytes_per_s") == pytest.approx(4096 * _value(cell))


@pytest.mark.usefixtures("folder")
def test_jobs_count_as_often_as_their_depth(capsys: pytest.CaptureFixture[str]) -> None:
    cells = _cells(capsys, "curve.toml", "--sweep", "jobs=1,2,4", "--duration", "30s")
    assert [_value(cell) for cell in cells] == [pytest.approx(_IOPS[jobs], rel=0.01) for jobs in (1, 2, 4)]


@pytest.mark.usefixtures("folder")
def test_a_point_is_what_a_run_of_its_workload_alone_gives(capsys: pytest.CaptureFixture[str]) -> None:
    """On a fresh array and from the same seed, whatever runs beside it."""
    cells = _cells(capsys, "small.toml", "--sweep", "modes=randread,rw", "depth=2,8", "--duration", "5s", "--seed", "7")
    found = storscope.simulate_sweep(SMALL, "modes=randread,rw depth=2,8", duration=5, seed=7)
    assert len(cells) == len(found) == 4
    for cell, one in zip(cells, found, strict=True):
        (alone,) = storscope.simulate_each([SMALL], one.simulated.plan.workload, duration=5, seed=7)
        for name, statistic in (("ops_per_s", "iops"), ("latency_ns_mean", "mean"), ("latency_ns_p99", "p99")):
            assert _value(cell, name) == alone.judgement.estimates[statistic].value
        assert one.simulated.judgement.estimates == alone.judgement.estimates
        assert cell["bounds"] == alone.bottleneck.short


@pytest.mark.usefixtures("folder")
def test_flushes_have_figures_of_their_own_with_which_littles_law_holds(capsys: pytest.CaptureFixture[str]) -> None:
    cells = _cells(capsys, "small.toml", "--workload", "esx1/log=commits", "--sweep", "jobs=1,2", "--duration", "20s")
    for cell in cells:
        assert _value(cell, "flush_ops_per_s") == pytest.approx(_value(cell), rel=0.01)
        wait_ns = _value(cell, "latency_ns_mean") + _value(cell, "flush_latency_ns_mean")
        assert _value(cell) * wait_ns / 1e9 == pytest.approx(cell["jobs"], rel=0.01)
        assert _value(cell, "flush_latency_ns_p99") >= _value(cell, "flush_latency_ns_mean")
    assert (
        run(["simulate", "small.toml", "--workload", "esx1/log=commits", "--sweep", "jobs=1", "--duration", "5s"]) == 0
    )
    assert "flush p99" in capsys.readouterr().out
    (plain,) = _cells(capsys, "small.toml", "--sweep", "modes=randwrite", "--duration", "5s")
    assert not [name for name in plain["figures"] if name.startswith("flush")]


@pytest.mark.usefixtures("folder")
def test_a_part_of_a_volume_is_a_short_stroke(capsys: pytest.CaptureFixture[str]) -> None:
    def iops(*more: str) -> float:
        (cell,) = _cells(capsys, "small.toml", "esx1/data", "--sweep", "depth=1", "--duration", "20s", *more)
        return _value(cell)

    whole, tenth = iops(), iops("--size", "10%")
    assert tenth > 1.03 * whole
    assert tenth == iops("--size", "20GiB")
    assert whole == iops("--size", "200 GiB")


def test_all_of_a_volume_is_the_same_load_however_it_is_said() -> None:
    """So that `compare` pairs full strokes of arrays that hold more and less."""
    said, unsaid = (
        storscope.simulate_sweep(SMALL, "depth=1", volumes="log", size=size, ios=9) for size in ("100%", None)
    )
    assert said[0].simulated.plan.workload == unsaid[0].simulated.plan.workload


# What runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_a_file_of_several_workloads_has_each_simulated_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    cells = _cells(capsys, "curve.toml", "--workload", "three.fio", "--sweep", "--duration", "20s")
    assert {cell["mode"]: round(_value(cell)) for cell in cells} == {"one": 100, "four": 200, "write": 50}


@pytest.mark.usefixtures("folder")
def test_tests_of_iometer_are_simulated_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workload", "convert", "three.fio", "--to", "icf", "-o", "tests.icf"]) == 0
    capsys.readouterr()
    cells = _cells(capsys, "curve.toml", "--workload", "tests.icf", "--sweep", "--duration", "20s")
    assert {cell["mode"]: round(_value(cell)) for cell in cells} == {"one": 100, "four": 200, "write": 50}


@pytest.mark.usefixtures("folder")
def test_what_a_file_repeats_is_simulated_with_each_of_its_depths_and_as_long_as_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    form = _form(capsys, "curve.toml", "--workload", "repeated.toml", "--sweep")
    assert {cell["depth"]: round(_value(cell)) for cell in form["cells"]} == _IOPS
    assert form["duration_ns"] == 11 * 10**9
    cells = _cells(capsys, "curve.toml", "--workload", "v=repeated.toml", "--sweep", "depth=2")
    assert {cell["depth"]: round(_value(cell)) for cell in cells} == {2: 150}


@pytest.mark.usefixtures("folder")
def test_without_a_sweep_what_is_not_simulated_is_told_with_the_way_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "curve.toml", "--workload", "repeated.toml"]) == 0
    assert "--sweep simulates each of them" in capsys.readouterr().err
    assert run(["simulate", "curve.toml", "--workload", "three.fio"]) == 2
    assert "Simulate each by itself with --sweep" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_volumes_that_are_named_are_asked_alone(capsys: pytest.CaptureFixture[str]) -> None:
    every = _cells(capsys, "small.toml", "--sweep", "depth=4", "--duration", "5s")
    one = _form(capsys, "small.toml", "log", "--sweep", "depth=4", "--duration", "5s")
    assert _value(every[0]) > 1.5 * _value(one["cells"][0])
    assert one["target"] == "small: esx1/log"
    assert one["size_bytes"] == 10 * GIB


# What it becomes ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_the_table_has_figures_and_what_bounds_each_point(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "curve.toml", "--sweep", "depth=1,4", "--duration", "20s", "--store", "s"]) == 0
    said = capsys.readouterr()
    assert "Sweep on curve (simulated): 2 of 2 simulations of 20 s" in said.out
    for word in ("IOPS", "bandwidth", "mean latency", "p99", "bound by", "drive g 100 %"):
        assert word in said.out
    assert "In the store s as sweep-" in said.err


@pytest.mark.usefixtures("folder")
def test_the_table_of_fio_s_scripts_has_a_row_for_each_point(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--sweep", "modes=randread,randwrite", "depth=1,4", "--duration", "20s", "--format", "fio-table"]
    assert run(["simulate", "curve.toml", *asked]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out), delimiter=";"))
    assert ";".join(rows[0]).startswith("DEVICE;SIZE;MODE;BLOCKSIZE;NUMJOBS;READMB;WRITEMB;READIOS;WRITEIOS;")
    assert [(row["MODE"], row["IODEPTH"], round(float(row["READIOS"]))) for row in rows[:2]] == [
        ("randread", "1", 100), ("randread", "4", 200),
    ]  # fmt: skip
    assert [row["SIZE"] for row in rows] == ["10G"] * 4


@pytest.mark.usefixtures("folder")
def test_every_field_of_its_json_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "bench-json.md").read_text(encoding="utf-8")
    _, _, of_sweeps = page.partition("## Sweeps and series")
    form = _form(capsys, "curve.toml", "--sweep", "--duration", "1s")
    for name in (*form, *form["cells"][0]):
        assert f"`{name}`" in of_sweeps or f"`{name}[]`" in of_sweeps, name


def test_the_page_shows_each_mode(folder: Path) -> None:
    asked = ["--sweep", "modes=randread,randwrite", "depth=1,2,4", "--duration", "5s", "--report", "s.html"]
    assert run(["simulate", "curve.toml", *asked]) == 0
    page = (folder / "s.html").read_text()
    assert "randread and randwrite on curve" in page
    assert "6 of 6 simulations of 5.00 s, each on a fresh array" in page
    assert "Bound by" in page
    assert "O_DIRECT" not in page


def test_a_measured_sweep_pairs_with_a_simulated_one_by_its_loads(folder: Path) -> None:
    axes = ["--sweep", "sizes=4k,16k", "modes=randread,read", "jobs=1,2", "depth=1,4", "--duration"]
    assert run(["bench", str(folder), *axes, "0.2s", "--size", "16M", "--store", "measured"]) == 0
    assert run(["simulate", "curve.toml", *axes, "2s", "--store", "simulated"]) == 0
    found = compare("measured", "simulated", Settings())
    assert len(found.pairs) == 16
    assert not found.unmatched
    assert [pair.warnings for pair in found.pairs if not pair.is_comparable] == []


# What goes wrong, and what is kept ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("curve.toml --sweep dpth=4", "expected axes like sizes=4k,64k, found 'dpth=4'"),
        ("curve.toml --sweep depth=x", "expected values of the axis depth, found 'x': a whole number"),
        ("curve.toml --sweep depth=4 nope", "expected a volume of the design, as VOLUME or HOST/VOLUME, found 'nope'"),
        ("--sweep depth=4", "expected a design, found none"),
        ("curve.toml depth=4", "Got unexpected extra argument (depth=4)"),
        ("curve.toml --workload oltp --size 10%", "expected --sweep, which alone has --size, found none"),
        ("curve.toml --workload oltp --format csv", "expected --sweep, which alone has --format, found none"),
        ("curve.toml --sweep --size 11G", "--size: expected a part of each volume, at most 10 GiB, found '11G'"),
        ("curve.toml --sweep --size 0%", "--size: expected a share above 0 and at most 100%, found '0%'"),
        ("curve.toml --sweep --size x", "--size: expected a size like 100G, or a share like 10%, found 'x'"),
        ("small.toml --sweep --size 10%", "expected a share of volumes that are equally large, found esx1/data has"),
        ("curve.toml --sweep --animate", "expected --sweep without --animate, found both"),
        ("curve.toml --sweep --closed-loop 3", "expected --sweep without --closed-loop, found both"),
        ("curve.toml --sweep --json --format csv", "expected --json or --format, which say the same thing"),
        ("curve.toml --sweep modes=read --workload oltp", "expected the axes jobs and depth with --workload"),
        ("curve.toml --sweep --workload oltp --workload backup", "expected one --workload with --sweep, found 2"),
        ("curve.toml --sweep --check --report x.html", "expected --check without --report, found both"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_asked_wrongly_is_refused(asked: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", *asked.split()]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_point_that_cannot_be_simulated_is_told_and_the_others_are(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["curve.toml", "--sweep", "sizes=4k,16M", "--size", "8M", "--duration", "2s"]
    form = _form(capsys, *asked, code=2)
    assert [cell["block_bytes"] for cell in form["cells"]] == [4096]
    (failure,) = form["failures"]
    assert failure.startswith("randread, 16 MiB, 1 job, depth 1: ")
    with pytest.raises(storscope.StorscopeError):
        storscope.simulate_sweep("curve.toml", "sizes=4k,16M", size="8M", duration=2)


@pytest.mark.usefixtures("folder")
def test_what_would_be_simulated_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "curve.toml", "--sweep", "modes=randread,rw", "depth=1,8", "--check"]) == 0
    said = capsys.readouterr().out
    assert "4 points:" in said
    assert "4. rw, 50 % reads, 4 KiB, 1 job, depth 8" in said
    form = _form(capsys, "curve.toml", "--sweep", "modes=randread,rw", "depth=1,8", "--check")
    assert [(point["mode"], point["depth"]) for point in form["points"]] == [
        ("randread", 1), ("randread", 8), ("rw", 1), ("rw", 8),
    ]  # fmt: skip


@pytest.mark.usefixtures("folder")
def test_what_the_store_does_not_take_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last point would take hours, and ends with the error."""

    def full(*_: object) -> str:
        raise storscope.StoreError("a store that takes a capture", "No space left on device")

    monkeypatch.setattr("storscope.workbench.simulation_store.store_simulation", full)
    Path("long.toml").write_text(_LONG)
    assert run(["simulate", "curve.toml", "--workload", "long.toml", "--sweep"]) == 2
    said = capsys.readouterr()
    assert "1 of 2 simulations" in said.out
    assert "No space left on device" in said.err


def test_ctrl_c_keeps_the_points_that_are_done(folder: Path) -> None:
    """The last of them would take hours."""
    (folder / "long.toml").write_text(_LONG)
    script = "from storscope.cli.entry import main; main()"
    asked = ["simulate", "curve.toml", "--workload", "long.toml", "--sweep", "--store", "kept"]
    process = subprocess.Popen([sys.executable, "-c", script, *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + 120
        while not _stored(folder / "kept") and time.monotonic() < end:
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        out, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, said.decode()
    assert "1 of 2 simulations" in out.decode()
    assert "1 simulation is missing." in out.decode()
    assert Store.open(folder / "kept").query("SELECT name FROM runs").to_pylist() == [{"name": "short"}]


def _stored(path: Path) -> bool:
    return any(path.glob("capture=*"))
