"""What older versions stored is found again; what was asked otherwise is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from storscope.bench.sweep import axes_of, matrix
from storscope.cli.main import run
from storscope.domain.json_form import encode_sparsely
from storscope.domain.load_curve import Crossing, LoadCurve
from storscope.domain.objective import Objective
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.domain.workload import AccessSpec, Closed, DataPool, Mix, Starts, Stream, Workload
from storscope.store import Store
from storscope.workbench import sweeping
from storscope.workbench.asked_digest import OLD_FORMS
from storscope.workbench.benchmarking import BenchSettings
from storscope.workbench.knee_search import KneeTask, show_knee
from storscope.workbench.sweeping import SweepPlan
from tests.support.cases import make_store

_SETTINGS = BenchSettings(300 * NS_PER_MS, seed=1, size_bytes=64 * 1024**2)
_MIXED = Workload("mixed", (Stream(Mix((AccessSpec(8192, read_share=0.7),)), Closed(8)),))


def _plan() -> SweepPlan:
    return SweepPlan(
        ("/data/here",), tuple(matrix(axes_of(("sizes=4k", "modes=randread,write", "jobs=1,2")))), _SETTINGS
    )


def _task(workload: Workload = _MIXED) -> KneeTask:
    return KneeTask(("/data/here",), workload, _SETTINGS, 75 * NS_PER_S, Objective.parse("p99<5ms"))


@pytest.mark.parametrize("stored", ["e42670c9e749db16", "a3e6d032fda4ded4"])
def test_a_sweep_is_found_by_the_digest_that_an_older_version_stored(stored: str) -> None:
    """Made by revisions 1b332fc, and by 38e94ca when duplicates had got a size of their blocks."""
    assert stored in _plan().digests[1:]


@pytest.mark.parametrize("stored", ["4b2b587446e891c1", "0ac7c31154af6a55"])
def test_a_search_is_found_by_the_digest_that_an_older_version_stored(stored: str) -> None:
    """Made by the same two revisions."""
    assert stored in _task().digests[1:]


def test_a_sweep_of_before_jobs_began_apart_is_found_where_they_began_together() -> None:
    """Revision 4a2c719 stored this digest, and all of its jobs began together."""
    together = tuple(
        replace(item, workload=replace(item.workload, streams=_all_together(item.workload))) for item in _plan().planned
    )
    assert "c2b9503f27d8db90" in replace(_plan(), planned=together).digests
    assert "c2b9503f27d8db90" not in _plan().digests, "these begin apart"


def _all_together(workload: Workload) -> tuple[Stream, ...]:
    return tuple(replace(stream, starts=Starts.TOGETHER) for stream in workload.streams)


def test_what_older_versions_could_not_ask_has_no_digest_of_theirs() -> None:
    large = replace(_MIXED, data=DataPool(duplicate_block_bytes=64 * 1024))
    assert not set(_task(large).digests) & set(_task().digests)


def test_a_digest_is_not_of_names_and_sources() -> None:
    assert _task(replace(_MIXED, name="another", source="a file")).digest == _task().digest


def test_a_field_that_is_added_with_a_default_changes_no_digest() -> None:
    @dataclass(frozen=True)
    class Older:
        kind = "pool"
        size: int

    @dataclass(frozen=True)
    class Newer(Older):
        block: int = 4096
        parts: tuple[Older, ...] = ()

    assert encode_sparsely(Newer(3)) == encode_sparsely(Older(3)) == {"kind": "pool", "size": 3}
    assert encode_sparsely(Newer(3, 512, (Newer(1),))) == {
        "kind": "pool", "size": 3, "block": 512, "parts": [{"kind": "pool", "size": 1}],
    }  # fmt: skip


def _arguments(data: Path, *options: str) -> list[str]:
    store = str(data.parent / "store")
    return ["bench", str(data), "--sweep", "sizes=4k", "jobs=1,2", "--size", "8M", "--store", store, *options]


def test_a_sweep_of_an_older_version_is_shown_and_resumed(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(sweeping, "told", OLD_FORMS[1])
        assert run(_arguments(data, "--duration", "0.1s")) == 0
    assert run(_arguments(data, "--duration", "0.1s", "--show")) == 0
    assert run(_arguments(data, "--duration", "0.1s", "--resume")) == 0
    assert "is continued: 2 of 2 measurements" in capsys.readouterr().err
    assert len(Store.open(data.parent / "store").query("SELECT run FROM runs")) == 2


def test_of_several_sweeps_the_one_with_the_seed_that_is_asked_for_is_shown(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--duration", "0.1s", "--json")
    for seed in ("5", "6"):
        assert run(_arguments(data, *asked, "--fresh", "--seed", seed)) == 0
    capsys.readouterr()
    for options, shown in (((), "6"), (("--seed", "5"), "5"), (("--seed", "7"), "6")):
        assert run(_arguments(data, *asked, "--show", *options)) == 0
        assert json.loads(capsys.readouterr().out)["seed"] == shown


def test_of_several_searches_the_one_with_the_seed_that_is_asked_for_is_shown(tmp_path: Path) -> None:
    def answer(seed: int) -> Callable[[Recorder], None]:
        curve = LoadCurve((), Crossing("mean", 1e6, None, "no visit"), None, None, None, None)
        how = {"direct": True, "stream_shares": [], "max_outstanding": [], "load_words": []}
        how |= {"paths": [], "budget_ns": NS_PER_S, "size_bytes": None, "engines": []}
        parameters = {"knee_role": "answer", "knee_plan": _task().digest, "knee_how": json.dumps(how)}
        parameters |= {"target": "/data/here", "target_kind": "file", "workload": "{}"}
        parameters |= {"result": json.dumps(curve.to_json())}
        return lambda recorder: recorder.run(
            f"knee-{seed}", engine="storscope", name="knee", system="h", time_ns=seed, seed=str(seed),
            parameters=parameters,
        )  # fmt: skip

    store = make_store(tmp_path / "store", answer(5), answer(6))
    assert show_knee(store, _task()).seed == 6
    assert show_knee(store, _task(), seed=5).seed == 5
    assert show_knee(store, _task(), seed=7).seed == 6


def test_a_sweep_that_was_asked_otherwise_is_named_with_what_is_different(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_arguments(data, "--duration", "0.1s")) == 0
    capsys.readouterr()
    assert run(_arguments(data, "--duration", "0.2s", "--show")) == 2
    told = capsys.readouterr().err
    assert "found only a sweep of the same points on the same target, sweep-" in told
    assert "asked with each measured for 100 ms instead of 200 ms." in told
    assert run(_arguments(data, "--duration", "0.1s", "--repeat", "2", "--show")) == 2
    assert "asked with --repeat 1 instead of 2." in capsys.readouterr().err
    assert run([*_arguments(data, "--duration", "0.1s", "--show"), "modes=write"]) == 2
    assert "found none" in capsys.readouterr().err


def test_all_that_makes_it_another_sweep_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series = ("--time-series", "0.5s/0.1s", "--repeat", "2")
    assert run(_arguments(data, *series)) == 0

    def asked(*options: str) -> str:
        capsys.readouterr()
        assert run(_arguments(data, *options, "--show")) == 2
        return capsys.readouterr().err

    assert "asked with a number of slots of 2 instead of 3." in asked("--time-series", "0.5s/0.1s", "--repeat", "3")
    every = asked("--time-series", "1s/0.1s", "--repeat", "2")
    assert "a time series of a slot every 500 ms instead of a time series of a slot every 1.00 s." in every
    assert "a time series of a slot every 500 ms instead of no time series." in asked("--duration", "0.1s")
    assert "asked with no --precondition instead of --precondition." in asked(*series, "--precondition")
    assert "asked with --ioengine auto instead of threads." in asked(*series, "--ioengine", "threads")


def test_a_sweep_that_did_not_say_what_it_asked_is_named_without(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(SweepPlan, "how", {})
        assert run(_arguments(data, "--duration", "0.1s")) == 0
    assert run(_arguments(data, "--duration", "0.1s", "--repeat", "2", "--show")) == 2
    assert "no difference that is known here" in capsys.readouterr().err
