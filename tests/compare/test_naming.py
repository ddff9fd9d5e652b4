"""Runs are called by what their users know: workload and design or target. Simulated ones are said to be simulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from storscope.cli.comparison_tables import comparison_to_markdown
from storscope.cli.main import run as storscope
from storscope.domain.comparison_answer import about_pairs
from storscope.domain.comparison_json import comparison_to_json
from storscope.domain.comparison_words import side_names
from storscope.domain.entity import EntityRef
from storscope.domain.errors import UsageError
from storscope.domain.recorder import Recorder
from storscope.domain.units import format_time
from storscope.report.comparison_page import render_comparison
from storscope.store import Store
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.compare.evidence import SECOND, START, Writer, compared, device, noisy, run
from tests.sim.designs import SMALL


def _simulated(name: str, design: str, mean: float = 1000.0, start: float = 0.0) -> Writer:
    """A simulated run with counters of the array's volume."""

    def write(recorder: Recorder) -> None:
        rates = noisy(mean)
        run(name, rates, id=f"simulation-{design}-{mean:.0f}", start=start, engine="storscope-sim",
            parameters={"design": design, "target": "esx/data"})(recorder)  # fmt: skip
        for index, rate in enumerate(rates):
            at = int(START + start * SECOND) + index * SECOND
            recorder.observe(EntityRef("host", "vdisk", "data"), at, SECOND, {"ops_per_s": rate})

    return write


def test_a_simulated_run_is_called_by_its_workload_and_its_design(tmp_path: Path) -> None:
    found = compared(tmp_path, [_simulated("oltp", "a.toml")], [_simulated("backup", "b.toml", 900)])
    assert found.before.names == ["oltp on host (simulated), run simulation-a.toml-1000"]
    assert found.after.names == ["backup on host (simulated), run simulation-b.toml-900"]
    assert (found.before.simulated, found.after.simulated) == (1, 1)


def test_designs_of_one_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    found = compared(tmp_path, [_simulated("oltp", "a.toml")], [_simulated("oltp", "b.toml", 900)])
    assert found.before.names == ["oltp on host (simulated), design a.toml, run simulation-a.toml-1000"]
    assert found.after.names == ["oltp on host (simulated), design b.toml, run simulation-b.toml-900"]


def test_a_measured_run_is_called_by_its_target_and_is_not_simulated(tmp_path: Path) -> None:
    ours = run("oltp", noisy(900), id="bench-1", engine="storscope", parameters={"target": "/dev/sdb"})
    found = compared(tmp_path, [_simulated("oltp", "a.toml")], [ours])
    assert found.after.names == ["oltp on /dev/sdb of host, run bench-1"]
    assert (found.before.simulated, found.after.simulated) == (1, 0)
    assert (found.before.began_ns, found.after.began_ns is None) == (None, False), "a simulation has no clock of users"


def test_measured_runs_of_one_name_are_told_apart_by_when_they_began(tmp_path: Path) -> None:
    """On a scratch file even the target is one name and some digits."""
    earlier, later = (
        run(
            "oltp", noisy(900), id=f"bench-{k}", start=3600.0 * k, engine="storscope", parameters={"target": "/dev/sdb"}
        )
        for k in range(2)
    )
    found = compared(tmp_path, [earlier], [later])
    sides = (found.before, found.after)
    assert [side.names for side in sides] == [[f"oltp on /dev/sdb of host, run bench-{k}"] for k in range(2)]
    assert [format_time(side.began_ns) for side in sides] == ["2027-01-15 08:00:00Z", "2027-01-15 09:00:00Z"]
    told = [side_names(side) for side in sides]
    assert told[0] == ["oltp on /dev/sdb of host, run bench-0, begun 2027-01-15 08:00:00Z"]
    assert told[1] == ["oltp on /dev/sdb of host, run bench-1, begun 2027-01-15 09:00:00Z"]
    for form in (comparison_to_json(found)["before"], comparison_to_json(found)["after"]):
        assert "begun" not in form["names"][0] and form["began_ns"] > 0
    page = render_comparison(found)
    assert "run bench-0; 2027-01-15 08:00:00Z to" in page.replace("\N{NO-BREAK SPACE}", " ")
    assert "begun" not in page, "the range tells it"


def test_several_runs_are_called_together_and_files_of_other_tools_get_no_name(tmp_path: Path) -> None:
    many = [_simulated(f"load-{k}", "a.toml", 1000 + k, start=200.0 * k) for k in range(4)]
    found = compared(tmp_path, many, [run(f"load-{k}", noisy(900, seed=k)) for k in range(4)])
    assert found.before.names == ["4 access specifications on host (simulated)"]
    assert (found.after.names, found.after.subjects) == ([], 4)


def test_counters_of_simulated_arrays_are_not_those_of_running_systems(tmp_path: Path) -> None:
    simulated = [_simulated("oltp", "a.toml")]
    alone = compared(tmp_path / "1", simulated, [_simulated("oltp", "b.toml", 900)])
    assert alone.notes == ["Counters of simulated arrays are there too; entity=NAME compares those."]
    measured = [run("oltp", noisy(900)), device("sda", noisy(100), noisy(1e6))]
    assert compared(tmp_path / "2", measured, [run("oltp", noisy(800))]).notes == [
        "Counters of running systems are there too; entity=NAME compares those."
    ]
    both = compared(tmp_path / "3", simulated, measured)
    (note,) = [one for one in both.notes if "Counters" in one]
    assert note.startswith("Counters of running systems and of simulated arrays are there too")
    with pytest.raises(UsageError, match="simulated runs before, counters of running systems after"):
        compared(tmp_path / "4", simulated, [device("sda", noisy(100), noisy(1e6))])


def test_two_designs_are_compared_by_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "store")
    for name, text in (("one", SMALL), ("two", SMALL.replace('name = "small"', 'name = "large"', 1))):
        (tmp_path / f"{name}.toml").write_text(text)
        design = str(tmp_path / f"{name}.toml")
        assert storscope(["simulate", design, "--workload", "oltp", "--duration", "2s", "--store", store]) == 0
    capsys.readouterr()
    assert storscope(["compare", "--store", store, "system=small", "system=large"]) == 0
    said = capsys.readouterr().out
    assert "        oltp on small (simulated), run simulation-" in said
    assert "        oltp on large (simulated), run simulation-" in said
    assert storscope(["compare", "--store", store, "entity=vdisk/*,system=small", "entity=vdisk/*,system=large"]) == 0
    assert "        counters of small (simulated)\n" in capsys.readouterr().out
    assert storscope(["compare", "--store", store, "run=x", "run=y"]) == 2
    assert "(oltp on large, simulated); simulation-" in capsys.readouterr().err


def test_a_volume_of_one_simulated_run_is_compared_with_that_of_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.open(tmp_path / "store", create=True)
    runs: list[tuple[str, list[dict[str, Any]]]] = []
    for workload in ("oltp", "backup"):
        simulated = simulate(plan_of(SMALL, workload, duration="2s"), started_ns=10**18 + len(runs) * 10**12)
        store_simulation(store, simulated)
        runs.append((simulated.about.run, simulated.tables()["observations"].to_pylist()))
    sides = [f"run={name},entity=vdisk/log" for name, _ in runs]
    assert storscope(["compare", "--json", "--store", str(tmp_path / "store"), *sides]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    (row,) = [one for one in pair["rows"] if one["metric"] == "iops"]
    for side, (_, observations) in zip(("before", "after"), runs, strict=True):
        rates = [one["ops_per_s"] for one in observations if (one["kind"], one["entity"]) == ("vdisk", "log")]
        assert row[side] == pytest.approx(sum(rates) / len(rates), rel=0.02)
    assert storscope(["compare", "--store", str(tmp_path / "store"), "run=x,entity=vdisk/log", sides[0]]) == 2
    assert "(backup on small, simulated); simulation-" in capsys.readouterr().err


def test_mixes_of_one_name_of_which_one_stream_differs_are_doubted(tmp_path: Path) -> None:
    def mix(hog_rate: float) -> Writer:
        streams = [{"name": "users", "load": {"rate_per_s": 100}}, {"name": "hog", "load": {"rate_per_s": hog_rate}}]
        return run("users and hog", noisy(1000), engine="storscope-sim", block_bytes=None,
                   parameters={"workload": json.dumps({"name": "users and hog", "streams": streams})})  # fmt: skip

    (pair,) = compared(tmp_path, [mix(5000)], [mix(800)]).pairs
    (warning,) = [one for one in pair.warnings if "not the same on both sides" in one]
    assert warning.startswith("The stream 'hog' was not the same on both sides.")
    (alike,) = compared(tmp_path / "alike", [mix(5000)], [mix(5000)]).pairs
    assert not alike.warnings


def test_a_name_that_ends_in_a_colon_gets_no_second_one(tmp_path: Path) -> None:
    """Windows names a disk '0 C:'; warnings began 'device 0 C:: NOT THE SAME LOAD'."""
    sides = [[device("0 C:", [rate] * 40, [latency] * 40)] for rate, latency in ((100.0, 1e6), (200.0, 2e6))]
    found = compared(tmp_path, *sides)
    said = list(about_pairs((warning, pair.name) for pair in found.pairs for warning in pair.warnings))
    for words in (*said, comparison_to_markdown(found)):
        assert "device 0 C: NOT THE SAME LOAD" in words
        assert "C::" not in words
