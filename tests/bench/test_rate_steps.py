"""Figures of each rate step, from samples and from runs of both kinds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from storscope.bench.buckets import Buckets
from storscope.bench.rate_steps import rate_step_figures
from storscope.bench.samples import Part, Sample
from storscope.cli.main import run
from storscope.domain.access import AccessSpec, Mix
from storscope.domain.flush import Flush
from storscope.domain.load import Closed, Open, RateStep, Steps
from storscope.domain.units import NS_PER_MS, NS_PER_S
from storscope.domain.workload import Stream, Workload

_READS = Mix((AccessSpec(4096),))
_STEPPED = Stream(_READS, Steps((RateStep(100.0, 2 * NS_PER_S), RateStep(400.0, 3 * NS_PER_S))), name="a")


def _sample(start_ms: int, length_ms: int, ios: int, latency_ns: int) -> Sample:
    latencies = np.array([latency_ns])
    found = Buckets(latencies, latencies, np.array([ios]), float(ios * latency_ns), latency_ns, latency_ns)
    return Sample(start_ms * NS_PER_MS, length_ms * NS_PER_MS, Part(ios, ios * 4096, found))


def test_each_step_has_the_samples_within_it() -> None:
    samples = [
        _sample(0, 1000, 90, 1_000_000), _sample(1000, 600, 70, 1_000_000),
        _sample(1600, 800, 1_000, 9_000_000),  # across the bound: of neither
        _sample(2400, 1000, 410, 2_000_000), _sample(3400, 1600, 630, 2_000_000),
    ]  # fmt: skip
    slow, fast = rate_step_figures(Workload("w", (_STEPPED,)), samples)
    assert (slow.start_ns, slow.end_ns, fast.end_ns) == (0, 2 * NS_PER_S, 5 * NS_PER_S)
    assert (slow.asked_per_s, fast.asked_per_s) == (100.0, 400.0)
    assert (slow.counted_ns, fast.counted_ns) == (1600 * NS_PER_MS, 2600 * NS_PER_MS)
    assert slow.ops_per_s == pytest.approx(160 / 1.6)
    assert fast.bytes_per_s == pytest.approx(1_040 * 4096 / 2.6)
    assert (slow.mean_ns, fast.mean_ns, fast.p99_ns) == (1_000_000, 2_000_000, 2_000_000)


def test_flushes_are_told_beside_the_ios_of_a_workload_that_has_them() -> None:
    beside = replace(_sample(0, 2000, 200, 1_000_000), flushes=_sample(0, 2000, 50, 7_000_000).reads)
    flushing = Stream(Mix((AccessSpec(4096, read_share=0.0),)), _STEPPED.load, name="a", flush=Flush(4))
    slow, fast = rate_step_figures(Workload("w", (flushing,)), [beside, _sample(2000, 3000, 9, 1_000_000)])
    assert (slow.ops_per_s, slow.mean_ns) == (100.0, 1_000_000)
    assert (slow.flushes_per_s, slow.flush_mean_ns, slow.flush_p99_ns) == (25.0, 7_000_000, 7_000_000)
    assert (fast.flushes_per_s, fast.flush_mean_ns, fast.flush_p99_ns) == (0.0, None, None)
    without = rate_step_figures(Workload("w", (_STEPPED,)), [beside])
    assert without[0].flushes_per_s is None


def test_steps_of_several_streams_are_cut_where_any_changes_and_added_up() -> None:
    other = Stream(_READS, Steps((RateStep(10.0, NS_PER_S), RateStep(20.0, 2 * NS_PER_S))), name="b")
    constant = Stream(_READS, Open(5.0), name="c")
    found = rate_step_figures(Workload("w", (_STEPPED, other, constant)), [_sample(0, 10_000, 1, 1)])
    assert [one.end_ns // NS_PER_S for one in found] == [1, 2, 3, 5]
    assert [one.asked_per_s for one in found] == [115.0, 125.0, 425.0, 405.0]
    assert all(one.ops_per_s is None and one.mean_ns is None and one.counted_ns == 0 for one in found)


def test_beside_a_closed_loop_no_rate_is_asked_for_and_without_steps_there_is_nothing() -> None:
    beside = Workload("w", (_STEPPED, Stream(_READS, Closed(1), name="closed")))
    whole = [_sample(0, 10_000, 1, 1)]
    assert [one.asked_per_s for one in rate_step_figures(beside, whole)] == [None, None]
    assert rate_step_figures(Workload("w", (replace(_STEPPED, load=Open(3.0)),)), whole) == ()


def test_steps_count_from_when_their_stream_begins_and_end_with_it_or_with_the_run() -> None:
    beside = Workload("w", (_STEPPED, Stream(_READS, Closed(1), name="closed")))
    active = {"a": (3 * NS_PER_S, 6.5 * NS_PER_S), "closed": (0, 4 * NS_PER_S)}
    found = rate_step_figures(beside, [_sample(0, 10_000, 1, 1)], active)
    times = [(one.start_ns / NS_PER_S, one.end_ns / NS_PER_S, one.asked_per_s) for one in found]
    assert times == [(3, 4, None), (4, 5, 100.0), (5, 6.5, 400.0)]
    cut = rate_step_figures(Workload("w", (_STEPPED,)), [_sample(0, 1_500, 150, 1)])
    assert [one.end_ns for one in cut] == [2 * NS_PER_S]


_WORKLOAD = """
[[workload]]
name = "rising"
[[workload.stream]]
steps = [{ rate_per_s = 200, duration = "2s" }, { rate_per_s = 1000, duration = "2s" }]
line = [{ size = "4k", read_share = 1 }]
"""


def test_a_measurement_tells_and_prints_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "data").mkdir()
    (tmp_path / "rising.toml").write_text(_WORKLOAD)
    asked = ["bench", str(tmp_path / "data"), "--workload", str(tmp_path / "rising.toml"), "--size", "4m"]
    assert run([*asked, "--store", str(tmp_path / "store"), "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    slow, fast = form["rate_steps"]
    assert (slow["asked_per_s"], fast["asked_per_s"]) == (200.0, 1000.0)
    # Arrivals are drawn: five standard deviations of their number, and what a short pause moves to the next sample.
    # What a longer one moves makes the run invalid.
    expected = pytest.approx(400, abs=5 * 20 + 60)
    assert slow["ops_per_s"] * slow["counted_ns"] / 1e9 == expected or not form["valid"]
    assert fast["ops_per_s"] > 2 * slow["ops_per_s"] or not form["valid"]
    page = (Path(__file__).parents[2] / "docs" / "bench-json.md").read_text()
    assert all(f"`{name}`" in page for name in slow)


def test_a_simulation_shows_where_the_array_no_longer_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rising.toml").write_text(_WORKLOAD.replace('"2s"', '"20s"'))
    (tmp_path / "design.toml").write_text(
        'name = "one drive"\n[[group]]\nname = "g"\ndrive = "7200-sata"\ncount = 4\nlayout = "raid0"\n'
        '[[volume]]\nname = "v"\ngroup = "g"\nsize = "3700 GiB"\n[[host]]\nname = "h"\nvolumes = [{ volume = "v" }]\n'
    )
    asked = ["simulate", str(tmp_path / "design.toml"), "--workload", str(tmp_path / "rising.toml")]
    assert run([*asked, "--store", str(tmp_path / "store")]) == 0
    told = capsys.readouterr().out
    assert "by rate step" in told
    lines = told.splitlines()
    first, second = lines[lines.index("by rate step") + 2 :][:2]
    assert first.split()[:5] == ["0", "s", "20", "s", "200"]
    assert second.split()[:6] == ["20", "s", "40", "s", "1,000", "IOPS"]
    done = float(second.split()[6].replace(",", ""))
    assert done == pytest.approx(4 * 144, rel=0.12)  # what docs/drives.md has of such a drive with a deep queue
