"""Writes what happened in a simulated array as events and states, as rules know them (domain/vocabulary.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sim.bottleneck import waits
from storscope.sim.happenings import Happening
from storscope.sim.rate_limits import allowed_words

_LOGGED = "array_event"
"""What a log of an array says and the vocabulary has no name for. Its first one says that there is a log: where no
drive failed, rules then know that none did."""


def record_happenings(
    recorder: Recorder, system: str, design: Mapping[str, Any], components: Sequence[Mapping[str, Any]],
    happenings: Sequence[Happening], start_ns: int,
) -> None:  # fmt: skip
    """All that happened, and in which state drives and caches were at the end. What had no effect is not there.

    `components` are the array's, as `record_array` takes them.
    """
    recorder.event(EntityRef(system, "array", system), start_ns, _LOGGED, "the simulation begins")
    for one in happenings:
        if one.no_effect is None and one.form is not None:
            entity, kind, attributes = _event(system, one.form)
            recorder.event(entity, start_ns + one.time_ns, kind, one.words, attributes=attributes)
    _record_drives(recorder, system, components, happenings)
    _record_caches(recorder, system, design, happenings)


def _event(system: str, form: Mapping[str, Any]) -> tuple[EntityRef, str, dict[str, str]]:
    kind = form["kind"]
    if kind == "drive_failed":
        return EntityRef(system, "disk", form["drive"]), "disk_failed", {}
    if kind == "data_lost":
        return EntityRef(system, "vdisk", form["volume"]), "data_lost", {}
    if kind in ("credits_spent", "limit_changed"):
        return _of_limit(system, form)
    if kind in ("cache_lost", "cache_restored"):
        policy = "write-through" if kind == "cache_lost" else "write-back"
        return EntityRef(system, "controller", form["controller"]), "cache_policy_changed", {"policy": policy}
    if kind == "volume_moved":
        return EntityRef(system, "vdisk", form["volume"]), "ownership_changed", {"owner": form["to"]}
    names = {"task_started": "rebuild_started", "task_finished": "rebuild_finished"}
    is_known = form["work"] != "scrub" and kind in names
    group = EntityRef(system, "disk_group", form["group"])
    state = "running" if kind == "task_started" else "ended"
    return group, names[kind] if is_known else _LOGGED, {"work": form["work"], "state": state}


def _of_limit(system: str, form: Mapping[str, Any]) -> tuple[EntityRef, str, dict[str, str]]:
    """Of a limit of rates. What is allowed from then on is told of the limit itself."""
    if form["kind"] == "credits_spent":
        return EntityRef(system, "array", system), _LOGGED, {"limit": form["limit"]}
    return EntityRef(system, "rate_limit", form["limit"]), "limit_changed", {"allowed": allowed_words(form["to"])}


def _record_drives(
    recorder: Recorder, system: str, components: Sequence[Mapping[str, Any]], happenings: Sequence[Happening]
) -> None:
    """The state of each spare that never took a drive's place and of each drive that failed, at the end."""
    states = {one["name"]: "spare" for one in components if waits(one)}
    for one in happenings:
        if one.form is None or one.no_effect is not None:
            continue
        if one.kind == "drive_failed":
            states[one.form["drive"]] = "failed"
        elif one.kind == "task_finished" and one.form["work"] == "rebuild":
            states.pop(one.form["drive"], None)
    for drive, state in states.items():
        recorder.fact(EntityRef(system, "disk", drive), "state", state)


def _record_caches(recorder: Recorder, system: str, design: Mapping[str, Any], happenings: Sequence[Happening]) -> None:
    """Whether each controller writes back, at the end."""
    cache = design["cache"]
    if cache is None or cache["write"] is None:
        return
    lost = {one.form["controller"]: one.kind == "cache_lost" for one in happenings
            if one.form is not None and one.kind in ("cache_lost", "cache_restored")}  # fmt: skip
    for controller in design["controllers"]:
        state = "disabled" if lost.get(controller["name"]) else "enabled"
        recorder.fact(EntityRef(system, "controller", controller["name"]), "write_cache", state)
