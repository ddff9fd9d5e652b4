"""Shows a design in short, and the catalogue of drives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from storscope.domain.units import format_bytes

if TYPE_CHECKING:
    from storscope.domain.workload import Workload
    from storscope.sim.design import Design


def print_design(design: Design, *, as_json: bool, workload: Workload | None = None) -> None:
    """What a design is: in short, or as JSON all that was read, with what was left to its default.

    In short also where the streams of a `workload` run that was read for it.
    """
    form = design.form
    if as_json:
        click.echo(json.dumps({"file": design.where, "design": form}, indent=2, ensure_ascii=False))
        return
    click.secho(design.name, bold=True)
    for group in form["groups"]:
        spares = f" and {group['spares']} {'spare' if group['spares'] == 1 else 'spares'}" if group["spares"] else ""
        segment = format_bytes(group["segment_bytes"])
        is_pool = group["layout"] == "pool"
        words = f"pool ({group['redundancy'] or 'raid0'})" if is_pool else group["layout"]
        click.echo(
            f"  group {group['name']}: {group['count']} x {group['drive']}{spares}, {words}, segments of {segment}"
        )
    for volume in form["volumes"]:
        owner = f", served by {volume['owner']}" if volume["owner"] else ""
        click.echo(f"  volume {volume['name']}: {format_bytes(volume['size_bytes'])} on {volume['group']}{owner}")
    click.echo(f"  controllers: {', '.join(one['name'] for one in form['controllers']) or 'none'}")
    groups = {group["name"]: group for group in form["groups"]}
    for task in form["background"]:
        idle = _idle(task, groups[task["group"]])
        click.echo(f"  background {task['name']}: {task['kind']} of {task['group']}{idle}")
    click.echo(f"  for workloads: {', '.join(one.name for one in design.attachments)}")
    if workload is not None:
        for stream in workload.streams:
            places = ", ".join(design.attachments[target].name for target in stream.targets)
            click.echo(f"  stream {stream.name}: on {places}")


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
