"""What happens in a simulated run beside I/Os, in words: what was scheduled, what the array did, what did nothing.

From the array's own list (happening.rs), the schedule's streams, and what is scheduled after the run's end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storscope.domain.units import format_bytes, format_instant, format_span
from storscope.sim.design import Design
from storscope.sim.rate_limits import allowed_words

_NAMED_AT_MOST = 4
WORK_WORDS = {"rebuild": "rebuild", "restripe": "restriping", "scrub": "scrub"}
"""Background work by its kind."""


@dataclass(frozen=True)
class Happening:
    """Something that happened, or was asked for and did not."""

    time_ns: int
    """Since the run's start."""
    kind: str
    """As happening.rs names it; `stream_starts`, `stream_ends`."""
    words: str
    no_effect: str | None = None
    """Why it made no difference, in words; None if it did."""
    form: Mapping[str, Any] | None = None
    """The array's own entry."""

    @property
    def is_change(self) -> bool:
        """Whether the run is another one from then on."""
        return self.no_effect is None and self.kind != "data_lost"

    @property
    def sentence(self) -> str:
        """With the reason why it did nothing."""
        return self.words if self.no_effect is None else f"{self.words}: nothing happened, {self.no_effect}"


def ended_ns(report: Mapping[str, Any], intervals_end_ns: int, *, is_cut: bool) -> int:
    """When a run ended: with its intervals, or when data was lost after the last whole one, which cut it short."""
    lost_ns = [form["time_ns"] for form in report["happenings"] if form["kind"] == "data_lost"]
    return max(intervals_end_ns, *lost_ns) if is_cut and lost_ns else intervals_end_ns


def happenings(design: Design, report: Mapping[str, Any], end_ns: int) -> list[Happening]:
    """All of them in order of time. `end_ns` is when the run ended; the array itself may have gone on, and has told.

    The end of a takeover after that is left out: the run only waits for it to have its last I/Os answered.
    """
    found = [_of_array(form) for form in report["happenings"] if not _ends_wait_after(form, end_ns)]
    found += [*_streams(design, end_ns), *_never(design, end_ns, max(end_ns, report["duration_ns"]))]
    return sorted(found, key=lambda one: one.time_ns)


def _ends_wait_after(form: Mapping[str, Any], end_ns: int) -> bool:
    return bool(form["kind"] == "controller_replaced" and form["time_ns"] > end_ns)


def _of_array(form: Mapping[str, Any]) -> Happening:
    words = _WORDS[form["kind"]](form)
    if not form["scheduled"] and form["kind"] == "volume_moved":
        words += ", by the array itself: most of its reads came through that one"
    reason = form["no_effect"]
    return Happening(
        form["time_ns"], form["kind"], words, None if reason is None else _reason(reason, form), form
    )  # fmt: skip


def _failed(form: Mapping[str, Any]) -> str:
    if form["no_effect"] is not None:
        return f"drive {form['drive']} fails"
    if not form["has_spare"]:
        return f"drive {form['drive']} fails; there is no spare, so that nothing is rebuilt"
    if not form["has_rebuild"]:
        return f"drive {form['drive']} fails; the design has no rebuild for {form['group']} ([[background]])"
    return f"drive {form['drive']} fails"


def _lost(form: Mapping[str, Any]) -> str:
    if (cache := form["cache"]) is not None:
        held = f"{format_bytes(cache['bytes'])} that hosts were told was written"
        return f"data of volume {form['volume']} is lost: only controller {cache['controller']} had {held}"
    drives = _listed(form["drives"])
    return f"data of volume {form['volume']} is lost: {drives} failed, more than {form['group']} survives"


def _cache_lost(form: Mapping[str, Any]) -> str:
    if form["scheduled"]:
        return f"controller {form['controller']} loses its write cache: writes go through"
    return f"controller {form['controller']} is alone and has nobody to mirror writes to: they go through"


def _controller_failed(form: Mapping[str, Any]) -> str:
    if form["no_effect"] is not None:
        return f"controller {form['controller']} fails"
    words = f"controller {form['controller']} fails"
    words += _with_volumes(form["volumes"], f": controller {form['to']} takes over {{}}")
    if form["takeover_ns"] > 0:
        words += f"; what is sent to it waits for {format_span(form['takeover_ns'])}"
    return words


def _with_volumes(names: Sequence[str], words: str) -> str:
    """With the names of volumes put in, of many how many they are; nothing without any."""
    if not names:
        return ""
    if len(names) > _NAMED_AT_MOST:
        return words.format(f"its {len(names)} volumes")
    volumes = "volume" if len(names) == 1 else "volumes"
    return words.format(f"{volumes} {_joined(names)}")


def _task(form: Mapping[str, Any]) -> str:
    of = f" of {form['drive']}" if form["drive"] else f" of {form['group']}"
    return f"{WORK_WORDS[form['work']]} {form['task']!r}{of}" if form["task"] != form["work"] else f"{form['task']}{of}"


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "drive_failed": _failed,
    "data_lost": _lost,
    "task_started": lambda form: f"{_task(form)} begins",
    "task_finished": lambda form: f"{_task(form)} is done, {format_bytes(form['bytes'])} until then",
    "task_stopped": lambda form: f"{_task(form)} is stopped, {format_bytes(form['bytes'])} until then",
    "task_failed": lambda form: (
        f"{_task(form)} cannot go on, since what it has to read is lost, too; {format_bytes(form['bytes'])} until then"
    ),
    "cache_lost": _cache_lost,
    "cache_restored": lambda form: f"controller {form['controller']} has its write cache again",
    "flash_cache_lost": lambda form: f"host {form['host']} loses its flash cache: its reads go to the array",
    "flash_cache_restored": lambda form: f"host {form['host']} has its flash cache again, empty",
    "controller_failed": _controller_failed,
    "controller_replaced": lambda form: (
        f"controller {form['to']} has taken over from controller {form['controller']}: what waited for that goes on"
    ),
    "controller_returned": lambda form: (
        f"controller {form['controller']} works again" + _with_volumes(form["volumes"], " and gets back {}")
    ),
    "credits_spent": lambda form: (
        f"the credits of {form['limit']} for bursts{' of bytes' if form['counted'] == 'bytes' else ''} are spent"
    ),
    "limit_changed": lambda form: _limit_words(form["limit"], form["from"], form["to"]),
    "volume_moved": lambda form: f"volume {form['volume']} moves from controller {form['from']} to {form['to']}",
}


def _limit_words(name: str, before: Mapping[str, Any] | None, limit: Mapping[str, Any] | None) -> str:
    if before == limit:
        return f"the limits of {name} change"
    if limit is None:
        return f"the limit of {name} ({allowed_words(before)}) is lifted"
    return f"the limit of {name} is {allowed_words(limit)} from now on, {allowed_words(before)} before"


def _listed(names: Sequence[str]) -> str:
    return f"{'drive' if len(names) == 1 else 'drives'} {_joined(names)}"


def _joined(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


_REASONS = {
    "nothing_failed": "since no drive of {group} has failed",
    "no_spare": "since {group} has no spare to rebuild to",
    "rebuilt": "since all that failed of {group} is rebuilt",
    "too_much_lost": "since too many drives of {group} have failed",
    "controller_failed": "since that controller has failed",
    "no_write_cache": "since the design has no write cache",
}


def _reason(code: str, form: Mapping[str, Any]) -> str:
    if code in _REASONS:
        return _REASONS[code].format(**form)
    return {
        "drive_failed": "since it had failed before", "task_started": "since it runs already",
        "task_stopped": "since it does not run", "volume_moved": "since it is there already",
        "limit_changed": "since they were so already", "controller_failed": "since it had failed before",
        "controller_returned": "since it had not failed",
    }.get(form["kind"], "since it was so already")  # fmt: skip


def _streams(design: Design, end_ns: int) -> list[Happening]:
    found = []
    for name, lifetime in design.lifetimes.items():
        for kind, at_ns, verb in (
            ("stream_starts", lifetime.start_ns, "starts"), ("stream_ends", lifetime.end_ns, "ends"),
        ):  # fmt: skip
            if at_ns and at_ns < end_ns:
                found.append(Happening(at_ns, kind, f"stream {name!r} {verb}"))
            elif at_ns and kind == "stream_starts":
                found.append(Happening(at_ns, kind, f"stream {name!r} {verb}", _too_late(end_ns)))
    return found


def _never(design: Design, end_ns: int, reached_ns: int) -> list[Happening]:
    """What is scheduled after the latest instant that the array got to."""
    found = []
    for change in design.form["changes"]:
        if change["time_ns"] > reached_ns:
            ((kind, value),) = ((key, said) for key, said in change.items() if key != "time_ns" and said is not None)
            found.append(Happening(change["time_ns"], kind, _asked(kind, value), _too_late(end_ns)))
    starts = [(task["start_ns"], f"{task['name']} starts") for task in design.form["background"]]
    words = [(at_ns, said) for at_ns, said in starts if at_ns is not None and at_ns > reached_ns]
    return found + [Happening(at_ns, "background_starts", said, _too_late(end_ns)) for at_ns, said in words]


def _too_late(end_ns: int) -> str:
    return f"since the run ended at {format_instant(end_ns)}"


def _asked(kind: str, value: Any) -> str:
    if kind == "drive_fails":
        return f"drive {value['group']}/{value['index']} fails"
    if kind == "controller_fails":
        return f"controller {value['controller']} fails"
    if kind == "volume_moves":
        return f"volume {value['volume']} moves to controller {value['to']}"
    if kind == "limits_change":
        owner = f"volume {value['volume']}" if value["volume"] is not None else f"host {value['host']}"
        return f"the limits of {owner} change"
    words = {
        "cache_lost": "controller {} loses its write cache",
        "cache_restored": "controller {} has its write cache again",
        "flash_cache_lost": "host {} loses its flash cache",
        "flash_cache_restored": "host {} has its flash cache again",
        "controller_returns": "controller {} works again",
        "background_starts": "{} starts", "background_stops": "{} stops",
    }  # fmt: skip
    return words[kind].format(value)
