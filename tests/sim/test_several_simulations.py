"""A simulated run is a world of its own: runs of one design in one store are judged one by one."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from storscope.cli.main import run as run_command
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.errors import UsageError
from storscope.domain.load import Closed
from storscope.domain.units import NS_PER_S
from storscope.domain.verdict import Verdict
from storscope.domain.verdict_json import verdict_to_json
from storscope.domain.workload import Stream, Workload
from storscope.report.page import render
from storscope.sim.design import read_design
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from storscope.workbench.simulated import Simulated
from storscope.workbench.simulating import simulate
from storscope.workbench.simulating_many import plan_of
from storscope.workbench.simulation_store import store_simulation
from tests.report.evidence import day_of_volumes
from tests.sim.designs import SMALL
from tests.support.cases import make_store

_STARTED_NS = 1_795_132_800_000_000_000
_SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "verdict.schema.json").read_text())


@functools.cache
def _simulated(name: str, outstanding: int, after_s: int) -> Simulated:
    workload = Workload(name, (Stream(Mix((AccessSpec(8192),)), Closed(outstanding), name=name),))
    plan = plan_of(read_design(SMALL, "small.toml"), workload, duration="90s")
    return simulate(plan, started_ns=_STARTED_NS + after_s * NS_PER_S)


def _few(after_s: int = 0) -> Simulated:
    return _simulated("few", 1, after_s)


def _many(after_s: int = 2) -> Simulated:
    return _simulated("many", 32, after_s)


def _kept(path: Path, runs: Sequence[Simulated]) -> Store:
    store = Store.open(path, create=True)
    for one in runs:
        store_simulation(store, one)
    return store


def _outcomes(verdict: Verdict) -> list[Any]:
    """Findings without their SQL, and all else that was judged."""
    form = verdict_to_json(verdict)
    for finding in form["findings"]:
        for rows in finding["evidence"]:
            rows.pop("query")
    return [form[name] for name in ("findings", "healthy", "not_evaluated", "bad_windows", "start", "end")]


@pytest.mark.parametrize("after_s", [2, 3600])
def test_of_several_runs_the_latest_is_judged_as_if_it_were_alone(tmp_path: Path, after_s: int) -> None:
    few, many = _few(), _many(after_s)
    both = diagnose(_kept(tmp_path / "both", [few, many]))
    assert both.findings
    assert _outcomes(both) == _outcomes(diagnose(_kept(tmp_path / "alone", [many])))
    part = both.provenance.part
    assert part is not None
    assert (part.run, part.left_out) == (many.about.run, [few.about.run])
    assert f"only the latest was judged, {many.about.run} (many on small)" in part.words
    assert f"--run ID: {few.about.run} (few on small)" in part.words
    assert [row["path"] for row in both.provenance.captures] == ["simulation of small.toml"]


@pytest.mark.parametrize("asked", ["few", "f?w", None])
def test_a_run_that_is_asked_for_is_judged_alone(tmp_path: Path, asked: str | None) -> None:
    few, many = _few(), _many()
    verdict = diagnose(_kept(tmp_path / "both", [few, many]), run=asked or few.about.run)
    assert _outcomes(verdict) == _outcomes(diagnose(_kept(tmp_path / "alone", [few])))
    part = verdict.provenance.part
    assert part is not None
    assert (part.run, part.left_out) == (few.about.run, [many.about.run])


def test_a_pattern_of_two_runs_and_a_name_of_none_are_refused_with_their_names(tmp_path: Path) -> None:
    store = _kept(tmp_path / "store", [_few(), _many()])
    with pytest.raises(UsageError, match=r"judged one by one.*found 2: .*few on small"):
        diagnose(store, run="*")
    with pytest.raises(UsageError, match=r"'lots', found none[.]\n.*many on small"):
        diagnose(store, run="lots")


def test_the_queries_of_a_finding_give_its_rows_from_the_whole_store(tmp_path: Path) -> None:
    store = _kept(tmp_path / "store", [_few(), _many()])
    tables = [rows for finding in diagnose(store).findings for rows in finding.evidence]
    assert tables
    for rows in tables:
        again = store.query(rows.query)
        assert (again.column_names, again.num_rows) == (list(rows.columns), rows.total_rows)


def test_a_single_run_is_all_there_is(tmp_path: Path) -> None:
    verdict = diagnose(_kept(tmp_path / "store", [_few()]))
    assert verdict.provenance.part is None
    assert not verdict.provenance.notes


def test_what_was_measured_is_judged_without_simulated_runs(tmp_path: Path) -> None:
    alone = make_store(tmp_path / "alone", day_of_volumes(4, 30, 10))
    store = make_store(tmp_path / "both", day_of_volumes(4, 30, 10))
    few = _few()
    store_simulation(store, few)
    verdict = diagnose(store)
    assert _outcomes(verdict) == _outcomes(diagnose(alone))
    part = verdict.provenance.part
    assert part is not None
    assert (part.run, part.left_out) == (None, [few.about.run])
    assert "the store also holds a simulated run" in part.words
    assert diagnose(store, run="few").provenance.part is not None
    assert 'id="simulation"' not in render(verdict, store)


def test_the_page_draws_what_was_judged(tmp_path: Path) -> None:
    few, many = _few(), _many()
    store = _kept(tmp_path / "store", [few, many])
    page = render(diagnose(store), store)
    assert "only the latest was judged" in page
    assert "<h3>many <small>" in page
    assert "<h3>few <small>" not in page
    assert "covers the same time" not in page


def test_the_command_says_which_run_it_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few, many = _few(), _many()
    store = str(_kept(tmp_path / "store", [few, many]).path)
    run_command(["diagnose", "--store", store])
    assert "note: Of 2 simulated runs only the latest was judged" in capsys.readouterr().out
    for chosen in (["run=few"], ["--run", few.about.run]):
        run_command(["diagnose", "--store", store, "--json", *chosen])
        form = json.loads(capsys.readouterr().out)
        jsonschema.validate(form, _SCHEMA)
        assert form["provenance"]["part"]["run"] == few.about.run
        assert form["provenance"]["part"]["words"] in form["provenance"]["notes"]
    assert run_command(["diagnose", "--store", store, "run=few", "--run", "many"]) == 2
    assert "one --run NAME or run=NAME" in capsys.readouterr().err
