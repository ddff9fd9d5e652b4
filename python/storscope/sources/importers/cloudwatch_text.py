"""Amazon CloudWatch as the command line prints it with --output text or --output table: get-metric-statistics, and
get-metric-data as text.

After the AWS CLI's own formatters, recalled (awscli/text.py, awscli/table.py); no capture at hand. Text writes the
words of an answer in the order of their names, which it leaves out: of get-metric-statistics a line with the label,
then a line DATAPOINTS for each value (its statistics, its time, its unit); of get-metric-data a line METRICDATARESULTS
(Id, Label, StatusCode), then lines TIMESTAMPS, then as many VALUES. A table has the names of its columns.

As text says no statistic, DATAPOINTS with several are read only where all five are there. Which metric it is the label
says; of which volume the label, else the file's name, or the line `# NAME` above an answer. Several answers may stand
in one file, and files that lie in one folder are read as one capture. Times are UTC, and the start of a period.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken
from storscope.sources.importers._cloud_samples import CloudSamples, Kept
from storscope.sources.importers._cloud_times import instant_of
from storscope.sources.importers._cloudwatch import CARRIES, NEVER, NOT_YET, CloudWatchWriter, entity_of
from storscope.sources.importers._cloudwatch_cells import number_of
from storscope.sources.importers._cloudwatch_metrics import (
    STATISTICS,
    UNSAID,
    is_of_instance,
    metric_in,
    metric_of_id,
    statistic_in,
    thing_in,
)
from storscope.sources.importers._left_out import LeftOut

_POINT, _RESULT, _TIME, _VALUE = "DATAPOINTS", "METRICDATARESULTS", "TIMESTAMPS", "VALUES"
_TITLE: Final = "GetMetricStatistics"
_IN_ORDER: Final = tuple(sorted(STATISTICS))
"""As text writes all of them."""
_REMEDY: Final = "Label each query with the metric and the volume, or put the volume's id into the file's name."


@dataclass
class _Answer:
    """One metric: its label, and time, statistic and number of each value as printed."""

    label: str
    name: str
    """What names the file, or this answer in it."""
    values: list[tuple[str, str, str]] = field(default_factory=list)


def _recognise(head: Head) -> float:
    is_text = any(line.startswith((f"{_POINT}\t", f"{_RESULT}\t")) for line in head.lines)
    is_table = any(_cells(line) == [_TITLE] for line in head.lines)
    is_told = any(metric_in([line]) for line in head.lines)
    return 0.95 if is_told and (is_text or is_table) else 0.0


def _is_part(head: Head) -> bool:
    """Whether it is one of several files, each with one metric."""
    return _recognise(head) > 0 and not any(line.startswith(f"{_RESULT}\t") for line in head.lines)


def _cells(line: str) -> list[str]:
    """The cells of a line of a table; none of a rule, or of what is no such line."""
    text = line.strip()
    if not text.startswith("|") or set(text) <= set("|+-"):
        return []
    return [cell.strip() for cell in text.strip("|").split("|")]


def _answers_of_text(lines: Sequence[str], file: str, recorder: Recorder) -> Iterator[_Answer]:
    answer, name = _Answer("", file), file
    times: list[str] = []
    for line in lines:
        kind, *cells = line.rstrip().split("\t")
        if kind.startswith("#"):
            name = kind.lstrip("# ")
        elif kind == _POINT:
            answer.values += _point(cells, recorder)
        elif kind == _TIME:
            times += cells
        elif kind == _VALUE:
            values = [(times.pop(0), statistic_in([answer.label]), cell) for cell in cells if times]
            recorder.omit("values without a time", len(cells) - len(values))
            answer.values += values
        elif kind == _RESULT or (kind and not cells):
            yield answer
            recorder.omit("times without a value", len(times))
            answer, times = _Answer(" ".join(cells if kind == _RESULT else [line]), name), []
        elif kind:
            recorder.omit("lines that are no value")
    recorder.omit("times without a value", len(times))
    yield answer


def _point(cells: Sequence[str], recorder: Recorder) -> Iterator[tuple[str, str, str]]:
    """The values of a line whose time stands behind them."""
    place = next((index for index, cell in enumerate(cells) if instant_of(cell) is not None), None)
    if place == 1:
        yield cells[1], UNSAID, cells[0]
    elif place == len(_IN_ORDER):
        yield from ((cells[place], statistic, cell) for statistic, cell in zip(_IN_ORDER, cells, strict=False))
    elif place is None:
        recorder.omit("values whose time is none")
    else:
        recorder.omit("values of several statistics whose names text leaves out (use --output json)", place)


def _answers_of_table(lines: Sequence[str], file: str, recorder: Recorder) -> Iterator[_Answer]:
    answer, name = _Answer("", file), file
    heading: list[str] = []
    for line in lines:
        cells = _cells(line)
        if line.startswith("#"):
            name = line.strip("# \n")
        elif cells == [_TITLE]:
            yield answer
            answer, heading = _Answer("", name), []
        elif len(cells) == 2 and cells[0] == "Label":
            answer.label = cells[1]
        elif "Timestamp" in cells:
            heading = cells
        elif heading and len(cells) == len(heading):
            row = dict(zip(heading, cells, strict=True))
            answer.values += [(row["Timestamp"], one, row[one]) for one in STATISTICS if one in row]
        elif len(cells) > 1:
            recorder.omit("lines that are no value")
    yield answer


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    lines = list(evidence.lines())
    is_table = any(_cells(line) == [_TITLE] for line in lines)
    read = _answers_of_table if is_table else _answers_of_text
    answers = [answer for answer in read(lines, evidence.name, recorder) if answer.values]
    if not answers:
        raise broken(
            evidence, "text or a table of aws cloudwatch get-metric-statistics, or text of get-metric-data",
            next((line for line in lines if line.strip()), "an empty file"),
            hint="--output json says more: which statistic each value is of.",
        )  # fmt: skip
    samples, left_out = CloudSamples(recorder), LeftOut()
    for answer in answers:
        _gather(answer, samples, left_out, options)
    left_out.tell(recorder, _REMEDY)
    samples.refuse_mixtures(evidence.name, _REMEDY)
    CloudWatchWriter(samples, recorder, options).write()
    recorder.notes.clock = "UTC, as CloudWatch has its times; a time is the start of its interval"


def _gather(answer: _Answer, samples: CloudSamples, left_out: LeftOut, options: ImportOptions) -> None:
    metric = metric_in([answer.label]) or metric_of_id(answer.label)
    if metric is None:
        left_out.add(answer.label or "values without a label", "no metric of EBS that is known", len(answer.values))
        return
    name = thing_in([answer.label, answer.name], of_instance=is_of_instance(metric))
    if name is None:
        samples.recorder.warn(
            f"Nothing names the volume of {metric}: metrics without one were taken as of one. Put its id into the "
            "file's name, such as vol-0abc.txt, or into a line '# vol-0abc' above."
        )
    for time, statistic, cell in answer.values:
        time_ns, number = instant_of(time), number_of(cell, decimal_comma=False)
        if time_ns is None:
            samples.recorder.omit("values whose time is none")
        elif math.isnan(number):
            samples.recorder.omit("values that are no number")
        else:
            samples.add(entity_of(metric, name, options), Kept(metric, statistic), time_ns, number)


IMPORTER = Importer(
    name="cloudwatch_text",
    title="Amazon CloudWatch of EBS volumes, text and tables of the AWS CLI",
    supports="get-metric-statistics with --output text or table, get-metric-data with --output text; by the CLI's "
    "formatters, recalled: no capture was seen",
    how_to_capture="aws cloudwatch get-metric-statistics --namespace AWS/EBS --metric-name VolumeReadOps --dimensions "
    "Name=VolumeId,Value=vol-0abc --period 60 --statistics Sum --start-time ... --end-time ... --output table > "
    "vol-0abc.VolumeReadOps.txt; --output json says more",
    recognise=_recognise,
    read=_read,
    is_part=_is_part,
    carries=CARRIES,
    not_yet={**NOT_YET, "get-metric-data as a table": "its times and values stand apart; text and JSON are read"},
    never=NEVER,
)
