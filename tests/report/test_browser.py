"""The report in a real browser: drawn, quiet, offline, on paper and on a phone."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from storscope.domain.entity import EntityRef
from storscope.domain.finding import EvidenceRows, Healthy, NotEvaluated
from storscope.domain.recorder import Recorder
from storscope.report.assembly import environment, joined
from tests.report.evidence import START_NS, S, day_of_volumes, hog_finding, vdisk, verdict_of, whole_verdict, written
from tests.report.test_page import hostile_page, nothing
from tests.report.test_queues import drives_with_queues
from tests.report.test_runs import runs_of_streams
from tests.support.cases import make_store

pytestmark = pytest.mark.needs("chromium")

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip
_LONGEST_MS = 120_000
_STEP_MS = 50


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    store = make_store(folder / "store", day_of_volumes(12, 60, 24))
    written(folder / "report.html", whole_verdict(store), store)
    return folder / "report.html"


@dataclass
class Opened:
    """A page with everything it said and asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


def opened(browser: Browser, path: Path, script: str = "", **options: Any) -> Opened:
    context: BrowserContext = browser.new_context(**({"viewport": {"width": 1200, "height": 800}} | options))
    context.set_default_timeout(_LONGEST_MS)
    if script:
        context.add_init_script(script)
    view = Opened(context.new_page())
    view.page.on("console", lambda message: view.said.append(f"{message.type}: {message.text}"))
    view.page.on("pageerror", lambda error: view.said.append(str(error)))
    view.page.on("request", lambda request: view.asked.append(request.url))
    view.page.goto(path.as_uri())
    becomes(view, lambda: view.page.evaluate("document.documentElement.dataset.charts"))
    return view


def becomes(view: Opened, is_so: Callable[[], object]) -> bool:
    """Waits for something that a page does by and by: a busy machine may take long."""
    for _ in range(_LONGEST_MS // _STEP_MS):
        if is_so():
            return True
        view.page.wait_for_timeout(_STEP_MS)
    return False


def state(view: Opened) -> str:
    found: str = view.page.evaluate("document.documentElement.dataset.charts")
    return found


COLOURS = """(canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const found = new Set();
    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3]) found.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    }
    return found.size;
}"""


COLOUR_AT = """(canvas, y) => {
    const scale = canvas.height / canvas.clientHeight;
    return [...canvas.getContext("2d").getImageData(canvas.width / 2, y * scale, 1, 1).data].slice(0, 3);
}"""


def colours(view: Opened) -> list[int]:
    """How many colours each canvas shows."""
    return [canvas.evaluate(COLOURS) for canvas in view.page.query_selector_all("[data-chart] canvas")]


def test_every_chart_is_drawn_without_a_word_or_a_request(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    assert state(view) == "drawn"
    assert view.said == []
    assert view.asked == [report.as_uri()]
    found = colours(view)
    assert len(found) == 3 + 2 + 1
    assert min(found) > 20


def test_without_decompression_stream_the_page_draws_the_same(browser: Browser, report: Path) -> None:
    unpacked = "storscope.unpack().then((data) => JSON.stringify(data.columns.slice(0, 40)))"
    modern = opened(browser, report)
    old = opened(browser, report, "delete window.DecompressionStream")
    assert old.page.evaluate("typeof DecompressionStream") == "undefined"
    assert state(old) == "drawn"
    assert old.page.evaluate(unpacked) == modern.page.evaluate(unpacked)


def test_the_page_unpacks_what_was_packed(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    columns = json.loads(view.page.evaluate("storscope.unpack().then((data) => JSON.stringify(data.columns))"))
    times, ops = columns[0], columns[1]
    assert times[0] == START_NS / 1e9
    assert times[-1] == START_NS / 1e9 + 86_400
    assert times[1] - times[0] == 60
    assert ops[-1] is None
    assert min(value for value in ops if value is not None) > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_agree_between_page_and_canvas(browser: Browser, report: Path, scheme: str) -> None:
    view = opened(browser, report, color_scheme=scheme)
    ground = view.page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) / 3 > 128
    assert light == (scheme == "light")
    load = view.page.evaluate("storscope.theme.load")
    assert load == ("#2a6496" if scheme == "light" else "#7db4e3")


CONTRAST = """() => {
    const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const channel = (value) => linear(value / 255);
    const parse = (text) => text.match(/[\\d.]+/g).map(Number);
    const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = parse(getComputedStyle(at).backgroundColor);
            if (colour.length < 4 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const poor = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, style")) continue;
        const [one, other] = [luminance(parse(getComputedStyle(element).color)), luminance(ground(element))];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (ratio < 4.5) poor.push(`${walker.currentNode.data.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
    }
    return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(browser: Browser, report: Path, scheme: str) -> None:
    assert opened(browser, report, color_scheme=scheme).page.evaluate(CONTRAST) == []


def test_a_phone_scrolls_down_only(browser: Browser, report: Path) -> None:
    view = opened(browser, report, viewport={"width": 375, "height": 700}, is_mobile=True, has_touch=True)
    assert view.page.evaluate("document.documentElement.scrollWidth") == 375
    assert state(view) == "drawn"
    wide = view.page.evaluate(
        "[...document.querySelectorAll('canvas')].filter((c) => c.getBoundingClientRect().right > 375).length"
    )
    assert wide == 0


@pytest.mark.parametrize("width", [375, 1200])
def test_names_without_a_blank_do_not_widen_the_page(browser: Browser, tmp_path: Path, width: int) -> None:
    long = "pvc_3f0c1f4e_" * 25
    texts = dict.fromkeys(("title", "summary", "why", "innocent", "check", "remedy", "source", "rule"), long)
    store = make_store(tmp_path / "store", runs_of_streams([long], name=long))
    verdict = verdict_of(
        store, hog_finding(**texts, entities=(EntityRef(long, "vdisk", long),)), bad_windows={},
        healthy=(Healthy(long, long),), not_evaluated=(NotEvaluated(long, long),),
    )  # fmt: skip
    written(tmp_path / "r.html", verdict, store)
    view = opened(browser, tmp_path / "r.html", viewport={"width": width, "height": 800})
    assert view.page.evaluate("document.documentElement.scrollWidth") == width


def test_charts_follow_the_width_of_the_window(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    view.page.set_viewport_size({"width": 600, "height": 800})
    assert becomes(view, lambda: view.page.evaluate("document.documentElement.scrollWidth") == 600)


def test_the_pointer_reads_values_with_units(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    view.page.locator(".timeline .u-over").first.scroll_into_view_if_needed()
    view.page.locator(".timeline .u-over").first.hover(position={"x": 110, "y": 30})
    tip = view.page.locator("#tip").inner_text()
    assert re.search(r"2026-11-20 0\d:\d\d:00 to 0\d:\d\d:00Z", tip)
    for words in (r"Operations\s+[\d,]+ IOPS", r"Throughput\s+[\d.]+ MB/s", r"Latency\s+[\d.]+ ms", r"Window\s+bad"):
        assert re.search(words, tip), (words, tip)
    view.page.locator(".matrix canvas").first.scroll_into_view_if_needed()
    view.page.locator(".matrix canvas").first.hover(position={"x": 200, "y": 60})
    assert re.search(r"[\d.]+ ms to [\d.]+ ms\s+([\d,]+ operations|no value)", view.page.locator("#tip").inner_text())


@pytest.mark.parametrize("kind", ["timeline", "matrix", "scatter"])
def test_the_keyboard_reads_every_chart(browser: Browser, report: Path, kind: str) -> None:
    view = opened(browser, report)
    chart = view.page.locator(f"[data-chart].{kind}").first
    chart.focus()
    said = []
    for _ in range(3):
        view.page.keyboard.press("ArrowRight")
        said.append(chart.evaluate("(host) => host.nextElementSibling.textContent"))
    assert len(set(said)) == 3
    assert all(re.search(r"ms|µs|operations|no value", sentence) for sentence in said)
    assert not view.page.locator("#tip").is_hidden()
    view.page.locator("h1").click()
    assert view.page.locator("#tip").is_hidden()


def told(view: Opened) -> list[tuple[str, str]]:
    """Role and name of everything that the browser tells a screen reader."""
    nodes = view.page.context.new_cdp_session(view.page).send("Accessibility.getFullAXTree")["nodes"]
    return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]


def test_a_screen_reader_reaches_the_controls_of_charts_and_tells_their_parts_apart(
    browser: Browser, report: Path
) -> None:
    view = opened(browser, report)
    view.page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    found = told(view)
    assert ("button", "Latency on a log scale") in found
    assert ("combobox", "Show") in found
    images = [name for role, name in found if role in ("img", "image") and name]
    assert images == ["Operations", "Throughput", "Latency", "Heat map", "Heat map", "Latency"]
    regions = [name for role, name in found if role == "region"]
    assert "Load and latency of array-a as a table" in regions
    assert len(regions) == len(set(regions))


def zoomed(view: Opened) -> tuple[float, float]:
    low, high = view.page.evaluate(
        "(() => { const { min, max } = document.querySelector('.timeline').plots[2].scales.x; return [min, max]; })()"
    )
    return low, high


def test_a_finding_shows_its_window_in_the_timeline(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    view.page.locator("button.show").first.click()
    low, high = zoomed(view)
    start = START_NS / 1e9
    assert start + 3600 < low < start + 2 * 3600
    assert start + 4.16 * 3600 < high < start + 5 * 3600
    view.page.get_by_role("button", name="Whole time").click()
    assert zoomed(view) == (start, start + 86_400)


def test_one_entity_can_be_chosen_and_latency_shown_on_a_log_scale(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    view.page.locator(".controls select").first.select_option(label="vol-07")
    view.page.get_by_role("button", name="Latency on a log scale").click()
    assert view.page.locator(".controls select").first.evaluate("(s) => s.selectedOptions[0].text") == "vol-07"
    assert view.page.evaluate("document.querySelector('.timeline').plots[2].scales.y.distr") == 3
    assert view.said == []


def test_dragging_zooms_all_panels(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    area = view.page.locator(".timeline .u-over").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    view.page.mouse.move(box["x"] + 100, box["y"] + 20)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + 300, box["y"] + 20, steps=4)
    view.page.mouse.up()
    low, high = zoomed(view)
    assert 2 * 3600 < high - low < 8 * 3600


@pytest.fixture(scope="module")
def simulated_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of which the clock is virtual and began at START_NS."""
    folder = tmp_path_factory.mktemp("virtual")
    store = make_store(folder / "store", day_of_volumes(12, 1, 20 / 3600))
    finding = hog_finding(start_ns=START_NS + 5_000_000_000, end_ns=START_NS + 9_000_000_000)
    verdict = verdict_of(store, finding, zero_ns=START_NS, end_ns=START_NS + 20_000_000_000, bad_windows={})
    written(folder / "report.html", verdict, store)
    return folder / "report.html"


def test_axes_and_readings_of_a_virtual_clock_count_from_its_start(browser: Browser, simulated_report: Path) -> None:
    view = opened(browser, simulated_report)
    assert state(view) == "drawn"
    ticks = "[storscope.timeTicks(%s, %s, 840)].flatMap(({ ticks, step }) => storscope.timeLabels(ticks, step))"
    start = START_NS / 1e9
    assert view.page.evaluate(ticks % (start, start + 20)) == [f"{second} s" for second in range(0, 21, 2)]
    assert view.page.evaluate(ticks % (start + 0.101, start + 0.149)) == [
        f"{milli / 1000} s" for milli in range(105, 150, 5)
    ]
    assert view.page.evaluate(ticks % (start + 3590, start + 3725))[:2] == ["1 h 00 min", "1 h 00 min 15 s"]
    assert view.page.evaluate(f"storscope.interval({start + 5.2}, {start + 130.02})") == (
        "start + 5.2 s to 2 min 10.02 s"
    )
    chart = view.page.locator(".timeline").first
    chart.focus()
    view.page.keyboard.press("ArrowRight")
    assert "start + " in chart.evaluate("(host) => host.nextElementSibling.textContent")
    assert "2026" not in view.page.locator("#tip").inner_text()
    view.page.locator("button.show").first.click()
    low, high = zoomed(view)
    assert (round(low - start, 3), round(high - start, 3)) == (4.0, 10.0)
    assert view.said == []


def test_axes_of_a_real_clock_stay_in_utc(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    start = START_NS / 1e9
    assert view.page.evaluate(f"storscope.interval({start}, {start + 60})") == "2026-11-20 00:00:00 to 00:01:00Z"
    assert view.page.evaluate(f"storscope.timeTicks({start}, {start + 2}, 840).step") == 1
    assert view.page.evaluate(f"storscope.timeLabels([{start}, {start + 60}], 60)") == ["00:00\n20 Nov", "00:01"]


def test_an_axis_of_months_tells_the_year_at_its_beginning_and_where_a_new_one_begins(
    browser: Browser, report: Path
) -> None:
    view = opened(browser, report)
    days = [START_NS / 1e9 + day * 86400 for day in (0, 30, 60, 90)]
    assert view.page.evaluate(f"storscope.timeLabels({days}, 2592000)") == [
        "20 Nov\n2026", "20 Dec", "19 Jan\n2027", "18 Feb",
    ]  # fmt: skip


WORDS_BEYOND = """
window.beyond = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    const before = { left: 0, start: 0, center: 0.5, right: 1, end: 1 }[this.textAlign];
    const wide = this.measureText(text).width, { a, e } = this.getTransform();
    const left = a * (x - before * wide) + e, right = a * (x + (1 - before) * wide) + e;
    if (left < -0.5 || right > this.canvas.width + 0.5) window.beyond.push(text);
    return write.call(this, text, x, y, ...rest);
};"""


@pytest.mark.parametrize("width", [400, 1200])
def test_no_word_of_a_chart_is_cut_at_its_edge(browser: Browser, tmp_path: Path, width: int) -> None:
    store = make_store(tmp_path / "store", day_of_volumes(12, 1, 4 / 3600))
    written(tmp_path / "report.html", whole_verdict(store), store)
    view = opened(browser, tmp_path / "report.html", WORDS_BEYOND, viewport={"width": width, "height": 900})
    assert state(view) == "drawn"
    assert view.page.evaluate("window.beyond") == []


def test_intervals_of_seconds_are_drawn_though_years_lie_between(browser: Browser, tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        for number, start in enumerate((START_NS, START_NS + 600 * 86400 * S)):
            times, ones = start + np.arange(1, dtype=np.int64) * S, np.full((2, 1), 1.0 + number)
            columns = {"ops_per_s": 900 * ones, "latency_ns_mean": 1e6 * ones}
            recorder.observe_columns([vdisk(0), vdisk(1)], times, np.full(1, S), columns)

    store = make_store(tmp_path / "store", write)
    written(tmp_path / "report.html", whole_verdict(store), store)
    view = opened(browser, tmp_path / "report.html")
    drawn = """(host) => host.plots.map((plot) => {
        const y = plot.valToPos(plot.data[1].find((value) => value), "y", true), x = plot.bbox.left;
        const { data } = plot.ctx.getImageData(x, Math.round(y) - 1, 2, 3);
        return data.some((value, at) => at % 4 === 0 && data[at + 3] && Math.abs(value - data[at + 2]) > 20);
    })"""
    assert view.page.locator(".timeline").first.evaluate(drawn) == [True, True]


@pytest.mark.parametrize("width", [400, 1300])
def test_what_a_log_said_is_in_sight_whole(browser: Browser, tmp_path: Path, width: int) -> None:
    said = "WARNING: ScsiDeviceIO: 1218: Device naa.6090a048 performance has deteriorated. " * 3
    columns = ("kind", "entity", "type", "events", "first_time", "last_time", "example")
    row = ("device", "naa.6090a048007daca3efe4f47da571ad50", "latency_deteriorated", 3, "-", "-", said)
    store = make_store(tmp_path / "store", day_of_volumes(2, 60, 1))
    finding = hog_finding(evidence=(EvidenceRows("The lines", columns, (row,), "SELECT 1", 1),))
    written(tmp_path / "report.html", verdict_of(store, finding), store)
    view = opened(browser, tmp_path / "report.html", viewport={"width": width, "height": 900})
    words = view.page.get_by_text("performance has deteriorated").first
    box, table = words.bounding_box(), view.page.locator(".evidence .scroll").first.bounding_box()
    assert box and table
    assert table["x"] <= box["x"]
    assert box["x"] + box["width"] <= table["x"] + table["width"]
    assert box["height"] < 60 * 1300 / width


def test_a_long_table_shows_that_it_goes_on_below(browser: Browser, report: Path) -> None:
    view = opened(browser, report, viewport={"width": 1200, "height": 900})
    view.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    long = view.page.locator("details.data .scroll").filter(has=view.page.locator("tbody tr:nth-child(12)")).first
    assert long.evaluate("(box) => getComputedStyle(box).backgroundImage.split('linear-gradient').length - 1") == 8
    long.evaluate("(box) => { box.style.maxHeight = '9rem'; box.scrollTo(0, 200); }")
    head = long.evaluate(
        "(box) => box.querySelector('th').getBoundingClientRect().top - box.getBoundingClientRect().top"
    )
    assert abs(head) < 1, "the headings stay"


def test_queues_that_are_alike_have_colours_that_are_alike(browser: Browser, tmp_path: Path) -> None:
    depths = np.full((8, 50), 32.0)
    depths[1], depths[2] = 31.0, 0.06
    depths[3:] = 0.0
    for name, shown in (("all", depths), ("alike", np.where(depths < 1, 0.0, depths))):
        store = make_store(tmp_path / name, drives_with_queues(shown))
        written(tmp_path / f"{name}.html", verdict_of(store, bad_windows={}), store)
        view = opened(browser, tmp_path / f"{name}.html")
        canvas = view.page.locator("#queue-map canvas")
        deep, alike = (canvas.evaluate(COLOUR_AT, at) for at in (35, 57))
        assert max(abs(one - other) for one, other in zip(deep, alike, strict=True)) < 8
        assert sum(alike) < 300, "dark"


@pytest.mark.parametrize("ids", [["simulation-31a45725-18ea9bbffbfb6c5f"], ["bench-18ea9c149111270d", "bench-2"]])
def test_tables_of_runs_show_all_of_their_columns_on_a_wide_screen(
    browser: Browser, tmp_path: Path, ids: list[str]
) -> None:
    store = make_store(tmp_path / "store", runs_of_streams(ids, name="random-8k-70-read"))
    written(tmp_path / "r.html", verdict_of(store, bad_windows={}), store)
    view = opened(browser, tmp_path / "r.html", viewport={"width": 1400, "height": 900})
    tables = "[...document.querySelectorAll('#runs .panel > .scroll')]"
    assert view.page.evaluate(f"{tables}.map((one) => one.scrollWidth - one.clientWidth)") == [0, 0]
    assert "p99" in view.page.locator("#runs").inner_text()
    assert view.said == []


WRITTEN = """
const fill = CanvasRenderingContext2D.prototype.fillText;
window.written = [];
CanvasRenderingContext2D.prototype.fillText = function (words, x, y) {
    window.written.push([words, y]);
    return fill.apply(this, arguments);
};
"""


def test_the_timeline_tells_units_and_keeps_its_words_off_the_bars_of_bad_windows(
    browser: Browser, report: Path
) -> None:
    view = opened(browser, report, WRITTEN)
    written_at = view.page.evaluate("window.written")
    assert {"Operations (IOPS)", "Throughput", "Latency"} <= {words for words, _ in written_at}
    peaks = [y for words, y in written_at if re.fullmatch(r"[\d.,]+ (IOPS|[kMG]B/s)", words)]
    assert peaks
    bar_ends, words_high = 22 + 3, 12
    assert min(peaks) >= bar_ends + words_high


def test_events_that_are_one_everywhere_have_one_value_in_the_legend(browser: Browser, tmp_path: Path) -> None:
    def write(recorder: Recorder) -> None:
        for number in range(4):
            recorder.event(EntityRef("array", "array", "array"), START_NS + number * 600 * S, "array_event", "said")

    store = make_store(tmp_path / "store", write)
    written(tmp_path / "r.html", verdict_of(store, bad_windows={}), store)
    view = opened(browser, tmp_path / "r.html", WRITTEN)
    legend = [words for words, y in view.page.evaluate("window.written") if y == 9]
    assert legend == ["1 event"]


def test_top_talkers_show_all_of_their_columns_on_a_tablet(browser: Browser, report: Path) -> None:
    view = opened(browser, report, viewport={"width": 800, "height": 900})
    tables = "[...document.querySelectorAll('#top-talkers .scroll')]"
    assert set(view.page.evaluate(f"{tables}.map((one) => one.scrollWidth - one.clientWidth)")) == {0}


def test_a_long_name_keeps_both_of_its_ends(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    assert view.page.evaluate("storscope.shortened('clone 10 on esx/templates', 32)") == "clone 10 on esx/templates"
    assert view.page.evaluate("storscope.shortened('one stream on a/very/long/target', 12)") == "one st…arget"


def test_the_policy_stops_foreign_scripts_and_requests(browser: Browser, report: Path) -> None:
    view = opened(browser, report)
    view.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.foreign = true";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<img src='https://example.invalid/x.png'>");
        }"""
    )
    refusals = "Content Security Policy"
    becomes(view, lambda: sum(refusals in said for said in view.said) >= 2)
    view.page.wait_for_timeout(200)
    assert view.page.evaluate("window.foreign") is None
    assert sum(refusals in said for said in view.said) == 2
    refused = view.page.evaluate("fetch('https://example.invalid/').then(() => 'answered', () => 'refused')")
    assert refused == "refused"


def test_hostile_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    hostile_page(tmp_path)
    view = opened(browser, tmp_path / "hostile.html", "window.alert = (text) => console.log('ALERT ' + text)")
    assert state(view) == "drawn"
    assert view.said == []
    view.page.locator(".matrix canvas").first.scroll_into_view_if_needed()
    view.page.locator(".matrix canvas").last.hover(position={"x": 300, "y": 50})
    assert view.page.evaluate("document.querySelectorAll('#tip img, #tip script').length") == 0
    assert view.page.evaluate("document.documentElement.scrollWidth") == 1200


def test_paper_is_light_and_everything_is_open(browser: Browser, report: Path) -> None:
    view = opened(browser, report, color_scheme="dark")
    view.page.evaluate(
        """() => addEventListener("beforeprint", () => {
            const canvases = [...document.querySelectorAll("[data-chart] canvas")];
            window.seen = {
                load: storscope.theme.load,
                closed: document.querySelectorAll(".card details:not([open])").length,
                widest: Math.max(...canvases.map((canvas) => canvas.clientWidth)),
            };
        })"""
    )
    pdf = view.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF-")
    assert 2 <= pdf.count(b"/Type /Page\n") <= 12
    assert view.page.evaluate("seen") == {"load": "#2a6496", "closed": 0, "widest": 660}
    assert view.page.evaluate("storscope.theme.load") == "#7db4e3", "the screen is dark again"
    assert view.said == []


BROKEN = r"""() => {
    const rows = (node, from, to) => {
        const range = document.createRange();
        range.setStart(node, from);
        range.setEnd(node, to);
        return new Set([...range.getClientRects()].map((box) => box.top)).size;
    };
    return [...document.querySelectorAll("td, th")].flatMap((cell) => {
        const text = cell.firstChild, words = [...text.data.matchAll(/[\d.,]+\s[^\s\d(±]+|\S+/g)];
        return words.filter((word) => rows(text, word.index, word.index + word[0].length) > 1).map(String);
    });
}"""

PAPER = """{% from "parts.html.j2" import evidence, figures_table, plain_table %}<style>{{ style }}</style><main>
{{ plain_table(heads, rows, "a", (2, 3), 4) }}{{ figures_table(heads, rows, "b", numbers=4) }}
{{ evidence(table, "c") }}</main>"""


def test_paper_breaks_neither_words_nor_figures_of_tables(browser: Browser, tmp_path: Path) -> None:
    heads = ["Host and volume", "Operation", "Mean", "Operations", "Share of it"]
    share = ", ".join(
        f"{part} {side}" for part in ("drive", "front end", "controller") for side in ("queue", "service")
    )
    rows = [["esx/templates", "reads", "32.5 ms", "27,579 IOPS (0 IOPS to 131,675 IOPS)", share]]
    table = {
        "caption": "c", "heads": [(head, head) for head in heads], "rows": rows, "notes": [], "query": "",
        "beneath": None,
        "classes": ["short", "short", "number", "number", "long"],
    }  # fmt: skip
    style = Markup(joined(("css/report.css", "css/sweep.css", "css/print.css")))
    page = environment().from_string(PAPER).render(style=style, heads=heads, rows=rows, table=table)
    (tmp_path / "p.html").write_text(page)
    for width in (660, 480):
        one = browser.new_page(viewport={"width": width, "height": 900})
        one.emulate_media(media="print")
        one.goto((tmp_path / "p.html").as_uri())
        assert one.evaluate(BROKEN) == []
        assert one.evaluate("document.documentElement.scrollWidth") == width


def test_a_page_without_charts_is_quiet_too(browser: Browser, tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", nothing)
    written(tmp_path / "r.html", verdict_of(store, start_ns=None, end_ns=None, bad_windows={}), store)
    view = opened(browser, tmp_path / "r.html")
    assert state(view) == "drawn"
    assert view.said == []
