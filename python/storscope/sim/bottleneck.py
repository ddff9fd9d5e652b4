"""What bounds a simulated run: a component that is in use to the full, a queue limit, the load itself.

It is reasoned from three things over the same time: which share of what it can do at a time each component was used
for, at which queue limits I/Os waited, and in which parts an I/O spends its time. The rule of thumb is that of queueing
networks (Denning and Buzen 1978): the station with the greatest utilisation bounds the throughput; a limit bounds it
where I/Os wait before it although nothing behind it is in use to the full. The thresholds below are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from storscope.domain.units import NS_PER_S, format_bandwidth, format_duration, format_ratio
from storscope.sim.queue_limits import PART_OF_LIMIT, Binding, binding, binding_of, binding_words
from storscope.sim.time_parts import part_words
from storscope.sim.used import FULL, NAMED_AT_MOST, Used, is_near, listed, used_components, works
from storscope.sim.volume_time import BEFORE_SENDING, MUCH, VolumeTime

_BEYOND_DOUBT = 0.95
"""Used for less, and with little of the time of I/Os, a component is not all that counts; used for more, it may be that
of some I/Os alone."""
_MOSTLY = 0.5
"""Share of what reads wait in flash that makes what its dies do for writes its cause."""
_PARTS_OF = {
    "drive": ("drive_queue", "drive_service", "join"), "controller": ("controller_queue", "controller_service"),
    "front_end_link": ("front_end",), "back_end_link": ("back_end",), "mirror_link": ("mirror_link",),
    "flash": ("host_flash",), "rate_limit": ("rate_limit",),
}  # fmt: skip
_EMPTIES_CACHE = ("drive", "back_end_link", "controller")
"""What pages go through when they are destaged."""
_NEARLY_ALL = 0.9
"""Share of the requests at a kind of components from which on they are said to be at those named."""
_AT = {
    "drive": "at drives", "controller": "at controllers", "front_end_link": "on front-end links",
    "back_end_link": "on back-end links", "mirror_link": "on mirror links", "flash": "in flash of hosts",
    "rate_limit": "at rate limits",
}  # fmt: skip
_SHORT = {
    "load": "load", "cache": "write cache is full", "few_drives": "few drives at a time", "no_time": "nothing",
    "unknown": "not known", "phases": "phase by phase", "takeover": "takeover of a controller",
}  # fmt: skip
"""Of what is no component and no limit."""


@dataclass(frozen=True)
class Bottleneck:
    """What bounds the run."""

    kind: str
    """`limit`, `cache`, `load`, `few_drives`, `no_time`, `takeover`, `unknown`, or the kind of the component."""
    name: str | None
    used_ratio: float | None
    """Of the component named, or of the most used one."""
    time_share: float | None
    """Share of the time of I/Os, from when they were sent, at what is of the kind; of `load` of all their time."""
    words: str
    part: str | None = None
    """Of `load` the part in which I/Os spend most of their time."""
    alike: int = 1
    """How many of the kind bound it alike, the one named among them."""
    is_at_times: bool = False
    """Whether that is so for a part of the time only, in which nearly all I/Os are there (crowded_times.py)."""
    background: str | None = None
    """Background work that its words name with its kind, since I/Os wait behind it."""

    @property
    def short(self) -> str:
        """A few words for a table: 'drive md0 96 %', 'load'. `words` has the reason."""
        if self.kind in _SHORT:
            return _SHORT[self.kind]
        others = "" if self.alike == 1 else f" and {self.alike - 1} more"
        if self.kind == "limit":
            return f"queue limit of {self.name}{others}"
        ratio = "" if self.used_ratio is None else f" {format_ratio(self.used_ratio)}"
        kind = "rate limit of" if self.kind == "rate_limit" else self.kind.replace("_", "-")
        return f"{kind} {self.name}{others}{ratio}{' at times' if self.is_at_times else ''}"


def bottleneck(
    window: Mapping[str, Any], parts: Mapping[str, float], convoys: Mapping[str, tuple[float, float]], *,
    is_open: bool, room_ns: float = 0.0, ios: int = 0, flush_share: float = 0.0, volumes: Sequence[VolumeTime] = (),
) -> Bottleneck:  # fmt: skip
    """What bounds a part of a run.

    `parts` has the time of all I/Os by part, `convoys` the groups in which requests gather at one drive after
    another, with the share of them that the fullest drive holds and what chance would give it; `is_open` is whether
    I/Os arrive whatever the array does; `room_ns` is the time that writes wait for room in the cache; `ios` is how many
    were answered; `flush_share` is what flushes take of the time; `volumes` has the time of each host on each volume,
    so that what some wait for is seen beside others that are slow for another reason.

    Shares are of the time from when I/Os were sent: how many wait before that is a matter of how many may be in flight,
    and grows with the time that the run is overloaded for, whatever it is that they wait for.
    """
    whole = sum(parts.values())
    used = used_components(window["components"])
    top = used[0] if used else None
    if not whole:
        return _no_time(top, ios)
    sent = {name: time for name, time in parts.items() if name != BEFORE_SENDING}
    total = sum(sent.values())
    shares = {name: time / total for name, time in sent.items()} if total else {}
    room_share = room_ns / total if total else 0.0
    unsent_share = parts.get(BEFORE_SENDING, 0.0) / whole
    beside = _beside(window, used, shares)
    background = listed([_task_name(one) for one in beside]) if beside else None
    why = _behind_writes(window["components"], used, shares) + _beside_words(beside, window, used, is_open=is_open)
    found = _behind(used, shares, window["limits"], volumes, convoys, room_share, unsent_share)
    if found is not None:
        found = replace(found, words=found.words + why)
    found = found or _behind_some(volumes, window["limits"], top, total, why)
    if found is None:
        found = _load({name: time / whole for name, time in parts.items()}, top, is_open=is_open, flushes=flush_share)
        return replace(found, words=found.words + why, background=background)
    found = replace(found, background=background)
    if unsent_share < MUCH:
        return found
    before = f" Before that, {format_ratio(unsent_share)} of all their time, they wait to be sent."
    return replace(found, words=found.words + before)


def _behind(
    used: Sequence[Used], shares: Mapping[str, float], limits: Sequence[Mapping[str, Any]],
    volumes: Sequence[VolumeTime], convoys: Mapping[str, tuple[float, float]], room_share: float, unsent_share: float,
) -> Bottleneck | None:  # fmt: skip
    """What bounds the run behind the load; None if nothing does."""
    top = used[0] if used else None
    when = ", once sent," if unsent_share >= MUCH else ""
    binds = binding(limits, volumes)
    limit_share = binds.waited(shares, limits)
    if top is not None and top.ratio >= FULL:
        return _full(used, shares, binds.limits, limit_share, room_share, when)
    if limit_share >= MUCH:
        before = _before(binds, binds.waited_before(shares, limits) / limit_share)
        return _limited(binds, limit_share, top, convoys, _wait(limit_share, when), before)
    if room_share >= MUCH:
        return _without_room(room_share, top, _wait(room_share, when))
    return _few_drives(convoys, shares, top)


def _behind_writes(
    components: Sequence[Mapping[str, Any]], used: Sequence[Used], shares: Mapping[str, float]
) -> str:  # fmt: skip
    """That reads wait at flash for what its dies do for writes, where it is used for less than its waits would suggest.

    A die does one thing after another, and moves pages in bursts of some ms: a read waits for its die although most
    others have nothing to do. How much a drive is used is the mean of its dies and does not tell that.
    """
    if shares.get("drive_queue", 0.0) < MUCH:
        return ""
    waits: dict[str, list[int]] = {}
    for one in components:
        if one["kind"] == "drive" and works(one) and one.get("read_wait_ns") is not None:
            sums = waits.setdefault(one["group"] or one["name"], [0, 0, 0])
            for index, count in enumerate((one["read_wait_ns"], one["read_wait_for_writes_ns"], one["operations"][0])):
                sums[index] += count
    if not waits:
        return ""
    group = max(waits, key=lambda name: waits[name][0])
    own = next((one for one in used if one.kind == "drive" and one.name == group), None)
    all_ns, for_writes_ns, reads = waits[group]
    if own is None or own.ratio >= FULL or not for_writes_ns or for_writes_ns < _MOSTLY * all_ns:
        return ""
    where = own.words if own.count == 1 else f"the {own.count} drives of {group}"
    return (
        f" Reads wait at {where} for dies that program or move pages for writes, "
        f"{format_ratio(for_writes_ns / all_ns)} of their wait there, {format_duration(for_writes_ns / reads)} each on "
        "average: a die does one thing after another, however little all of them are used on average. Fewer writes "
        "shorten that wait, and drives that stop such work for reads (`suspend`)."
    )


def _beside(
    window: Mapping[str, Any], used: Sequence[Used], shares: Mapping[str, float]
) -> list[Mapping[str, Any]]:  # fmt: skip
    """The background work that runs on drives, where I/Os spend much of their time below queue limits.

    Before a limit they wait for those below it. The cache they wait for because of drives that are used to the full:
    these empty it, and bring what is read ahead. Work that has begun nothing was stopped before.
    """
    tasks = [one for one in window.get("background", ()) if one["bytes"] and one["has_begun"]]
    below = 1.0 - sum(shares.get(part, 0.0) for part in PART_OF_LIMIT.values())
    full = {one.name for one in used if one.kind == "drive" and one.ratio >= FULL}
    for_cache = shares.get("cache_wait", 0.0) if any(one["group"] in full for one in tasks) else 0.0
    is_behind = _share_at("drive", shares) + for_cache >= MUCH * below > 0.0
    return tasks if tasks and window["duration_ns"] and is_behind else []


def _beside_words(
    tasks: Sequence[Mapping[str, Any]], window: Mapping[str, Any], used: Sequence[Used], *, is_open: bool
) -> str:  # fmt: skip
    if not tasks:
        return ""
    named = [_task_words(one, one["bytes"] / window["duration_ns"] * NS_PER_S) for one in tasks]
    runs = "runs" if len(tasks) == 1 else "run"
    free = _without_rate(tasks, used, is_open=is_open)
    return f" Meanwhile {listed(named)} {runs}, which hosts wait behind, too.{free}"


def _without_rate(tasks: Sequence[Mapping[str, Any]], used: Sequence[Used], *, is_open: bool) -> str:
    """What holds background work back that no `rate` does: hosts alone, or how little of it is under way at a time.

    Its requests have no lower place in drives' queues: hosts in a closed loop get answers, and ask again, more seldom.
    """
    free = [one for one in tasks if one["rate_bytes_per_s"] is None]
    if not free:
        return ""
    full = {one.name for one in used if one.kind == "drive" and one.ratio >= FULL}
    takes = " Without a `rate` it takes what they leave of the drives"
    less = "" if is_open else " In a closed loop they ask for less the longer they wait, and so leave it more."
    if any(one["group"] in full for one in free):
        return f"{takes}.{less}"
    under_way = ", as far as what it has under way at a time (`outstanding`) can use it: they are not used to the full."
    return f"{takes}{under_way}{less}"


def _task_words(task: Mapping[str, Any], per_s: float) -> str:
    """'rebuild 'spare' (drives of pool, 20 MB/s of the 20 MB/s that its `rate` allows)'."""
    most = task["rate_bytes_per_s"]
    allowed = "" if most is None else f" of the {format_bandwidth(most)} that its `rate` allows"
    return f"{_task_name(task)} (drives of {task['group']}, {format_bandwidth(per_s)}{allowed})"


def _task_name(task: Mapping[str, Any]) -> str:
    return f"{task['kind']} {task['name']!r}"


def _behind_some(
    volumes: Sequence[VolumeTime], limits: Sequence[Mapping[str, Any]], top: Used | None, total_ns: float, why: str
) -> Bottleneck | None:
    """What bounds some volumes of a run in which others spend so much time that it is little of the whole.

    `why` says what is behind the time that is spent at drives.
    """
    for limit in sorted((one for one in limits if one["waited"]), key=lambda one: -one["waiting_mean"]):
        behind = binding_of(limit, limits, volumes)
        binds = behind if behind.before else Binding([limit])
        held = [one for one in volumes if one.passes(limit) and one.spends_much(binds.waited(one.parts_ns, limits))]
        if held:
            waited_ns, before_ns = (
                sum(part(one.parts_ns, limits) for one in held) for part in (binds.waited, binds.waited_before)
            )
            wait, before = _some_wait(held, waited_ns, total_ns), _before(binds, before_ns / waited_ns)
            found = _limited(binds, waited_ns / total_ns, top, {}, wait, before)
            return _beside_others(found, held, volumes, why)
    held = [one for one in volumes if one.spends_much(one.room_ns)]
    if not held:
        return None
    room_ns = sum(one.room_ns for one in held)
    found = _without_room(room_ns / total_ns, top, _some_wait(held, room_ns, total_ns))
    return _beside_others(found, held, volumes, why)


def _before(binds: Binding, share: float) -> str:
    """Where those wait for a place who do not reach the limit that binds; `share` of the wait."""
    if not binds.before:
        return ""
    named, _ = binding_words(binds.before, NAMED_AT_MOST)
    it = "it" if len(binds.limits) == 1 else "them"
    greater = "a greater one" if len(binds.before) == 1 else "greater ones"
    return f" {format_ratio(share)} of that they wait before {it}, at {named}: {greater} would only move the wait."


def _wait(share: float, when: str = "") -> str:
    return f"I/Os wait {format_ratio(share)} of their time{when}"


def _some_wait(held: Sequence[VolumeTime], waited_ns: float, total_ns: float) -> str:
    own, whole = (format_ratio(waited_ns / time_ns) for time_ns in (sum(one.sent_ns for one in held), total_ns))
    return f"I/Os of {listed([one.name for one in held])} wait {own} of their time ({whole} of that of all I/Os)"


def _beside_others(
    found: Bottleneck, held: Sequence[VolumeTime], volumes: Sequence[VolumeTime], why: str
) -> Bottleneck:  # fmt: skip
    others = (
        "" if len(held) == sum(bool(one.parts_ns) for one in volumes) else " For other volumes the load is the limit."
    )
    return replace(found, words=f"{found.words}{why}{others}")


def _no_time(top: Used | None, ios: int) -> Bottleneck:
    if not ios:
        return Bottleneck("unknown", None, None, None, "Not known: no I/O was answered in the time that counts.")
    words = (
        "Nothing in the design: I/Os take no time, since nothing on their way has a cost (cost_per_op of a controller, "
        "or a link)."
    )
    return Bottleneck("no_time", None, None if top is None else top.ratio, None, words + _most_used_words(top))


def _most_used_words(top: Used | None) -> str:
    return "" if top is None else f" The most used: {top.words}, to {format_ratio(top.ratio)}."


def _full(
    used: Sequence[Used], shares: Mapping[str, float], limits: Sequence[Mapping[str, Any]], limit_share: float,
    room_share: float, when: str,
) -> Bottleneck:  # fmt: skip
    top = used[0]
    alike = [one for one in used if one.kind == top.kind and is_near(one.ratio, top.ratio)]
    alike.sort(key=lambda one: one.name)
    share = _share_at(top.kind, shares)
    empties = room_share >= MUCH and top.kind in _EMPTIES_CACHE
    there, beside = _where(used, alike)
    words = f"{_used_words(alike)}; I/Os spend {format_ratio(share)} of their time{when} {there}{beside}."
    if empties:
        words = (
            f"{_used_words(alike)} and {_no_faster(alike, top)}: I/Os wait for room in it "
            f"{format_ratio(room_share)} of their time{when.removesuffix(',')}."
        ) + (f" Another {format_ratio(share)} they spend {there}{beside}." if share >= MUCH else "")
    if share < MUCH:
        words += _elsewhere(used, shares, 0.0 if top.ratio < _BEYOND_DOUBT else FULL)
    if limit_share >= MUCH:
        named, _ = binding_words(limits, NAMED_AT_MOST)
        lets = "lets" if len(limits) == 1 else "let"
        words += f" Another {format_ratio(limit_share)} they wait in the host: {named} {lets} no more through."
    fills, or_empties = ("these fill", "empty") if _is_plural(alike) else ("it fills", "empties")
    if not empties and shares.get("cache_wait", 0.0) >= MUCH:
        waited = format_ratio(shares["cache_wait"])
        words += f" Another {waited} they wait for the cache, which {fills} or {or_empties}."
    elif not empties and top.kind in _EMPTIES_CACHE and room_share > share:
        which = f"{fills.split()[0]} {or_empties}"
        words += f" Another {format_ratio(room_share)} they wait for room in the write cache, which {which}."
    for one in alike[:NAMED_AT_MOST]:
        if one.kind == "drive" and one.count > 1 and not one.is_alike:
            words += f" The {one.count} drives of {one.name} are used to {format_ratio(one.mean_ratio)} on average."
    first = alike[0]
    name = first.name if first.is_alike else first.most_name
    return Bottleneck(top.kind, name, first.ratio, share, words, alike=len(alike))


def _no_faster(alike: Sequence[Used], top: Used) -> str:
    """That what empties the write cache can do no more; of what has pauses, as long as no more destages fill these.

    A destage to a log has a request for each drive of a stripe, so that few of them leave drives idle for a while.
    """
    said = "cannot empty the write cache faster"
    if top.ratio >= _BEYOND_DOUBT:
        return said
    have = "they have" if _is_plural(alike) else "it has"
    return f"{said}, unless more destages under way at a time (`destages`) fill the pauses that {have}"


def _where(used: Sequence[Used], alike: Sequence[Used]) -> tuple[str, str]:
    """Where I/Os spend the time that is known of all components of a kind, and how much of it those named have.

    That is told by requests, of hosts and of background work alike.
    """
    kind = alike[0].kind
    named = [one.named_requests for one in alike]
    everywhere = [one.requests for one in used if one.kind == kind]
    here = sum(one for one in named if one is not None)
    whole = sum(one for one in everywhere if one is not None)
    if None in (*named, *everywhere) or here >= _NEARLY_ALL * whole:
        return "there", ""
    those = "those named" if _is_plural(alike) else "the one named"
    return _AT[kind], f", where {format_ratio(here / whole)} of the requests are at {those}"


def _share_at(kind: str, shares: Mapping[str, float]) -> float:
    return sum(shares.get(part, 0.0) for part in _PARTS_OF.get(kind, ()))


def _used_words(alike: Sequence[Used]) -> str:
    """'The 20 drives of a and the 20 drives of b are used to 91 %'."""
    least, most = (format_ratio(bound(one.ratio for one in alike)) for bound in (min, max))
    ratio = least if least == most or least.startswith(">") else f"between {least} and {most}"
    verb = "are" if _is_plural(alike) else "is"
    return f"{_first_upper(listed([one.words for one in alike]))} {verb} used to {ratio}"


def _is_plural(alike: Sequence[Used]) -> bool:
    return len(alike) > 1 or alike[0].is_many


def _elsewhere(used: Sequence[Used], shares: Mapping[str, float], least: float) -> str:
    """Where I/Os spend much of their time, if it is at components of another kind than the most used one.

    These have to be used to `least`: beside one that is used to the full beyond doubt only what is full, too, counts,
    for other I/Os than those that meet the first.
    """
    others = [one for one in used if one.kind != used[0].kind]
    most = max(others, key=lambda one: _share_at(one.kind, shares), default=None)
    if most is None or _share_at(most.kind, shares) < MUCH or most.ratio < least:
        return ""
    kind = [one.words for one in others if one.kind == most.kind]
    which = "which" if len(kind) == 1 else f"of which {most.words}"
    place = most.words if len(kind) == 1 else f"{most.kind.replace('_', ' ')}s"
    verb = "are" if most.is_many else "is"
    share = format_ratio(_share_at(most.kind, shares))
    return f" They spend {share} of it at {place}, {which} {verb} used to {format_ratio(most.ratio)}: both count."


def _limited(
    binds: Binding, share: float, top: Used | None, convoys: Mapping[str, tuple[float, float]], wait: str, before: str,
) -> Bottleneck:  # fmt: skip
    """`wait` says who waits, and how much: 'I/Os wait 40 % of their time'; `before` what of it before other limits."""
    limits = binds.limits
    it, it_lets, verb = ("it", "it lets", "binds") if len(limits) == 1 else ("them", "they let", "bind")
    behind = "" if top is None else f" Behind {it}, {top.words} is the most used, to {format_ratio(top.ratio)}."
    if top is not None and top.is_many:
        behind = behind.replace(" is the most used", " are the most used")
    gathered = f" What {it_lets} through gathers at few drives at a time: {_gathered(convoys)}." if convoys else ""
    named, full = binding_words(limits, NAMED_AT_MOST)
    words = (
        f"{_first_upper(named)} {verb}: {wait} for a place, and all are taken {full} of the time."
        f"{before}{behind}{gathered}"
    )
    name = f"{limits[0]['kind']} {limits[0]['name']}"
    return Bottleneck("limit", name, None if top is None else top.ratio, share, words, alike=len(limits))


def _without_room(share: float, top: Used | None, wait: str) -> Bottleneck:
    """A full write cache although nothing behind it is: as many destages as may be are under way."""
    words = (
        f"The write cache is full: {wait} for room in it, which destaging makes. No component is used to the full; "
        "how many destages are under way at a time (`destages`) decides."
        f"{_most_used_words(top)}"
    )
    return Bottleneck("cache", None, None if top is None else top.ratio, share, words)


def _few_drives(
    convoys: Mapping[str, tuple[float, float]], shares: Mapping[str, float], top: Used | None
) -> Bottleneck | None:
    """Requests that stand at few drives at a time although the drives are hardly used on average."""
    at_drives = sum(shares.get(part, 0.0) for part in _PARTS_OF["drive"])
    if not convoys or at_drives < MUCH or top is None:
        return None
    words = (
        f"Few drives at a time: {_gathered(convoys)}. The most used "
        f"{'are' if top.is_many else 'is'} {top.words}, to {format_ratio(top.ratio)} only, on average "
        "over the time."
    )
    return Bottleneck("few_drives", _deepest(convoys), top.ratio, at_drives, words)


def _deepest(convoys: Mapping[str, tuple[float, float]]) -> str:
    return max(convoys, key=lambda name: convoys[name][0])


def _gathered(convoys: Mapping[str, tuple[float, float]]) -> str:
    group = _deepest(convoys)
    fullest, chance = convoys[group]
    return (
        f"at an average instant one drive of {group} holds {format_ratio(fullest)} of all requests at drives (by "
        f"chance: {format_ratio(chance)}), and not always the same one: they follow each other from drive to drive"
    )


def _load(shares: Mapping[str, float], top: Used | None, *, is_open: bool, flushes: float) -> Bottleneck:
    most = max(shares, key=lambda part: shares[part], default=None)
    where = "" if most is None else f" {format_ratio(shares[most])} of an I/O's time is {part_words(most)}."
    if is_open and shares.get(BEFORE_SENDING, 0.0) >= MUCH:
        first = "The workload's own limit binds: as many I/Os as it allows are in flight, and others wait to be sent."
    elif is_open:
        first = "Nothing is used to the full: the array does what it is asked for."
    elif flushes >= MUCH:
        first = (
            f"Nothing is used to the full: the load is the limit, and waits for its flushes {format_ratio(flushes)} of "
            "the time. More writers at a time, or fewer flushes, would get more done."
        )
    else:
        first = "Nothing is used to the full: the load is the limit, and more outstanding I/Os would get more done."
    return Bottleneck(
        "load",
        None,
        None if top is None else top.ratio,
        shares.get(most or "", 0.0),
        first + _most_used_words(top) + where,
        most,
    )


def _first_upper(words: str) -> str:
    return words[:1].upper() + words[1:]
