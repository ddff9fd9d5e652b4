"""The page of a comparison: what it says is what the command says, and a browser draws it."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from storscope.cli.main import run
from storscope.cli.show_comparison import print_comparison
from storscope.domain.comparison import AFTER, BEFORE, Comparison, Settings
from storscope.domain.comparison_json import comparison_to_json
from storscope.domain.comparison_words import change, difference, interval, values
from storscope.report.comparison_courses import courses_of
from storscope.report.comparison_page import render_comparison
from storscope.report.comparison_rows import Bar, forests_of, tables_of
from storscope.report.pack import Packer
from storscope.workbench.comparing import compare
from tests.compare import evidence
from tests.report.test_browser import CONTRAST, browser, colours, opened, state, told
from tests.support.cases import make_store

__all__ = ["browser"]

ROOT = Path(__file__).parent.parent.parent
BEFORE_CSV = ROOT / "tests" / "importers" / "results_table" / "eva4400_before_published.csv"
AFTER_CSV = ROOT / "tests" / "compare" / "eva4400_after_published.csv"
_HOSTILE = "<img src=x onerror=alert(1)>"


def _sides(folder: Path) -> tuple[Path, Path]:
    """Reads that became faster, an OLTP load that became slower, a backup of which nothing can be told."""
    make_store(
        folder / "old",
        evidence.run("reads", evidence.noisy(8000, 300, seed=1)),
        evidence.run("oltp", evidence.noisy(3000, 300, seed=2), block_bytes=8192.0, read_ratio=0.7),
        evidence.run("backup", evidence.noisy(900, 300, seed=5, spread=0.3, rho=0.8), block_bytes=262144.0),
    )
    make_store(
        folder / "new",
        lambda recorder: recorder.warn("x"),
        evidence.run("reads", evidence.noisy(9600, 300, seed=3), start=86_400),
        evidence.run("oltp", evidence.noisy(2700, 300, seed=4), start=86_400, block_bytes=8192.0, read_ratio=0.7),
        evidence.run("backup", evidence.noisy(930, 300, seed=6, spread=0.3, rho=0.8), start=86_400,
                     block_bytes=262144.0),
    )  # fmt: skip
    return folder / "old", folder / "new"


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return _sides(tmp_path_factory.mktemp("sides"))


@pytest.fixture(scope="module")
def comparison(sides: tuple[Path, Path]) -> Comparison:
    return compare(*map(str, sides), Settings())


@pytest.fixture(scope="module")
def page(sides: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "change.html"
    assert run(["compare", *map(str, sides), "--report", str(path)]) == 0
    return path


def _text(html: str) -> str:
    body = re.sub(r"<(style|script)\b.*?</\1>", " ", html, flags=re.DOTALL)
    plain = unescape(re.sub(r"<[^>]+>", " ", body)).replace("\u00a0", " ").replace("\u2060", "")
    return " ".join(plain.split())


def _predicted(folder: Path) -> Comparison:
    make_store(folder / "m", evidence.run("a", 1000, engine="vdbench"))
    make_store(folder / "s", evidence.run("a", 1500, engine="storscope-sim", id="simulation-1"))
    return compare(str(folder / "m"), str(folder / "s"), Settings(metrics=("iops",)))


# What it says ---------------------------------------------------------------------------------------------------------


def test_the_parts_of_the_page_stand_in_this_order(page: Path) -> None:
    heads = re.findall(r"<h2[^>]*>(.*?)</h2>", page.read_text())
    assert heads == [
        "Before and after", "Changes and their intervals", "Over the time since the start", "What was compared",
        "Method",
    ]  # fmt: skip


def test_the_answer_is_that_of_the_command_with_interval_and_chance(
    sides: tuple[Path, Path], page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *map(str, sides)]) == 0
    printed = capsys.readouterr().out.splitlines()
    text = _text(page.read_text())
    assert printed[0].startswith("WORSE: latency of oltp ")
    assert printed[0] in text
    assert printed[1] in text
    assert re.search(r"latency of oltp: [\d.]+ ms before, [\d.]+ ms after, \+[\d.]+ % \(95 % interval "
                     r"\+[\d.]+ to \+[\d.]+ %; as much by chance alone: < 0\.1 %\): worse\.", text)  # fmt: skip


def test_every_figure_of_the_json_is_a_row_of_the_page(
    sides: tuple[Path, Path], page: Path, comparison: Comparison, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *map(str, sides), "--json"]) == 0
    told_rows = [row for pair in json.loads(capsys.readouterr().out)["pairs"] for row in pair["rows"]]
    assert told_rows == [row for pair in comparison_to_json(comparison)["pairs"] for row in pair["rows"]]
    cells = [
        [_text(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL)]
        for line in re.findall(r"<tr>(.*?)</tr>", page.read_text().split('class="compared"')[1].split("</table>")[0])
    ]
    found = [line for line in cells if len(line) == 8 and line[0] != "Access specification"]
    rows = list(comparison.rows())
    assert len(found) == len(rows) == len(told_rows)
    for line, row, raw in zip(found, rows, told_rows, strict=True):
        assert (row.before, row.change, row.change_low) == (raw["before"], raw["change"], raw["change_low"])
        outcome = raw["outcome"] or "(load)"
        assert [line[0], line[1], line[2], line[4], line[5], line[7]] == [
            raw["metric"], *values(row), change(row.change), interval(row), outcome,
        ]  # fmt: skip


def test_the_difference_has_its_unit_and_its_sign(comparison: Comparison) -> None:
    (table,) = tables_of(comparison)
    cells = {row.metric: row.cells for row in table.parts[0].rows}
    assert re.fullmatch(r"−\d+ µs", cells["latency"][2])
    assert re.fullmatch(r"\+1,\d{3} /s", cells["iops"][2])
    assert re.fullmatch(r"\+[\d.]+ MB/s", cells["bandwidth"][2])


def test_a_bound_is_told_as_one_in_the_answer(comparison: Comparison) -> None:
    """A latency of an overload is too low: the difference is that, and more."""
    pairs = [
        replace(pair, rows=[replace(row, reason="at least so: it fell behind") for row in pair.rows if row.outcome])
        for pair in comparison.pairs
    ]
    told = _text(render_comparison(replace(comparison, pairs=pairs)))
    assert re.search(r"\): worse, at least so: it fell behind\.", told)
    assert "worse, at least so" not in _text(render_comparison(comparison))


def test_the_forest_has_a_bar_for_every_row_on_one_scale(comparison: Comparison) -> None:
    (forest,) = forests_of(comparison)
    rows = list(comparison.rows())
    assert [(bar.metric, bar.tone) for bar in forest.bars[:2]] == [("latency", "better"), ("iops", "better")]
    assert len(forest.bars) == len(rows)
    for bar, row in zip(forest.bars, rows, strict=True):
        assert bar.middle is not None and bar.low is not None and bar.high is not None
        assert bar.low <= bar.middle <= bar.high
        assert (bar.middle > 0.5) == ((row.change or 0.0) > 0)
        assert bar.verdict in bar.aria and change(row.change) in bar.aria
    assert (0.5, "0 %") in forest.ticks
    assert forest.band[0] < 0.5 < forest.band[1]


def test_half_and_twice_lie_equally_far_from_no_change(tmp_path: Path) -> None:
    make_store(tmp_path / "a", evidence.run("x", 1000))
    make_store(tmp_path / "b", lambda recorder: recorder.warn("x"), evidence.run("x", 2000))
    (forest,) = forests_of(compare(str(tmp_path / "a"), str(tmp_path / "b"), Settings(metrics=("latency", "iops"))))
    half, twice = (_middle(bar) for bar in forest.bars)
    assert 0.5 - half == pytest.approx(twice - 0.5)
    assert all(bar.low is None and "no interval" in bar.words for bar in forest.bars)


def _middle(bar: Bar) -> float:
    assert bar.middle is not None
    return bar.middle


def test_an_interval_without_an_end_goes_on_beyond_the_chart(tmp_path: Path) -> None:
    """Two runs a side that scatter by more than their mean: Fieller's interval has no bound."""
    for side, rates in (("a", (100.0, 2000.0)), ("b", (150.0, 2500.0))):
        runs = [evidence.run("x", rate, id=f"{side}{at}", start=100 * at) for at, rate in enumerate(rates)]
        make_store(tmp_path / side, *runs)
    found = compare(str(tmp_path / "a"), str(tmp_path / "b"), Settings(metrics=("iops",)))
    (row,) = found.rows()
    assert row.change_high is None or row.change_high > 5
    (bar,) = forests_of(found)[0].bars
    assert bar.is_cut_high
    assert bar.high == 1.0


def test_both_sides_are_drawn_over_the_time_since_their_own_start(comparison: Comparison) -> None:
    courses, undrawn = courses_of(comparison, Packer())
    assert [course.name for course in courses] == ["reads", "oltp", "backup"]
    assert undrawn == 0
    chart = courses[0].chart
    assert chart["labels"] == ["before", "after"]
    assert [panel["name"] for panel in chart["panels"]] == ["ops_per_s", "bytes_per_s", "latency_ns_mean"]  # type: ignore[attr-defined]
    assert chart["axis"]["values"] == [0.0, 300.0]  # type: ignore[index]
    assert "means of up to 2 intervals" in courses[0].note
    sides = {one.side: one.over_time for one in comparison.pairs[0].subjects}
    for over_time in (sides[BEFORE], sides[AFTER]):
        assert over_time is not None
        assert over_time.begin_ns[0] == 0
        assert len(over_time.columns["ops_per_s"]) == 300


def test_load_does_not_squeeze_the_figures_that_are_judged(tmp_path: Path) -> None:
    make_store(tmp_path / "a", evidence.run("x", 1000, latency_ns=1e6))
    make_store(tmp_path / "b", lambda recorder: recorder.warn("x"), evidence.run("x", 1200, latency_ns=100e6))
    found = compare(str(tmp_path / "a"), str(tmp_path / "b"), Settings(metrics=("iops", "in_flight")))
    iops, in_flight = forests_of(found)[0].bars
    assert _middle(iops) > 0.9
    assert in_flight.middle is None and in_flight.is_cut_high


def test_a_difference_that_rounds_to_nothing_has_no_sign(comparison: Comparison) -> None:
    rows = {row.metric: row for row in comparison.pairs[0].rows}
    tiny = replace(rows["in_flight"], before=64.0, after=63.999)
    assert difference(tiny) == "0.0"
    assert change(-1e-9) == "0.0 %" and change(None) == "–"
    assert interval(replace(tiny, p_value=0.4, change_low=-0.0001, change_high=0.0002)) == "−0.01 to +0.02 %"
    assert interval(replace(tiny, p_value=0.4, change_low=-0.0001, change_high=0.02)) == "0.0 to +2.0 %"
    assert interval(replace(tiny, p_value=0.4, change_low=None, change_high=0.02)) == "… to +2.0 %"
    assert difference(replace(tiny, after=63.0)) == "−1.0"
    assert difference(replace(tiny, after=63.0), BEFORE) == "+1.0", "predicted - measured"


def test_a_side_without_intervals_has_no_course(tmp_path: Path) -> None:
    make_store(tmp_path / "a", evidence.run("x", 1000))
    make_store(tmp_path / "b", lambda recorder: recorder.warn("x"), evidence.run("x", evidence.noisy(1000, 60)))
    found = compare(str(tmp_path / "a"), str(tmp_path / "b"), Settings())
    assert courses_of(found, Packer()) == ([], 0)
    assert "Over the time" not in render_comparison(found)


def test_repeated_runs_have_a_line_each_in_the_look_of_their_side(tmp_path: Path) -> None:
    for side, first in (("a", 0), ("b", 100)):
        runs = [
            evidence.run("mail", evidence.noisy(1000, 60, seed=first + at), id=f"{side}{at}", start=200 * at + first)
            for at in range(4)
        ]
        make_store(tmp_path / side, *runs)
    (course,), _ = courses_of(compare(str(tmp_path / "a"), str(tmp_path / "b"), Settings()), Packer())
    assert course.chart["labels"] == ["before 1", "before 2", "before 3", "after 1", "after 2", "after 3"]
    assert course.chart["looks"] == [0, 0, 0, 1, 1, 1]
    assert "2 more runs are compared but not drawn." in course.note


def test_a_prediction_is_off_by_so_much_and_neither_better_nor_worse(tmp_path: Path) -> None:
    found = _predicted(tmp_path)
    text = _text(render_comparison(found))
    assert "PREDICTION: iops of a off by +50.0 %" in text
    assert "iops of a: 1,500 /s predicted, 1,000 /s measured, off by +50.0 %." in text
    assert "Predicted Measured Difference Off by" in text
    (forest,) = forests_of(found)
    assert [(bar.tone, bar.verdict) for bar in forest.bars] == [("predicted", "prediction")]
    assert not re.search(
        r"\b(better|worse)\b", _text(render_comparison(found).split("<h2>Predicted")[1].split("<h2>")[0])
    )


def test_of_many_predictions_those_lead_the_page_that_head_it(tmp_path: Path) -> None:
    """The heading named those that were off most, and the sentences below it the first of the table."""
    for side, engine, rates in (("s", "storscope-sim", (1010, 980, 1020, 200)), ("m", "vdbench", (1000,) * 4)):
        runs = [evidence.run(*one, engine=engine, id=f"{side}-{one[0]}") for one in zip("abcd", rates, strict=True)]
        make_store(tmp_path / side, *runs)
    found = compare(str(tmp_path / "s"), str(tmp_path / "m"), Settings(metrics=("iops",)))
    text = _text(render_comparison(found))
    assert "PREDICTION: iops of d off by −80.0 %, iops of" in text
    assert text.index("iops of d: 200 /s predicted") < text.index("iops of c: 1,020 /s predicted")
    assert "iops of a: 1,010 /s predicted" not in text


def test_a_prediction_of_another_load_is_told_as_one_that_cannot_be_judged(tmp_path: Path) -> None:
    make_store(tmp_path / "s", evidence.run("a", 1500, engine="storscope-sim", id="simulation-1", block_bytes=8192.0))
    make_store(tmp_path / "m", evidence.run("a", 1000, engine="vdbench"))
    found = compare(str(tmp_path / "s"), str(tmp_path / "m"), Settings(metrics=("iops",)))
    text = _text(render_comparison(found))
    ((row,),) = ([row for part in table.parts for row in part.rows] for table in tables_of(found) if table.has_verdicts)
    assert (row.metric, row.verdict, row.tone) == ("iops", "cannot tell", "undecided")
    assert "CANNOT TELL: not the same load." in text
    assert "1,500 /s predicted, 1,000 /s measured, off by +50.0 %: cannot tell, not the same load." in text
    assert "NOT THE SAME LOAD: " in text


def test_what_was_compared_and_what_the_command_warns_of_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sides = [str(BEFORE_CSV), str(AFTER_CSV)]
    assert run(["compare", *sides, "--threshold", "7%", "--seed", "3", "--report", str(tmp_path / "r.html")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    text = _text((tmp_path / "r.html").read_text())
    warnings = re.findall(r"warning: (.*?\.)(?= warning:| note:| Without)", printed)
    assert len(warnings) == 4
    for words in warnings:
        assert words in text
    assert "RealLife-60%Rand-65%Read (before only): " in text
    assert "32 KiB, 100 % reads, 0 % random, 64 outstanding" in text
    assert f"storscope compare {BEFORE_CSV} {AFTER_CSV} --threshold 7% --seed 3 " in text + " "
    assert "seed 3" in text
    assert "--report" not in text


def test_the_command_on_the_page_compares_again(
    sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shares, zones, times and lengths of time are told as they are typed."""
    first, second = tmp_path / "a b.csv", tmp_path / "c.csv"
    first.write_text(BEFORE_CSV.read_text())
    second.write_text(AFTER_CSV.read_text())
    options = ["--metric", "iops", "--metric", "latency", "--level", "0.9", "--timezone", "Europe/Berlin", "--start",
               "2026-11-20T09:00", "--interval", "2m", "--month-first", "--allow-failed"]  # fmt: skip
    assert run(["compare", str(first), str(second), *options, "--report", str(tmp_path / "r.html"), "-v"]) == 0
    capsys.readouterr()
    again = unescape(re.findall(r"<pre tabindex=\"0\"><code>(.*?)</code>", (tmp_path / "r.html").read_text())[-1])
    words = shlex.split(again)
    assert words[:2] == ["storscope", "compare"]
    assert words.count("--metric") == 2 and "--month-first" in words and "-v" not in words
    assert run([*words[1:], "--json"]) == 0
    one = capsys.readouterr().out
    assert run(["compare", str(first), str(second), *options, "--json"]) == 0
    assert one == capsys.readouterr().out


# Unhappy paths --------------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_report_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("mine")
    arguments = ["compare", str(BEFORE_CSV), str(AFTER_CSV), "--report", str(place)]
    assert run(arguments) == 2
    assert "replace this one with --replace" in capsys.readouterr().err
    assert place.read_text() == "mine"
    assert run([*arguments, "--replace"]) == 0
    assert run(arguments) == 0, "an earlier report may go"


def test_what_is_compared_is_never_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "before.csv").write_text(BEFORE_CSV.read_text())
    make_store(tmp_path / "lab", evidence.run("x", 1000))
    make_store(tmp_path / "lab2", evidence.run("x", evidence.noisy(1000, 60)))
    for before, after, place in (
        (folder / "before.csv", AFTER_CSV, folder / "before.csv"),
        (folder, AFTER_CSV, folder / "before.csv"),
        (tmp_path / "lab", tmp_path / "lab2", tmp_path / "lab2" / "r.html"),
    ):
        assert run(["compare", str(before), str(after), "--report", str(place), "--replace"]) == 2
        assert "Name another file." in capsys.readouterr().err
    assert (folder / "before.csv").read_text() == BEFORE_CSV.read_text()
    assert not (tmp_path / "lab2" / "r.html").exists()


def test_replace_alone_and_a_side_that_is_missing_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", str(BEFORE_CSV), str(AFTER_CSV), "--replace"]) == 2
    assert "--report with --replace" in capsys.readouterr().err
    assert run(["compare", str(BEFORE_CSV), str(tmp_path / "none"), "--report", str(tmp_path / "r.html")]) == 2
    assert not (tmp_path / "r.html").exists()


def test_two_sides_without_a_pair_make_a_page_that_says_so(tmp_path: Path) -> None:
    make_store(tmp_path / "a", evidence.run("x", 1000), evidence.run("y", 1000, block_bytes=8192.0))
    make_store(tmp_path / "b", evidence.run("z", 500, block_bytes=65536.0), evidence.run("w", 500, block_bytes=32768.0))
    text = _text(render_comparison(compare(str(tmp_path / "a"), str(tmp_path / "b"), Settings())))
    assert "CANNOT TELL: nothing on one side belongs to something on the other." in text
    assert "No figure could be compared." in text
    assert "x (before only)" in text


def test_the_page_is_written_also_when_the_reader_of_the_table_has_enough(
    sides: tuple[Path, Path], tmp_path: Path
) -> None:
    report = tmp_path / "r.html"
    command = [sys.executable, "-m", "storscope", "compare", *map(str, sides), "--report", str(report)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.wait(120)
    assert "Before and after" in report.read_text()


class _HadEnough(io.StringIO):
    """A reader that goes away where the table begins."""

    def write(self, text: str) -> int:
        if "access specification" in text:
            raise BrokenPipeError
        return super().write(text)


def test_the_table_does_not_end_the_program_where_its_reader_has_enough(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nothing after it is done: no report is written."""
    monkeypatch.setattr(sys, "stdout", _HadEnough())
    with pytest.raises(BrokenPipeError):
        print_comparison(comparison, verbose=False)


# In a browser ---------------------------------------------------------------------------------------------------------


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_drawn_without_a_word_or_a_request(browser: Browser, page: Path, scheme: str) -> None:
    view = opened(browser, page, color_scheme=scheme)
    assert state(view) == "drawn"
    assert view.said == []
    assert view.asked == [page.as_uri()]
    assert view.page.locator(".sweep .uplot").count() == 3 * 3
    assert min(count for count in colours(view) if count) > 3
    assert view.page.evaluate(CONTRAST) == []
    tones = view.page.evaluate("[...document.querySelectorAll('.forest .better .sign, .forest .worse .sign')].map("
                               "(one) => getComputedStyle(one).fill)")  # fmt: skip
    assert len(set(tones)) == 2, "and another sign and word, which the forest's rows carry"


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("width", [400, 800, 1280])
def test_nothing_but_tables_scrolls_sideways(browser: Browser, page: Path, width: int) -> None:
    view = opened(browser, page, viewport={"width": width, "height": 800})
    assert view.page.evaluate("document.documentElement.scrollWidth") == width
    marks = view.page.evaluate("[...document.querySelectorAll('.forest .sign, .forest text')].map((one) => "
                               "one.getBoundingClientRect()).map((one) => [one.left, one.right])")  # fmt: skip
    assert min(left for left, _ in marks) >= 0
    assert max(right for _, right in marks) <= width


@pytest.mark.needs("chromium")
def test_a_screen_reader_is_told_bars_lines_and_signs(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    found = told(view)
    images = [name for role, name in found if role in ("img", "image") and name]
    assert any(re.fullmatch(r"latency of oltp: \+[\d.]+ % \(\+[\d.]+ to \+[\d.]+ %\), worse", name) for name in images)
    assert {("button", "before"), ("button", "after")} <= set(found)
    chart = view.page.locator(".sweep").first
    chart.focus()
    view.page.keyboard.press("ArrowRight")
    said = chart.evaluate("(host) => host.nextElementSibling.textContent")
    assert re.match(r"before, after 0: Operations per second \(IOPS\) [\d,]+ IOPS", said)


@pytest.mark.needs("chromium")
def test_paper_has_the_forest_and_the_legend(browser: Browser, page: Path) -> None:
    view = opened(browser, page, color_scheme="dark")
    assert view.page.pdf(format="A4").startswith(b"%PDF-")
    view.page.emulate_media(media="print")
    assert view.page.locator(".forest .row").first.is_visible()
    assert view.page.locator(".legend button").first.is_visible()


@pytest.mark.needs("chromium")
def test_hostile_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    make_store(tmp_path / "a", evidence.run(_HOSTILE, evidence.noisy(1000, 60)))
    make_store(
        tmp_path / "b", lambda recorder: recorder.warn("x"), evidence.run(_HOSTILE, evidence.noisy(2000, 60, seed=2))
    )
    path = tmp_path / "r.html"
    assert run(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--report", str(path)]) == 0
    view = opened(browser, path)
    assert state(view) == "drawn"
    assert view.said == []
    assert view.page.locator("main img").count() == 0
    assert _HOSTILE in view.page.locator("h1").inner_text()
