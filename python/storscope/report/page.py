"""The page: every section prepared, laid out by the templates, written as one file."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from markupsafe import Markup

from storscope.domain.finding import Severity
from storscope.domain.units import format_time
from storscope.domain.verdict import Verdict
from storscope.report.assembly import Charts, content_security_policy, environment, favicon, joined, write_page
from storscope.report.cards import benchmark_headline, cards, headline, missing_evidence
from storscope.report.heatmap import event_map, heat_maps
from storscope.report.layers import layers_of
from storscope.report.pack import Packer, island_json
from storscope.report.provenance import capture_views, threshold_views, what_was_read
from storscope.report.queues import queue_maps
from storscope.report.reading import judged_of, read_directions, read_evidence, read_labels
from storscope.report.runs import run_table
from storscope.report.scatter import scatters
from storscope.report.simulations import simulation_views
from storscope.report.talkers import talker_tables
from storscope.report.timeline import timelines
from storscope.report.wording import time_range
from storscope.store import Store

STYLES = ("uplot/uPlot.min.css", "css/report.css", "css/print.css")
SCRIPTS = (
    "uplot/uPlot.iife.min.js", "js/unpack.js", "js/units.js", "js/theme.js", "js/readout.js",
    "js/timeline.js", "js/scatter.js", "js/matrix.js", "js/main.js",
)  # fmt: skip
MATRIX_STYLES = (*STYLES[:-1], "css/sweep.css", STYLES[-1])
MATRIX_SCRIPTS = (*SCRIPTS[:-1], "js/marks.js", "js/sweep.js", SCRIPTS[-1])
"""With charts of runs: as points of a matrix, or over time."""
_TOO_SLOW = "latency-above-tier"


def write_report(verdict: Verdict, store: Store, path: Path) -> None:
    """Writes the report of a verdict and the evidence in `store` to `path`: whole, or not at all.

    Raises UsageError when the file cannot be written there.
    """
    write_page(path, render(verdict, store))


def _slow(verdict: Verdict) -> set[str]:
    """Systems that a finding calls too slow."""
    return {
        entity.system
        for finding in verdict.findings
        if finding.rule == _TOO_SLOW and finding.severity > Severity.INFO
        for entity in finding.entities
    }


def render(verdict: Verdict, store: Store) -> str:
    """The report as text; of what was judged, where that is a part of the store."""
    judged = judged_of(verdict, store)
    store = judged.store
    packer = Packer()
    layers = layers_of(read_evidence(judged))
    zero_ns = verdict.zero_ns
    apart = cache(partial(read_directions, judged))
    drawn, left_out = timelines(layers, verdict.bad_windows, packer, zero_ns, slow=_slow(verdict), apart=apart)
    maps = heat_maps(layers, [timeline.system for timeline in drawn], verdict.bad_windows, judged, packer)
    queues = queue_maps(judged, packer)
    events = event_map(judged, packer, layers)
    points = scatters(layers, verdict.findings, verdict.bad_windows, packer)
    runs = run_table(store, packer)
    is_benchmark = runs is not None and not (verdict.findings or verdict.healthy or drawn)
    is_drawn_as_lines = runs is not None and bool(runs.grids or runs.course)
    styles, scripts = (MATRIX_STYLES, MATRIX_SCRIPTS) if is_drawn_as_lines else (STYLES, SCRIPTS)
    charts = Charts()
    zero_s = None if zero_ns is None else zero_ns / 1e9
    provenance = verdict.provenance
    return environment().get_template("page.html.j2").render(
        head=benchmark_headline(runs.count, runs.targets, runs.best) if is_benchmark and runs else headline(verdict),
        is_benchmark=is_benchmark,
        verdict=verdict,
        cards=cards(verdict.findings, read_labels(store), zero_ns),
        span=time_range(verdict.start_ns, verdict.end_ns, zero_ns),
        read=what_was_read(provenance.captures, _systems(store)),
        timelines=drawn,
        timelines_left_out=left_out,
        heat_maps=maps,
        queue_maps=queues,
        event_map=events,
        talkers=talker_tables(layers, verdict.bad_windows),
        scatters=points,
        runs=runs,
        simulations=simulation_views(store),
        missing=missing_evidence(verdict.not_evaluated),
        captures=capture_views(provenance.captures, verdict.clock_offsets_ns),
        thresholds=threshold_views(provenance),
        made_at=format_time(provenance.made_at_ns),
        charts=charts,
        pack=packer,
        island=lambda: Markup(island_json({"columns": packer.columns, "charts": charts.charts, "zero": zero_s})),
        style=Markup(joined(styles)),
        script=Markup(joined(scripts)),
        policy=content_security_policy(styles, scripts),
        favicon=favicon(),
    )  # fmt: skip


def _systems(store: Store) -> list[str]:
    rows = store.query(
        "SELECT DISTINCT system FROM entities UNION SELECT DISTINCT system FROM runs WHERE system IS NOT NULL"
    )
    return sorted(row["system"] for row in rows.to_pylist())
