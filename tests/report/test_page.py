"""What stands on the page."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest

import storscope.report
from storscope.domain.entity import EntityRef
from storscope.domain.errors import UsageError
from storscope.domain.finding import EvidenceRows, Healthy, NotEvaluated
from storscope.domain.recorder import Recorder
from storscope.report import write_report
from tests.report.evidence import (
    DAY,
    START_NS,
    S,
    day_of_volumes,
    hog_finding,
    vdisk,
    verdict_of,
    whole_verdict,
    written,
)
from tests.support.cases import make_store

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Outline(HTMLParser):
    """Headings, ids, and text by element of interest."""

    VOID = frozenset({"meta", "link", "br", "img", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name == "href" and tag == "a"]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in {"h1", "h2", "h3"}:
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "elements are nested"

    def handle_data(self, data: str) -> None:
        if {"h1", "h2", "h3"} & set(self.open):
            self.headings[-1] += data


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page")
    store = make_store(path / "store", day_of_volumes(12, 60, 24))
    return written(path / "report.html", whole_verdict(store), store)


def test_no_line_of_the_prose_breaks_between_a_number_and_its_unit(page: str) -> None:
    prose = re.findall(r'<(?:h1|p class="(?:summary|lead|quiet)")>([^<]*)', page)
    assert any(re.search(r"[0-9]\u00a0(?:%|ms)", one) for one in prose)
    assert not [one for one in prose if re.search(r"[0-9] (?:%|[µm]?s|min|IOPS|[kMG]?B/s)(?![A-Za-z])", one)]


def text_of(html: str) -> str:
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", html, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_sections_come_in_the_order_of_reading(page: str) -> None:
    headings = Outline(page).headings
    sections = [
        "vol-07 slows 49 other volumes on array-a between 02:00 and 04:10.", "Findings",
        "Load and latency over time", "Latency heat map", "Top talkers", "Latency against load", "What was healthy",
        "What could not be evaluated", "Method and provenance",
    ]  # fmt: skip
    assert [heading for heading in headings if heading in sections] == sections


def test_the_verdict_says_severity_counts_times_and_what_was_read(page: str) -> None:
    text = text_of(page)
    for words in (
        "Critical",
        "1 critical",
        "1 warning",
        "1 info",
        "4 healthy",
        "3 not evaluated",
        "2026-11-20 00:00:00Z to 2026-11-21 00:00:00Z (24 h 00 min)",
        "1 capture (synthetic) of array-a",
    ):
        assert words in text[: text.index("What to do")], words


def test_a_card_carries_everything_a_finding_says(page: str) -> None:
    finding = hog_finding()
    text = text_of(page)
    for words in (
        finding.summary,
        finding.why,
        finding.innocent,
        finding.check,
        finding.remedy,
        finding.source,
        finding.rule,
        finding.evidence[0].caption,
        finding.evidence[0].query,
        "very likely (93 %)",
        "Concerns virtual disk vol-07 virtual disk vol-03 disk group group 1 of array-a",
        "3 of 50 rows are shown",
        "2026-11-20 02:00:00Z to 04:10:00Z",
    ):
        assert words.replace("'", "&#39;") in text, words


def test_what_a_finding_concerns_names_its_system_where_there_is_more_than_one(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", nothing)
    other = EntityRef("array-b", "vdisk", "vol-99")
    for number, (entities, words) in enumerate([
        ((other,), "Concerns virtual disk vol-99 · array-b"),
        ((vdisk(7), other), "Concerns virtual disk vol-07 · array-a virtual disk vol-99 · array-b"),
    ]):  # fmt: skip
        finding = hog_finding(entities=entities)
        assert words in text_of(written(tmp_path / f"{number}.html", verdict_of(store, finding), store))


def test_method_names_captures_thresholds_and_what_was_left_out(page: str) -> None:
    text = text_of(page)
    text = text[text.index("Method and provenance") :]
    for words in ("synthetic-0", "0" * 64, "evaperf 9.4", "--timezone Europe/Berlin", "12 × blank cell",
                  "The file ends in the middle of a row", "rows_min", "your settings", "storscope 0.1.0", "workstation",
                  "clock was moved by 3 s", "Seed"):  # fmt: skip
        assert words in text, words


def test_every_link_leads_somewhere_and_no_id_stands_twice(page: str) -> None:
    outline = Outline(page)
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)
    assert len(set(outline.ids)) == len(outline.ids)


def test_the_page_asks_nothing_of_the_network(page: str) -> None:
    sources = [value or "" for name, value in Outline(page).attributes if name in {"src", "href", "srcset", "action"}]
    assert all(source.startswith(("#", "data:image/svg+xml")) for source in sources)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_the_policy_allows_the_two_blocks_of_the_page_and_nothing_else(page: str) -> None:
    import base64  # noqa: PLC0415

    def digest(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    rules = policy[1].replace("&#39;", "'")
    script = re.findall(r"<script>(.*?)</script>", page, re.S)
    style = re.findall(r"<style>(.*?)</style>", page, re.S)
    assert len(script) == len(style) == 1
    assert rules == (
        f"default-src 'none'; script-src '{digest(script[0])}'; style-src '{digest(style[0])}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert not [name for name, _ in Outline(page).attributes if name == "style" or name.startswith("on")]


def test_charts_have_words_and_a_table_of_their_own(page: str) -> None:
    charts = re.findall(
        r'<div class="plot (\w+)" data-chart="(\d+)" tabindex="0" role="group" aria-label="([^"]+)"', page
    )
    assert [kind for kind, _, _ in charts] == ["timeline", "matrix", "matrix", "scatter"]
    assert [int(number) for _, number, _ in charts] == [0, 1, 2, 3]
    assert all(len(label) > 40 for _, _, label in charts)
    assert page.count("The same as a table</summary>") == len(charts)


def island(page: str) -> dict[str, list[dict[str, object]]]:
    found = re.search(r'<script type="application/json" id="charts-data">(.*?)</script>', page, re.S)
    assert found is not None
    data: dict[str, list[dict[str, object]]] = json.loads(found[1])
    return data


def test_bad_windows_and_the_knee_reach_the_charts(page: str) -> None:
    timeline, _, _, scatter = island(page)["charts"]
    assert timeline["bad"] == [[START_NS / 1e9 + 7200, START_NS / 1e9 + 4 * 3600 + 600]]
    assert scatter["knee"] == {"x": 4900.0, "low": 4700.0, "high": 5120.0}


def hostile(recorder: Recorder) -> None:
    for name in (HOSTILE, "\u202evol\x00", "{{ 7 * 7 }}"):
        entity = EntityRef(HOSTILE, "vdisk", name)
        for second in range(0, 300, 10):
            values = {"ops_per_s": 5.0 + second % 7, "latency_ns_mean": 1e6, "bytes_per_s": 1e5}
            recorder.observe(entity, START_NS + second * S, 10 * S, values)
            recorder.event(entity, START_NS + second * S, HOSTILE, HOSTILE)
        recorder.entity(entity, label=name + " label")
    for number in range(3):
        recorder.run(f"{HOSTILE}{number}", engine=HOSTILE, name=HOSTILE, system=HOSTILE, parameters={HOSTILE: HOSTILE})
        values = {"ops_per_s": 1.0 + number, "latency_ns_mean": 1e6}
        recorder.observe(entity, START_NS, 10 * S, values, run=f"{HOSTILE}{number}")
    recorder.notes.tool = recorder.notes.clock = HOSTILE
    recorder.omit(HOSTILE, 3)
    recorder.warn(HOSTILE)


def hostile_page(path: Path) -> str:
    store = make_store(path / "store", hostile)
    texts = dict.fromkeys(("title", "summary", "why", "innocent", "check", "remedy", "source", "rule"), HOSTILE)
    finding = hog_finding(
        **texts, entities=(EntityRef(HOSTILE, "vdisk", HOSTILE),),
        evidence=(EvidenceRows(HOSTILE, (HOSTILE,), ((HOSTILE,),), HOSTILE, 5),),
    )  # fmt: skip
    verdict = verdict_of(
        store, finding, healthy=(Healthy(HOSTILE, HOSTILE),), not_evaluated=(NotEvaluated(HOSTILE, HOSTILE),),
        bad_windows={HOSTILE: [(START_NS, START_NS + 60 * S)]},
    )  # fmt: skip
    return written(path / "hostile.html", verdict, store)


def test_no_text_of_a_capture_becomes_markup(tmp_path: Path) -> None:
    page = hostile_page(tmp_path)
    outline = Outline(page)
    assert outline.tags.count("script") == 3
    assert "img" not in outline.tags
    assert not [name for name, _ in outline.attributes if name.startswith("on")]
    assert "alert(1)" in text_of(page), "the name is shown, as text"
    assert "{{ 7 * 7 }}" in page
    assert "\x00" not in page
    assert "\u202e" not in page
    names = [choice["label"] for choice in island(page)["charts"][0]["choices"]]  # type: ignore[attr-defined]
    assert HOSTILE + " label" in names, "the data keep the name"


def nothing(recorder: Recorder) -> None:
    recorder.entity(EntityRef("esxi", "port", "vmk2"))


def test_evidence_without_series_makes_a_page_without_charts(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", nothing)
    finding = hog_finding(start_ns=None, end_ns=None, title="vmk2 carries no iSCSI traffic")
    page = written(tmp_path / "r.html", verdict_of(store, finding, start_ns=None, end_ns=None, bad_windows={}), store)
    assert "data-chart=" not in page
    text = text_of(page)
    assert "This evidence holds no load or latency over time" in text
    assert "no times in it" in text
    assert "Load and latency over time" not in Outline(page).headings


def test_columns_without_a_value_are_named_below_the_rows(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", nothing)
    rows = EvidenceRows("Drives", ("drive", "ops_per_s", "busy_ratio_mean"), (("d1", 0.0, None),), "SELECT 1", 4)
    page = written(tmp_path / "page.html", verdict_of(store, hog_finding(evidence=(rows,))), store)
    assert 'title="ops_per_s"' in page, "zero is a value"
    assert 'title="busy_ratio_mean"' not in page
    assert "1 of 4 rows are shown; the query gives all. Not known of these: busy mean." in text_of(page)


def test_no_finding_is_told_apart_from_no_evidence(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", nothing)
    healthy = text_of(written(tmp_path / "a.html", verdict_of(store), store))
    unknown = text_of(written(tmp_path / "b.html", verdict_of(store, healthy=()), store))
    path = [Healthy("path-dead", "All 16 paths are active.")]
    apart = text_of(written(tmp_path / "c.html", verdict_of(store, healthy=path), store))
    assert "How long I/Os take was not judged; what else was looked at is in order." in apart
    assert "Nothing wrong was found." not in apart
    assert "Nothing wrong was found." in healthy
    assert "There is not enough evidence to judge." in unknown
    assert "found anything wrong" not in unknown


def test_a_store_without_captures_makes_a_page(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    page = written(tmp_path / "r.html", verdict_of(store, healthy=(), not_evaluated=(), bad_windows={}), store)
    assert "nothing" in text_of(page)


def runs(recorder: Recorder) -> None:
    for outstanding in (1, 4, 16, 64):
        run = recorder.run(
            f"qd{outstanding}", engine="fio", engine_version="3.33", name=f"qd{outstanding}", system="host",
            block_bytes=4096, read_ratio=0.7, random_ratio=1.0, outstanding=outstanding, workers=1,
        )  # fmt: skip
        job = EntityRef("host", "job", "randrw")
        for second in range(5):
            recorder.observe(job, START_NS + second * S, S, {"ops_per_s": 1.0}, run=run)
        values = {"ops_per_s": 5000.0, "latency_ns_mean": outstanding / 5000 * 1e9}
        recorder.observe(job, START_NS, 5 * S, values, run=run)
        recorder.histogram(job, START_NS, 5 * S, "read", "lat", [(0, 1e6, 98), (1e6, 2e6, 1), (2e6, 4e6, 1)], run=run)


def test_runs_stand_in_a_table_with_the_number_in_flight(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", runs)
    page = written(tmp_path / "r.html", verdict_of(store, bad_windows={}), store)
    text = text_of(page)
    assert "qd16 fio 3.33 4 KiB 70 % 100 % 1 16 16.0 5,000 IOPS" in text
    assert text.count("≤ 2.00 ms") == 4
    assert "Latency against load" not in Outline(page).headings
    matrix, scatter = island(page)["charts"]
    assert matrix["kind"] == "sweep"
    assert scatter["names"] == ["qd1", "qd4", "qd16", "qd64"]


def distributions(recorder: Recorder) -> None:
    entity = EntityRef("host", "device", "sda")
    for second in range(0, 100, 10):
        values = {"ops_per_s": 10.0, "latency_ns_mean": 5e6}
        recorder.observe(entity, START_NS + second * S, 10 * S, values)
        buckets = [(1e5, 2e5, 90), (5e7, 1e8, 10)]
        recorder.histogram(entity, START_NS + second * S, 10 * S, "read", "lat", buckets)


def test_what_is_slow_all_the_time_has_no_bad_window_and_is_not_called_good(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", distributions)
    slow = hog_finding(rule="latency-above-tier", entities=(EntityRef("host", "device", "sda"),), evidence=())
    told = text_of(written(tmp_path / "slow.html", verdict_of(store, slow, bad_windows={}), store))
    good = text_of(written(tmp_path / "good.html", verdict_of(store, bad_windows={}), store))
    assert "No window worse than the rest; see the findings on what was too slow." in told
    assert "No bad window" not in told
    assert "No bad window." in good


def test_measured_distributions_are_preferred_to_means(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", distributions)
    page = written(tmp_path / "r.html", verdict_of(store, bad_windows={}), store)
    assert "From measured distributions." in text_of(page)
    edges = island(page)["charts"][1]["edges"]
    assert edges[0] < 2e5  # type: ignore[index]
    assert edges[-1] > 5e7  # type: ignore[index]


def test_a_day_of_fifty_volumes_stays_under_three_megabytes(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", day_of_volumes(50, 20, 24))
    page = written(tmp_path / "r.html", whole_verdict(store), store)
    assert len(page.encode()) < 3_000_000
    assert len(island(page)["charts"][0]["choices"]) == 51  # type: ignore[arg-type]


def test_the_same_verdict_gives_the_same_page(tmp_path: Path, page: str) -> None:
    store = make_store(tmp_path / "store", day_of_volumes(12, 60, 24))
    assert written(tmp_path / "again.html", whole_verdict(store), store) == page


def test_a_failed_write_leaves_the_old_report_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store(tmp_path / "store", nothing)
    path = tmp_path / "out" / "r.html"
    path.parent.mkdir()
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        write_report(verdict_of(store), store, path)
    assert [(file.name, file.read_text()) for file in path.parent.iterdir()] == [("r.html", "old")]


def test_a_missing_directory_is_a_clear_error(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", nothing)
    with pytest.raises(UsageError, match="a place where the file can be written"):
        write_report(verdict_of(store), store, tmp_path / "absent" / "r.html")


def test_others_may_read_the_report_as_any_new_file(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store", nothing)
    written(tmp_path / "r.html", verdict_of(store), store)
    (tmp_path / "plain").write_text("")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("r.html", "plain")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("name", ["uPlot.iife.min.js", "uPlot.min.css", "LICENSE"])
def test_the_vendored_files_are_those_the_readme_names(name: str) -> None:
    folder = Path(storscope.report.__file__).parent / "static" / "uplot"
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert f"| {name} | {digest} |" in (folder / "README.md").read_text()


@pytest.mark.parametrize("bounds", [(START_NS + DAY * 2, START_NS + DAY * 3), (START_NS, START_NS)])
def test_a_verdict_over_little_or_no_time_makes_a_page(tmp_path: Path, bounds: tuple[int, int]) -> None:
    store = make_store(tmp_path / "store", day_of_volumes(3, 60, 1))
    verdict = verdict_of(store, start_ns=bounds[0], end_ns=bounds[1])
    assert "storscope" in written(tmp_path / "r.html", verdict, store)
