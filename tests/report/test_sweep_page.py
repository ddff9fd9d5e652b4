"""The page of a sweep in a real browser: what it draws is what was measured."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from storscope.domain.errors import UsageError
from storscope.domain.sweep import Cell, Estimate, Point, SweepResult
from storscope.report import write_sweep_report
from storscope.report.pack import Packer
from storscope.report.sweep_chart import figure_words, sweep_charts
from storscope.report.sweep_page import render_sweep
from tests.report.test_browser import CONTRAST, becomes, browser, colours, opened, state, told

__all__ = ["browser"]

pytestmark = pytest.mark.needs("chromium")

S = 1_000_000_000
_HOSTILE = "<img src=x onerror=alert(1)>"


def _figures(ops: float, size: int, *, spread: float = 0.0) -> dict[str, Estimate]:
    latency = 1e9 / ops
    values = {
        "ops_per_s": ops,
        "bytes_per_s": ops * size,
        "latency_ns_mean": latency,
        "latency_ns_p99": 3 * latency,
        "read_ops_per_s": ops,
        "write_ops_per_s": 0.0,
    }
    return {
        name: Estimate(value, value * (1 - spread), value * (1 + spread)) if spread else Estimate(value)
        for name, value in values.items()
    }


def _sweep(*, target: str = "/dev/sdx") -> SweepResult:
    """Two modes; 16 sizes and 3 loads each; 8 KiB with 4 jobs is missing."""
    cells = [
        Cell(Point(mode, size, jobs, 1), 3, _figures(20_000 * jobs / (1 + size / 65536), size, spread=0.1))
        for mode in ("randread", "write")
        for size in (512 * 2**power for power in range(16))
        for jobs in (1, 4, 16)
        if not (mode == "randread" and size == 8192 and jobs == 4)
    ]
    return SweepResult(
        "sweep-1", target, "device", tuple(cells), 288, 285, 3, 30 * S, "7", 1_795_132_800 * S, 1_795_142_800 * S,
        49 * 2**30, notes=("There was a pause of 3 h 05 min.",), doubts=("Not the device: a cache.",),
    )  # fmt: skip


def test_the_page_says_on_which_host_it_was_measured(tmp_path: Path) -> None:
    write_sweep_report(replace(_sweep(), host="esx07"), tmp_path / "host.html")
    assert "/dev/sdx on esx07 (device, " in (tmp_path / "host.html").read_text()


def test_points_that_are_invalid_or_doubted_are_marked_in_the_table() -> None:
    """As on the terminal; what is wrong with them is told above."""
    cells = tuple(
        Cell(Point("randread", size, 1, 1), 3, _figures(1000, size), bounds=bounds, invalid_runs=invalid, doubts=doubts)
        for size, bounds, invalid, doubts in (
            (4096, "load", 0, ()), (8192, "drive g 99 %", 0, ("It had not settled.",)), (16384, "load", 2, ("Late.",)),
        )
    )  # fmt: skip
    result = SweepResult("s", "x", "file", cells, 9, 9, 3, S, "1", 0, S)
    (drawn,) = sweep_charts(result, Packer())
    assert [row[-1] for row in drawn.rows] == ["load", "drive g 99 %, doubt", "load, 2 INVALID"]


def test_flushes_have_charts_and_columns_of_their_own_where_there_are_any(browser: Browser, tmp_path: Path) -> None:
    flush = {"flush_latency_ns_mean": Estimate(8.28e6, 8.2e6, 8.36e6), "flush_latency_ns_p99": Estimate(8.29e6)}
    plain = replace(_sweep(), cells=_sweep().cells[:6])
    cells = tuple(replace(cell, figures={**cell.figures, **flush}) for cell in plain.cells)
    page = render_sweep(replace(plain, cells=cells))
    for words in (
        "Mean latency of flushes",
        "Latency of flushes, 99th percentile",
        "Mean of flushes",
        "p99 of flushes",
    ):
        assert words in page and words not in render_sweep(plain)
    assert "8.28 ms ± 80.0 µs" in page.replace("\N{NO-BREAK SPACE}", " ")
    drawn = []
    for result in (plain, replace(plain, cells=cells)):
        path = tmp_path / f"{len(drawn)}.html"
        write_sweep_report(result, path)
        view = opened(browser, path)
        assert not view.said
        drawn.append(view.page.locator("canvas").count())
    assert drawn[1] == drawn[0] + 2


def _series() -> SweepResult:
    """A cache that warms up; slot 5 was missed."""
    cells = [
        Cell(Point("random-8k", 8192), 1, _figures(100 + 1900 * min(slot, 12) / 12, 8192), slot=slot,
             elapsed_ns=slot * 600 * S + S // 100)
        for slot in range(24) if slot != 5
    ]  # fmt: skip
    return SweepResult(
        "sweep-2", "/mnt/nas/file", "file", tuple(cells), 24, 23, 24, 30 * S, "7", 1_795_132_800 * S,
        1_795_147_200 * S, interval_ns=600 * S,
    )  # fmt: skip


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "sweep.html"
    write_sweep_report(_sweep(), path)
    return path


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("series") / "series.html"
    write_sweep_report(_series(), path)
    return path


def test_every_panel_of_every_mode_is_drawn_and_nothing_is_asked_for(browser: Browser, sweep: Path) -> None:
    view = opened(browser, sweep)
    assert state(view) == "drawn"
    assert view.said == []
    assert view.asked == [sweep.as_uri()]
    panels = view.page.locator(".sweep .uplot")
    assert panels.count() == 2 * 4
    assert min(count for count in colours(view) if count) > 3
    assert all(count > 20 for count in colours(view)[3:7])


def test_lines_are_the_cells_and_a_missing_point_is_a_gap(browser: Browser, sweep: Path) -> None:
    view = opened(browser, sweep)
    island = json.loads(view.page.locator("#charts-data").inner_text())
    chart = island["charts"][0]
    assert chart["labels"] == ["1 job", "4 jobs", "16 jobs"]
    assert chart["axis"]["labels"][:2] == ["512 B", "1 KiB"]
    columns = json.loads(view.page.evaluate("storscope.unpack().then((data) => JSON.stringify(data.columns))"))
    rates = [columns[line[0]] for line in chart["panels"][0]["lines"]]
    assert rates[0][3] == pytest.approx(20_000 / (1 + 4096 / 65536), rel=1e-3)
    assert rates[1][4] is None, "8 KiB with 4 jobs was not measured"
    low, high = (columns[number][0] for number in chart["panels"][0]["lines"][2][1:])
    assert (low, high) == (pytest.approx(rates[2][0] * 0.9, rel=1e-3), pytest.approx(rates[2][0] * 1.1, rel=1e-3))


def test_intervals_that_are_too_wide_are_cut_and_invalid_points_are_hollow(browser: Browser, tmp_path: Path) -> None:
    cells = []
    for number, size in enumerate((4096, 8192, 16384)):
        wild = {"ops_per_s": Estimate(1000.0, 0.0, 90_000.0)} if number == 1 else {}
        point = Point("randread", size, 1, 1)
        cells.append(Cell(point, 3, _figures(1000, size, spread=0.1) | wild, invalid_runs=number))
    result = SweepResult("s", "x", "file", tuple(cells), 9, 9, 3, S, "1", 0, S)
    write_sweep_report(result, tmp_path / "w.html")
    view = opened(browser, tmp_path / "w.html")
    assert view.page.evaluate("document.querySelector('.sweep').plots[0].scales.y.max") < 2000
    assert "2 of 3 points have invalid runs" in view.page.locator("main").inner_text()
    pixel = """(at) => { const plot = document.querySelector('.sweep').plots[0], ratio = uPlot.pxRatio;
        const [x, y] = [plot.valToPos([4096, 8192, 16384][at], 'x', true), plot.valToPos(1000, 'y', true)];
        return [...plot.ctx.getImageData(Math.round(x), Math.round(y), 1, 1).data].join(); }"""
    assert view.page.evaluate(pixel, 0) == "27,106,165,255"
    assert view.page.evaluate(pixel, 2) == "255,255,255,255"


ROWS_OF_END = """(size) => {
    const plot = document.querySelector('.sweep').plots[0], ratio = uPlot.pxRatio;
    const x = Math.round(plot.valToPos(size, 'x', true) + 3 * ratio), isBlue = ([red, , blue]) => blue - red > 20;
    const rows = Array.from({ length: plot.bbox.height / ratio }, (_, row) => row);
    return rows.filter((row) => isBlue(plot.ctx.getImageData(x, Math.round(plot.bbox.top + row * ratio), 1, 1).data));
}"""


def test_an_interval_that_goes_on_beyond_the_chart_ends_in_an_arrow(browser: Browser, tmp_path: Path) -> None:
    spreads = {4096: (900.0, 1100.0), 8192: (900.0, 90_000.0)}
    cells = [
        Cell(Point("randread", size, 1, 1), 3, _figures(1000, size) | {"ops_per_s": Estimate(1000.0, low, high)})
        for size, (low, high) in spreads.items()
    ]
    write_sweep_report(SweepResult("s", "x", "file", tuple(cells), 6, 6, 3, S, "1", 0, S), tmp_path / "w.html")
    view = opened(browser, tmp_path / "w.html")
    cap, arrow = (view.page.evaluate(ROWS_OF_END, size) for size in spreads)
    assert cap[0] > 20, "its end is in the chart"
    assert 2 <= arrow[0] <= 6, "below the edge, of which a cap would tell the value"
    assert cap[-1] == arrow[-1], "both lower ends are the same value"


def test_the_controls_of_a_sweep_are_told_to_a_screen_reader(browser: Browser, sweep: Path) -> None:
    found = told(opened(browser, sweep))
    assert ("button", "4 jobs") in found
    assert ("button", "Scales from zero") in found
    images = [name for role, name in found if role in ("img", "image") and name]
    assert images[:2] == ["Operations per second (IOPS)", "Throughput"]


def test_axes_are_logarithmic_in_size_and_carry_units(browser: Browser, sweep: Path) -> None:
    view = opened(browser, sweep)
    plots = view.page.evaluate(
        """[...document.querySelector('.sweep').plots].map((plot) => [plot.scales.x.distr, plot.scales.x.log,
           plot.axes[0].label, plot.axes[0]._values.join(' '), plot.axes[1]._values.join(' '), plot.scales.y.distr])"""
    )
    assert {(plot[0], plot[1], plot[2]) for plot in plots} == {(3, 2, "Block size")}
    assert re.search(r"512 B .*KiB .*MiB", plots[0][3])
    assert "MB/s" in plots[1][4]
    assert re.search(r"µs.* ms", plots[2][4])
    for plot in plots:
        shown = [label for label in plot[3].split("  ") if label]
        assert len(shown) >= 3
    assert {plot[5] for plot in plots} == {3}, (
        "values a thousandfold apart: a scale from zero would hide the small ones"
    )


def test_the_reader_may_choose_scales_from_zero(browser: Browser, sweep: Path) -> None:
    view = opened(browser, sweep)
    view.page.get_by_role("button", name="Scales from zero").first.click()
    scales = "[...document.querySelector('.sweep').plots].map((plot) => [plot.scales.y.distr, plot.scales.y.min])"
    assert view.page.evaluate(scales) == [[1, 0]] * 4
    view.page.get_by_role("button", name="Log scales").first.click()
    assert {distr for distr, _ in view.page.evaluate(scales)} == {3}


def test_the_legend_names_every_line_and_singles_one_out(browser: Browser, sweep: Path) -> None:
    view = opened(browser, sweep)
    legend = view.page.locator(".legend").first
    assert [words.strip() for words in legend.locator("button").all_inner_texts()] == ["1 job", "4 jobs", "16 jobs"]
    before = colours(view)
    legend.get_by_role("button", name="4 jobs").click()
    assert legend.locator('[aria-pressed="true"]').all_inner_texts() == ["4 jobs"]
    assert becomes(view, lambda: colours(view) != before), "the other lines are faint now"
    legend.get_by_role("button", name="4 jobs").click()
    assert legend.locator('[aria-pressed="true"]').count() == 0


def test_pointer_and_keyboard_read_every_figure_with_its_unit(browser: Browser, sweep: Path) -> None:
    view = opened(browser, sweep)
    chart = view.page.locator(".sweep").first
    chart.focus()
    for _ in range(4):
        view.page.keyboard.press("ArrowRight")
    said = chart.evaluate("(host) => host.nextElementSibling.textContent")
    assert said.startswith("1 job, Block size 4 KiB: ")
    assert re.search(r"18,8\d\d IOPS \(16,9\d\d IOPS to 20,7\d\d IOPS\)", said)
    assert re.search(r"Throughput [\d.]+ MB/s .*Mean latency [\d.]+ µs .*percentile [\d.]+ µs", said)
    view.page.keyboard.press("ArrowDown")
    assert chart.evaluate("(host) => host.nextElementSibling.textContent").startswith("4 jobs, Block size 4 KiB: ")
    place = view.page.evaluate(
        """(() => { const plot = document.querySelector('.sweep').plots[0];
            return [plot.valToPos(512, 'x'), plot.valToPos(20000 / (1 + 1 / 128), 'y')]; })()"""
    )
    view.page.locator(".sweep .u-over").first.hover(position={"x": place[0], "y": place[1]})
    assert re.search(r"1 job, Block size 512 B", view.page.locator("#tip").inner_text())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["sweep", "series"])
def test_text_and_lines_stand_out_in_light_and_dark(
    browser: Browser, which: str, scheme: str, request: pytest.FixtureRequest
) -> None:
    view = opened(browser, request.getfixturevalue(which), color_scheme=scheme)
    assert view.page.evaluate(CONTRAST) == []
    ratios = view.page.evaluate(
        """() => {
            const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
            const light = (hex) => [1, 3, 5].map((at) => linear(parseInt(hex.slice(at, at + 2), 16) / 255))
                .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
            const ground = light(storscope.theme.surface.length === 4 ? '#ffffff' : storscope.theme.surface);
            return storscope.sweepColours.map((colour) => {
                const [one, other] = [light(colour), ground];
                return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            });
        }"""
    )
    assert len(ratios) == 8
    assert min(ratios) > 3, "WCAG 1.4.11: graphics against their ground"


def test_a_phone_scrolls_down_only(browser: Browser, sweep: Path) -> None:
    view = opened(browser, sweep, viewport={"width": 375, "height": 700}, is_mobile=True, has_touch=True)
    assert state(view) == "drawn"
    assert view.page.evaluate("document.documentElement.scrollWidth") == 375
    rights = view.page.evaluate("[...document.querySelectorAll('canvas')].map((c) => c.getBoundingClientRect().right)")
    assert max(rights) <= 375


def test_tables_of_measurements_use_the_room_of_a_wide_screen(browser: Browser, sweep: Path) -> None:
    """Figures of writes, with long intervals, take 1,050 px."""
    view = opened(browser, sweep, viewport={"width": 1400, "height": 900})
    rooms = view.page.evaluate("[...document.querySelectorAll('.figures .scroll')].map((one) => one.clientWidth)")
    assert min(rooms) >= 1100


def test_a_series_is_drawn_over_time_with_a_gap_for_the_missed_slot(browser: Browser, series: Path) -> None:
    view = opened(browser, series)
    assert state(view) == "drawn"
    axis, labels, end = view.page.evaluate(
        """(() => { const plot = document.querySelector('.sweep').plots[0];
            return [plot.axes[0].label, plot.axes[0]._values, plot.scales.x.max]; })()"""
    )
    assert axis == "Time since the start"
    assert labels[:2] == ["0", "1 h"]
    assert end == pytest.approx(23 * 600 * 1.02, rel=0.01)
    island = json.loads(view.page.locator("#charts-data").inner_text())
    columns = json.loads(view.page.evaluate("storscope.unpack().then((data) => JSON.stringify(data.columns))"))
    rates = columns[island["charts"][0]["panels"][0]["lines"][0][0]]
    assert len(rates) == 24
    assert [slot for slot, rate in enumerate(rates) if rate is None] == [5]
    header = view.page.locator("header").inner_text()
    assert "from 100\u00a0IOPS and 10.0\u00a0ms to 2,000\u00a0IOPS and 500\u00a0µs" in header


def test_tables_notes_and_missing_measurements_are_in_the_page(browser: Browser, sweep: Path) -> None:
    view = opened(browser, sweep)
    text = view.page.locator("main").inner_text()
    for words in ("3 of 288 measurements are missing", "pause of 3 h 05 min", "Not the device: a cache", "49 GiB of it",
                  "Most throughput", "95\u00a0% intervals of the mean over repetitions"):  # fmt: skip
        assert words in text
    assert view.page.locator("table tbody tr").count() == len(_sweep().cells)


def test_paper_has_charts_tables_and_the_legend(browser: Browser, sweep: Path) -> None:
    view = opened(browser, sweep, color_scheme="dark")
    view.page.evaluate(
        """() => addEventListener("beforeprint", () => {
            window.seen = [storscope.theme.load, document.querySelectorAll("details.figures:not([open])").length,
                storscope.sweepColours[0]];
        })"""
    )
    assert view.page.pdf(format="A4").startswith(b"%PDF-")
    assert view.page.evaluate("seen") == ["#2a6496", 0, "#1b6aa5"]
    view.page.emulate_media(media="print")
    legend = view.page.locator(".legend").first
    assert [item.is_visible() for item in legend.locator("button").all()] == [True] * 3
    assert not view.page.get_by_role("button", name="Scales from zero").first.is_visible()


def test_hostile_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    cells = tuple(Cell(Point(_HOSTILE, size, 1), 1, _figures(1000, size), doubts=(_HOSTILE,)) for size in (4096, 8192))
    result = SweepResult("s", _HOSTILE, _HOSTILE, cells, 2, 2, 1, S, "1", 0, S, failures=(_HOSTILE,))
    write_sweep_report(result, tmp_path / "h.html")
    view = opened(browser, tmp_path / "h.html", "window.alert = (text) => console.log('ALERT ' + text)")
    assert state(view) == "drawn"
    assert view.said == []
    assert view.page.locator("main img").count() == 0


@pytest.mark.parametrize("cells", [(), (Cell(Point("randread", 4096, 1, 1), 1, {}),)])
def test_a_sweep_without_lines_is_a_page_all_the_same(
    browser: Browser, tmp_path: Path, cells: tuple[Cell, ...]
) -> None:
    write_sweep_report(SweepResult("s", "x", "file", cells, 1, 0, 1, S, "1", None, None), tmp_path / "e.html")
    view = opened(browser, tmp_path / "e.html")
    assert state(view) == "drawn"
    assert view.said == []
    assert view.page.locator(".sweep").count() == 0


def test_the_same_result_gives_the_same_page() -> None:
    assert render_sweep(_sweep(), 0) == render_sweep(_sweep(), 0)


def test_what_is_outstanding_is_told_by_the_depth_or_by_the_workload() -> None:
    """A series of a workload has neither jobs nor a depth of its own."""
    by_depth, by_workload = "outstanding as the depth says", "outstanding as it says itself"
    assert by_depth in render_sweep(_sweep()) and by_workload not in render_sweep(_sweep())
    assert by_depth not in render_sweep(_series()) and by_workload in render_sweep(_series())


def test_a_place_that_cannot_be_written_is_an_error_of_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="file can be written"):
        write_sweep_report(_sweep(), tmp_path / "nowhere" / "r.html")


def test_an_interval_that_tells_nothing_is_neither_told_nor_drawn() -> None:
    """A point of a second had a bar from 0 to beyond the chart."""
    result = _sweep()
    first, *others = result.cells
    vague = {name: Estimate(one.value, 0.0, 9 * one.value) for name, one in first.figures.items()}
    assert " to " in figure_words(replace(first, figures={"ops_per_s": Estimate(9.0, 1.0, 81.0)}), "ops_per_s")
    assert " to " not in figure_words(replace(first, figures=vague), "ops_per_s")
    page = render_sweep(replace(result, cells=(replace(first, figures=vague), *others)))
    assert "A figure without one has too little data for it" in page
    exact = {name: Estimate(one.value, 0.9 * one.value, 1.1 * one.value) for name, one in first.figures.items()}
    assert "A figure without one" not in render_sweep(replace(result, cells=(replace(first, figures=exact),)))
