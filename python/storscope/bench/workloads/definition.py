"""What a file that defines workloads holds: the workloads, how they are varied, and what could not be kept."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from storscope.bench.workloads.loss import Loss, LossList
from storscope.domain.errors import UsageError
from storscope.domain.workload import Copy, Stream, Workload


@dataclass(frozen=True)
class Sweep:
    """How a file wants its workloads repeated; an empty list leaves the workload as it is.

    `outstanding`, `workers` and `targets` are the values that take the place of those in the workload, in order;
    `duration_ns` and `ramp_up_ns` hold for each of them and are None where the file does not say.
    """

    outstanding: tuple[int, ...] = ()
    workers: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    duration_ns: int | None = None
    ramp_up_ns: int | None = None

    @property
    def steps(self) -> int:
        """How many runs of each workload that makes."""
        return max(1, len(self.outstanding)) * max(1, len(self.workers)) * max(1, len(self.targets))


@dataclass(frozen=True)
class Definition:
    """The content of one file, or a built-in workload.

    `workloads` is what would be run, in order; `others` are defined beside them and not used by any worker (access
    specifications of an .icf). `targets` are the names that indices of targets stand for, where the file has names.
    """

    form: str
    workloads: tuple[Workload, ...]
    others: tuple[Workload, ...] = ()
    sweep: Sweep = Sweep()
    targets: tuple[str, ...] = ()
    description: str = ""
    losses: tuple[Loss, ...] = ()
    sections: tuple[tuple[str, ...], ...] = ()
    """Of each workload the parts of the file that it was made of, as losses name them: '[reads]'; empty where the
    losses of a file are not told apart."""

    def named(self, name: str) -> Workload:
        """The workload of that name, among the others too. UsageError lists the names when there is none."""
        known = {workload.name: workload for workload in (*self.others, *self.workloads)}
        if name not in known:
            place = "the workload's own name" if self.form == "builtin" else f"a workload of this {self.form} file"
            raise UsageError(place, repr(name), where="--only", hint=_names(known))
        return known[name]

    def sole(self, where: str, hint: str) -> Workload:
        """Its one workload. UsageError names them where there are several; `hint` says how to take one there."""
        if len(self.workloads) != 1:
            names = ", ".join(repr(workload.name) for workload in self.workloads)
            raise UsageError("one workload", f"{len(self.workloads)}: {names}", where=where, hint=hint)
        return self.workloads[0]

    def only(self, name: str) -> Definition:
        """The definition with that workload alone and, of the targets that have names and the losses, its own."""
        workload = self.named(name)
        alone = replace(self, workloads=(workload,), others=(), losses=self._losses_of(workload), sections=())
        used = _used_targets(workload)
        if not used or used[-1] >= len(self.targets):
            return alone
        targets = tuple(self.targets[index] for index in used)
        return replace(alone, workloads=(_renumbered(workload, used),), targets=targets)

    def _losses_of(self, chosen: Workload) -> tuple[Loss, ...]:
        """Without those of sections that other workloads alone are made of; what is of the whole file stays."""
        if not self.sections:
            return self.losses
        own, others = set[str](), set[str]()
        for workload, sections in zip(self.workloads, self.sections, strict=True):
            (own if workload.name == chosen.name else others).update(sections)
        return tuple(loss for loss in self.losses if not _is_of(loss, others - own))


def _is_of(loss: Loss, sections: Set[str]) -> bool:
    return any(loss.where == section or loss.where.startswith(f"{section} ") for section in sections)


def _used_targets(workload: Workload) -> tuple[int, ...]:
    """The indices of its targets in order; empty for all."""
    if not all(stream.targets for stream in workload.streams):
        return ()
    used = {index for stream in workload.streams for index in stream.targets}
    used |= {stream.access.destination for stream in workload.streams if isinstance(stream.access, Copy)}
    return tuple(sorted(used))


def _renumbered(workload: Workload, used: tuple[int, ...]) -> Workload:
    """The workload when of its targets only the `used` ones are left."""
    return replace(workload, streams=tuple(_stream_on(stream, used) for stream in workload.streams))


def _stream_on(stream: Stream, used: tuple[int, ...]) -> Stream:
    access, targets = stream.access, tuple(used.index(index) for index in stream.targets)
    if isinstance(access, Copy):
        access = replace(access, destination=used.index(access.destination))
    return replace(stream, access=access, targets=() if len(set(targets)) == len(used) else targets)


def unused_workloads(definition: Definition) -> LossList:
    """The loss of what a form without a place for unused workloads leaves out."""
    losses = LossList()
    if definition.others:
        names = ", ".join(repr(workload.name) for workload in definition.others)
        reason = "no worker uses them; not written, choose one with --only"
        losses.elsewhere(f"{len(definition.others)} more workloads", names[:200], reason)
    return losses


def _names(known: dict[str, Workload]) -> str:
    return "It defines: " + ", ".join(repr(name) for name in known) + "."
