"""Some streams of a run of several are compared with the same streams of another run, wherever they work there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from storscope.cli.main import run as storscope
from storscope.compare import compare_sides, parse_side
from storscope.compare.combining import combined
from storscope.compare.run_figures import arrays
from storscope.domain.comparison import Comparison, Outcome, Settings
from storscope.domain.errors import InputError, UsageError
from storscope.domain.schema import CANONICAL
from storscope.store import Store
from tests.compare.evidence import only, row

DESIGNS = Path(__file__).parent.parent.parent / "examples" / "designs"
BEFORE, AFTER = "convoy-46x7200-raid10", "convoy-cured-4x12x15k-raid10"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Ten clones on one group and on four, and one clone on one group, 6 s each."""
    path = tmp_path_factory.mktemp("convoy") / "store"
    for design, clones in ((BEFORE, "ten-clones"), (AFTER, "ten-clones"), (BEFORE, "one-clone")):
        files = [str(DESIGNS / f"{design}.toml"), "--workload", str(DESIGNS / f"{design}.{clones}.workload.toml")]
        assert storscope(["simulate", *files, "--duration", "6s", "--store", str(path)]) == 0
    return Store.open(path)


def sides(store: Store, before: str, after: str, *metrics: str) -> Comparison:
    found = [(store, parse_side(text)) for text in (before, after)]
    return compare_sides(found[0], found[1], Settings(metrics=metrics), version="test")


def operations(store: Store, run: str, words: str) -> float:
    """Per second, straight from what was recorded of the run's parts."""
    sql = f"""SELECT sum(o.ops_per_s * o.duration_ns) / any_value(r.duration_ns) AS rate
              FROM observations o JOIN runs r USING (capture, run)
              WHERE r.name = '{run}' AND o.kind = 'process' AND o.entity LIKE '%: {words} on %' AND o.time >= r.time"""
    return float(store.query(sql).to_pylist()[0]["rate"])


def test_the_cure_of_the_convoy_is_judged_by_its_clones(store: Store) -> None:
    """The example of docs/simulated-cases.md: other volumes, other places, the same clones."""
    found = sides(store, "run=ten clones,stream=clone*", "run=ten clones, four groups,stream=clone*")
    pair = only(found)
    assert (pair.name, pair.is_comparable) == ("clone*", True)
    assert not any("NOT THE SAME" in said or "not the same on both sides" in said for said in pair.warnings)
    for figure, run in ((row(pair, "iops").before, "ten clones"), (row(pair, "iops").after, "ten clones, four groups")):
        assert figure == pytest.approx(operations(store, run, "clone%"), rel=0.01)
    assert row(pair, "iops").outcome is not None
    assert found.before.names[0].startswith("clone* on ")


def test_reads_and_writes_of_a_copy_are_on_two_targets_and_both_are_there(store: Store) -> None:
    pair = only(
        sides(
            store, "run=ten clones,stream=clone*", "run=ten clones, four groups,stream=clone*", "read_latency",
            "write_latency",
        )
    )  # fmt: skip
    assert [one.metric for one in pair.rows] == ["read_latency", "write_latency"]
    assert row(pair, "read_latency").outcome is Outcome.BETTER
    assert row(pair, "write_latency").outcome is Outcome.WORSE


def test_more_streams_are_another_load(store: Store) -> None:
    pair = only(sides(store, "run=one clone,stream=clone*", "run=ten clones,stream=clone*"))
    assert "number of streams 1 before, 10 after" in pair.warnings[0]
    one = only(sides(store, "run=one clone,stream=clone 1", "run=ten clones,stream=clone 1", "iops"))
    assert (one.is_comparable, row(one, "iops").outcome) == (True, Outcome.WORSE)


def test_another_place_that_is_as_large_is_no_other_load_but_a_smaller_part_is(store: Store) -> None:
    pair = only(sides(store, "run=ten clones,stream=desktops", "run=ten clones, four groups,stream=desktops"))
    assert pair.warnings[0] == "NOT THE SAME LOAD: part of the target 3.91 TiB before, 600 GiB after."


def test_two_streams_of_one_run_are_two_sides(store: Store) -> None:
    found = sides(store, "run=ten clones,stream=clone 1", "run=ten clones,stream=clone 2", "iops")
    assert only(found).name == "clone 1 → clone 2"
    assert not [note for note in found.notes if "on both sides at the same times" in note]


def test_where_no_stream_fits_those_that_there_are_are_named(store: Store) -> None:
    with pytest.raises(InputError, match="There are the streams: clone 1; desktops") as caught:
        sides(store, "run=one clone,stream=desktop", "run=ten clones,stream=desktop")
    assert "run=one clone,stream=desktop" in str(caught.value)


def test_a_stream_has_no_entity() -> None:
    with pytest.raises(UsageError, match="expected stream= or entity=, found both"):
        parse_side("run=a,stream=b,entity=c")


def test_a_part_that_only_reads_takes_no_write_latency_from_one_that_writes() -> None:
    nothing = dict.fromkeys(CANONICAL)
    reads, writes = (
        {"read_ops_per_s": 100.0, "write_ops_per_s": 0.0, "read_latency_ns_mean": 2e6},
        {"read_ops_per_s": 0.0, "write_ops_per_s": 50.0, "write_latency_ns_mean": 8e6},
    )
    parts = [arrays([{"time_ns": 0, "duration_ns": 10**9} | nothing | one]) for one in (reads, writes)]
    found = combined(parts)
    assert found is not None
    assert {name: found.columns[name].tolist() for name in ("read_latency_ns_mean", "write_latency_ns_mean")} == {
        "read_latency_ns_mean": [2e6],
        "write_latency_ns_mean": [8e6],
    }


def test_the_command_of_the_page_is_this_comparison(store: Store) -> None:
    page = (DESIGNS.parent.parent / "docs" / "simulated-cases.md").read_text(encoding="utf-8")
    (command,) = [line for line in page.splitlines() if "storscope compare" in line and "stream=" in line]
    _, verb, before, after = shlex.split(command)
    assert (verb, only(sides(store, before, after)).is_comparable) == ("compare", True)
