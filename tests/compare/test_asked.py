"""Runs that were asked for different things are not the same load: by our own workloads, and by fio's options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.compare import compare_sides, parse_side
from storscope.compare.asked import asked_differences
from storscope.compare.asked_fio import asked_of_fio
from storscope.domain.comparison import Load, Outcome, PairResult, Settings
from storscope.domain.entity import EntityRef
from storscope.domain.recorder import Recorder
from storscope.domain.units import MIB, NS_PER_MS, NS_PER_S
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    Copy,
    DataPool,
    Flush,
    FlushKind,
    HotSpot,
    Mix,
    Open,
    Process,
    RateStep,
    Region,
    Starts,
    Steps,
    Stream,
    ThinkTime,
    Workload,
    Zipf,
)
from storscope.workbench.comparing import compare
from tests.compare.evidence import Writer, compared, noisy, only, row, run
from tests.support.cases import make_store

_IMPORTERS = Path(__file__).parent.parent / "importers"

RANDOM = AccessSpec(4096)
CLOSED = Stream(Mix((RANDOM,)), Closed(16))
WRITES = Stream(Mix((AccessSpec(4096, read_share=0.0),)), Closed(16))
OPEN = Stream(Mix((RANDOM,)), Open(100.0, Process.FIXED))


def ours(
    *streams: Stream,
    mean: float = 1000.0,
    engine: str = "storscope",
    latency_ns: float | None = None,
    id: str | None = None,  # noqa: A002
    whole: Workload | None = None,
    **parameters: str,
) -> Writer:
    """A run of ours of these streams, through O_DIRECT on all of a device."""
    asked = whole or Workload("a", streams)
    known = {"direct": "true", "target_kind": "device", "workload": json.dumps(asked.to_json())} | parameters
    is_closed = all(isinstance(stream.load, Closed) for stream in asked.streams)
    outstanding = {} if is_closed else {"outstanding": None}
    return run("a", noisy(mean), id=id, engine=engine, latency_ns=latency_ns, parameters=known, **outstanding)


def with_scratch(writer: Writer, size_bytes: int) -> Writer:
    """A run whose scratch file was filled."""

    def write(recorder: Recorder) -> None:
        writer(recorder)
        recorder.fact(EntityRef("host", "job", "a"), "prefill: write by the generator", size_bytes, "bytes")

    return write


def said(pair: PairResult) -> str:
    """What makes it no comparison; '' where it is one."""
    assert pair.is_comparable is not any("NOT THE SAME LOAD" in one for one in pair.warnings)
    return "" if pair.is_comparable else pair.warnings[0]


# Our own workloads ----------------------------------------------------------------------------------------------------

_STEPS = Steps((RateStep(100.0, 10 * NS_PER_S), RateStep(200.0, 10 * NS_PER_S)))
_SLOW = replace(RANDOM, delay_ns=NS_PER_MS, burst=8)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (OPEN, replace(OPEN, load=Open(620.0, Process.FIXED)), "rate 100/s before, 620/s after"),
        (OPEN, replace(OPEN, load=Open(100.0)), "arrivals at equal intervals before, at random (Poisson) after"),
        (CLOSED, OPEN, "rate none before, 100/s after"),
        (
            replace(OPEN, load=_STEPS),
            replace(OPEN, load=Steps((*_STEPS.steps[:1], RateStep(900.0, 10 * NS_PER_S)))),
            "rate 100/s for 10 s then 200/s for 10 s before, 100/s for 10 s then 900/s for 10 s after",
        ),
        (CLOSED, replace(CLOSED, think_time=ThinkTime(2 * NS_PER_MS)), "think time none before, 2.00 ms after"),
        (
            replace(CLOSED, think_time=ThinkTime(2 * NS_PER_MS)),
            replace(CLOSED, think_time=ThinkTime(2 * NS_PER_MS, Process.FIXED)),
            "spread of the think time exponential before, always the same after",
        ),
        (CLOSED, replace(CLOSED, access=Mix((_SLOW,))), "delay before bursts none before, 1.00 ms after"),
        (
            replace(CLOSED, access=Mix((_SLOW,))),
            replace(CLOSED, access=Mix((replace(_SLOW, burst=4),))),
            "I/Os of a burst 8 before, 4 after",
        ),
        (
            replace(CLOSED, offsets=HotSpot(0.8, 0.2)),
            replace(CLOSED, offsets=Zipf(0.99)),
            "distribution of random offsets 80 % to 20 % of the space before, Zipf 0.99 after",
        ),
        (
            replace(CLOSED, region=Region(0, 4 * MIB)),
            replace(CLOSED, region=Region(0, 256 * MIB)),
            "part of the target 4 MiB before, 256 MiB after",
        ),
        (WRITES, replace(WRITES, flush=Flush(1)), "flushes none before, fdatasync after each write after"),
        (
            replace(WRITES, flush=Flush(1)),
            replace(WRITES, flush=Flush(32, FlushKind.FULL)),
            "flushes fdatasync after each write before, fsync after every 32 writes after",
        ),
        (CLOSED, replace(CLOSED, region=Region(0, MIB)), "use of the target all of it before, 1 MiB of it after"),
        (CLOSED, replace(CLOSED, region=Region(MIB)), "start of the part of the target 0 B before, 1 MiB after"),
    ],
)
@pytest.mark.parametrize("engines", [("storscope", "storscope"), ("storscope-sim", "storscope-sim"),
                                     ("storscope", "storscope-sim"), ("storscope", "fio")])  # fmt: skip
def test_another_workload_is_another_load(
    tmp_path: Path, before: Stream, after: Stream, words: str, engines: tuple[str, str]
) -> None:
    sides = [ours(before, engine=engines[0])], [ours(after, mean=500, engine=engines[1])]
    words = _of_prediction(words) if engines == ("storscope", "storscope-sim") else words
    assert words in said(only(compared(tmp_path, *sides)))
    judged = only(compared(tmp_path / "1", *sides, allow_different_load=True))
    assert words in judged.warnings[0]


def _of_prediction(words: str) -> str:
    """As the columns are called there; "before" and "after" stood beneath a table of "predicted" and "measured"."""
    told, comma, after = words.replace(" before, ", " measured, ").rpartition(" after")
    assert comma and not after
    return f"{told} predicted"


def test_a_different_rate_is_not_judged_unless_it_is_allowed(tmp_path: Path) -> None:
    sides = [ours(OPEN, latency_ns=1e6)], [ours(replace(OPEN, load=Open(620.0, Process.FIXED)), latency_ns=9e6)]
    assert {one.outcome for one in only(compared(tmp_path, *sides)).rows} <= {Outcome.UNDECIDED, None}
    judged = only(compared(tmp_path / "1", *sides, allow_different_load=True))
    assert row(judged, "latency").outcome is Outcome.WORSE


def test_the_page_cache_on_one_side_is_another_load(tmp_path: Path) -> None:
    pair = only(compared(tmp_path, [ours(CLOSED, direct="false")], [ours(CLOSED)]))
    assert said(pair) == "NOT THE SAME LOAD: I/O through the page cache before, direct after."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ours(CLOSED, target="/dev/sda"), ours(CLOSED, target="/dev/sdb", target_kind="file")),
        (ours(CLOSED, engine_used="io_uring"), ours(CLOSED, engine_used="sync", planned_s="300", goal="p99 to 2 %")),
        (ours(CLOSED, design="a.toml", engine="storscope-sim"), ours(CLOSED, design="b.toml", engine="storscope-sim")),
        (ours(CLOSED), ours(CLOSED, engine="storscope-sim", target_kind="simulated")),
        (ours(CLOSED), ours(CLOSED, engine="fio", job="[a]")),
        (ours(CLOSED), ours(replace(CLOSED, name="users", targets=(0, 1)))),
        (ours(CLOSED), ours(whole=Workload("b", (CLOSED,), source="a paper", data=DataPool(seed=7)))),
        (ours(OPEN), ours(replace(OPEN, load=Open(100.4, Process.FIXED, 64)))),
        (ours(CLOSED), ours(replace(CLOSED, access=Mix((RANDOM, replace(_SLOW, share=0.0)))))),
        (ours(CLOSED), ours(replace(CLOSED, access=Mix((replace(RANDOM, burst=8),))))),
        (ours(CLOSED), ours(replace(CLOSED, think_time=ThinkTime(0)))),
    ],
)
def test_what_is_compared_or_left_to_the_run_is_no_other_load(tmp_path: Path, before: Writer, after: Writer) -> None:
    pair = only(compared(tmp_path, [before], [after]))
    assert not said(pair)
    assert not [note for note in pair.notes if "is not stated" in note]


def test_unlike_engines_of_ours_are_told(tmp_path: Path) -> None:
    sides = [ours(CLOSED, made_by="threads")], [ours(CLOSED, made_by="io_uring")]
    (told,) = only(compared(tmp_path / "unlike", *sides)).warnings
    assert told.startswith("I/Os were made by threads before, by io_uring after: ")
    by_fio = [ours(CLOSED, engine="fio", job="[a]", made_by=f"fio 3.{n} io_uring") for n in (33, 36)]
    assert not only(compared(tmp_path / "fio", by_fio[:1], by_fio[1:])).warnings
    for one, other in (("io_uring", "io_uring"), ("", "threads")):
        assert not only(compared(tmp_path / one, [ours(CLOSED, made_by=one)], [ours(CLOSED, made_by=other)])).warnings


def test_where_a_part_of_another_simulated_volume_begins_is_no_other_load(tmp_path: Path) -> None:
    """The volumes of a remedy were split, and every clone began elsewhere."""
    parts_of = [replace(CLOSED, region=Region(start, MIB)) for start in (18 * MIB, 0)]

    def on(volume: str, stream: Stream, kind: str = "simulated") -> list[Writer]:
        return [ours(stream, engine="storscope-sim", target=volume, target_kind=kind)]

    assert not said(only(compared(tmp_path / "1", on("esx/all", parts_of[0]), on("esx/a, esx/b", parts_of[1]))))
    same = only(compared(tmp_path / "2", on("esx/all", parts_of[0]), on("esx/all", parts_of[1])))
    assert "start of the part of the target 18 MiB before, 0 B after" in said(same)
    devices = on("/dev/sda", parts_of[0], "device"), on("/dev/sdb", parts_of[1], "device")
    assert "18 MiB before, 0 B after" in said(only(compared(tmp_path / "3", *devices)))


def test_where_nothing_is_random_no_distribution_of_offsets_differs(tmp_path: Path) -> None:
    sequential = replace(CLOSED, access=Mix((replace(RANDOM, random_share=0.0),)))
    copying = replace(CLOSED, access=Copy(4096, 0))
    for stream in (sequential, copying):
        sides = [ours(stream)], [ours(replace(stream, offsets=Zipf(0.99), starts=Starts.TOGETHER))]
        assert not said(only(compared(tmp_path / stream.access.kind, *sides)))
    copying = replace(CLOSED, access=Copy(4096, 0, random_share=1.0))
    sides = [ours(copying)], [ours(replace(copying, offsets=Zipf(0.99)))]
    assert "Zipf 0.99 after" in said(only(compared(tmp_path / "random", *sides)))


def test_the_rate_that_a_search_for_the_knee_chose_is_no_other_load(tmp_path: Path) -> None:
    visits = [ours(replace(OPEN, load=Open(rate)), knee_role="visit", id=str(rate)) for rate in (100.0, 620.0)]
    assert not said(only(compared(tmp_path, visits[:1], visits[1:])))
    thinking = replace(CLOSED, think_time=ThinkTime(NS_PER_MS))
    assert not said(only(compared(tmp_path / "1", [ours(thinking)], visits[1:])))
    (pair,) = compared(tmp_path / "2", visits, visits[:1]).pairs
    assert len(pair.runs_before) == 2, "visits of one workload are taken together, as they were"


def test_the_size_of_a_scratch_file_is_the_part_that_is_used(tmp_path: Path) -> None:
    small, large = (with_scratch(ours(CLOSED, target_kind="scratch"), size * MIB) for size in (4, 256))
    words = "part of the target 4 MiB before, 256 MiB after"
    assert words in said(only(compared(tmp_path / "1", [small], [large])))
    confined = ours(replace(CLOSED, region=Region(0, 256 * MIB)))
    assert words in said(only(compared(tmp_path / "2", [small], [confined])))
    assert not said(only(compared(tmp_path / "3", [large], [confined])))
    upper = with_scratch(ours(replace(CLOSED, region=Region(MIB)), target_kind="scratch"), 256 * MIB)
    assert "part of the target 4 MiB before, 255 MiB after" in said(only(compared(tmp_path / "4", [small], [upper])))


def test_a_scratch_file_and_all_of_a_device_are_two_targets(tmp_path: Path) -> None:
    scratch = with_scratch(ours(CLOSED, target_kind="scratch"), 256 * MIB)
    pair = only(compared(tmp_path, [scratch], [ours(CLOSED)]))
    assert not said(pair)
    assert "The part of the target is not stated after (256 MiB on the other side)." in pair.notes


def test_what_several_streams_ask_for_is_told_stream_by_stream(tmp_path: Path) -> None:
    """It was called not stated, as a run of unlike streams has no size and no mix of its own."""
    small, large = replace(CLOSED, name="small"), replace(WRITES, name="large")
    large = replace(large, access=Mix((AccessSpec(65536, read_share=0.0),)))
    parameters = {"target_kind": "device", "workload": json.dumps(Workload("a", (small, large)).to_json())}
    own = {"block_bytes": None, "read_ratio": None, "random_ratio": None}
    unlike = run("a", noisy(1000.0), engine="storscope", parameters=parameters, **own)
    pair = only(compared(tmp_path, [unlike], [ours(CLOSED)]))
    [size] = [note for note in pair.notes if "block size" in note]
    assert (
        size == "The block size is 4 KiB of stream 'small', 64 KiB of stream 'large' before (4 KiB on the other side)."
    )
    before, after = (subject.load for subject in pair.subjects)
    assert "; stream 'small': 4 KiB, 100 % reads, 100 % random" in before
    assert "; stream 'large': 64 KiB, 0 % reads, 100 % random" in before
    assert after.startswith("4 KiB, 100 % reads, 100 % random") and "stream" not in after


def test_of_several_streams_the_one_that_differs_is_named(tmp_path: Path) -> None:
    users, hog = replace(OPEN, name="users"), replace(OPEN, name="hog", load=Open(5000.0))
    limited = replace(hog, load=Open(800.0))
    pair = only(compared(tmp_path / "1", [ours(users, hog)], [ours(limited, users)]))
    assert said(pair) == "NOT THE SAME LOAD: rate of stream 'hog' 5,000/s before, 800/s after."
    pair = only(compared(tmp_path / "2", [ours(users, hog)], [ours(users, replace(limited, name="backup"))]))
    assert "rate of stream 'hog' 5,000/s before, 800/s after" in said(pair)
    pair = only(compared(tmp_path / "3", [ours(users, hog)], [ours(users)]))
    assert "number of streams 2 before, 1 after" in said(pair)


def test_many_steps_are_told_in_short_and_what_looks_the_same_is_said_to_differ(tmp_path: Path) -> None:
    def steps(last: float) -> Writer:
        rates = (10.0, 20.0, 30.0, 40.0, 50.0, last)
        return ours(replace(OPEN, load=Steps(tuple(RateStep(rate, NS_PER_S) for rate in rates))))

    assert said(only(compared(tmp_path, [steps(60.0)], [steps(90.0)]))) == "NOT THE SAME LOAD: rate not the same."


def test_a_field_that_an_older_version_did_not_know_has_its_default(tmp_path: Path) -> None:
    """Workloads are kept as text; fields were added since, whose defaults say what was done before."""
    streams = [replace(CLOSED, name=name) for name in ("data", "log")]
    form = Workload("a", tuple(streams)).to_json()
    old = {**form, "streams": [{key: one[key] for key in one if key != "starts"} for one in form["streams"]]}
    assert old != form
    earlier = ours(*streams, workload=json.dumps(old))
    assert only(compared(tmp_path / "1", [earlier], [ours(*streams)])).warnings == []
    apart = [replace(stream, starts=Starts.APART) for stream in streams]
    told = only(compared(tmp_path / "2", [earlier], [ours(*apart)])).warnings
    assert any(one.startswith("The streams 'data', 'log' were not the same on both sides.") for one in told)


@pytest.mark.parametrize("workload", ["oltp", "5", "{}", '{"streams": [{"kind": "of a later version"}]}'])
def test_a_workload_that_is_not_understood_tells_nothing(tmp_path: Path, workload: str) -> None:
    pair = only(compared(tmp_path, [ours(CLOSED, workload=workload)], [ours(OPEN)]))
    assert not said(pair)
    assert "The rate is not stated before (100/s on the other side)." in pair.notes


# Pairs and repetitions ------------------------------------------------------------------------------------------------


def test_runs_of_one_name_are_paired_by_their_rates_and_are_repetitions_at_one_rate_only(tmp_path: Path) -> None:
    def at(*rates: float) -> list[Writer]:
        return [ours(replace(OPEN, load=Open(rate)), id=f"{rate} {n}") for rate in rates for n in (1, 2)]

    found = compared(tmp_path, at(100.0, 620.0, 300.0), at(620.0, 100.0, 400.0))
    assert [pair.runs_before for pair in found.pairs] == [
        ["100.0 1", "100.0 2"], ["620.0 1", "620.0 2"], ["300.0 1", "300.0 2"],
    ]  # fmt: skip
    assert [said(pair) for pair in found.pairs] == ["", "", "NOT THE SAME LOAD: rate 300/s before, 400/s after."]


def test_what_has_no_partner_is_listed_with_what_was_asked_for(tmp_path: Path) -> None:
    runs = [ours(replace(OPEN, load=Open(rate)), id=str(rate)) for rate in (100.0, 620.0)]
    (lone,) = compared(tmp_path, runs, runs[1:]).unmatched
    assert lone.reason == (
        "the other side ran it with another load: 4 KiB, 100 % reads, 100 % random, rate 620/s; "
        "this one: 4 KiB, 100 % reads, 100 % random, rate 100/s"
    )


# Little's law ---------------------------------------------------------------------------------------------------------


def test_a_think_time_that_was_asked_for_is_no_pause_of_the_generator(tmp_path: Path) -> None:
    thinking = replace(CLOSED, think_time=ThinkTime(2 * NS_PER_MS))
    waiting = replace(CLOSED, access=Mix((_SLOW,)))
    for name, stream in (("think", thinking), ("delay", waiting)):
        pair = only(compared(tmp_path / name, [ours(stream, latency_ns=1e6)], [ours(stream, latency_ns=1e6)]))
        assert not pair.warnings, "1,000 I/Os/s of 1 ms are 1 in flight, of 16"
    pair = only(compared(tmp_path / "1", [ours(CLOSED, latency_ns=1e6)], [ours(CLOSED, latency_ns=1e6)]))
    assert len([one for one in pair.warnings if "the generator paused" in one]) == 2
    pair = only(compared(tmp_path / "2", [ours(thinking, latency_ns=32e6)], [ours(thinking, latency_ns=32e6)]))
    assert len([one for one in pair.warnings if "16 configured" in one]) == 2, "more than there can be is still said"


# fio ------------------------------------------------------------------------------------------------------------------

_BASE = {"rw": "randread", "bs": "4k", "size": "64M", "direct": "1"}
_LOAD = Load(4096.0, 1.0, 1.0, 16.0, 1.0)


def fio_differences(before: Mapping[str, str], after: Mapping[str, str], load: Load = _LOAD) -> list[str]:
    return asked_differences(asked_of_fio({**_BASE, **before}, load), asked_of_fio({**_BASE, **after}, load))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"rate_iops": "1000"}, {"rate_iops": "1300"}, "rate 1,000/s before, 1,300/s after"),
        ({}, {"rate_iops": "1000"}, "rate none before, 1,000/s after"),
        ({"rate": "4m"}, {"rate_iops": "2048"}, "rate 1,024/s before, 2,048/s after"),
        ({"rate": "fast"}, {}, "rate as rate=fast says before, none after"),
        (
            {"rate_iops": "1k"},
            {"rate_iops": "1024", "rate_process": "poisson"},
            "arrivals at equal intervals before, at random (Poisson) after",
        ),
        ({}, {"thinktime": "2000"}, "think time none before, 2.00 ms after"),
        ({"thinktime": "2ms"}, {"thinktime": "5ms"}, "think time 2.00 ms before, 5.00 ms after"),
        (
            {"thinktime": "2ms", "thinktime_blocks": "4"},
            {"thinktime": "2000"},
            "thinktime_blocks 4 before, 1 after",
        ),
        (
            {"random_distribution": "zipf:1.2"},
            {"random_distribution": "random"},
            "distribution of random offsets Zipf 1.2 before, uniform after",
        ),
        (
            {"random_distribution": "zipf"},
            {"random_distribution": "pareto:0.2"},
            "distribution of random offsets Zipf 1.1 before, pareto:0.2 after",
        ),
        ({}, {"size": "256M"}, "size 64 MiB before, 256 MiB after"),
        ({"filename": "/dev/sdb"}, {"filename": "/dev/sdc", "size": "1g"}, "part of the target 64 MiB before, 1 GiB"),
        ({"size": "50%"}, {"size": "80%"}, "size 50% before, 80% after"),
        ({}, {"fdatasync": "1"}, "flushes none before, fdatasync after each write after"),
        ({"fsync": "32"}, {"fdatasync": "32"}, "flushes fsync after every 32 writes before, fdatasync after every 32"),
        (
            {"fsync": "10", "fdatasync": "1"},
            {"fdatasync": "1"},
            "flushes as fdatasync=1 and fsync=10 says before, fdata",
        ),
        ({}, {"direct": "0"}, "I/O direct before, through the page cache after"),
        ({"direct": ""}, {"direct": "1", "offset": "1g"}, "start of the part of the target 0 B before, 1 GiB after"),
    ],
)
def test_options_of_fio_that_ask_for_another_load(
    before: Mapping[str, str], after: Mapping[str, str], words: str
) -> None:
    (found,) = fio_differences(before, after, replace(_LOAD, workers=2.0 if "size" in words[:5] else 1.0))
    assert words in found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"size": "1g"}, {"size": "1024m"}),
        ({"rate_iops": "0"}, {}),
        ({"random_distribution": "zipf:1.2/0.3"}, {"random_distribution": "zipf:1.2"}),
        ({"rate_iops": "1000,", "rate_process": "linear"}, {"rate_iops": "1000,500"}),
        ({"thinktime": "0"}, {}),
        ({"fsync": "0"}, {}),
        ({"thinktime": "2ms", "thinktime_blocks": "1"}, {"thinktime": "2000us"}),
        ({"random_distribution": "random"}, {}),
        ({"filename": "/dev/sdb", "runtime": "60", "randseed": "7", "ioengine": "libaio", "name": "a"}, {}),
        ({"ioengine": "io_uring", "rate_min": "1m", "io_size": "10g", "time_based": ""}, {"numjobs": "1"}),
    ],
)
def test_options_of_fio_that_ask_for_the_same_load(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    assert not fio_differences(before, after)


def test_a_device_needs_no_size_and_a_file_does() -> None:
    without = {name: text for name, text in _BASE.items() if name != "size"}
    assert not asked_differences(asked_of_fio(_BASE, _LOAD), asked_of_fio(without, _LOAD))


def test_rates_of_fio_are_of_both_directions_and_of_all_processes() -> None:
    mixed = replace(_LOAD, read_ratio=0.75, workers=4.0)
    (found,) = fio_differences({"rate_iops": "300,100"}, {"rate_iops": "300"}, mixed)
    assert found == "rate 1,600/s before, 2,400/s after"
    (found,) = fio_differences({"rate_iops": "300,"}, {"rate_iops": ",100"}, mixed)
    assert found == "rate 1,200/s of reads alone before, 400/s of writes alone after", "fio limits nothing else then"
    assert not fio_differences({"rate_iops": "300,"}, {"rate_iops": "300,0"}, mixed)


def test_without_options_fio_tells_nothing() -> None:
    assert not asked_differences(asked_of_fio({}, _LOAD), asked_of_fio({**_BASE, "rate_iops": "1000"}, _LOAD))


def _fio_result(path: Path, **options: str) -> str:
    document = json.loads((_IMPORTERS / "fio_json" / "fio_3.33_jsonplus.json").read_text())
    del document["jobs"][0]["latency_depth"]
    document["jobs"][0]["job options"] |= options
    path.write_text(json.dumps(document))
    return str(path)


def test_results_of_fio_at_two_rates_are_not_the_same_load(tmp_path: Path) -> None:
    sides = [_fio_result(tmp_path / f"{rate}.json", rate_iops=str(rate)) for rate in (1000, 1300)]
    assert said(only(compare(*sides, Settings()))) == "NOT THE SAME LOAD: rate 1,000/s before, 1,300/s after."


def test_a_think_time_of_fio_is_no_pause_of_the_generator_either(tmp_path: Path) -> None:
    sides = [_fio_result(tmp_path / f"{n}.json", thinktime="2ms", iodepth="64", x=str(n)) for n in (1, 2)]
    assert not only(compare(*sides, Settings())).warnings
    sides = [_fio_result(tmp_path / f"{n}.json", iodepth="64", x=str(n)) for n in (3, 4)]
    assert "the generator paused" in only(compare(*sides, Settings())).warnings[0]


def test_fio_and_ours_differ_only_in_what_both_say(tmp_path: Path) -> None:
    """fio's job of 64 MiB on data.bin says nothing of rates; without `direct` it says nothing of the page cache."""
    scratch = with_scratch(ours(CLOSED, target_kind="scratch"), 64 * MIB)
    store = make_store(tmp_path / "ours", scratch)
    rated = make_store(tmp_path / "rated", ours(OPEN))

    def against(ours_path: Path, **options: str) -> PairResult:
        result = _fio_result(tmp_path / "result.json", iodepth="16", **options)
        return only(compare(str(ours_path), result, Settings()))

    assert not said(against(store.path))
    assert not said(against(rated.path))
    assert "part of the target 64 MiB before, 8 MiB after" in said(against(store.path, size="8m"))
    assert "I/O direct before, through the page cache after" in said(against(store.path, direct="0"))
    assert "rate 100/s before, 500/s after" in said(against(rated.path, rate_iops="500"))
    assert "flushes none before, fdatasync after each write after" in said(against(store.path, fdatasync="1"))
    document = json.loads(Path(_fio_result(tmp_path / "unsaid.json", iodepth="16")).read_text())
    del document["jobs"][0]["job options"]["direct"]
    (tmp_path / "unsaid.json").write_text(json.dumps(document))
    assert not said(only(compare(str(store.path), str(tmp_path / "unsaid.json"), Settings())))


def test_the_text_of_fio_tells_too_little_to_differ_from_its_json() -> None:
    name = "fio_3.33_stonewall_and_clones"
    found = compare(
        *(str(_IMPORTERS / kind / f"{name}.{end}") for kind, end in (("fio_json", "json"), ("fio_text", "txt"))),
        Settings(),
    )
    assert found.pairs
    assert not [one for one in found.pairs if "I/O" in said(one)]


def test_cells_of_a_table_are_no_options_of_fio(tmp_path: Path) -> None:
    """A column `rate` of a script's table is a result."""
    sides = [run("a", noisy(1000), parameters={"rate": str(rate), "size": "4k"}) for rate in (100, 200)]
    assert not said(only(compared(tmp_path, sides[:1], sides[1:])))


def test_parts_of_one_run_are_one_load(tmp_path: Path) -> None:
    store = make_store(tmp_path, ours(replace(OPEN, load=_STEPS)))
    sides = parse_side("until=1m"), parse_side("since=1m")
    found = compare_sides((store, sides[0]), (store, sides[1]), Settings(), version="test")
    assert not said(only(found))


# Streams that a schedule lets run -------------------------------------------------------------------------------------

_USERS, _HOG = replace(OPEN, name="users"), replace(CLOSED, name="hog", access=Mix((AccessSpec(65536),)))


def scheduled(first_s: int | None, end_s: int | None, *streams: Stream, latency_ns: float = 1e6, **more: str) -> Writer:
    """A minute in which the stream 'hog' runs from `first_s` to `end_s`."""
    lifetimes = {"hog": [(first_s or 0) * NS_PER_S, end_s and end_s * NS_PER_S]}
    told = {"lifetimes": json.dumps(lifetimes), "target_count": "1"} | more
    return ours(*streams or (_USERS, _HOG), engine="storscope-sim", latency_ns=latency_ns, **told)


def parts(path: Path, writer: Writer, before: str, after: str) -> PairResult:
    store = make_store(path, writer)
    sides = parse_side(before), parse_side(after)
    return only(compare_sides((store, sides[0]), (store, sides[1]), Settings(), version="test"))


def test_a_stream_that_ran_in_one_part_of_a_run_alone_makes_it_another_load(tmp_path: Path) -> None:
    """The end of a hog was called worse, as operations fell."""
    hog = "number of streams 2 before, 1 after ('hog' before alone)"
    pair = parts(tmp_path / "1", scheduled(0, 30), "until=30s", "since=30s")
    assert said(pair) == f"NOT THE SAME LOAD: {hog}."
    assert "The stream 'hog' was not the same on both sides." in pair.warnings[1]
    assert pair.load_after.outstanding is None
    pair = parts(tmp_path / "2", scheduled(30, None), "until=30s", "since=30s")
    assert "1 before, 2 after ('hog' after alone)" in said(pair)


def test_parts_in_which_a_stream_was_silent_are_those_of_the_others(tmp_path: Path) -> None:
    pair = parts(tmp_path, scheduled(20, 40), "until=20s", "since=40s")
    assert not said(pair)
    assert row(pair, "iops").outcome is None, "the stream that is left has a rate, so that operations are load"


def test_for_how_long_a_stream_ran_was_asked_for(tmp_path: Path) -> None:
    pair = parts(tmp_path / "1", scheduled(15, None), "until=30s", "since=30s")
    assert said(pair) == "NOT THE SAME LOAD: activity of stream 'hog' 50 % of the time before, all of the time after."
    assert not said(parts(tmp_path / "2", scheduled(15, 45), "until=30s", "since=30s"))
    pair = only(compared(tmp_path / "3", [scheduled(0, 30)], [scheduled(0, 45)]))
    assert "activity of stream 'hog' 50 % of the time before, 75 % of the time after" in said(pair)


def test_ios_of_a_silent_stream_are_not_configured(tmp_path: Path) -> None:
    """Of 40 that two streams keep in flight 8 were, which is what the one that ran was to do."""
    small, large = replace(CLOSED, name="users", load=Closed(8)), replace(_HOG, load=Closed(32))
    for number, end_s in enumerate((20, 30)):
        writer = scheduled(10, end_s, small, large, latency_ns=8e6)
        pair = parts(tmp_path / str(number), writer, "until=10s", "since=40s")
        assert not pair.warnings
        assert pair.load_before.outstanding == 8
    pair = parts(tmp_path / "2", scheduled(10, 20, small, large, latency_ns=4e6), "until=10s", "since=40s")
    assert "Of 8 configured outstanding I/Os 4.0 were in flight before" in " ".join(pair.warnings)
    pair = only(compared(tmp_path / "3", *[[scheduled(10, 20, small, large, latency_ns=9e6)]] * 2))
    assert not pair.warnings, "for a part of the time it kept none"
