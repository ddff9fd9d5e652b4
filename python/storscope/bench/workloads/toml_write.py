"""Writes workloads in the TOML form; what has its default is left out.

Every field of a workload has its place there, so nothing of it is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from storscope.bench.workloads.definition import Definition, Sweep, unused_workloads
from storscope.bench.workloads.loss import Loss
from storscope.bench.workloads.toml_form import TOML_NAMES
from storscope.domain.units import SECTOR_BYTES


def write_toml(definition: Definition) -> tuple[str, tuple[Loss, ...]]:
    """The TOML text of all workloads, and what is not in it."""
    return _text_of(definition), unused_workloads(definition).as_tuple()


def _text_of(definition: Definition) -> str:
    several = len(definition.workloads) > 1 or definition.sweep != Sweep() or definition.targets
    if not several and not definition.description:
        return "\n".join(_workload_lines(definition.workloads[0].to_json(), "")) + "\n"
    lines = [f"description = {_quoted(definition.description)}"] if definition.description else []
    if definition.targets:
        lines.append(f"targets = {_list([_quoted(name) for name in definition.targets])}")
    if definition.sweep != Sweep():
        lines += [*([""] if lines else []), "[sweep]", *_sweep_lines(definition.sweep)]
    for workload in definition.workloads:
        lines += [*([""] if lines else []), "[[workload]]", *_workload_lines(workload.to_json(), "workload.")]
    return "\n".join(lines) + "\n"


def _sweep_lines(sweep: Sweep) -> list[str]:
    lists = [f"{key} = {list(getattr(sweep, key))}" for key in ("outstanding", "workers", "targets")
             if getattr(sweep, key)]  # fmt: skip
    times = {"duration": sweep.duration_ns, "ramp_up": sweep.ramp_up_ns}
    return lists + [f"{key} = {_time(value)}" for key, value in times.items() if value is not None]


def _workload_lines(form: Mapping[str, Any], prefix: str) -> list[str]:
    lines = [f"name = {_quoted(form['name'])}"]
    if form["source"] is not None:
        lines.append(f"source = {_quoted(form['source'])}")
    if form["verification"] != "none":
        lines.append(f"verification = {_quoted(form['verification'])}")
    data = _pairs(form["data"], {"compressible_ratio": 0.0, "duplicate_ratio": 0.0, "duplicate_contents": 64,
                                 "duplicate_block_bytes": 4096, "pool_bytes": 4 * 1024**2, "seed": 0})  # fmt: skip
    if data:
        lines += ["", f"[{prefix}data]", *data]
    for stream in form["streams"]:
        lines += ["", f"[[{prefix}stream]]", *_stream_lines(stream, prefix)]
    return lines


def _stream_lines(stream: Mapping[str, Any], prefix: str) -> list[str]:
    lines = _pairs(
        {key: stream[key] for key in ("name", "workers", "starts", "targets")},
        {"name": "", "workers": 1, "starts": "together", "targets": []},
    )
    lines += _load_lines(stream["load"])
    if stream["think_time"] is not None:
        think = stream["think_time"]
        lines.append(f"think_time = {{ mean = {_time(think['mean_ns'])}, process = {_quoted(think['process'])} }}")
    if stream["flush"] is not None:
        flush = {"flush_every": stream["flush"]["every"], "flush": stream["flush"]["kind"]}
        lines += _pairs(flush, {"flush": "fdatasync"})
    if stream["offsets"] != {"kind": "uniform"}:
        lines.append("offsets = { " + ", ".join(_pairs(stream["offsets"], {"start_share": 0.0})) + " }")
    region = _pairs(stream["region"], {"start_bytes": 0, "length_bytes": None})
    if region:
        lines.append("region = { " + ", ".join(region) + " }")
    access = stream["access"]
    if access["kind"] == "copy":
        defaults = {"kind": "copy", "destination_start_bytes": 0, "random_share": 0.0}
        return [*lines, "", f"[{prefix}stream.copy]", *_pairs(access, defaults)]
    for line in access["lines"]:
        lines += ["", f"[[{prefix}stream.line]]", *_line_lines(line)]
    return lines


def _line_lines(line: Mapping[str, Any]) -> list[str]:
    """Read and random shares are always written: their defaults are no common sense."""
    defaults = {"share": 1.0, "delay_ns": 0, "burst": 1, "align_bytes": 0, "reply_bytes": 0}
    return _pairs(line, defaults)


def _load_lines(load: Mapping[str, Any]) -> list[str]:
    if load["kind"] != "steps":
        return _pairs(load, {"kind": load["kind"], "max_outstanding": 1024})
    steps = ", ".join("{ " + ", ".join(_pairs(step, {})) + " }" for step in load["steps"])
    rest = {key: load[key] for key in ("process", "max_outstanding")}
    return [f"steps = [{steps}]", *_pairs(rest, {"max_outstanding": 1024})]


def _pairs(form: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """key = value for all that differ from their default, with units."""
    return [
        f"{TOML_NAMES.get(key, key)} = {_value(key, value)}"
        for key, value in form.items()
        if key not in defaults or value != defaults[key]
    ]


def _value(key: str, value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if key.endswith("_bytes"):
        return _bytes(value)
    if key.endswith("_ns"):
        return _time(value)
    return _list([str(item) for item in value]) if isinstance(value, list) else repr(value)


def _list(items: list[str]) -> str:
    return f"[{', '.join(items)}]"


def _bytes(size: int) -> str:
    for factor, unit in ((1024**4, "t"), (1024**3, "g"), (1024**2, "m"), (1024, "k")):
        if size and size % factor == 0:
            return f'"{size // factor}{unit}"'
    return f'"{size}B"' if 0 < size < SECTOR_BYTES else str(size)


def _time(time_ns: int) -> str:
    units = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
    return next((f'"{time_ns // factor}{unit}"' for factor, unit in units if time_ns and time_ns % factor == 0), "0")


def _quoted(text: str) -> str:
    """A basic string of TOML, which is JSON's but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
