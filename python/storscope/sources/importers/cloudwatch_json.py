"""Amazon CloudWatch as JSON: what `aws cloudwatch get-metric-data` and `get-metric-statistics` print of EBS.

From the reference, recalled; no capture at hand (API reference: GetMetricData, GetMetricStatistics). The first has
`MetricDataResults` with Label, Timestamps and Values, newest first by default, and says no statistic; the second has
one metric, with Label and Datapoints, each with its statistics. Keys that are not known are passed over.

Which metric it is the label says, else the Id; of which volume the label, else the file's name, or the line `# NAME`
above the document. Several documents may stand in one file, and files of get-metric-statistics, which have one metric
each, are read as one capture where they lie in one folder. Times are UTC, and the start of a period.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from storscope.domain.recorder import Recorder
from storscope.sources.evidence import Evidence, Head
from storscope.sources.importer import Importer, ImportOptions, broken, shortened
from storscope.sources.importers._cloud_samples import CloudSamples, Kept
from storscope.sources.importers._cloud_times import instant_of, number_of
from storscope.sources.importers._cloudwatch import CARRIES, NEVER, NOT_YET, CloudWatchWriter, entity_of
from storscope.sources.importers._cloudwatch_metrics import (
    STATISTICS,
    is_of_instance,
    metric_in,
    metric_of_id,
    rest_of,
    statistic_in,
    thing_in,
)
from storscope.sources.importers._json_documents import Document, documents_of
from storscope.sources.importers._left_out import LeftOut

_EXPECTED: Final = "JSON of aws cloudwatch get-metric-data or get-metric-statistics"
_REMEDY: Final = "Label each query with the metric and the volume, such as 'VolumeReadOps vol-0abc'."
_UNKNOWN: Final = "no metric of EBS that is known"


def _recognise(head: Head) -> float:
    start = head.text.lstrip()[:1]
    if start not in ("{", "[", "#"):
        return 0.0
    is_data = '"MetricDataResults"' in head.text
    return 0.96 if is_data or _is_statistics(head) else 0.0


def _is_statistics(head: Head) -> bool:
    return (
        '"Datapoints"' in head.text
        and '"Timestamp"' in head.text
        and any(f'"{one}"' in head.text for one in STATISTICS)
    )


@dataclass(frozen=True)
class _Series:
    """One metric of one thing, before its values are read."""

    label: str
    metric: str
    name: str | None
    """Of the volume or the instance."""


def _read(evidence: Evidence, recorder: Recorder, options: ImportOptions) -> None:
    documents = documents_of(
        evidence, recorder, _EXPECTED, "If the file was cut, ask again: it is one JSON document a call."
    )
    samples, left_out = CloudSamples(recorder), LeftOut()
    try:
        found = [one for document in documents for one in _series(document, recorder, left_out)]
        _gather(found, samples, recorder, options)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise broken(
            evidence, "MetricDataResults[] with Label, Timestamps and Values, or Datapoints[] with Timestamp",
            f"no {error}",
        ) from error  # fmt: skip
    left_out.tell(recorder, _REMEDY)
    samples.refuse_mixtures(evidence.name, _REMEDY)
    CloudWatchWriter(samples, recorder, options).write()
    recorder.notes.clock = "UTC, as CloudWatch has its times; a time is the start of its interval"


_Values = list[tuple[object, str, object]]
"""Time, statistic and number of each value."""


def _series(document: Document, recorder: Recorder, left_out: LeftOut) -> Iterator[tuple[_Series, _Values]]:
    value = document.value
    if "MetricDataResults" in value:
        _tell_of_gaps(value, recorder)
        for result in value["MetricDataResults"]:
            times, numbers = result["Timestamps"], result["Values"]
            recorder.omit("values without a time, or times without a value", abs(len(times) - len(numbers)))
            label, query = str(result.get("Label", "")), str(result.get("Id", ""))
            statistic = statistic_in([label])
            values: _Values = [(time, statistic, number) for time, number in zip(times, numbers, strict=False)]
            yield from _named(label, query, document.name, values, left_out)
    elif "Datapoints" in value:
        points = [
            (point["Timestamp"], statistic, point[statistic])
            for point in value["Datapoints"]
            for statistic in STATISTICS
            if statistic in point
        ]
        recorder.omit(
            "percentiles of metrics, which are not read", sum("ExtendedStatistics" in p for p in value["Datapoints"])
        )
        yield from _named(str(value.get("Label", "")), "", document.name, points, left_out)
    else:
        recorder.omit("documents of another form")


def _named(label: str, query: str, file: str, values: _Values, left_out: LeftOut) -> Iterator[tuple[_Series, _Values]]:
    """A metric and the volume that it is of, where they are told."""
    metric = metric_in([label]) or metric_of_id(query)
    if metric is None:
        left_out.add(label or query or "a metric without a label", _UNKNOWN, len(values))
        return
    yield _Series(label, metric, thing_in([label, file], of_instance=is_of_instance(metric))), values


def _tell_of_gaps(value: Mapping[str, Any], recorder: Recorder) -> None:
    if value.get("NextToken"):
        recorder.warn("The answer goes on (NextToken), and what follows may not be here: ask for all pages.")
    for message in value.get("Messages") or ():
        recorder.warn(f"CloudWatch says: {shortened(str(message))}")
    partial = sum(one.get("StatusCode", "Complete") != "Complete" for one in value["MetricDataResults"])
    if partial:
        recorder.warn(f"{partial:,} metrics are not complete, as their StatusCode says: ask again, or for less time.")


def _gather(
    found: list[tuple[_Series, _Values]], samples: CloudSamples, recorder: Recorder, options: ImportOptions
) -> None:
    labels = {(one.metric, one.label) for one, _ in found if one.name is None}
    several = {metric for metric, count in Counter(metric for metric, _ in labels).items() if count > 1}
    for series, values in found:
        name = series.name or ((rest_of(series.label) or None) if several else None)
        if name is None:
            recorder.warn(
                f"Nothing names the volume of {series.metric}: metrics without one were taken as of one. Put its id "
                "into the label or the file's name, such as vol-0abc.json."
            )
        entity = entity_of(series.metric, name, options)
        for time, statistic, cell in values:
            time_ns, number = instant_of(time), number_of(cell)
            if time_ns is None:
                recorder.omit("values whose time is none")
            elif math.isnan(number):
                recorder.omit("values that are no number")
            else:
                samples.add(entity, Kept(series.metric, statistic), time_ns, number)


IMPORTER = Importer(
    name="cloudwatch_json",
    title="Amazon CloudWatch of EBS volumes, JSON",
    supports="get-metric-data and get-metric-statistics of AWS/EBS, and of AWS/EC2 what begins with EBS; by the "
    "reference, recalled: no capture was seen",
    how_to_capture="aws cloudwatch get-metric-data --metric-data-queries file://queries.json --start-time ... "
    "--end-time ... > cloudwatch.json, with Period 60 and Stat Sum (docs/import.md has the queries)",
    recognise=_recognise,
    read=_read,
    is_part=_is_statistics,
    carries=CARRIES,
    not_yet={
        **NOT_YET,
        "metrics of other namespaces (RDS, FSx, EFS)": "their metrics have other names",
    },
    never=NEVER,
)  # fmt: skip
