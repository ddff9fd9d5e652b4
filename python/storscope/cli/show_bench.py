"""Shows a measurement: its figures, what they rest on, and every doubt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from storscope.cli.show_judgement import (
    is_nearly_all,
    judgement_to_json,
    other_doubts,
    print_judgement,
    print_own_doubts,
)
from storscope.cli.show_rate_steps import print_rate_steps, rate_steps_to_json
from storscope.cli.text_table import harmless, print_sentences
from storscope.domain.units import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_ratio,
    format_span,
)

if TYPE_CHECKING:
    from storscope.bench.device_check import DeviceCheck
    from storscope.bench.figures import Direction, Interval, Latencies
    from storscope.workbench.benchmarking import Benched

_SHARES = (0.5, 0.9, 0.99, 0.999)


def print_benched(benched: Benched, store: Path) -> None:
    """The figures, what they rest on, and every doubt."""
    about, outcome = benched.about, benched.outcome
    total = benched.measured
    through = "" if about.direct else ", through the page cache"
    click.secho(harmless(f"{about.workload.name} on {about.target} ({about.target_kind}{through})"), bold=True)
    click.echo(", ".join([format_span(outcome.total.duration_ns), f"seed {about.seed}", *outcome.engines]))
    if not outcome.is_valid:
        click.secho("INVALID, see the doubts below.", fg="red", bold=True)
    click.echo()
    if benched.judgement is not None and total.duration_ns:
        print_judgement(benched.judgement, total.duration_ns, outcome.total.duration_ns)
    elif benched.judgement is not None:
        print_own_doubts(benched.judgement)
    print_rate_steps(benched.steps)
    for name, words in (("reads", "reads"), ("writes", "writes")):
        _print_direction(total, total.direction(name), words, is_valid=outcome.is_valid)
    _print_flushes(total, is_valid=outcome.is_valid)
    _print_cells(benched)
    _print_whole(total)
    if outcome.device is not None:
        _print_device(outcome.device, is_part=not is_nearly_all(total.duration_ns, outcome.total.duration_ns))
    _print_doubts(benched)
    if benched.capture:
        click.echo(f"\nIn the store {store} as capture {benched.capture}, run {about.run}.", err=True)


def _print_direction(total: Interval, direction: Direction, words: str, *, is_valid: bool) -> None:
    if not direction.ios:
        return
    rate, bandwidth = total.per_s(direction.ios), total.per_s(direction.bytes)
    click.echo(f"{click.style(words, bold=True)}: {format_rate(rate)}, {format_bandwidth(bandwidth)}")
    _print_latencies(direction, is_valid=is_valid)


def _print_flushes(total: Interval, *, is_valid: bool) -> None:
    flushes = total.flushes
    if flushes.ios:
        click.echo(f"{click.style('flushes', bold=True)}: {format_rate(total.per_s(flushes.ios), '/s')}")
        _print_latencies(flushes, is_valid=is_valid)


def _print_latencies(direction: Direction, *, is_valid: bool) -> None:
    """Those of invalid runs are marked one by one: a line is easily copied without what stands above and below."""
    mark = "" if is_valid else "; INVALID"
    for measure, meaning in (("response", "what a user waits"), ("service", "what the device takes")):
        if direction.of(measure).count:
            click.echo(f"  {measure:<9} {_latency_words(direction.of(measure))}   ({meaning}{mark})")


def _print_cells(benched: Benched) -> None:
    """Each stream on each target, where there is more than one; latency is the response."""
    from storscope.bench.record import cell_words, is_valid_cell

    cells = benched.measured.cells
    if len(cells) < 2:
        return
    click.secho("by stream and target", bold=True)
    for cell in cells:
        stream, target = cell_words(benched.about, cell)
        whole, mark = cell.all, "" if is_valid_cell(benched.outcome, cell) else " (INVALID)"
        click.echo(
            f"  {harmless(f'{stream} on {target}')}: {format_rate(cell.per_s(whole.ios))}, "
            f"{format_bandwidth(cell.per_s(whole.bytes))}, mean {format_duration(whole.shown.mean_ns)}, "
            f"p99 {format_duration(whole.shown.quantile_ns(0.99))}{_flush_words(cell)}{mark}"
        )


def _flush_words(cell: Interval) -> str:
    flushes = cell.flushes
    if not flushes.ios:
        return ""
    rate, p99 = format_rate(cell.per_s(flushes.ios), "/s"), format_duration(flushes.shown.quantile_ns(0.99))
    return f"; flushes {rate}, mean {format_duration(flushes.shown.mean_ns)}, p99 {p99}"


def _latency_words(latencies: Latencies) -> str:
    shares = ", ".join(f"p{share * 100:g} {format_duration(latencies.quantile_ns(share))}" for share in _SHARES)
    return f"mean {format_duration(latencies.mean_ns)}, {shares}, max {format_duration(latencies.max_ns)}"


def _print_whole(total: Interval) -> None:
    whole = total.all
    if not whole.ios:
        return
    if total.outstanding_mean is not None:
        late = format_duration(whole.lateness.quantile_ns(0.99))
        click.echo(f"in flight: {total.outstanding_mean:.2f} on average; generator late by {late} at p99 of all I/Os")
    click.echo(
        f"own cost: {format_duration(total.cpu_ns / whole.ios)} of CPU per I/O, "
        f"{format_count(total.context_switches)} context switches; moved {format_bytes(whole.bytes)}"
    )


def _print_device(check: DeviceCheck, *, is_part: bool) -> None:
    """What the devices below did, beside what the generator did; the figures may be of a part of the run."""
    if check.moved is None:
        return
    parts = [
        f"{word} {format_bytes(check.moved[word].bytes)} in {format_count(check.moved[word].ios)} operations"
        f" ({format_ratio(ratio)} of the generator's bytes)"
        for word in check.moved
        if (ratio := check.ratio(word)) is not None
    ]
    when = " in the whole run" if is_part else ""
    told = "; ".join(parts) or "nothing to compare"
    click.echo(f"device {', '.join(check.devices)}{when}: {told}: {check.answer.value}")


def _print_doubts(benched: Benched) -> None:
    from storscope.bench.doubted_streams import valid_streams

    others = other_doubts(benched.doubts, benched.judgement)
    if others:
        click.echo()
    for doubt in others:
        print_sentences(f"doubt: {doubt}", colour="yellow")
    if not benched.outcome.is_valid:
        valid = valid_streams(benched.about.workload, benched.outcome)
        whose = f" of all I/Os together do not mean what they say, for the reasons above; those of {valid} do."
        told = whose if valid else " do not mean what they say, for the reasons above."
        click.secho(harmless(f"INVALID: the latencies{told}"), fg="red", bold=True)


def benched_to_json(benched: Benched) -> dict[str, Any]:
    """The result as plain JSON values: docs/bench-json.md."""
    about, outcome = benched.about, benched.outcome
    total = benched.measured
    return {
        "format": 1, "capture": benched.capture or None, "run": about.run, "status": benched.status,
        "valid": outcome.is_valid, "latency_bound": outcome.latency_bound, "doubts": list(benched.doubts),
        "target": about.target,
        "target_kind": about.target_kind, "direct": about.direct, "workload": about.workload.to_json(),
        "seed": str(about.seed), "engines": outcome.engines,
        **({} if benched.judgement is None else judgement_to_json(benched.judgement)),
        "duration_ns": total.duration_ns, "outstanding_mean": total.outstanding_mean,
        "cpu_per_io_ns": total.cpu_ns / total.all.ios if total.all.ios else None,
        "context_switches": total.context_switches, "failed": outcome.result["ending"]["failed"],
        **{word: _direction_to_json(total, total.direction(name))
           for name, word in (("reads", "read"), ("writes", "write"))},
        "flush": _direction_to_json(total, total.flushes) if about.workload.flushes else None,
        "all": _direction_to_json(total, total.all),
        "cells": [_cell_to_json(benched, cell) for cell in total.cells],
        "rate_steps": rate_steps_to_json(benched.steps),
        "device": None if outcome.device is None else outcome.device.to_json(),
        "prefill": None if about.prefill is None else about.prefill.to_json(),
    }  # fmt: skip


def _cell_to_json(benched: Benched, cell: Interval) -> dict[str, Any]:
    from storscope.bench.record import cell_words, is_valid_cell

    stream, target = cell_words(benched.about, cell)
    is_valid = is_valid_cell(benched.outcome, cell)
    flush = _direction_to_json(cell, cell.flushes) if cell.flushes.ios else None
    own = _direction_to_json(cell, cell.all)
    return {"stream": stream, "target": target, "valid": is_valid, **own, "flush": flush}


def _direction_to_json(total: Interval, direction: Direction) -> dict[str, Any]:
    return {
        "ios": direction.ios,
        "bytes": direction.bytes,
        "ops_per_s": total.per_s(direction.ios),
        "bytes_per_s": total.per_s(direction.bytes),
        **{name: _latencies_to_json(direction.of(name)) for name in ("response", "service", "lateness")},
    }


def _latencies_to_json(latencies: Latencies) -> dict[str, Any]:
    quantiles = {f"p{share * 100:g}_ns": latencies.quantile_ns(share) for share in _SHARES}
    return {"mean_ns": latencies.mean_ns, "max_ns": latencies.max_ns, **quantiles}
