from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from storscope.domain import workload as domain
from storscope.domain.errors import ConfigError
from storscope.domain.workload import AccessSpec, Closed, Copy, Mix, Open, Region, Stream, Verification, Workload
from tests.bench.workloads.strategies import workloads

RUST = Path(__file__).parents[3] / "crates" / "storscope-types" / "src"
MIRRORED = {
    "workload.rs": ["Workload", "Stream"],
    "access.rs": ["AccessSpec", "Copy"],
    "load.rs": ["Closed", "Open", "Steps", "RateStep", "ThinkTime"],
    "offsets.rs": ["Zipf", "HotSpot", "Region"],
    "data.rs": ["DataPool"],
}


def rust_fields(file: str, name: str) -> list[str]:
    """The JSON names of the fields of a struct, or of a variant of an enum."""
    text = (RUST / file).read_text()
    body = re.search(rf"^(pub struct|   ) {name} {{\n(.*?)^(    )?}}", text, re.MULTILINE | re.DOTALL)
    assert body is not None, f"{file} has no {name}"
    found, rename = [], None
    for line in body[2].splitlines():
        renamed = re.search(r'rename = "(\w+)"', line)
        rename = renamed[1] if renamed else rename
        field = re.match(r"\s*(?:pub )?([a-z_]+): ", line)
        if field:
            found.append(rename or field[1])
            rename = None
    return found


@pytest.mark.parametrize(("file", "name"), [(file, name) for file, names in MIRRORED.items() for name in names])
def test_a_type_has_the_fields_of_its_rust_twin(file: str, name: str) -> None:
    here = {field.name for field in dataclasses.fields(getattr(domain, name))}
    assert here == set(rust_fields(file, name))


def test_kinds_and_words_are_those_of_the_rust_enums() -> None:
    kinds = {Mix: "Mix", Copy: "Copy", Closed: "Closed", Open: "Open", domain.HotSpot: "HotSpot"}
    for member, variant in kinds.items():
        assert member.kind == re.sub(r"(?<!^)(?=[A-Z])", "_", variant).lower()
    assert [item.value for item in domain.Process] == ["fixed", "poisson"]
    assert [item.value for item in Verification] == ["none", "stamps"]


@given(workloads())
def test_json_gives_the_workload_back(workload: Workload) -> None:
    assert Workload.from_json(json.loads(json.dumps(workload.to_json()))) == workload


def small(**changes: Any) -> dict[str, Any]:
    line = {"size_bytes": 4096} | changes.pop("line", {})
    load = changes.pop("load", {"kind": "closed", "outstanding": 1})
    stream = {"access": {"kind": "mix", "lines": [line]}, "load": load} | changes.pop("stream", {})
    return {"name": "small", "streams": [stream]} | changes


def test_what_is_left_out_has_the_defaults_of_the_rust_type() -> None:
    stream = Workload.from_json(small()).streams[0]
    assert stream == Stream(Mix((AccessSpec(4096, 1.0, 1.0, 1.0, 0, 1, 0, 0),)), Closed(1), "", None)
    assert stream.region == Region(0, None)
    assert stream.workers == 1


@pytest.mark.parametrize(
    ("form", "path"),
    [
        (small(line={"size_bytes": 0}), "streams[0].access.lines[0].size_bytes"),
        (small(line={"size_bytes": 2**31}), "streams[0].access.lines[0].size_bytes"),
        (small(line={"size_bytes": 4096.0}), "streams[0].access.lines[0].size_bytes"),
        (small(line={"size_bytes": True}), "streams[0].access.lines[0].size_bytes"),
        (small(line={"size_bytes": -1}), "streams[0].access.lines[0].size_bytes"),
        (small(line={"share": 0}), "streams[0].access.lines"),
        (small(line={"share": float("nan")}), "streams[0].access.lines[0].share"),
        (small(line={"share": 1e308}), "streams[0].access.lines[0].share"),
        (small(line={"read_share": 1.01}), "streams[0].access.lines[0].read_share"),
        (small(line={"random_share": "1"}), "streams[0].access.lines[0].random_share"),
        (small(line={"burst": 0}), "streams[0].access.lines[0].burst"),
        (small(line={"burst": 2**32}), "streams[0].access.lines[0].burst"),
        (small(line={"reply_bytes": 2**30 + 1}), "streams[0].access.lines[0].reply_bytes"),
        (small(line={"colour": 1}), "streams[0].access.lines[0].colour"),
        (small(line={"delay_ns": None}), "streams[0].access.lines[0].delay_ns"),
        (small(load={"kind": "closed"}), "streams[0].load.outstanding"),
        (small(load={"kind": "closed", "outstanding": 32_769}), "streams[0].load.outstanding"),
        (small(load={"kind": "half-open"}), "streams[0].load.kind"),
        (small(stream={"offsets": {"kind": "uniform", "exponent": 1}}), "streams[0].offsets.exponent"),
        (small(load={"kind": "open", "rate_per_s": 0}), "streams[0].load.rate_per_s"),
        (small(load={"kind": "open", "rate_per_s": 10**400}), "streams[0].load.rate_per_s"),
        (small(load={"kind": "open", "rate_per_s": 9, "process": "bursty"}), "streams[0].load.process"),
        (small(load={"kind": "steps", "steps": []}), "streams[0].load.steps"),
        (small(load={"kind": "open", "rate_per_s": 9}, line={"delay_ns": 1}), "streams[0].access.lines[0].delay_ns"),
        (small(load={"kind": "open", "rate_per_s": 9}, stream={"think_time": {"mean_ns": 1}}), "streams[0].think_time"),
        (small(stream={"workers": 0}), "streams[0].workers"),
        (small(stream={"targets": [-1]}), "streams[0].targets[0]"),
        (small(stream={"offsets": {"kind": "zipf", "exponent": 0}}), "streams[0].offsets.exponent"),
        (
            small(stream={"offsets": {"kind": "hot_spot", "access_share": 1, "space_share": 0.6, "start_share": 0.5}}),
            "streams[0].offsets.space_share",
        ),
        (small(streams=[]), "streams"),
        (small(data={"compressible_ratio": 2}), "data.compressible_ratio"),
        (small(data={"duplicate_contents": 0}), "data.duplicate_contents"),
        (small(data={"duplicate_contents": 2**20, "duplicate_ratio": 0.1}), "data.duplicate_contents"),
        (small(data={"duplicate_block_bytes": 12288}), "data.duplicate_block"),
        (small(verification="stamps", line={"size_bytes": 4100}), "verification"),
        (small(verification="stamps", stream={"access": {"kind": "copy", "size_bytes": 4096, "destination": 0}}),
         "verification"),
        ({"streams": []}, "name"),
    ],
)  # fmt: skip
def test_an_error_names_the_path(form: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Workload.from_json(form)
    assert caught.value.where == path


def test_where_no_key_is_known_the_error_lists_none() -> None:
    with pytest.raises(ConfigError, match="expected nothing beside 'kind', found an unknown field"):
        Workload.from_json(small(stream={"offsets": {"kind": "uniform", "exponent": 1}}))


def test_targets_are_checked_once_their_number_is_known() -> None:
    workload = Workload.from_json(small(stream={"targets": [0, 2]}))
    workload.check(3)
    with pytest.raises(ConfigError, match=r"targets\[1\]: expected the index of one of 2 targets, found 2"):
        workload.check(2)


def test_numbers_that_rust_cannot_hold_are_refused_in_built_workloads_too() -> None:
    huge = Workload("huge", (Stream(Mix((AccessSpec(4096),)), Closed(1), region=Region(2**64)),))
    with pytest.raises(ConfigError, match="start_bytes"):
        huge.check()


@pytest.mark.parametrize(
    ("size", "align", "start", "unit"), [(8192, 0, 0, 4096), (4096, 512, 0, 512), (4096, 0, 96, 32)]
)
def test_a_stamp_covers_what_divides_all_offsets(size: int, align: int, start: int, unit: int) -> None:
    stream = Stream(Mix((AccessSpec(size, align_bytes=align),)), Closed(1), region=Region(start))
    assert Workload("w", (stream,)).stamp_unit_bytes == unit
