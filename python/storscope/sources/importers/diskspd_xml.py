"""diskspd's XML results (-Rxml), 2.0.15 to 2.1.

Supports several results in one file, several time spans and targets, runs without -L (no latency) and without -D.
Each time span becomes a run, with its threads, targets and processors. Seen in a capture of 2.0.21 without -L; the
elements that -L and -D add are read as diskspd's `XmlResultParser.cpp` is said to print them, and were not seen in a
capture (unverified).

Beware: the time of the test is printed in hundredths of a second, so rates of short tests are off by up to 0.005 s /
its length. With a document type or an entity in it a file is refused: diskspd writes none.
"""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from storscope.domain import units
from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._diskspd import WAYS, Asked, Part, Result, Span, Target, Writer, figure

_BEGIN = re.compile(r"<Results>\s*<System>\s*<")
_HINTS = re.compile(r"<(?:TestTimeSeconds|TimeSpans?|VersionDate|ComputerName)>")
_OPEN, _CLOSE = "<Results>", "</Results>"
_CPU = ("Usage", "User", "Kernel", "Idle")
_WORDS = {"read": "Read", "write": "Write"}


def _recognise(head: Head) -> float:
    return 0.97 if _BEGIN.search(head.text) and _HINTS.search(head.text) else 0.0


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    results = [_result(root) for root in _documents(evidence, recorder)]
    for result in results:
        measured = [span for span in result.spans if span.seconds and span.parts]
        recorder.omit("time spans without results (stopped or failed)", len(result.spans) - len(measured))
        result.spans = measured
    results = [result for result in results if result.spans]
    if not results:
        raise broken(
            evidence, "a result of diskspd with a TimeSpan that was measured", "none",
            hint="The run ended before its result was complete; -Rp prints a profile only, run it with -Rxml.",
        )  # fmt: skip
    writer = Writer(recorder, options)
    writer.note(results)
    for result in results:
        writer.result(result)
    if any(not span.latency_ms for result in results for span in result.spans):
        recorder.warn("Latency was not measured in all runs: run diskspd with -L.")


def _documents(evidence: Evidence, recorder: Recorder) -> Iterator[ET.Element]:
    text = evidence.text()
    if re.search(r"<!(?:DOCTYPE|ENTITY)", text):
        raise broken(evidence, "XML as diskspd writes it", "a document type or an entity")
    unread = text.count(_OPEN)
    at = 0
    while (end := text.find(_CLOSE, at)) >= 0:
        begin = text.rfind(_OPEN, at, end)  # the last one: a run that was stopped leaves its own open
        document, at = text[begin : end + len(_CLOSE)], end + len(_CLOSE)
        if begin < 0:
            continue
        unread -= 1
        try:
            yield ET.fromstring(document)
        except ET.ParseError as error:
            recorder.warn(f"A result is damaged and was not read: {str(error)[:100]}.")
            recorder.omit("damaged results")
    if unread > 0:
        recorder.warn("A result is unfinished (diskspd was stopped, or the file was cut); not read.")
        recorder.omit("unfinished results", unread)


def _text(element: ET.Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _figure(element: ET.Element, path: str) -> float | None:
    return figure(_text(element, path))


def _result(root: ET.Element) -> Result:
    system = "System"
    return Result(
        version=_text(root, f"{system}/Tool/Version") or None, computer=_text(root, f"{system}/ComputerName") or None,
        started=_text(root, f"{system}/RunTime"),
        asked=[_asked(span) for span in root.iterfind("Profile/TimeSpans/TimeSpan")],
        spans=list(itertools.starmap(_span, enumerate(root.iterfind("TimeSpan")))),
    )  # fmt: skip


# What was asked for ----------------------------------------------------------------------------------------------


def _leaves(element: ET.Element) -> dict[str, str]:
    return {child.tag: (child.text or "").strip() for child in element if not len(child)}


def _asked(span: ET.Element) -> Asked:
    has_own_threads = bool(_figure(span, "ThreadCount"))
    return Asked(
        warmup_s=_figure(span, "Warmup") or 0.0, duration_s=_figure(span, "Duration"),
        cooldown_s=_figure(span, "Cooldown") or 0.0,
        requests=_figure(span, "RequestCount") if has_own_threads else None,
        targets=[_target(target, has_own_threads=has_own_threads) for target in span.iterfind("Targets/Target")],
        said=_leaves(span),
    )  # fmt: skip


def _target(target: ET.Element, *, has_own_threads: bool) -> Target:
    writes = _figure(target, "WriteRatio")
    return Target(
        path=_text(target, "Path"), block_bytes=_figure(target, "BlockSize"), random_ratio=_random_ratio(target),
        read_ratio=None if writes is None or writes > 100 else 1 - units.ratio_from_percent(writes),
        requests=_figure(target, "RequestCount"),
        threads=None if has_own_threads else _figure(target, "ThreadsPerFile"), said=_leaves(target),
    )  # fmt: skip


def _random_ratio(target: ET.Element) -> float | None:
    """By the element of the version: a share, an alignment that only random access has, or a word."""
    share = _figure(target, "RandomRatio")
    if share is not None and share <= 100:
        return units.ratio_from_percent(share)
    if target.find("Random") is not None:
        return 1.0
    word = _text(target, "RandomAccess").lower()
    if word in ("true", "false"):
        return float(word == "true")
    return None if target.find("StrideSize") is None else 0.0


# What was measured -----------------------------------------------------------------------------------------------


def _span(number: int, element: ET.Element) -> Span:
    span = Span(
        number=number, seconds=_figure(element, "TestTimeSeconds") or 0.0, threads=_figure(element, "ThreadCount")
    )
    for place, thread in enumerate(element.iterfind("Thread")):
        name = _text(thread, "Id") or str(place)
        span.parts += [_part(name, target) for target in thread.iterfind("Target")]
    for cpu in element.iterfind("CpuUtilization/CPU"):
        span.cpu += _cpu(cpu, "/".join(part for part in (_text(cpu, "Group"), _text(cpu, "Id")) if part))
    if (average := element.find("CpuUtilization/Average")) is not None:
        span.cpu += _cpu(average, "average")
    if (latency := element.find("Latency")) is not None:
        _latency(span, latency)
    if (iops := element.find("Iops")) is not None:
        _iops(span, iops)
    return span


def _cpu(element: ET.Element, processor: str) -> list[tuple[str, str, float]]:
    found = [(name, _figure(element, f"{name}Percent")) for name in _CPU]
    return [(processor, name, percent) for name, percent in found if percent is not None]


def _part(thread: str, target: ET.Element) -> Part:
    ios = {way: _figure(target, f"{word}Count") for way, word in _WORDS.items()}
    sizes = {way: _figure(target, f"{word}Bytes") for way, word in _WORDS.items()}
    means = {way: _figure(target, f"Average{word}LatencyMilliseconds") for way, word in _WORDS.items()}
    means["all"] = _figure(target, "AverageLatencyMilliseconds")
    return Part(
        thread, _text(target, "Path") or "unnamed", {way: value or 0.0 for way, value in ios.items()},
        {way: value or 0.0 for way, value in sizes.items()}, {way: ms for way, ms in means.items() if ms},
    )  # fmt: skip


def _latency(span: Span, latency: ET.Element) -> None:
    names = {"read": "AverageReadMilliseconds", "write": "AverageWriteMilliseconds", "all": "AverageTotalMilliseconds"}
    span.latency_ms = {way: ms for way, name in names.items() if (ms := _figure(latency, name))}
    for name in ("ReadLatencyStdev", "WriteLatencyStdev", "LatencyStdev"):
        if (value := _figure(latency, name)) is not None:
            span.counters.append((name, "ms", value))
    for bucket in latency.iterfind("Bucket"):
        percent = _figure(bucket, "Percentile")
        for way, word in {**_WORDS, "all": "Total"}.items():
            ms = _figure(bucket, f"{word}Milliseconds")
            if percent is not None and percent <= 100 and ms is not None:
                share = 1.0 if percent == 100 else units.ratio_from_percent(percent)
                span.percentiles_ms.setdefault(way, []).append((share, ms))


def _iops(span: Span, iops: ET.Element) -> None:
    """Deviations of the rate, and the rate of each interval of -D."""
    for name in ("ReadIopsStdDev", "WriteIopsStdDev", "IopsStdDev"):
        if (value := _figure(iops, name)) is not None:
            span.counters.append((name, "1/s", value))
    ends_s = []
    for bucket in iops.iterfind("Bucket"):
        ms = figure(bucket.get("SampleMillisecond"))
        if ms is None:
            continue
        ends_s.append(ms / 1000)
        rates = [(way, figure(bucket.get(_WORDS[way]))) for way in WAYS]
        span.iops += [(ms / 1000, way, rate) for way, rate in rates if rate is not None]
    span.iops_step_s = min((late - early for early, late in itertools.pairwise(sorted(set(ends_s)))), default=1.0)
    if ends_s and min(ends_s) < span.iops_step_s:  # stamped with its start
        span.iops = [(at + span.iops_step_s, way, rate) for at, way, rate in span.iops]


IMPORTER = Importer(
    name="diskspd_xml",
    title="diskspd XML results",
    supports="2.0.15 to 2.1 (-Rxml), several results in a file; seen with 2.0.21, what -L and -D add is unverified",
    how_to_capture="diskspd -Rxml -L -D -b8K -r -w30 -t4 -o32 -d60 -W30 -Suw X:\\test.dat > result.xml",
    recognise=_recognise,
    read=_read,
    carries=(
        "runs with outstanding, block size, read and random ratio, threads",
        "ops_per_s, bytes_per_s and mean latency by direction, of the run, its threads and its targets",
        "latency_ns_max and histograms from percentiles (-L)", "cpu_busy_ratio", "rates of intervals as counters (-D)",
    ),
    not_yet={"least, greatest and mean latencies of the intervals of -D": "no capture with them was at hand"},
    never={
        "the name of a test": "a run is called by its load",
        "when files were made": "the start is the program's; only the warm-up is known",
    },
)  # fmt: skip
