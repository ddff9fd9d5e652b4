"""Writes a run into the tables. Its one entity is a job; each interval is an observation with three distributions.

The `runs` row has what was asked; `parameters` has the whole workload and what is doubted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any

from storscope.bench.device_check import DeviceCheck
from storscope.bench.doubted_streams import stream_words
from storscope.bench.figures import Interval, Outcome
from storscope.bench.judgement import Judgement
from storscope.bench.record_intervals import Cell, IntervalWriter
from storscope.bench.record_judged import WARM_UP, judged_parameters, record_estimates
from storscope.domain.asked_load import asked_of, rate_of
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S
from storscope.domain.workload import Copy, Workload

ENGINE = "storscope"


@dataclass(frozen=True)
class About:
    """What is known of a run before it starts."""

    run: str
    workload: Workload
    target: str
    target_kind: str
    system: str
    seed: int
    version: str
    planned_ns: int
    started_ns: int
    direct: bool
    doubts: tuple[str, ...] = ()
    """Of the target: a prefill that could not be proved, a page cache in the way."""
    links: tuple[tuple[str, str], ...] = ()
    """What the target and the devices below it rest on (see Underneath)."""
    prefill: DeviceCheck | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the run is part of (a sweep's id and point); kept among its parameters. `job` names its entity."""
    targets: tuple[str, ...] = ()
    """In the order that the workload's streams count them, when there are several."""
    goal: str = ""
    """What it was run for, in words."""
    engine: str = ENGINE
    engine_version: str | None = None
    """None: that of storscope."""
    job: str | None = None
    """What another engine was given to run."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` reads them again."""
        prefill = None if self.prefill is None else self.prefill.to_json()
        return {**self.__dict__, "labels": dict(self.labels), "workload": self.workload.to_json(), "prefill": prefill}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> About:
        """What `to_json` wrote."""
        prefill = None if form.get("prefill") is None else DeviceCheck.from_json(form["prefill"])
        known = {
            "workload": Workload.from_json(form["workload"]), "doubts": tuple(form["doubts"]), "prefill": prefill,
            "targets": tuple(form.get("targets", ())),
            "links": tuple((upper, lower) for upper, lower in form.get("links", ())),
        }  # fmt: skip
        return cls(**{**form, **known})


def record_run(
    recorder: Recorder,
    about: About,
    intervals: Iterable[Interval],
    outcome: Outcome | None,
    judgement: Judgement | None = None,
    *,
    outstanding_in_all: int | None = None,
) -> None:
    """Writes a whole run. Without an outcome it was killed: what there is was measured until then.

    With a judgement, what does not count for the figures is kept as a run of its own, which no row of `runs` names.
    `outstanding_in_all` is what is kept in flight on all targets together, where the workload does not say it.
    """
    entity = EntityRef(about.system, "job", about.labels.get("job", about.run))
    is_virtual = outcome is not None and outcome.result["clock"] == "virtual"
    if entity.name == about.run and not is_virtual:
        recorder.entity(entity, label=f"{about.workload.name} on {' and '.join(_target_names(about))}")
    aside = replace(about, run=about.run + WARM_UP)
    start_ns = about.started_ns if outcome is None else int(outcome.result["started_unix_ns"])
    measured_ns = 0
    writer = IntervalWriter(
        recorder, entity, start_ns, latency_of(about), partial(cell_entity, entity, about), _cells_of(about),
        is_virtual=is_virtual,
    )  # fmt: skip
    for counts, group in groupby(intervals, lambda one: judgement is None or judgement.counts(one.start_ns)):
        written_ns = writer.write(group, (about if counts else aside).run)
        measured_ns += written_ns if counts else 0
    recorder.notes.tool, recorder.notes.tool_version = about.engine, about.engine_version or about.version
    recorder.notes.system, recorder.notes.clock = about.system, "UTC of this host"
    for doubt in doubts_of(about, outcome, judgement):
        recorder.warn(doubt)
    _record_facts(recorder, entity, about, outcome)
    for (_, target), part in writer.parts.items():
        recorder.link(part, "member_of", entity)
        recorder.fact(part, "target", _target_names(about)[target])
    if judgement is not None:
        record_estimates(recorder, entity, judgement)
        start_ns += judgement.from_ns
    _record_parameters(recorder, about, outcome, judgement, start_ns, measured_ns, outstanding_in_all)


def doubts_of(about: About, outcome: Outcome | None, judgement: Judgement | None = None) -> tuple[str, ...]:
    """Everything that makes the figures mean less than they seem to."""
    if outcome is None:
        return (*about.doubts, "The run was killed; its last interval is lost, and nothing judged its figures.")
    ended = () if outcome.error is None else (f"The run ended early: {outcome.error[1]}",)
    stopped = ("The run was interrupted; it is shorter than planned.",) if outcome.stopped else ()
    device = () if outcome.device is None else outcome.device.doubts
    judged = () if judgement is None else judgement.doubts
    return (*about.doubts, *outcome.doubts, *device, *judged, *ended, *stopped)


def status_of(outcome: Outcome | None) -> str:
    """In a word, as `runs` has it: only 'ok' ended well."""
    if outcome is None:
        return "killed"
    if outcome.error is not None:
        return "failed"
    if outcome.stopped:
        return "interrupted"
    return "ok" if outcome.is_valid else "invalid"


def cell_entity(job: EntityRef, about: About, cell: Cell) -> EntityRef:
    """A `process`, as fio's and Iometer's parts of a job are."""
    stream, target = stream_words(about.workload, cell[0]), _target_names(about)[cell[1]]
    return EntityRef(about.system, "process", f"{job.name}: {stream} on {target}")


def _cells_of(about: About) -> list[Cell]:
    """Each stream on each target that it reads or writes, also where it copies to, as the generator counts them."""
    cells = []
    for number, stream in enumerate(about.workload.streams):
        targets = stream.targets or range(len(_target_names(about)))
        written = [stream.access.destination] if isinstance(stream.access, Copy) else []
        cells += [(number, target) for target in dict.fromkeys((*targets, *written))]
    return cells


def is_valid_cell(outcome: Outcome, cell: Interval) -> bool:
    """Whether the latencies of a stream on a target mean what they say."""
    (form,) = cell.form["cells"]
    return outcome.is_valid_of(form["stream"])


def cell_words(about: About, cell: Interval) -> tuple[str, str]:
    """The stream's name, or its number, and the target."""
    (form,) = cell.form["cells"]
    return stream_words(about.workload, form["stream"]), _target_names(about)[form["target"]]


def _target_names(about: About) -> Sequence[str]:
    return about.targets or (about.target,)


def latency_of(about: About) -> str:
    """What stands for the latency that a user sees: the response; in a closed loop of fio, which has none, the service.

    In an open loop of fio nothing does: how long an I/O waited to be started is not in its figures.
    """
    is_open = any(stream.load.is_open for stream in about.workload.streams)
    return "response" if about.engine == ENGINE or is_open else "service"


def _record_facts(recorder: Recorder, entity: EntityRef, about: About, outcome: Outcome | None) -> None:
    recorder.fact(entity, "target", about.target)
    recorder.fact(entity, "target kind", about.target_kind)
    recorder.fact(entity, "direct I/O", about.direct)
    for upper, lower in about.links:
        source = _device(about.system, upper) if upper else entity
        recorder.link(source, "lives_on", _device(about.system, lower))
    for stage, check in (("prefill", about.prefill), ("run", None if outcome is None else outcome.device)):
        if check is not None:
            _record_check(recorder, entity, stage, check)
    if outcome is None:
        return
    recorder.fact(entity, "engine used", ", ".join(outcome.engines) or None)
    recorder.fact(entity, "clock", outcome.result["clock"])
    recorder.fact(entity, "valid", outcome.is_valid)
    for name, value in outcome.result["ending"].items():
        recorder.fact(entity, name.removesuffix("_ns"), value, "ns" if name.endswith("_ns") else None)


def _device(system: str, reference: str) -> EntityRef:
    kind, _, name = reference.partition("/")
    return EntityRef(system, kind, name)


def _record_check(recorder: Recorder, entity: EntityRef, stage: str, check: DeviceCheck) -> None:
    """What the devices did, beside what was asked of them."""
    recorder.fact(entity, f"{stage}: done by", check.answer.value)
    recorder.fact(entity, f"{stage}: devices", ", ".join(check.devices) or None)
    for word, asked in check.asked.items():
        recorder.fact(entity, f"{stage}: {word} by the generator", asked.bytes, "bytes")
        recorder.fact(entity, f"{stage}: {word} for this process", check.process_bytes[word], "bytes")
        if check.moved is not None:
            moved = check.moved[word]
            recorder.fact(entity, f"{stage}: {word} by the devices", moved.bytes, "bytes")
            recorder.fact(entity, f"{stage}: {word} operations of the devices", moved.ios)
            recorder.fact(entity, f"{stage}: {word} operations merged before", moved.merged)


def _record_parameters(
    recorder: Recorder,
    about: About,
    outcome: Outcome | None,
    judgement: Judgement | None,
    start_ns: int,
    measured_ns: int,
    outstanding_in_all: int | None,
) -> None:
    workload = about.workload
    asked = asked_of(workload.streams, max(1, len(about.targets)))
    outstanding = asked["outstanding"] if outstanding_in_all is None else float(outstanding_in_all)
    recorder.run(
        about.run, engine=about.engine, engine_version=about.engine_version or about.version, name=workload.name,
        system=about.system, time_ns=start_ns, duration_ns=measured_ns, block_bytes=asked["block_bytes"],
        read_ratio=asked["read_ratio"], random_ratio=asked["random_ratio"], outstanding=outstanding,
        workers=asked["workers"], seed=str(about.seed), status=status_of(outcome),
        parameters={
            **about.labels,
            **judged_parameters(about.goal, judgement),
            **rate_of(workload.streams),
            **({} if about.job is None else {"job": about.job}),
            **_bound_of(outcome),
            "target": about.target,
            "target_kind": about.target_kind,
            "direct": "true" if about.direct else "false",
            "planned_s": f"{about.planned_ns / NS_PER_S:g}",
            **({} if outcome is None else {"made_by": ", ".join(outcome.made_by)}),
            "engine_used": "unknown" if outcome is None else ", ".join(outcome.engines),
            "valid": "unknown" if outcome is None else str(outcome.is_valid).lower(),
            "doubts": in_sentences(doubts_of(about, outcome, judgement)),
            "workload": json.dumps(workload.to_json(), sort_keys=True),
        },
    )  # fmt: skip


def _bound_of(outcome: Outcome | None) -> dict[str, str]:
    bound = None if outcome is None else outcome.latency_bound
    return {} if bound is None else {"latency_bound": bound}


def in_sentences(doubts: Sequence[str]) -> str:
    """One text of all of them. The engine's have no full stop, as each is a line of its own on a terminal."""
    return " ".join(f"{doubt.removesuffix('.')}." for doubt in doubts)
