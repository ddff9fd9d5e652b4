"""The page of a search for the knee: what it says, and in a real browser that it draws what was measured."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from storscope.domain.errors import UsageError
from storscope.domain.load_curve import Bounds, Crossing
from storscope.report import write_knee_report
from storscope.report.knee_chart import knee_chart
from storscope.report.knee_page import render_knee
from storscope.report.pack import Packer
from tests.report.knees import DISTURBED, LATE, LIMIT_NS, WITHIN_PER_S, curve, result, unanswered, visit
from tests.report.test_browser import CONTRAST, Opened, browser, colours, opened, state

__all__ = ["browser"]

chromium = pytest.mark.needs("chromium")

_COMMAND = "storscope bench /dev/sdx --knee --workload oltp --slo 'p99<20ms' --seed 7"
_HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("knee") / "knee.html"
    write_knee_report(result(), path, _COMMAND)
    return path


def _text(view: Opened) -> str:
    return view.page.locator("main").inner_text()


# The text -------------------------------------------------------------------------------------------------------------


def test_the_answers_come_first_with_their_intervals_and_units(page: Path) -> None:
    text = re.sub(r"<[^>]+>", "", page.read_text().split("<main>")[1])
    text = " ".join(text.split())
    assert text.startswith("storscope knee oltp on /dev/sdx Knee 500 requests/s 95 %: 480 to 525 There the mean")
    assert "SLO p99 &lt; 20.0 ms 770 requests/s 95 %: 755 to 785 The greatest load that meets it." in text
    assert "Light load 1.00 ms 95 %: 970 µs to 1.02 ms" in text
    assert "Capacity 1,000 requests/s 95 %: 970 to 1,040" in text


def test_the_words_of_the_page_are_explained_where_they_are_first_used(page: Path) -> None:
    text = page.read_text()
    assert "a visit, a short measurement at one load" in text
    assert "between the two lies the lateness" in text
    assert "took longer than others at a higher load (disturbed)" in text


def test_an_answer_by_the_service_time_is_a_sentence() -> None:
    told = replace(curve(), within_objective=Crossing("service p99", LIMIT_NS, Bounds(770.0, 755.0, 785.0)))
    assert "The greatest load that meets it, by the service time: requests were sent too late." in render_knee(
        replace(result(), curve=told)
    )


def test_an_interval_that_tells_nothing_is_neither_told_nor_drawn() -> None:
    brief = replace(visit(300), figures_ns={"mean": 182e3, "p99": 1e6}, intervals_ns={"mean": (0.0, 846e3)})
    text = render_knee(result(replace(curve(), visits=(*curve().visits, brief)))).replace("\N{NO-BREAK SPACE}", " ")
    assert "182 µs" in text
    assert "846 µs" not in text
    assert "was visited too briefly for an interval" in text
    assert "was visited too briefly for an interval" not in render_knee(result())
    chart = knee_chart(replace(curve(), visits=(brief,)), Packer())
    assert chart.rows[0][2] == "182 µs"


def test_the_page_says_where_when_how_and_how_to_do_it_again(page: Path) -> None:
    text = page.read_text()
    for words in ("/dev/sdx on esx07 (device, 49 GiB of it)", "2026-11-20 00:00:00Z to 2026-11-20 00:01:15Z",
                  "by the clock of that host", "knee-18ea, seed 7, by storscope 0.1.0 (io_uring)", "past it (O_DIRECT)",
                  "its intervals were narrow enough", "--slo &#39;p99&lt;20ms&#39; --seed 7",
                  "parameters['knee_search'] = 'knee-18ea'", "The knee is known to ±9 % only."):  # fmt: skip
        assert words in text, words


def test_a_search_without_an_answer_says_why_and_keeps_its_table(tmp_path: Path) -> None:
    text = render_knee(result(unanswered()))
    assert "not found" in text
    assert f"3 of 3 visits cannot be used; the last: {LATE}." in text
    assert "data-chart=" not in text
    assert text.count(f'<td class="long">invalid: {LATE}</td>') == 3
    assert "No visit was made." in render_knee(result(replace(unanswered(), visits=())))


def test_the_same_result_gives_the_same_page() -> None:
    assert render_knee(result(), _COMMAND, 0) == render_knee(result(), _COMMAND, 0)


def test_a_place_that_cannot_be_written_is_an_error_of_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="file can be written"):
        write_knee_report(result(), tmp_path / "nowhere" / "r.html")


# In a browser ---------------------------------------------------------------------------------------------------------

_PIXEL = """([load, latency, right, up]) => {
    const plot = document.querySelector('.knee').plots[0], ratio = uPlot.pxRatio;
    const [x, y] = [plot.valToPos(load, 'x', true) + right * ratio, plot.valToPos(latency, 'y', true) - up * ratio];
    return [...plot.ctx.getImageData(Math.round(x), Math.round(y), 1, 1).data];
}"""
_BLUE, _ORANGE, _RED = [27, 106, 165, 255], [194, 65, 12, 255], [179, 38, 30, 255]
_WHITE, _NOTHING = [255, 255, 255, 255], [0, 0, 0, 0]


def _pixel(view: Opened, load: float, latency_ns: float, right: float = 0, up: float = 0) -> list[int]:
    found: list[int] = view.page.evaluate(_PIXEL, [load, latency_ns, right, up])
    return found


def _on_curve(view: Opened, load: float) -> list[list[int]]:
    """The curve is thin and slants: the pixels just around it."""
    return [_pixel(view, load, 1e6 / (1 - load / 1000), up=up) for up in (-1, 0, 1)]


@chromium
@pytest.mark.parametrize(("kind", "values", "labels"), [
    ("ops_per_s", "[0, 20000, 80000]", ["0", "20,000", "80,000"]),
    ("ops_per_s", "[0, 20000, 80000, 100000]", ["0", "20 k", "80 k", "100 k"]),
    ("operations", "[null, 500, 1500, 800000, 1000000]", [None, "500", "1.5 k", "800 k", "1 M"]),
    ("events", "[0, 0.5, 1]", ["0", "0.5", "1"]),
    ("latency", "[0, 200000, 1500000]", ["0", "200 µs", "1.5 ms"]),
    ("ops_per_s", "[]", []),
])  # fmt: skip
def test_numbers_along_an_axis_are_written_in_one_style(
    kind: str, values: str, labels: list[str | None], browser: Browser, page: Path
) -> None:
    assert opened(browser, page).page.evaluate(f"storscope.ticks('{kind}', {values})") == labels


@chromium
def test_the_chart_is_drawn_and_nothing_is_asked_for(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    assert state(view) == "drawn"
    assert view.said == []
    assert view.asked == [page.as_uri()]
    assert view.page.locator(".knee .uplot").count() == 1
    assert max(colours(view)) > 20


@chromium
def test_points_lines_bands_and_the_limit_are_where_they_belong(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    ms = 1e6
    assert _pixel(view, 300, 4 * ms) == _WHITE, "a point that the curve leaves out is hollow"
    assert _pixel(view, 300, 18 * ms) == _ORANGE, "and filled where it counts"
    assert _pixel(view, 1010, 30 * ms) == _WHITE, "a lower bound is hollow"
    assert _pixel(view, 500, 60 * ms) == _BLUE, "the knee"
    assert _pixel(view, WITHIN_PER_S, 60 * ms) == _ORANGE, "the greatest load within the objective"
    assert _BLUE in _on_curve(view, 400), "the fitted curve"
    band = _pixel(view, 518, 60 * ms)
    assert band not in (_NOTHING, _WHITE, _BLUE), "the interval of the knee is a band"
    assert _pixel(view, 535, 60 * ms) == _NOTHING, "which ends where the interval does"
    assert _RED in [_pixel(view, 600, LIMIT_NS, right) for right in range(14)], "the limit, dashed"


@chromium
def test_an_invalid_visit_is_a_cross_on_the_axis_that_says_why(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    foot = view.page.evaluate(
        """() => { const plot = document.querySelector('.knee').plots[0];
            return [plot.valToPos(610, 'x'), plot.over.clientHeight - 8]; }"""
    )
    view.page.locator(".knee .u-over").scroll_into_view_if_needed()
    view.page.locator(".knee .u-over").hover(position={"x": foot[0], "y": foot[1]})
    tip = view.page.locator("#tip").inner_text()
    assert tip.startswith("Offered 610 requests/s")
    assert f"invalid: {LATE}" in tip
    assert "mean response time\nno value" in tip


@chromium
def test_the_keyboard_reads_every_visit_with_units_and_interval(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    chart = view.page.locator(".knee").first
    chart.focus()
    said = []
    for _ in range(len(curve().visits) + 2):
        view.page.keyboard.press("ArrowRight")
        said.append(chart.evaluate("(host) => host.nextElementSibling.textContent"))
    assert len(set(said)) == len(curve().visits) - 1, "one is not drawn"
    first, last = said[0], said[-1]
    assert first.startswith(
        "Offered 75.0 requests/s: Done 75.0 requests/s, mean response time 1.08 ms (1.04 ms to 1.17 ms)"
    )
    assert "Measured for 2.00 s" in first
    assert "mean response time > 400 ms, p99 response time > 1.20 s" in last
    assert "But overloaded: more arrived than was served" in last


@chromium
def test_the_reader_may_single_out_a_figure_and_choose_a_scale_from_zero(browser: Browser, page: Path) -> None:
    view = opened(browser, page)
    scale = "(({ scales }) => [scales.y.distr, scales.y.min])(document.querySelector('.knee').plots[0])"
    distr, low = view.page.evaluate(scale)
    assert distr == 3
    assert low > 0
    assert _BLUE in _on_curve(view, 400)
    view.page.get_by_role("button", name="p99 response time").click()
    assert _BLUE not in _on_curve(view, 400), "the mean is faint"
    view.page.get_by_role("button", name="Scale from zero").click()
    assert view.page.evaluate(scale) == [1, 0]
    assert view.page.locator('.legend [aria-pressed="true"]').all_inner_texts() == ["p99 response time"]
    view.page.get_by_role("button", name="Log scale").click()
    assert view.page.evaluate(scale)[0] == 3


@chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_stand_out_in_light_and_dark(browser: Browser, page: Path, scheme: str) -> None:
    view = opened(browser, page, color_scheme=scheme)
    assert view.page.evaluate(CONTRAST) == []
    assert _pixel(view, 500, 60e6) == (_BLUE if scheme == "light" else [108, 180, 238, 255])
    tone = view.page.locator(".answers li").first.evaluate("(item) => getComputedStyle(item).borderTopColor")
    assert tone == ("rgb(27, 106, 165)" if scheme == "light" else "rgb(108, 180, 238)"), (
        "the tile has its band's colour"
    )


@chromium
@pytest.mark.parametrize("width", [1200, 1400])
def test_the_table_of_visits_is_not_cut_on_a_desktop(browser: Browser, tmp_path: Path, width: int) -> None:
    """With as many columns as there may be, each as wide as lopsided intervals make it."""
    names = ("service mean", "service p99", "service p99.9")
    shown = curve()
    visits = tuple(
        replace(visit, figures_ns=dict.fromkeys(names, 188.8e6), intervals_ns=dict.fromkeys(names, (100.8e6, 488.8e6)))
        for visit in shown.visits
    )
    mean = replace(shown.knee, figure=names[0])
    asked = Crossing(names[2], LIMIT_NS, Bounds(770.0, 755.0, 785.0), "", ((16, DISTURBED),))
    wide = replace(shown, visits=visits, knee=mean, within_objective=asked)
    write_knee_report(replace(result(), curve=wide), tmp_path / "wide.html", _COMMAND)
    view = opened(browser, tmp_path / "wide.html", viewport={"width": width, "height": 900})
    within = "document.querySelector('.figures .scroll')"
    assert view.page.evaluate(f"{within}.querySelectorAll('thead th').length") == 7
    assert view.page.evaluate(f"{within}.scrollWidth <= {within}.clientWidth")


@chromium
def test_a_phone_scrolls_down_only(browser: Browser, page: Path) -> None:
    view = opened(browser, page, viewport={"width": 375, "height": 700}, is_mobile=True, has_touch=True)
    assert state(view) == "drawn"
    assert view.page.evaluate("document.documentElement.scrollWidth") == 375


@chromium
def test_paper_is_light_and_has_the_table_and_the_legend(browser: Browser, page: Path) -> None:
    view = opened(browser, page, color_scheme="dark")
    view.page.evaluate(
        """() => addEventListener("beforeprint", () => {
            window.seen = [storscope.theme.load, storscope.sweepColours[0],
                document.querySelectorAll("details.figures:not([open])").length];
        })"""
    )
    assert view.page.pdf(format="A4").startswith(b"%PDF-")
    assert view.page.evaluate("seen") == ["#2a6496", "#1b6aa5", 0]
    view.page.emulate_media(media="print")
    assert [item.is_visible() for item in view.page.locator(".legend button").all()] == [True, True]


@chromium
def test_without_scripts_the_answers_and_the_table_say_the_same(browser: Browser, page: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    view = context.new_page()
    view.goto(page.as_uri())
    assert view.locator(".answers .value").first.inner_text() == "500 requests/s"
    assert view.locator("table tbody tr").count() == len(curve().visits)
    assert "Charts need JavaScript" in view.locator("noscript").inner_text()


@chromium
def test_a_limit_out_of_range_and_a_knee_that_was_not_found_are_drawn_as_such(browser: Browser, tmp_path: Path) -> None:
    none = "up to 1,010/s, the highest load that could be measured, the p99 stays below 60.0 s"
    found = replace(
        curve(), knee=replace(curve().knee, load_per_s=None, reason="not known"), capacity_per_s=None, light_ns=None,
        within_objective=Crossing("p99", 60e9, None, none),
    )  # fmt: skip
    write_knee_report(result(found), tmp_path / "r.html")
    view = opened(browser, tmp_path / "r.html")
    assert state(view) == "drawn"
    assert view.said == []
    assert "Up to 1,010/s, the highest load" in _text(view)
    chart = json.loads(view.page.locator("#charts-data").inner_text())["charts"][0]
    assert (chart["answers"], chart["light"], chart["limit"]["where"]) == ([], None, "above")


_WORDS = """
window.words = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    window.words.push([text, x, x + this.measureText(text).width, y]);
    return write.call(this, text, x, y, ...rest);
};"""
_COVERED = """([load, latency]) => {
    const plot = document.querySelector('.knee').plots[0], ratio = uPlot.pxRatio;
    const [x, y] = [plot.valToPos(load, 'x', true) / ratio, plot.valToPos(latency, 'y', true) / ratio];
    const isOn = ([, from, to, at]) => x > from - 4 && x < to + 4 && Math.abs(at - y) < 8;
    return window.words.filter(isOn).map(([text]) => text);
}"""


@chromium
def test_no_words_lie_on_a_visit(browser: Browser, tmp_path: Path) -> None:
    near = [{"mean": 2.25e6, "p99": 9e6}, {"mean": 0.92e6, "p99": 9e6}]
    visits = [
        replace(curve().visits[0], offered_per_s=load, figures_ns=one) for load, one in zip((40, 60), near, strict=True)
    ]
    write_knee_report(result(replace(curve(), visits=(*curve().visits, *visits))), tmp_path / "k.html")
    view = opened(browser, tmp_path / "k.html", _WORDS)
    assert view.page.evaluate(_COVERED, [40, 2.25e6]) == []
    assert view.page.evaluate(_COVERED, [60, 0.92e6]) == []
    said = view.page.evaluate("window.words.map(([text]) => text)")
    assert {"1.00 ms at light load", "twice that: 2.00 ms"} <= set(said)


@chromium
def test_hostile_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    hostile = [replace(visit, reason=_HOSTILE) for visit in curve().visits]
    found = replace(result(replace(curve(), visits=tuple(hostile)), target=_HOSTILE), doubts=(_HOSTILE,))
    write_knee_report(found, tmp_path / "h.html", _HOSTILE)
    view = opened(browser, tmp_path / "h.html", "window.alert = (text) => console.log('ALERT ' + text)")
    assert state(view) == "drawn"
    view.page.locator(".knee").first.focus()
    for _ in range(len(hostile)):
        view.page.keyboard.press("ArrowRight")
    assert view.said == []
    assert view.page.locator("main img, #tip img").count() == 0


@chromium
def test_remarks_beside_figures_are_no_columns_of_single_words_on_a_phone(browser: Browser, page: Path) -> None:
    view = opened(browser, page, viewport={"width": 400, "height": 900})
    heights = view.page.evaluate(
        "[...document.querySelectorAll('.figures tbody tr')].map((row) => row.getBoundingClientRect().height)"
    )
    assert len(heights) > 10
    assert max(heights) < 90, "three lines"
