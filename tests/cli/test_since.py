"""--since and --until of diagnose: the time since the start for a simulated run, instants for real clocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storscope.cli.main import run
from storscope.domain.moment import moment_from_text
from storscope.domain.verdict import Verdict
from storscope.store import Store
from storscope.workbench.diagnosing import diagnose
from tests.sim.designs import SMALL

IOSTAT = Path(__file__).parent.parent / "importers" / "iostat_json" / "sysstat_12.6_debian12.json"


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "small.toml").write_text(SMALL)
    store = folder / "store"
    arguments = ["simulate", str(folder / "small.toml"), "--workload", "oltp", "--duration", "8s"]
    assert run([*arguments, "--store", str(store)]) == 0
    return store


def _judged(store: Path, since: str | None, until: str | None) -> Verdict:
    moments = [None if text is None else moment_from_text(text) for text in (since, until)]
    return diagnose(Store.open(store), since=moments[0], until=moments[1])


def test_a_simulated_run_is_cut_by_the_time_since_its_start(simulated: Path) -> None:
    whole = _judged(simulated, None, None)
    part = _judged(simulated, "0:00:03", "start + 5 s")
    assert whole.zero_ns is not None
    assert part.start_ns is not None and part.end_ns is not None
    assert part.zero_ns == whole.zero_ns
    assert 3 * 10**9 <= part.start_ns - part.zero_ns < 4 * 10**9
    assert 4 * 10**9 < part.end_ns - part.zero_ns <= 6 * 10**9


def test_what_lasts_for_the_whole_run_does_not_prolong_what_is_judged(simulated: Path) -> None:
    """Drives have one row of the whole run; who read its end as that of the verdict took the rest to be fine."""
    part = _judged(simulated, None, "3s")
    assert part.start_ns == part.zero_ns
    assert part.zero_ns is not None and part.end_ns == part.zero_ns + 3 * 10**9


def test_an_instant_cuts_a_simulated_run_too(simulated: Path) -> None:
    zero_ns = _judged(simulated, None, None).zero_ns
    assert zero_ns is not None
    by_instant = diagnose(Store.open(simulated), since=zero_ns + 3 * 10**9)
    assert by_instant.start_ns == _judged(simulated, "3s", None).start_ns


def test_a_range_without_evidence_is_told_since_the_start(simulated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "--store", str(simulated), "--since", "1:00:00"]) == 2
    assert "found none; there is some from start + 0 s to start + 8.0" in capsys.readouterr().err
    assert run(["diagnose", "--store", str(simulated), "--since", "0:00:05", "--until", "3s"]) == 2
    assert "expected --since before --until, found start + 5.00 s and start + 3.00 s." in capsys.readouterr().err


def test_what_real_clocks_timed_takes_instants(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(IOSTAT), "--until", "0:12:30"]) == 2
    said = capsys.readouterr().err
    assert "error: --until: expected a time like 2026-11-20T22:00 or 2026-11-20T22:00+01:00, " in said
    assert "as this was timed by real clocks, found '0:12:30'." in said
    assert "The time since the start is taken for one simulated run alone." in said


def test_beside_a_running_system_the_simulated_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    store = str(tmp_path / "store")
    simulate = ["simulate", str(tmp_path / "small.toml"), "--workload", "oltp", "--duration", "8s", "--store", store]
    assert run([*simulate, "--json"]) == 0
    name = json.loads(capsys.readouterr().out)["run"]
    run(["import", str(IOSTAT), "--store", store])
    assert run(["diagnose", "--store", store, "--since", "3s"]) == 2
    assert "Simulated runs are judged one by one, each with --run ID: " in capsys.readouterr().err
    assert run(["diagnose", "--store", store, "--run", name, "--since", "3s", "--fail-on", "critical"]) in {0, 1}
    assert "start + 3.00 s to start + 8.00 s" in capsys.readouterr().out


@pytest.mark.parametrize("verb", [["diagnose"], ["workload", "derive"]])
@pytest.mark.parametrize("asked", [["--since", "2099-01-01"], ["--run", "absent"]])
def test_an_error_about_files_names_the_files(
    verb: list[str], asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the store that they are read into, which nobody knows and which is gone by then."""
    assert run([*verb, str(IOSTAT), *asked]) == 2
    said = capsys.readouterr().err
    assert f"error: {IOSTAT}: expected " in said
    assert "storscope-" not in said and "Traceback" not in said
