"""The search for the knee on real storage: opens the target, visits loads, stores each visit and the answer."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import storscope
from storscope.bench.cpu_quota import QuotaWatch
from storscope.bench.engine import buffer_bytes, run_error
from storscope.bench.load_point import INTERVAL_NS, PointWatch, VisitGoal
from storscope.bench.machine_load import machine_load
from storscope.bench.open_loop import OpenLoop, known_rates, measured_rates, open_loop
from storscope.bench.record import ENGINE
from storscope.domain.entity import EntityRef
from storscope.domain.errors import StorscopeError, UsageError
from storscope.domain.knee_result import KneeResult
from storscope.domain.load_curve import Bounds, Crossing, LoadCurve, Visit
from storscope.domain.objective import Objective
from storscope.domain.recorder import Recorder
from storscope.domain.units import NS_PER_S, format_span
from storscope.domain.workload import Workload
from storscope.model.load_search import search
from storscope.model.load_visits import SearchPlan
from storscope.store import CaptureInfo, Store
from storscope.workbench.asked_before import other_knee
from storscope.workbench.asked_digest import OLD_FORMS, Form, digest_of, told
from storscope.workbench.benchmarking import Benched, BenchSession, BenchSettings, bench_session
from storscope.workbench.engines import AUTO
from storscope.workbench.knee_reading import latest_knee, read_knee, unfinished

_FIRST_LOOK_NS = 3 * NS_PER_S // 2
_SEEDS = 2**64


@dataclass(frozen=True)
class KneeTask:
    """What is searched where, and how long at most. The settings' seed is of the order of visits and of all draws."""

    targets: tuple[str, ...]
    workload: Workload
    settings: BenchSettings
    budget_ns: int
    objective: Objective | None = None

    @property
    def paths(self) -> str:
        """Of the targets, whole; several are joined."""
        return ", ".join(map(os.path.abspath, self.targets))

    @property
    def at_any_rate(self) -> Workload:
        """The open loop that is searched, at a rate that stands for all: as much may be in flight at each."""
        rates = known_rates(self.workload) or (1.0,) * len(self.workload.streams)
        return open_loop(self.workload, rates, len(self.targets)).at(1.0)

    @property
    def digest(self) -> str:
        """What makes it the same question: all but the seed, the time and the permission to write."""
        return digest_of(self._asked(told))

    @property
    def digests(self) -> list[str]:
        """By which it may be in a store: this version's digest, then those of older ones."""
        return [self.digest, *(digest_of(self._asked(form)) for form in OLD_FORMS)]

    def _asked(self, form: Form) -> dict[str, Any]:
        return {
            "paths": self.paths, "workload": form(self.workload), "settings": [self.settings.size_bytes,
            self.settings.direct], "objective": None if self.objective is None else _form_of(self.objective),
            **({} if self.settings.ioengine == AUTO else {"ioengine": self.settings.ioengine}),
        }  # fmt: skip


def _form_of(objective: Objective) -> dict[str, Any]:
    """As it was written before directions were known, where it has none."""
    form = asdict(objective)
    if objective.figure.direction is None:
        del form["figure"]["direction"]
    return form


class KneeWatch(Protocol):
    """Hears what a search does."""

    def say(self, sentence: str) -> None:
        """A sentence for the user."""

    def filled(self, done_bytes: int, total_bytes: int) -> None:
        """How much of a scratch file is written."""

    def begin(self, rate_per_s: float | None, left_ns: int) -> None:
        """A visit starts (None: of the workload as it is); the search ends within `left_ns`."""

    def end(self, visit: Visit) -> None:
        """It ended, and is in the store."""


def find_knee(store: Store, task: KneeTask, watch: KneeWatch, stop: Callable[[], bool]) -> KneeResult:
    """Searches, within the time of the task once the target is open. Raises as `bench_session` does.

    An I/O that fails ends the search with the error; what was visited until then is in the store.
    """
    buffer_bytes(task.at_any_rate, len(task.targets))
    settings = replace(task.settings, interval_ns=INTERVAL_NS, goal=None)
    with bench_session(
        store, task.targets, task.workload, settings, told=watch.say, stop=stop, filled=watch.filled
    ) as session:
        return read_knee(store, _Hunt(store, session, task, watch).run())


def show_knee(store: Store, task: KneeTask, seed: int | None = None) -> KneeResult:
    """The latest search in the store that asked the same, of those with `seed` if there are such.

    Raises UsageError if none has an answer.
    """
    found = latest_knee(store, task.digests, seed)
    if found is None:
        begun = unfinished(store, task.digests)
        other = other_knee(store, task.targets, task.workload, task.objective, task.settings)
        raise UsageError(
            "a search for the knee in the store that asked the same",
            f"only {begun[-1]}, which has no answer" if begun else f"only {other}" if other else "none",
            where=str(store.path),
            hint=""
            if begun
            else "The target, the workload, --slo, --size and --buffered must be as they were, and so must --ioengine.",
        )
    return found


class _Hunt:
    def __init__(self, store: Store, session: BenchSession, task: KneeTask, watch: KneeWatch) -> None:
        self._store, self._session, self._task, self._watch = store, session, task, watch
        self._started_ns, self._started_utc_ns = time.monotonic_ns(), time.time_ns()
        self._machine, self._quotas = machine_load(), QuotaWatch()
        self._id = f"knee-{self._started_utc_ns:x}"
        self._visits = 0
        self._last: Benched | None = None
        self._most: tuple[float, Sequence[str]] = (0.0, ())
        """I/Os per second of the visit that did the most, and what is doubted of the devices in it."""
        self._loop: OpenLoop

    def run(self) -> str:
        """Searches and stores the answer; returns the search's id."""
        task = self._task
        self._watch.say(f"Searching for {format_span(task.budget_ns)} at most, sooner if the answer is sure.")
        rates = self._rates()
        self._loop = open_loop(task.workload, rates, len(task.targets))
        plan = SearchPlan(sum(rates), self._left_ns(), task.objective, task.settings.seed)
        curve = search(
            self._visit, plan, clock_ns=self._spent_ns, stop=lambda: self._session.is_interrupted, told=self._watch.say
        )
        doubts = () if self._last is None else self._last.about.doubts
        told = (*doubts, *self._device_doubts(), *curve.doubts, *self._machine_doubts())
        _publish(self._store, self._answer(curve, told), task)
        return self._id

    def _answer(self, curve: LoadCurve, doubts: tuple[str, ...]) -> _Answer:
        targets, loop = self._session.targets, self._loop
        sizes = [ready.size_bytes for ready in targets]
        how = {
            "direct": all(ready.direct for ready in targets), "stream_shares": loop.shares,
            "max_outstanding": loop.bounds, "load_words": list(loop.explain()), "paths": self._task.paths,
            "budget_ns": self._task.budget_ns, "size_bytes": sum(sizes),
            "engines": "" if self._last is None else ", ".join(self._last.outcome.engines),
        }  # fmt: skip
        target = ", ".join(ready.name for ready in targets)
        return _Answer(
            self._id, curve, target, self._session.target.kind, how, self._started_utc_ns, self._spent_ns(), doubts
        )

    def _device_doubts(self) -> Sequence[str]:
        """Of the busiest visit: where a limit or a cache answered, it did so there."""
        return [f"In the visit that did the most: {doubt}" for doubt in self._most[1]]

    def _machine_doubts(self) -> Sequence[str]:
        before, after = self._machine, machine_load()
        of_others = () if before is None or after is None else tuple(after.since(before).doubts())
        return (*of_others, *self._quotas.so_far().doubts())

    def _spent_ns(self) -> int:
        return time.monotonic_ns() - self._started_ns

    def _left_ns(self) -> int:
        return max(0, self._task.budget_ns - self._spent_ns())

    def _rates(self) -> Sequence[float]:
        """Of each stream in the workload as it is: a first guess of the load, and the streams' proportions."""
        known = known_rates(self._task.workload)
        if known is not None:
            return known
        self._watch.begin(None, self._left_ns())
        look_ns = min(_FIRST_LOOK_NS, self._task.budget_ns // 10)
        benched = self._measured(self._task.workload, duration_ns=look_ns, labels={"knee_role": "first look"})
        rates = measured_rates(self._task.workload, benched.outcome.total)
        if sum(rates) <= 0:
            raise StorscopeError("a workload that makes I/Os", "none in a first look", where=benched.about.target)
        return rates

    def _visit(self, rate_per_s: float, duration_ns: int, cut_ns: float | None) -> Visit:
        self._watch.begin(rate_per_s, self._left_ns())
        loop = self._loop
        watch = PointWatch(
            rate_per_s, self._task.objective, slots=loop.slots, ios_per_arrival=loop.ios_per_arrival, cut_ns=cut_ns
        )
        labels = {"knee_role": "visit", "knee_visit": str(self._visits), "rate_per_s": f"{rate_per_s:.6g}"}
        before_ns = self._spent_ns()
        benched = self._measured(loop.at(rate_per_s), watch, goal=VisitGoal(duration_ns, watch), labels=labels)
        visit = watch.visit(benched.outcome, self._spent_ns() - before_ns, benched.about.run)
        done_per_s = visit.achieved_per_s
        if benched.outcome.device is not None and done_per_s is not None and done_per_s > self._most[0]:
            self._most = done_per_s, benched.outcome.device.doubts
        self._watch.end(visit)
        return visit

    def _measured(
        self, workload: Workload, watch: Callable[..., None] = lambda _: None, *, labels: dict[str, str],
        duration_ns: int | None = None, goal: VisitGoal | None = None,
    ) -> Benched:  # fmt: skip
        seed = (self._task.settings.seed + self._visits) % _SEEDS
        self._visits += 1
        benched = self._session.measure(
            workload, watch, seed=seed, duration_ns=duration_ns, goal=goal,
            labels={"knee_search": self._id, "knee_plan": self._task.digest, **labels},
        )  # fmt: skip
        self._last = benched
        if benched.outcome.error is not None:
            raise run_error(*benched.outcome.error)
        return benched


# The answer in the store ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Answer:
    """What is stored at the end of a search; the seed is the task's."""

    id: str
    curve: LoadCurve
    target: str
    target_kind: str
    how: Mapping[str, Any]
    started_ns: int
    duration_ns: int
    doubts: tuple[str, ...]


def _publish(store: Store, found: _Answer, task: KneeTask) -> None:
    """A capture with one run, whose facts are the answer; the visits are runs of their own."""
    text = json.dumps(found.curve.to_json(), sort_keys=True).encode()
    digest = hashlib.sha256(text + found.id.encode()).hexdigest()
    info = CaptureInfo(
        id=digest[:16], path=f"knee of {found.target}", sha256=digest, size_bytes=len(text), format="storscope-knee",
        importer_version=1, imported_at_ns=time.time_ns(), imported_on=platform.node(),
        storscope_version=storscope.__version__, options={},
    )  # fmt: skip
    with store.writer(info) as writer:
        recorder = Recorder(writer.write)
        _record(recorder, found, task)
        recorder.finish()
        writer.commit(recorder)


def _record(recorder: Recorder, found: _Answer, task: KneeTask) -> None:
    system, curve = platform.node(), found.curve
    recorder.notes.tool, recorder.notes.tool_version = ENGINE, storscope.__version__
    recorder.notes.system, recorder.notes.clock = system, "UTC of this host"
    for doubt in found.doubts:
        recorder.warn(doubt)
    entity = recorder.entity(EntityRef(system, "job", found.id))
    recorder.fact(entity, "target", found.target)
    for name, unit, bounds in _answers(curve):
        for suffix, value in zip(("", " low", " high"), _three(bounds), strict=True):
            recorder.fact(entity, name + suffix, value, unit)
    recorder.run(
        found.id, engine=ENGINE, engine_version=storscope.__version__, name=f"knee of {task.workload.name}",
        system=system, time_ns=found.started_ns, duration_ns=found.duration_ns, seed=str(task.settings.seed),
        status="ok" if curve.knee.load_per_s is not None else "invalid",
        parameters={
            "knee_search": found.id, "knee_role": "answer", "knee_plan": task.digest, "knee_how": json.dumps(found.how),
            "target": found.target, "target_kind": found.target_kind,
            "objective": "" if curve.objective is None else str(curve.objective),
            "workload": json.dumps(task.workload.to_json(), sort_keys=True),
            "result": json.dumps(curve.to_json()),
        },
    )  # fmt: skip


def _answers(curve: LoadCurve) -> list[tuple[str, str, Bounds | None]]:
    def load(crossing: Crossing | None) -> Bounds | None:
        return None if crossing is None else crossing.load_per_s

    return [
        ("knee", "1/s", load(curve.knee)),
        ("load within objective", "1/s", load(curve.within_objective)),
        ("latency at light load", "ns", curve.light_ns),
        ("capacity", "1/s", curve.capacity_per_s),
    ]


def _three(bounds: Bounds | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if bounds is None else (bounds.estimate, bounds.low, bounds.high)
