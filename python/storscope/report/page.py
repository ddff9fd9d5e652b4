"""The page: every section prepared, laid out by the templates, written as one file."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import tempfile
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from storscope.domain.errors import UsageError
from storscope.domain.units import format_count, format_time
from storscope.domain.verdict import Verdict
from storscope.report.cards import cards, headline, missing_evidence
from storscope.report.heatmap import event_map, heat_maps
from storscope.report.layers import layers_of
from storscope.report.pack import Packer, island_json
from storscope.report.provenance import capture_views, threshold_views, what_was_read
from storscope.report.queues import queue_maps
from storscope.report.reading import read_evidence, read_labels
from storscope.report.runs import run_table
from storscope.report.scatter import scatters
from storscope.report.talkers import talker_tables
from storscope.report.timeline import timelines
from storscope.report.wording import harmless, kind_word, time_range
from storscope.store import Store

STYLES = ("uplot/uPlot.min.css", "css/report.css", "css/print.css")
SCRIPTS = (
    "uplot/uPlot.iife.min.js", "js/unpack.js", "js/units.js", "js/theme.js", "js/readout.js",
    "js/timeline.js", "js/scatter.js", "js/matrix.js", "js/main.js",
)  # fmt: skip


def write_report(verdict: Verdict, store: Store, path: Path) -> None:
    """Writes the report of a verdict and the evidence in `store` to `path`: whole, or not at all.

    Raises UsageError when the file cannot be written there.
    """
    text = render(verdict, store)
    try:
        _write_whole(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(
            "a place where the report can be written", error.strerror or str(error), where=str(path),
            hint="Name another file with --report FILE.",
        ) from error  # fmt: skip


def render(verdict: Verdict, store: Store) -> str:
    """The report as text."""
    packer = Packer()
    span = (verdict.start_ns, verdict.end_ns)
    evidence = read_evidence(store, *span)
    layers = layers_of(evidence)
    drawn, left_out = timelines(layers, verdict.bad_windows, packer)
    maps = heat_maps(layers, [timeline.system for timeline in drawn], verdict.bad_windows, store, span, packer)
    queues = queue_maps(store, span, packer)
    events = event_map(store, span, packer)
    points = scatters(layers, verdict.findings, verdict.bad_windows, packer)
    runs = run_table(store, packer)
    charts = Charts()
    provenance = verdict.provenance
    return _environment().get_template("page.html.j2").render(
        head=headline(verdict),
        verdict=verdict,
        cards=cards(verdict.findings, read_labels(store)),
        span=time_range(*span),
        read=what_was_read(provenance.captures, _systems(store)),
        timelines=drawn,
        timelines_left_out=left_out,
        heat_maps=maps,
        queue_maps=queues,
        event_map=events,
        talkers=talker_tables(layers, verdict.bad_windows),
        scatters=points,
        runs=runs,
        missing=missing_evidence(verdict.not_evaluated),
        captures=capture_views(provenance.captures),
        thresholds=threshold_views(provenance),
        set_aside=evidence.set_aside,
        made_at=format_time(provenance.made_at_ns),
        charts=charts,
        pack=packer,
        island=lambda: Markup(island_json({"columns": packer.columns, "charts": charts.charts})),
        style=Markup(_style()),
        script=Markup(_script()),
        policy=content_security_policy(),
        favicon=_icon(),
    )  # fmt: skip


class Charts:
    """The charts of a page in the order in which the template lays them out."""

    def __init__(self) -> None:
        self.charts: list[object] = []

    def add(self, chart: object) -> int:
        """Takes a chart into the data island; returns its number, which its element carries."""
        self.charts.append(chart)
        return len(self.charts) - 1


def content_security_policy() -> str:
    """Nothing from anywhere, but the two blocks of the page itself, named by their hashes."""
    return (
        f"default-src 'none'; script-src '{_hash(_script())}'; style-src '{_hash(_style())}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _static() -> Traversable:
    return files("storscope.report").joinpath("static")


@cache
def _style() -> str:
    return "\n".join(_static().joinpath(name).read_text("utf-8") for name in STYLES)


@cache
def _script() -> str:
    return "\n".join(_static().joinpath(name).read_text("utf-8") for name in SCRIPTS)


@cache
def _icon() -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(_static().joinpath("icon.svg").read_bytes()).decode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("storscope.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, finalize=harmless,
    )  # fmt: skip
    environment.filters["count"] = format_count
    environment.globals["kind_word"] = kind_word
    return environment


def _systems(store: Store) -> list[str]:
    rows = store.query(
        "SELECT DISTINCT system FROM entities UNION SELECT DISTINCT system FROM runs WHERE system IS NOT NULL"
    )
    return sorted(row["system"] for row in rows.to_pylist())


def _write_whole(path: Path, content: bytes) -> None:
    """Writes beside the target and renames: a reader never sees half a report."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _as_new_file(Path(name))
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _as_new_file(path: Path) -> None:
    """The permissions a plain open() would have given; mkstemp gives none to others."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
