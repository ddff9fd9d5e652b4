"""Imported runs that are points of a matrix are drawn as a sweep is; a page of benchmarks alone says what they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from storscope.domain.entity import EntityRef
from storscope.domain.finding import Healthy
from storscope.domain.recorder import Recorder
from storscope.report.pack import Packer
from storscope.report.page import render
from storscope.report.runs import RunTable, run_table
from storscope.store import Store
from storscope.workbench.importing import import_paths
from tests.report.evidence import START_NS, S, verdict_of, written
from tests.report.test_browser import browser, opened, state
from tests.support.cases import make_store

__all__ = ["browser"]

_PUBLISHED = """\
device,mode,block_bytes,numjobs,read_kb_per_s,read_iops
/dev/sdb1,randread,4096,1,12473,3193
/dev/sdb1,randread,4096,2,23147,5907
/dev/sdb1,randread,4096,4,41183,10520
/dev/sdb1,randread,65536,1,106146,1693
/dev/sdb1,randread,65536,2,134221,2142
/dev/sdb1,randread,65536,4,223119,3562
"""
"""Of four drives in RAID 10 with two SSDs as cache, as published."""


def _imported(path: Path, *texts: str) -> Store:
    store = Store.open(path / "store", create=True)
    files = [path / f"sweep-{number}.csv" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    import_paths(store, files)
    return store


def _table(store: Store) -> RunTable:
    found = run_table(store, Packer())
    assert found is not None
    return found


def _runs(
    depths: Sequence[int], *, apart_s: int = 10, engine: str = "fio", is_open: bool = False, **changes: Any
) -> Callable[[Recorder], None]:
    """Random reads of 4 KiB, 10 s each; open loops of several sizes."""

    def write(recorder: Recorder) -> None:
        for number, depth in enumerate(depths):
            values = {
                "block_bytes": 4096 * depth if is_open else 4096,
                "read_ratio": 1.0,
                "random_ratio": 1.0,
                "workers": 1,
            } | changes
            start_ns = START_NS + number * apart_s * S
            run = recorder.run(
                f"r{number}", engine=engine, name=f"r{number}", system="host", time_ns=start_ns,
                duration_ns=10 * S, outstanding=None if is_open else depth, parameters={"filename": "/dev/sdx"},
                **values,
            )  # fmt: skip
            told = {"ops_per_s": 100.0 * depth, "bytes_per_s": 409600.0 * depth, "latency_ns_mean": 1e7}
            recorder.observe(EntityRef("host", "job", f"r{number}"), start_ns, 10 * S, told, run=run)

    return write


def test_a_table_of_results_becomes_a_line_for_each_size(tmp_path: Path) -> None:
    (grid,) = _table(_imported(tmp_path, _PUBLISHED)).grids
    assert grid.title == "/dev/sdb1"
    (chart,) = grid.charts
    assert (chart.title, chart.note) == ("Random reads", "Against jobs, a line for each of 2 loads.")
    assert chart.heads == ["Block size", "Jobs", "Operations", "Throughput", "Runs"], "no latency is told"
    assert chart.rows[0][:3] == ["4 KiB", "1", "3,193 IOPS"]
    assert chart.aria == "Random reads: Operations per second (IOPS), Throughput against jobs; 2 lines."
    assert chart.chart is not None
    assert chart.chart["labels"] == ["4 KiB", "64 KiB"]


def test_what_was_measured_again_in_another_file_is_not_averaged_with_the_first(tmp_path: Path) -> None:
    grids = _table(_imported(tmp_path, _PUBLISHED, _PUBLISHED.replace("3193", "3200"))).grids
    assert [grid.title for grid in grids] == ["/dev/sdb1, sweep-0.csv", "/dev/sdb1, sweep-1.csv"]


def test_points_of_several_files_make_one_matrix(tmp_path: Path) -> None:
    head, *rows = _PUBLISHED.splitlines(keepends=True)
    (grid,) = _table(_imported(tmp_path, head + "".join(rows[:3]), head + "".join(rows[3:]))).grids
    assert len(grid.charts[0].rows) == len(rows)


def test_repeated_points_of_one_file_are_means_and_that_is_said(tmp_path: Path) -> None:
    (grid,) = _table(make_store(tmp_path / "s", _runs([1, 2, 4, 4]))).grids
    assert grid.title == "/dev/sdx on host"
    assert grid.charts[0].rows[-1][-1] == "2"
    said = "Against outstanding I/Os per job. Points that were measured several times are means."
    assert grid.charts[0].note == said


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (_runs([1, 2]), "two points are no curve"),
        (_runs([1, 2, 4], apart_s=1), "jobs that ran at the same time share the storage"),
        (_runs([1, 2, 4], engine="storscope-sim"), "simulated runs have a page of their own"),
        (_runs([1, 2, 4], read_ratio=None), "nobody says what they did"),
        (_runs([4, 4, 4]), "nothing varies"),
        (_runs([1, 2, 4], engine="storscope", is_open=True), "open loops do what they were asked for"),
    ],
)
def test_other_runs_make_no_matrix(write: Callable[[Recorder], None], why: str, tmp_path: Path) -> None:
    assert not _table(make_store(tmp_path / "s", write)).grids, why


@pytest.mark.parametrize(
    ("reads", "random", "words"),
    [
        (1.0, 0.0, "Sequential reads"),
        (0.0, 0.6, "60 % random writes"),
        (0.7, 1.0, "Random, 70 % reads"),
        (0.0, None, "Writes"),
        (0.5, None, "Mixed, 50 % reads"),
    ],
)
def test_a_mode_is_told_in_words(reads: float, random: float | None, words: str, tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", _runs([1, 2, 4], read_ratio=reads, random_ratio=random))
    assert _table(store).grids[0].charts[0].title == words


def test_results_of_benchmarks_alone_are_headed_by_what_they_say(tmp_path: Path) -> None:
    store = _imported(tmp_path, _PUBLISHED)
    page = render(verdict_of(store, bad_windows={}, healthy=()), store)
    assert "<h1>6 benchmark runs of /dev/sdb1.</h1>" in page
    assert "Most operations: 10,520\u00a0IOPS, random reads, 4\u00a0KiB, 4 jobs." in page
    assert "not enough evidence" not in page
    assert 'id="findings"' not in page
    assert 'href="#runs">Skip to the runs' in page


def test_benchmarks_that_were_judged_are_headed_by_the_verdict(tmp_path: Path) -> None:
    store = _imported(tmp_path, _PUBLISHED)
    page = render(verdict_of(store, bad_windows={}, healthy=[Healthy("latency-above-tier", "None.")]), store)
    assert "Nothing wrong was found." in page
    assert 'id="findings"' in page


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("width", [400, 800, 1400])
def test_the_matrix_is_drawn_at_every_width(width: int, browser: Browser, tmp_path: Path) -> None:
    store = _imported(tmp_path, _PUBLISHED)
    written(tmp_path / "page.html", verdict_of(store, bad_windows={}, healthy=()), store)
    view = opened(browser, tmp_path / "page.html", viewport={"width": width, "height": 900})
    assert state(view) == "drawn"
    assert view.said == []
    assert view.page.locator(".sweep .uplot").count() == 2
    assert view.page.evaluate("document.documentElement.scrollWidth") == width
    columns = json.loads(view.page.evaluate("storscope.unpack().then((data) => JSON.stringify(data.columns))"))
    chart = json.loads(view.page.locator("#charts-data").inner_text())["charts"][0]
    assert columns[chart["panels"][0]["lines"][0][0]] == pytest.approx([3193, 5907, 10520], rel=1e-3)
