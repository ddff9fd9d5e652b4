"""What bounds a simulated run while a controller has failed and no other one has taken over, and right after that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from storscope.sim.bottleneck import Bottleneck
from storscope.sim.phases import Phase

_FIRST_IOS = " Its first I/Os are those that waited for the takeover."


@dataclass(frozen=True)
class Silence:
    """The time in which what is sent to a controller waits; instants since the run's start."""

    controller: str
    to: str
    """The controller that takes over; where that fails meanwhile, the one that takes over from it."""
    from_ns: int
    to_ns: int


def silences(report: Mapping[str, Any]) -> list[Silence]:
    """Those of a run, in order; one ends early where the controller returns. `report` is the array's whole one."""
    found = []
    for one in report["happenings"]:
        if one["kind"] != "controller_failed" or one["no_effect"] is not None or not one["takeover_ns"]:
            continue
        begin_ns, end_ns = one["time_ns"], one["time_ns"] + one["takeover_ns"]
        returned = (other["time_ns"] for other in report["happenings"] if _returns(other, one["controller"]))
        end_ns = min((at_ns for at_ns in returned if begin_ns <= at_ns < end_ns), default=end_ns)
        found.append(Silence(one["controller"], _taker(report, one, end_ns), begin_ns, end_ns))
    return found


def _taker(report: Mapping[str, Any], failure: Mapping[str, Any], end_ns: int) -> str:
    """The controller that answers when a takeover ends. It may have failed before, at the same instant even."""
    to = str(failure["to"])
    later = report["happenings"][report["happenings"].index(failure) + 1 :]
    for one in later:
        is_failure = one["kind"] == "controller_failed" and one["no_effect"] is None and one["time_ns"] < end_ns
        if is_failure and one["controller"] == to:
            to = str(one["to"])
    return to


def silence_at_end(report: Mapping[str, Any], end_ns: int) -> Silence | None:
    """One that begins before a run's end and lasts until then, so that what waits for it is not done in the run."""
    return next((one for one in silences(report) if one.from_ns < end_ns <= one.to_ns), None)


def longest_silence(report: Mapping[str, Any], from_ns: int, to_ns: int) -> Silence | None:
    """Of those with a part between two instants."""
    within = [one for one in silences(report) if one.from_ns < to_ns and one.to_ns > from_ns]
    return max(within, key=lambda one: one.to_ns - one.from_ns, default=None)


def failed_controllers(report: Mapping[str, Any], from_ns: int, to_ns: int) -> set[str]:
    """Controllers that have failed and do not work at any time from one instant to another."""
    failed: dict[str, int] = {}
    for one in report["happenings"]:
        if one["no_effect"] is not None or one["time_ns"] > to_ns:
            continue
        if one["kind"] == "controller_failed":
            failed[one["controller"]] = one["time_ns"]
        elif one["kind"] == "controller_returned" and one["time_ns"] < to_ns:
            failed.pop(one["controller"], None)
    return {name for name, at_ns in failed.items() if at_ns <= from_ns}


def with_takeovers(
    bounds: Sequence[tuple[Phase, Bottleneck]], report: Mapping[str, Any]
) -> list[tuple[Phase, Bottleneck]]:
    """What bounds each stretch: within a silence first of all that, after one with a word of what has waited."""
    found = []
    for phase, bound in bounds:
        within = [one for one in silences(report) if one.from_ns <= phase.from_ns and phase.to_ns <= one.to_ns]
        if within:
            bound = _silent(within, bound)
        elif any(one.to_ns == phase.from_ns for one in silences(report)):
            bound = replace(bound, words=bound.words + _FIRST_IOS)
        found.append((phase, bound))
    return found


def _silent(found: Sequence[Silence], bound: Bottleneck) -> Bottleneck:
    told = [
        f"Controller {one.controller} has failed: what is sent to it waits until controller {one.to} has taken over."
        for one in found
    ]
    if bound.kind != "unknown":
        told.append(f"Of the rest: {bound.words[:1].lower()}{bound.words[1:]}")
    return Bottleneck("takeover", found[0].controller, None, None, " ".join(told))


def _returns(happening: Mapping[str, Any], controller: str) -> bool:
    return (happening["kind"], happening.get("controller")) == ("controller_returned", controller)
