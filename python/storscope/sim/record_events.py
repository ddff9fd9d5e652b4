"""Writes what happened in a simulated array as events and states, as rules know them (domain/vocabulary.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.sim.happenings import Happening
from storscope.sim.rate_limits import allowed_words
from storscope.sim.used import waits

_LOGGED = "array_event"
"""What a log of an array says and the vocabulary has no name for. Its first one says that there is a log: where no
drive failed, rules then know that none did."""


_POLICIES = {"cache_lost": "write-through", "cache_restored": "write-back"}


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
            for volume, owner in _moved_with_controller(one.form):
                vdisk = EntityRef(system, "vdisk", volume)
                words = f"volume {volume} moves to controller {owner}"
                recorder.event(vdisk, start_ns + one.time_ns, "ownership_changed", words, attributes={"owner": owner})
    _record_drives(recorder, system, components, happenings)
    _record_controllers(recorder, system, design, happenings)


def _moved_with_controller(form: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The volumes that move because a controller fails or returns, and where to."""
    to = {"controller_failed": "to", "controller_returned": "controller"}.get(form["kind"])
    return [(volume, form[to]) for volume in form["volumes"]] if to is not None else []


def _event(system: str, form: Mapping[str, Any]) -> tuple[EntityRef, str, dict[str, str]]:
    kind = form["kind"]
    if kind == "drive_failed":
        return EntityRef(system, "disk", form["drive"]), "disk_failed", {}
    if kind in ("data_lost", "volume_moved"):
        return _of_volume(system, form)
    if kind in ("credits_spent", "limit_changed"):
        return _of_limit(system, form)
    if "host" in form:
        return EntityRef(system, "array", system), _LOGGED, {"host": form["host"]}
    if "controller" in form:
        return _of_controller(system, form)
    names = {"task_started": "rebuild_started", "task_finished": "rebuild_finished"}
    is_known = form["work"] != "scrub" and kind in names
    group = EntityRef(system, "disk_group", form["group"])
    state = "running" if kind == "task_started" else "ended"
    return group, names[kind] if is_known else _LOGGED, {"work": form["work"], "state": state}


def _of_volume(system: str, form: Mapping[str, Any]) -> tuple[EntityRef, str, dict[str, str]]:
    vdisk = EntityRef(system, "vdisk", form["volume"])
    if form["kind"] == "volume_moved":
        return vdisk, "ownership_changed", {"owner": form["to"]}
    return vdisk, "data_lost", {"with": "drives" if form["cache"] is None else "cache"}


def _of_controller(system: str, form: Mapping[str, Any]) -> tuple[EntityRef, str, dict[str, str]]:
    kind, controller = form["kind"], EntityRef(system, "controller", form["controller"])
    if kind in ("cache_lost", "cache_restored"):
        return controller, "cache_policy_changed", {"policy": _POLICIES[kind]}
    to = {"to": form["to"]} if "to" in form else {}
    return controller, _LOGGED if kind == "controller_replaced" else kind, to


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


def _record_controllers(
    recorder: Recorder, system: str, design: Mapping[str, Any], happenings: Sequence[Happening]
) -> None:
    """Whether each controller writes back, at the end, and which ones have failed."""
    failed = {one.form["controller"]: one.kind == "controller_failed" for one in happenings
              if one.form is not None and one.kind in ("controller_failed", "controller_returned")}  # fmt: skip
    for controller, has_failed in failed.items():
        state = "failed" if has_failed else "normal"
        recorder.fact(EntityRef(system, "controller", controller), "state", state)
    cache = design["cache"]
    if cache is None or cache["write"] is None:
        return
    lost = {one.form["controller"]: one.kind == "cache_lost" for one in happenings
            if one.form is not None and one.kind in ("cache_lost", "cache_restored")}  # fmt: skip
    for controller in design["controllers"]:
        state = "disabled" if lost.get(controller["name"]) else "enabled"
        recorder.fact(EntityRef(system, "controller", controller["name"]), "write_cache", state)
