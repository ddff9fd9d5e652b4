"""Rows of one name are told apart by what differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.workload import AccessSpec, Mix, Open, Stream, Workload
from tests.compare.evidence import SECOND, START, Writer, compared, run


def _names(path: Path, before: list[Writer], after: list[Writer] | None = None) -> list[str]:
    return [pair.name for pair in compared(path, before, before if after is None else after).pairs]


def test_a_ramp_of_outstanding_ios_names_each_depth(tmp_path: Path) -> None:
    """Iometer's specification and a fio job have one name at all depths: eight rows were called the same."""
    ramp = [run("8k random", 100.0 * depth, id=f"r{depth}", outstanding=float(depth)) for depth in (1, 2, 16)]
    assert _names(tmp_path, ramp) == [f"8k random, {depth} outstanding" for depth in (1, 2, 16)]


def test_what_is_common_to_all_of_a_name_is_not_repeated(tmp_path: Path) -> None:
    sides = [
        run("a", id="r1", block_bytes=4096.0, read_ratio=1.0),
        run("a", id="r2", block_bytes=65536.0, read_ratio=0.0),
        run("b", id="r3"),
    ]
    assert _names(tmp_path, sides) == ["a, 4 KiB, 100 % reads", "a, 64 KiB, 0 % reads", "b"]


def test_rates_that_were_asked_for_tell_runs_of_one_name_apart(tmp_path: Path) -> None:
    """The last pair is of another load, of which both are told."""

    def at(*rates: float) -> list[Writer]:
        streams = [(rate, Workload("a", (Stream(Mix((AccessSpec(4096),)), Open(rate)),))) for rate in rates]
        return [
            run(
                "a",
                id=str(rate),
                outstanding=None,
                parameters={"workload": json.dumps(asked.to_json())},
                engine="storscope",
            )
            for rate, asked in streams
        ]

    names = _names(tmp_path, at(100.0, 620.0, 300.0), at(620.0, 100.0, 400.0))
    assert names == ["a, rate 100/s", "a, rate 620/s", "a, rate 300/s → rate 400/s"]


def test_a_name_that_is_there_once_stays_as_it_is(tmp_path: Path) -> None:
    before, after = [run("a", outstanding=4.0), run("b")], [run("a", outstanding=8.0), run("b")]
    assert _names(tmp_path, before, after) == ["a", "b"]


def _disk(host: str) -> Writer:
    def write(recorder: Recorder) -> None:
        for index in range(20):
            figures = {"ops_per_s": 100.0 + index % 3, "latency_ns_mean": 1e6}
            recorder.observe(EntityRef(host, "device", "sda"), START + index * SECOND, SECOND, figures)

    return write


@pytest.mark.parametrize(("hosts", "names"), [
    (["esx1", "esx2"], ["device sda, system esx1", "device sda, system esx2"]),
    (["esx1"], ["device sda"]),
])  # fmt: skip
def test_disks_of_one_name_have_their_hosts(tmp_path: Path, hosts: list[str], names: list[str]) -> None:
    disks = [_disk(host) for host in hosts]
    assert sorted(_names(tmp_path, disks)) == names
