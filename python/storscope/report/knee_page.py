"""The page of a search for the knee: the answers, the chart that shows why, and how it was measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from storscope.domain.knee_result import KneeResult
from storscope.domain.load_curve import Bounds, Crossing
from storscope.domain.load_curve_words import interval_words, latency_words, told_capacity
from storscope.domain.units import format_bytes, format_duration, format_rate, format_span, format_time
from storscope.report.assembly import write_page
from storscope.report.knee_chart import UNIT, knee_chart, tone_of
from storscope.report.measured_page import Answer, render_measured
from storscope.report.pack import Packer


def write_knee_report(result: KneeResult, path: Path, command: str = "") -> None:
    """Writes the page to `path`: whole, or not at all. `command` is what searches again.

    Raises UsageError when the file cannot be written there.
    """
    write_page(path, render_knee(result, command))


def render_knee(result: KneeResult, command: str = "", made_at_ns: int | None = None) -> str:
    """The page as text."""
    packer = Packer()
    return render_measured(
        "knee.html.j2", "js/knee.js", packer, kind="knee", title=f"{result.name} on {result.paths}",
        facts=_facts(result), made_at_ns=made_at_ns, result=result, answers=list(_answers(result)), command=command,
        drawn=knee_chart(result.curve, packer),
    )  # fmt: skip


def _answers(result: KneeResult) -> Iterator[Answer]:
    curve = result.curve
    latency = f"mean {latency_words(curve.knee)}"
    light = "" if curve.light_ns is None else f", {format_duration(curve.light_ns.estimate)}"
    yield _load("Knee", curve.knee, f"There the {latency} is twice that at light load{light}.", 0)
    if curve.within_objective is not None:
        within, tone = curve.within_objective, tone_of(curve, curve.within_objective)
        by = "" if latency_words(within) == "response time" else ", by the service time: requests were sent too late"
        yield _load(f"SLO {curve.objective}", within, f"The greatest load that meets it{by}.", tone)
    if curve.light_ns is not None:
        number, unit = format_duration(curve.light_ns.estimate).split(" ")
        words = f"The flat part: {latency} while hardly anything waits."
        yield Answer("Light load", number, unit, _interval_ns(curve.light_ns), words)
    if (capacity := told_capacity(curve)) is not None:
        words = "Where the fitted curve has its pole: beyond it the queue grows for ever."
        yield Answer("Capacity", _rate(capacity), UNIT, _interval(capacity), words)


def _load(question: str, crossing: Crossing, words: str, tone: int) -> Answer:
    if crossing.load_per_s is None:
        return Answer(question, "not found", "", "", f"{crossing.reason[:1].upper()}{crossing.reason[1:]}.")
    return Answer(question, _rate(crossing.load_per_s), UNIT, _interval(crossing.load_per_s), words, tone)


def _rate(load: Bounds) -> str:
    return format_rate(load.estimate, "").strip()


def _interval(bounds: Bounds) -> str:
    return f"95 %: {interval_words(bounds)}"


def _interval_ns(bounds: Bounds) -> str:
    return f"95 %: {format_duration(bounds.low)} to {format_duration(bounds.high)}"


def _facts(result: KneeResult) -> list[tuple[str, str]]:
    host = f" on {result.host}" if result.host else ""
    size = f", {format_bytes(result.size_bytes)} of it" if result.size_bytes else ""
    started_ns = result.started_ns
    ended_ns = None if started_ns is None else started_ns + result.duration_ns
    visits = f"{len(result.curve.visits)} visits in {format_span(result.duration_ns)}"
    ended = f"; it ended as {result.curve.ended}" if result.curve.ended else ""
    engine = f" ({result.engines})" if result.engines else ""
    return [
        ("Target", f"{result.paths}{host} ({result.target_kind}{size})"),
        (
            "Measured",
            f"{format_time(started_ns)} to {format_time(ended_ns)}, by the clock of that host; {visits}{ended}",
        ),
        ("Page cache", "past it (O_DIRECT)" if result.direct else "I/Os go through it"),
        ("Search", f"{result.id}, seed {result.seed}, by storscope {result.version}{engine}"),
    ]
