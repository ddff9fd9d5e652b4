"""Shows a design in short, and the catalogue of drives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.text_table import harmless, print_sentences
from storscope.domain.units import format_bytes, format_count, format_ratio
from storscope.sim.rate_limits import limit_words, limits_of

if TYPE_CHECKING:
    from storscope.domain.sweep import Point
    from storscope.domain.workload import Workload
    from storscope.sim.design import Design
    from storscope.sim.group_space import GroupSpace

_WORTH_NAMING = 0.01
"""Space that fills no round of extents or stripes is not named below this share of what the drives hold."""

_MOST_POINTS = 200


def print_design(
    design: Design, *, as_json: bool, workload: Workload | None = None, points: Sequence[Point] = ()
) -> None:
    """What a design is: in short, or as JSON all that was read, with what was left to its default.

    In short also where the streams of a `workload` run that was read for it; and which `points` a sweep has.
    """
    form, spaces = design.form, design.spaces
    if as_json:
        said = {"file": design.where, "design": form, "groups": [_space(one) for one in spaces]}
        swept = {"points": [{**one.__dict__, "words": one.words} for one in points]} if points else {}
        click.echo(json.dumps(said | swept, indent=2, ensure_ascii=False))
        return
    click.secho(harmless(design.name), bold=True)
    for group, space in zip(form["groups"], spaces, strict=True):
        spares = f" and {group['spares']} {'spare' if group['spares'] == 1 else 'spares'}" if group["spares"] else ""
        segment = format_bytes(group["segment_bytes"])
        is_pool = group["layout"] == "pool"
        words = f"pool ({group['redundancy'] or 'raid0'})" if is_pool else group["layout"]
        words += f" of {group['copies']} copies" if group["copies"] else ""
        words += f" with {group['parity']} parities" if group["parity"] else ""
        made = f"{group['count']} x {group['drive']}{spares}, {words}, segments of {segment}"
        click.echo(harmless(f"  group {group['name']}: {made}"))
        for line in _space_lines(space):
            print_sentences(line, "    ")
    for volume in form["volumes"]:
        owner = f", served by {volume['owner']}" if volume["owner"] else ""
        place = f"{format_bytes(volume['size_bytes'])} on {volume['group']}{owner}"
        click.echo(harmless(f"  volume {volume['name']}: {place}"))
        _print_limits(volume)
    click.echo(harmless(f"  controllers: {', '.join(one['name'] for one in form['controllers']) or 'none'}"))
    for host in form["hosts"]:
        if any(limits_of(host)):
            click.echo(harmless(f"  host {host['name']}"))
            _print_limits(host)
    groups = {group["name"]: group for group in form["groups"]}
    for task in form["background"]:
        idle = _idle(task, groups[task["group"]])
        click.echo(harmless(f"  background {task['name']}: {task['kind']} of {task['group']}{idle}"))
    click.echo(harmless(f"  for workloads: {', '.join(one.name for one in design.attachments)}"))
    if workload is not None:
        for stream in workload.streams:
            places = ", ".join(design.attachments[target].name for target in stream.targets)
            click.echo(harmless(f"  stream {stream.name}: on {places}"))
    if points:
        _print_points(points)


def _print_limits(one: Mapping[str, Any]) -> None:
    for suffix, limit in limits_of(one):
        print_sentences(f"limit of{suffix or ' all I/Os'}: {limit_words(limit)}", "    ")


def _print_points(points: Sequence[Point]) -> None:
    click.echo(f"\n{format_count(len(points))} point{'' if len(points) == 1 else 's'}:")
    for number, point in enumerate(points[:_MOST_POINTS], 1):
        click.echo(harmless(f"  {number}. {point.words}"))
    if len(points) > _MOST_POINTS:
        click.echo(f"  and {format_count(len(points) - _MOST_POINTS)} more: see --json")


def _space(space: GroupSpace) -> dict[str, Any]:
    """How much a group holds, for JSON."""
    return {
        "name": space.name, "raw_bytes": space.raw_bytes, "usable_bytes": space.usable_bytes,
        "volumes_bytes": space.volumes_bytes, "free_bytes": space.free_bytes,
        "spare_drives_bytes": space.spares * space.drive_bytes,
    }  # fmt: skip


def _space_lines(space: GroupSpace) -> tuple[str, str]:
    """How much a group holds and where the rest is; how much of it the volumes take."""
    usable, raw, drive = (format_bytes(size) for size in (space.usable_bytes, space.raw_bytes, space.drive_bytes))
    said = [f"usable {usable} of {raw} on {space.drives} x {drive}", *_overheads(space)]
    share = format_ratio(space.volumes_bytes / space.usable_bytes if space.usable_bytes else None)
    taken, left = format_bytes(space.volumes_bytes), format_bytes(space.free_bytes)
    return "; ".join(said), f"volumes take {taken} ({share}), {left} left"


def _overheads(space: GroupSpace) -> list[str]:
    """What holds no data of its own."""
    found = []
    if space.copies > 1:
        found.append(
            "half of it holds second copies"
            if space.copies == 2
            else f"{space.copies - 1} of {space.copies} segments are further copies"
        )
    if space.parity:
        found.append(f"{space.parity} of {space.data + space.parity} segments {_is(space.parity)} parity")
    if space.kept_ratio:
        found.append(f"{format_ratio(space.kept_ratio)} of each drive is kept free for failed ones")
    if space.unused_bytes >= _WORTH_NAMING * space.raw_bytes:
        found.append(f"{format_bytes(space.unused_bytes)} fills no whole round of extents or stripes")
    if space.spares:
        found.append(f"{space.spares} {'spare waits' if space.spares == 1 else 'spares wait'} beside it")
    return found


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _idle(task: dict[str, Any], group: dict[str, Any]) -> str:
    """Why a task will never have anything to do."""
    has_room = group["spares"] > 0 or group["spare_share"] > 0
    return "" if has_room or task["kind"] != "rebuild" else f"; it never runs, since {group['name']} has no spare"


def print_drives(*, as_json: bool) -> None:
    """The catalogue."""
    from storscope.sim.catalogue import catalogue

    entries = catalogue()
    if as_json:
        click.echo(json.dumps([entry.form for entry in entries], indent=2, ensure_ascii=False))
        return
    for entry in entries:
        click.echo(f"{click.style(entry.name, bold=True)}: {entry.title} ({format_bytes(entry.size_bytes)})")
        for source in entry.sources:
            click.echo(f"    {source}")
