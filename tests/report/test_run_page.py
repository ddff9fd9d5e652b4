"""The page of one measurement: what it says, and in a real browser that it draws what was measured."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from storscope.cli.main import run
from storscope.domain.run_result import RunFigure, RunPart, RunResult, RunSide
from storscope.domain.units import MIB, NS_PER_MS, NS_PER_S, NS_PER_US
from storscope.report import write_run_report
from storscope.report.run_page import render_run
from tests.report.test_browser import browser, opened

__all__ = ["browser"]

chromium = pytest.mark.needs("chromium")

_HOSTILE = "<img src=x onerror=alert(1)>"
_COMMAND = "storscope bench /mnt/db --workload commits --seed 7"


def _side(name: str, per_s: float, mean_ns: float) -> RunSide:
    columns = {
        "ops_per_s": np.array([per_s, per_s * 2, np.nan]),
        "bytes_per_s": np.full(3, np.nan if name == "flushes" else per_s * 8192),
        "latency_ns_mean": np.full(3, mean_ns), "latency_ns_p99": np.full(3, 4 * mean_ns),
    }  # fmt: skip
    told = tuple((share, mean_ns * factor) for share, factor in ((0.5, 0.9), (0.99, 4.0), (0.999, 9.0)))
    return RunSide(name, columns, {"response": told, "service": told[:2]})


def _result() -> RunResult:
    figures = [
        RunFigure("iops", "1/s", 2_000.0, 1_900.0, 2_100.0), RunFigure("bandwidth", "B/s", 16e6, 15e6, 17e6),
        RunFigure("mean", "ns", 450e3, 440e3, 460e3), RunFigure("p99", "ns", 1.8e6, 1.6e6, None),
        RunFigure("write-iops", "1/s", 2_000.0, 1_900.0, 2_100.0), RunFigure("flush-iops", "1/s", 2_000.0, None, None),
        RunFigure("flush-p99", "ns", 9e6, 8e6, 12e6),
    ]  # fmt: skip
    part = RunPart("log", "/mnt/db/x", "writes", 2e3, 16e6, 450e3, (400_000, 1_800_000, None, 9 * NS_PER_MS))
    return RunResult(
        id="bench-1", capture="c", workload="commits", load_words=("Only writes.",), target="/mnt/db",
        target_kind="scratch", direct=True, host="esx07", started_ns=1_795_132_800 * NS_PER_S,
        duration_ns=30 * NS_PER_S, counted_from_ns=10 * NS_PER_S, counted_ns=20 * NS_PER_S, seed="7",
        engines="io_uring", version="0.1.0", is_valid=True, latency="response",
        figures={one.name: one for one in figures}, chosen="flush-p99", start="The first 10 s are left out.",
        ended="It ran for 30 s.", doubts=("The page cache was in the way.",), facts=("It took 3 µs of CPU.",),
        times_s=np.array([0.0, 10.0, 20.0]),
        sides=(_side("writes", 2e3, 450.0 * NS_PER_US), _side("flushes", 2e3, 2.0 * NS_PER_MS)), parts=(part,) * 3,
    )  # fmt: skip


def _words(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text.split("<main>")[1]).split())


def test_the_figures_come_first_with_their_intervals_and_units() -> None:
    text = _words(render_run(_result(), _COMMAND))
    assert "measurement commits on /mnt/db Rate 2,000 IOPS 95 %: 1,900 IOPS to 2,100 IOPS" in text
    assert "p99 1.80 ms 95 %: at least 1.60 ms" in text
    assert "Flushes 2,000 /s too little data for an interval" in text
    assert "p99 of flushes 9.00 ms 95 %: 8.00 ms to 12.0 ms What it was measured for." in text


def test_what_only_writes_is_not_said_to_read() -> None:
    text = _words(render_run(_result(), _COMMAND)).replace("\N{NO-BREAK SPACE}", " ")
    assert "Of writes, there were no others." in text and "In decimal units." in text
    assert "Of both" not in text and "reads and writes" not in text
    assert text.count("writes 2,000 IOPS ± 5 %") == 1
    mixed = replace(_result(), sides=(*_result().sides, _side("reads", 5e3, 99.0 * NS_PER_US)))
    text = _words(render_run(mixed, _COMMAND)).replace("\N{NO-BREAK SPACE}", " ")
    assert "Of reads and writes together." in text and "reads and writes 2,000 IOPS ± 5 %" in text


def test_an_interval_that_is_lopsided_is_told_by_its_ends() -> None:
    text = _words(render_run(_result())).replace("\N{NO-BREAK SPACE}", " ")
    assert "9.00 ms −11 %/+33 %" in text, "8 ms to 12 ms"
    assert "2,000 IOPS ± 5 %" in text


def test_a_figure_without_an_interval_says_why() -> None:
    text = _words(render_run(_result())).replace("\N{NO-BREAK SPACE}", " ")
    assert "1.80 ms (at least 1.60 ms)" in text
    assert "2,000 /s (no interval)" in text
    assert "Where no interval is told, the run has too little data for one: too few samples, or a percentile" in text
    figures = {
        name: replace(one, high=one.high or 2 * one.value, low=one.low or 0.0)
        for name, one in _result().figures.items()
    }
    told = _words(render_run(replace(_result(), figures=figures)))
    assert "no interval" not in told


def test_what_is_unsure_by_more_than_all_of_it_is_told_by_both_ends() -> None:
    figures = {**_result().figures, "p99": RunFigure("p99", "ns", 1.8e6, 0.2e6, 9e6)}
    text = _words(render_run(replace(_result(), figures=figures))).replace("\N{NO-BREAK SPACE}", " ")
    assert "1.80 ms (200 µs to 9.00 ms)" in text and "400 %" not in text


def test_an_interval_from_0_to_beyond_twice_the_figure_is_none() -> None:
    figures = {**_result().figures, "mean": RunFigure("mean", "ns", 182e3, 0.0, 846e3)}
    text = _words(render_run(replace(_result(), figures=figures))).replace("\N{NO-BREAK SPACE}", " ")
    assert "182 µs (no interval)" in text
    assert "182 µs too little data for an interval" in text
    assert "846 µs" not in text


def test_it_says_what_it_rests_on_and_how_to_do_it_again() -> None:
    text = _words(render_run(_result(), _COMMAND))
    for words in (
        "/mnt/db on esx07 (scratch)", "Only writes.", "2026-11-20 00:00:00Z to 2026-11-20 00:00:30Z",
        "The first 10 s are left out. It ran for 30 s.", "bench-1, seed 7, by storscope 0.1.0 (io_uring)",
        "1 doubt, below", "The page cache was in the way.", "It took 3 µs of CPU.", _COMMAND,
        "Of the 20 s after the first 10 s of the run", "SELECT * FROM runs WHERE run = 'bench-1'",
    ):  # fmt: skip
        assert words in text.replace("&#39;", "'"), words


def test_every_sample_and_every_percentile_is_in_the_tables() -> None:
    text = render_run(_result())
    over_time, spread = (text.split(f"<h2>{head}</h2>")[1] for head in ("Over time", "How latencies are spread"))
    assert over_time.split("</section>")[0].count("<tr>") == 1 + 3 * 2
    rows = _words("<main>" + spread.split("</section>")[0])
    assert "p99.9 writes 4.05 ms –" in rows, "the service was not told there"
    assert "10 s flushes 4,000 /s – 2.00 ms 8.00 ms" in _words("<main>" + over_time)


def test_what_is_invalid_is_said_at_the_head() -> None:
    text = _words(render_run(replace(_result(), is_valid=False)))
    assert "Response: what a user waits (INVALID) Service: what the storage takes (INVALID)" in text
    assert text.index("INVALID") < text.index("Rate")


def test_streams_that_are_valid_in_an_invalid_run_are_told_from_those_that_are_not() -> None:
    good = replace(_result().parts[0], stream="copy")
    bad = replace(good, stream="users", is_valid=False)
    shown = _words(render_run(replace(_result(), is_valid=False, parts=(good, bad, bad, bad))))
    assert "of all operations together do not mean what they say" in shown
    assert "users on /mnt/db/x (INVALID)" in shown
    assert "copy on /mnt/db/x (INVALID)" not in shown
    none = _words(render_run(replace(_result(), is_valid=False, parts=(bad,))))
    assert "INVALID: the latencies do not mean what they say, for the reasons below." in none


def test_names_from_elsewhere_are_text() -> None:
    text = render_run(replace(_result(), workload=_HOSTILE, target=_HOSTILE, doubts=(_HOSTILE,)), _HOSTILE)
    assert "<img" not in text


def test_a_run_too_short_for_charts_has_its_figures() -> None:
    bare = replace(_result(), times_s=np.array([0.0]), sides=(), parts=())
    text = _words(render_run(bare))
    assert "Over time" not in text and "How latencies are spread" not in text
    assert "Rate 2,000 IOPS" in text


@chromium
def test_charts_are_drawn_and_tell_a_point_by_the_keys(browser: Browser, tmp_path: Path) -> None:
    write_run_report(_result(), tmp_path / "run.html")
    view = opened(browser, tmp_path / "run.html")
    assert view.page.locator(".plot.sweep .uplot").count() == 4 + 2
    view.page.locator(".plot.sweep").first.focus()
    view.page.keyboard.press("ArrowRight")
    said = view.page.locator(".readout").first.inner_text()
    assert "writes, after 0" in said and "2,000" in said
    assert view.page.evaluate("document.documentElement.scrollWidth") <= 1200
    assert view.said == []


@chromium
def test_long_names_of_streams_and_targets_leave_the_figures_in_sight(browser: Browser, tmp_path: Path) -> None:
    part = replace(_result().parts[0], stream="nightly_copy_" * 6, target="/mnt/" + "volume_of_the_old_array_" * 5)
    write_run_report(replace(_result(), parts=(part,) * 3), tmp_path / "run.html")
    view = opened(browser, tmp_path / "run.html")
    table = "document.querySelector('[aria-label=\"Streams on targets\"]')"
    assert view.page.evaluate(f"{table}.scrollWidth - {table}.clientWidth") == 0


def test_the_command_draws_what_it_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    data, page = tmp_path / "data", tmp_path / "run.html"
    data.mkdir()
    asked = ["bench", str(data), "--workload", "commits", "--duration", "2s", "--size", "16M"]
    assert run([*asked, "--store", str(tmp_path / "s"), "--report", str(page), "--json"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert f"report: {page}" in printed.err
    text = page.read_text()
    assert f"commits on {data}" in text and result["run"] in text
    assert text.count("<h2>Over time</h2>") == 1
    command = [*asked[:4], "--duration", "2s", "--size", str(16 * MIB), "--seed", result["seed"]]
    assert shlex.join(["storscope", *command]) in text.replace("&#39;", "'")
    assert run([*asked, "--store", str(tmp_path / "s"), "--report", str(data)]) == 2, "a directory is no file"
