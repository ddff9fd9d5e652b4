"""Prints workloads and what they lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from storscope.bench.workloads.builtin import OTHER_NAMES, builtins, name_words
from storscope.bench.workloads.definition import Definition, Sweep
from storscope.bench.workloads.describe import describe, describe_sweep
from storscope.bench.workloads.loss import Loss, LossKind
from storscope.domain.json_form import encode

_WIDTH = 110
_COLOURS = {LossKind.LOST: "red", LossKind.APPROXIMATED: "yellow", LossKind.ELSEWHERE: None}


def print_builtins() -> None:
    """One line a workload."""
    known = builtins()
    width = max(len(name_words(name)) for name in known)
    for name, item in known.items():
        click.echo(f"{click.style(name_words(name).ljust(width), bold=True)}  {item.title}")
    click.echo(f"\n{len(known)} workloads. Details and sources: storscope workload show NAME", err=True)


def builtins_to_json() -> list[dict[str, Any]]:
    """The catalogue as plain JSON values."""
    return [
        {
            "name": name,
            "other_names": [other for other, first in OTHER_NAMES.items() if first == name],
            "title": item.title,
            "workload": item.workload.to_json(),
            "sources": dict(item.sources),
        }
        for name, item in builtins().items()
    ]


def definition_to_json(definition: Definition) -> dict[str, Any]:
    """All of a definition as plain JSON values."""
    return {
        "form": definition.form,
        "workloads": [workload.to_json() for workload in definition.workloads],
        "others": [workload.to_json() for workload in definition.others],
        "sweep": encode(definition.sweep),
        "targets": list(definition.targets),
        "description": definition.description,
        "losses": [encode(loss) for loss in definition.losses],
    }


def print_definition(definition: Definition) -> None:
    """Every workload in words, the sweep, the sources of a built-in one, and the losses."""
    if definition.form == "builtin":
        click.echo(builtins()[definition.workloads[0].name].title)
    for number, workload in enumerate(definition.workloads):
        click.secho(("\n" if number else "") + _clean(workload.name), bold=True)
        for line in describe(workload):
            _wrapped(_clean(line), "    " if line.startswith("  ") else "  ")
    for line in describe_sweep(definition.sweep):
        _wrapped(line, "  ")
    names = _target_names(definition)
    if names:
        _wrapped(f"Targets in the file: {names}. bench takes those of its command line, in that order.", "  ")
    if definition.form == "builtin":
        _print_sources(definition)
    if definition.others:
        names = ", ".join(repr(_clean(workload.name)) for workload in definition.others)
        click.echo()
        _wrapped(f"Also defined, but not used by any worker (see --only): {names}", "")
    print_losses(definition.losses)


def _print_sources(definition: Definition) -> None:
    click.echo("\nWhere the numbers come from:")
    for what, source in builtins()[definition.workloads[0].name].sources.items():
        _wrapped(f"{what}: {source}", "  ")


def print_losses(losses: Sequence[Loss]) -> None:
    """On standard error: first how many, then each with its reason, the worst first."""
    if not losses:
        return
    order = list(LossKind)
    counts = ", ".join(f"{sum(loss.kind is kind for loss in losses)} {kind}" for kind in order)
    click.echo(f"\nNot as in the source: {counts}", err=True)
    for loss in sorted(losses, key=lambda loss: order.index(loss.kind)):
        kind = click.style(str(loss.kind), fg=_COLOURS[loss.kind])
        click.echo(f"  {kind}  {_clean(loss.where)}: {_clean(loss.what)}: {_clean(loss.reason)}", err=True)


def print_unused_targets(definition: Definition) -> None:
    """On standard error: a measurement is made on what the command line names, not on what the file does."""
    names = _target_names(definition)
    if names:
        click.echo(f"not used: the file's own targets, {names}; those of the command line are", err=True)


def print_not_repeated(sweep: Sweep) -> None:
    """On standard error: one measurement has one value of what a file cycles through."""
    depths, workers, targets = (
        values if len(values) > 1 else () for values in (sweep.outstanding, sweep.workers, sweep.targets)
    )
    for line in describe_sweep(Sweep(depths, workers, targets)):
        click.echo(f"not done: {line[0].lower()}{line[1:-1]}, as the file says; --sweep does that", err=True)


def _target_names(definition: Definition) -> str:
    """'0 /dev/sda, 1 /dev/sdb', without variables that stand for any target."""
    named = [f"{at} {_clean(name)}" for at, name in enumerate(definition.targets) if name and not name.startswith("${")]
    return ", ".join(named)


def _wrapped(text: str, indent: str) -> None:
    click.echo(click.wrap_text(text.strip(), width=_WIDTH, initial_indent=indent, subsequent_indent=indent + "  "))


def _clean(text: str) -> str:
    """Without control characters: text of a file is data, not commands to a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
