from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storscope.bench.workloads.definition import Definition, Sweep
from storscope.bench.workloads.icf import read_icf
from storscope.bench.workloads.icf_write import write_icf
from storscope.bench.workloads.loss import LossKind
from storscope.domain.errors import MalformedInput, StorscopeError
from storscope.domain.workload import (
    AccessSpec,
    Closed,
    Copy,
    DataPool,
    Flush,
    Mix,
    Open,
    Region,
    Stream,
    ThinkTime,
    Verification,
    Workload,
    Zipf,
)
from tests.bench.workloads.strategies import icf_workloads, workloads

SAMPLES = Path(__file__).parent / "samples"
STEPS, CLASSIC, OLD = (
    (SAMPLES / f"{name}_written.icf").read_text() for name in ("steps_1.1.0", "classic_2004.07.30", "old_1998.02.01")
)


def kept(definition: Definition) -> tuple[object, ...]:
    return definition.workloads, definition.others, definition.sweep, definition.targets, definition.description


def reasons(definition: Definition, kind: LossKind) -> str:
    return "\n".join(str(loss) for loss in definition.losses if loss.kind is kind)


# Reading --------------------------------------------------------------------------------------------------------------


def test_each_step_is_a_workload_with_a_stream_for_each_worker_that_is_not_idle() -> None:
    first, second = read_icf(STEPS).workloads
    assert [stream.name for stream in first.streams] == ["Mail store", "Stream in"]
    assert first.name == "Mail store + Stream in"
    assert [stream.load for stream in first.streams] == [Closed(16), Closed(2)]
    assert second.name == "Stream in"
    assert len(second.streams) == 1


def test_lines_keep_iometers_units_and_meaning() -> None:
    mix = read_icf(STEPS).workloads[0].streams[0].access
    assert isinstance(mix, Mix)
    assert mix.lines == (
        AccessSpec(4096, 0.7, 0.6, 1.0, 0, 1, 4096, 0),
        AccessSpec(32768, 0.2, 0.5, 0.8, 5_000_000, 4, 4096, 0),
        AccessSpec(65536, 0.1, 1.0, 0.0, 0, 8, 512, 512),  # align 0 is the sector
    )


def test_sectors_targets_and_cycling_are_read() -> None:
    definition = read_icf(STEPS)
    streams = definition.workloads[0].streams
    assert definition.targets == ("sdb", "sdc")
    assert [stream.targets for stream in streams] == [(), (1,)]
    assert streams[0].region == Region(2**20, 2**30)
    assert definition.sweep == Sweep((1, 2, 4, 8, 16), (), (), 150 * 10**9, 10 * 10**9)
    assert [workload.name for workload in definition.others] == ["Spare"]


def test_what_is_no_workload_is_listed() -> None:
    definition = read_icf(STEPS)
    assert "Worker 3" in reasons(definition, LossKind.LOST)
    assert "fixed seed 4711" in reasons(definition, LossKind.ELSEWHERE)
    assert "NO_TARGETS" in reasons(definition, LossKind.ELSEWHERE)
    assert "500 transactions" in reasons(read_icf(CLASSIC), LossKind.LOST)


def test_without_assignments_the_default_ones_run_in_turn_and_cycling_needs_a_test_type() -> None:
    definition = read_icf(CLASSIC)
    assert [workload.name for workload in definition.workloads] == ["Read it all", "Half and half"]
    assert [workload.name for workload in definition.others] == ["Unused"]
    assert definition.workloads[0].streams[0].load == Closed(32)
    assert definition.workloads[0].streams[0].region.length_bytes == 4_000_000 * 512
    assert definition.sweep.outstanding == ()


def test_specifications_without_names_end_when_they_reach_100_per_cent() -> None:
    one, two = (workload.streams[0].access for workload in read_icf(OLD).workloads)
    assert isinstance(one, Mix)
    assert isinstance(two, Mix)
    assert one.lines == (AccessSpec(2048, 1.0, 0.67, 1.0, align_bytes=512),)
    assert two.lines[1] == AccessSpec(16384, 0.6, 0.0, 1.0, 20_000_000, 2, 512)


def test_a_target_that_several_managers_name_is_said_to_be_taken_as_one() -> None:
    """PHYSICALDRIVE:1 of two hosts may be two devices."""
    workers = STEPS[STEPS.index("'Manager ID") : STEPS.index("'END manager list")]
    twice = STEPS.replace("'END manager list", workers.replace("1,loadhost", "2,other") + "'END manager list")
    assert "target 'sdb' of several managers: taken as one" in reasons(read_icf(twice), LossKind.APPROXIMATED)
    assert "taken as one" not in reasons(read_icf(STEPS), LossKind.APPROXIMATED)


def test_a_worker_without_targets_is_not_given_those_of_others() -> None:
    """Its writes would go to a disk that the file lets nobody write to."""
    before, first, rest = STEPS.partition("'Target assignments\n")
    own, end, after = rest.partition("'End target assignments")
    assert first and end and "sdb" in own
    definition = read_icf(before + first + end + after)
    assert [workload.name for workload in definition.workloads] == ["Stream in"]
    assert "no targets" in reasons(definition, LossKind.LOST)


def test_equal_neighbours_become_workers_of_one_stream() -> None:
    definition = Definition("x", (Workload("w", (Stream(Mix((AccessSpec(4096),)), Closed(3), workers=5),)),))
    read = read_icf(write_icf(definition)[0])
    assert read.workloads[0].streams[0].workers == 5


@pytest.mark.parametrize("variant", ["\r\n", "no tabs", "lower case", "bom"])
def test_the_way_it_is_written_does_not_matter(variant: str) -> None:
    text = {
        "\r\n": STEPS.replace("\n", "\r\n"),
        "no tabs": STEPS.replace("\n\t", "\n"),
        "lower case": "\n".join(line.lower() if line.startswith("'") else line for line in STEPS.split("\n")),
        "bom": STEPS.replace("Version 1.1.0 ", "Version 1.1.0"),
    }[variant]
    assert kept(read_icf(text)) == kept(read_icf(STEPS))


def test_a_size_with_a_letter_is_what_its_author_meant_and_said() -> None:
    definition = read_icf(CLASSIC.replace("65536,100,100", "64K,100,100"))
    assert definition.workloads == read_icf(CLASSIC).workloads
    assert "Iometer stops at the letter and reads 64" in reasons(definition, LossKind.APPROXIMATED)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("1 32 1 LINEAR", tuple(range(1, 33))),
        ("3 40 3 EXPONENTIAL", (3, 9, 27)),
        ("2 9 3 LINEAR", (2, 5, 8)),
        ("1 4 1 EXPONENTIAL", (1, 2, 3, 4)),
        ("5 4 1 LINEAR", ()),
        ("4 9 0 LINEAR", (4,)),
    ],
)
def test_cycling_adds_or_multiplies_up_to_the_end(kind: str, values: tuple[int, ...]) -> None:
    text = STEPS.replace("1          16         2          EXPONENTIAL", kind)
    assert read_icf(text).sweep.outstanding == values


# Writing --------------------------------------------------------------------------------------------------------------


REPEATING = (
    STEPS.replace(",2048,2\n", ",2048,0\n").replace("Mail store\n\tStream in", "Spare").replace("0,0,2", "0,0,0")
)
"""The first worker only reads, and its pattern is that of specifications no worker runs."""


@pytest.mark.parametrize("text", [STEPS, CLASSIC, OLD, REPEATING], ids=["1.1.0", "2004", "1998", "repeating bytes"])
def test_a_file_read_and_written_says_the_same(text: str) -> None:
    definition = read_icf(text, "x")
    written, losses = write_icf(definition)
    assert kept(read_icf(written, "x")) == kept(
        replace(definition, description=definition.description.replace(",", ";"))
    )
    assert not [loss for loss in losses if loss.kind is LossKind.LOST]
    assert write_icf(read_icf(written, "x"))[0] == written


@given(st.lists(icf_workloads(), min_size=1, max_size=3, unique_by=lambda workload: workload.name.lower()))
def test_what_an_icf_can_hold_comes_back_equal(found: list[Workload]) -> None:
    names = [stream.name.lower() for workload in found for stream in workload.streams if stream.name]
    singles = [workload.name.lower() for workload in found if len(workload.streams) == 1]
    if len({*names, *singles}) < len(names) + len(singles):
        return  # one name for two specifications: the second gets a number, which is said
    written, losses = write_icf(Definition("x", tuple(found)))
    assert read_icf(written, "x").workloads == tuple(found)
    assert not [loss for loss in losses if loss.kind is not LossKind.ELSEWHERE]


def from_sector(start: int, length: int, lines: str = "4096,100,100,100,0,1,4096,0") -> Definition:
    spec = f"'ACCESS SPECIFICATIONS ====\n'Access specification name,default assignment\n\ta,NONE\n'size\n\t{lines}\n"
    worker = f"'Worker\n\tw\n'Worker type\n\tDISK\n'Disk maximum size,starting sector\n\t{length},{start}\n"
    managers = f"'MANAGER LIST ====\n'Manager ID, manager name\n\t1,m\n{worker}'End worker\n'END manager list\n"
    return read_icf(f"Version 1.1.0\n{spec}'END access specifications\n{managers}Version 1.1.0\n")


@pytest.mark.parametrize(("start", "length", "region", "kind"), [
    (63, 20_000, Region(64 * 512, 19_999 * 512), LossKind.APPROXIMATED),
    (63, 0, Region(64 * 512), LossKind.APPROXIMATED),
    (64, 0, Region(64 * 512), None),
    (63, 8, Region(63 * 512, 8 * 512), LossKind.LOST),
])  # fmt: skip
def test_alignment_counts_from_the_target_s_first_byte(
    start: int, length: int, region: Region, kind: LossKind | None
) -> None:
    """It has been counted from the starting sector: with 63 all of an aligned test was misaligned."""
    definition = from_sector(start, length)
    assert definition.workloads[0].streams[0].region == region
    assert [loss.kind for loss in definition.losses if "sector 63" in loss.what] == ([kind] if kind else [])


def test_an_alignment_that_counts_from_a_region_elsewhere_is_said_when_written() -> None:
    stream = Stream(Mix((AccessSpec(4096),)), Closed(1), region=Region(512))
    _, losses = write_icf(Definition("x", (Workload("w", (stream,)),)))
    assert "Iometer counts the alignment of 4096 from byte 0" in "\n".join(map(str, losses))


_ANOTHER_TARGET = "/tmp/a\n'End target\n'Target\n\tPHYSICALDRIVE:0\n'Target type\n\tDISK"


@pytest.mark.parametrize("name", [_ANOTHER_TARGET, "'End target assignments", "a\rb", "a\u2028b", " ' 'x", "'"])
def test_the_name_of_a_target_brings_no_lines_of_its_own(name: str) -> None:
    """Iometer would have written to what stood behind the end of a line in a name."""
    stream = Stream(Mix((AccessSpec(4096, read_share=0.0),)), Closed(1), targets=(0,))
    text, losses = write_icf(Definition("x", (Workload("w", (stream,)),), targets=(name, "second")))
    (target,) = read_icf(text).targets
    lines = text.splitlines()
    assert f"\t{target}" in lines
    assert [line for line in lines if "PHYSICALDRIVE" in line] in ([], [f"\t{target}"])
    assert lines.count("'Target") == lines.count("'End target") == lines.count("'End target assignments") == 1
    assert f"called {target!r} in the file" in "\n".join(map(str, losses)) or target == "TARGET 0"


def test_a_specification_whose_name_comes_again_is_kept_beside_and_said() -> None:
    """It had vanished without a word."""
    again = "'Access specification name,default assignment\n\tmail STORE,NONE\n'size\n\t512,100,100,100,0,1,0,0\n"
    definition = read_icf(STEPS.replace("'END access specifications", f"{again}'END access specifications"))
    assert "several of the name 'mail store'" in reasons(definition, LossKind.LOST)
    assert "Mail store" in [workload.name for workload in definition.others]


@given(workloads())
def test_every_sound_workload_can_be_written_and_read(workload: Workload) -> None:
    lengths = [stream.region.length_bytes for stream in workload.streams]
    if any(length is not None and length < 512 for length in lengths):
        return
    written, _ = write_icf(Definition("x", (workload,)))
    found = read_icf(written).workloads[0]
    assert sum(stream.workers for stream in found.streams) == sum(stream.workers for stream in workload.streams)


def test_what_iometer_cannot_ask_is_listed() -> None:
    line = AccessSpec(4096, read_share=0.123)
    streams = (
        Stream(Mix((line,)), Open(100.0), "a", offsets=Zipf(0.9)),
        Stream(Copy(4096, 0), Closed(2), "b", ThinkTime(5)),
        Stream(Mix((AccessSpec(8192, delay_ns=1500),)), Closed(2), "c", region=Region(100)),
        Stream(Mix((line,)), Closed(1), "d", flush=Flush(1)),
    )
    data = DataPool(compressible_ratio=0.5, duplicate_ratio=0.1, seed=3)
    losses = write_icf(Definition("x", (Workload("w", streams, data=data),)))[1]
    shown = "\n".join(map(str, losses))
    for what in ("open loop", "zipf", "a copy to target 0", "think_time", "1500 ns", "12.3 % reads",
                 "compressible_ratio", "duplicate_ratio", "seed", "start of 100 bytes", "name: 'w'",
                 "lost: w: streams[3].flush: fdatasync after each write"):  # fmt: skip
        assert what in shown, what
    verified = Workload("v", (Stream(Mix((line,)), Closed(1)),), verification=Verification.STAMPS)
    assert "does not check" in str(write_icf(Definition("x", (verified,)))[1])


@pytest.mark.parametrize(("sweep", "kind"), [
    (Sweep(outstanding=(1, 2, 4, 8)), "CYCLE_OUTSTANDING_IOS"),
    (Sweep(outstanding=(5, 10, 15)), "CYCLE_OUTSTANDING_IOS"),
    (Sweep(workers=(1, 2, 3, 4)), "CYCLE_WORKERS"),
])  # fmt: skip
def test_a_sweep_becomes_cycling(sweep: Sweep, kind: str) -> None:
    workload = Workload("w", (Stream(Mix((AccessSpec(4096),)), Closed(1), workers=4),))
    written, losses = write_icf(Definition("x", (workload,), sweep=sweep))
    assert f"\t{kind}\n" in written
    assert not losses
    assert read_icf(written).sweep == replace(sweep, ramp_up_ns=0)


def test_a_sweep_without_a_rule_is_listed() -> None:
    workload = Workload("w", (Stream(Mix((AccessSpec(4096),)), Closed(1)),))
    _, losses = write_icf(Definition("x", (workload,), sweep=Sweep(outstanding=(1, 7, 8))))
    assert "neither evenly spaced nor a power series" in str(losses[0])


# Hostile input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new", "message"), [
    ("32768,20,50", "32768,19,50", r"line 34: expected shares of 'Mail store' that add up to 100, found 99"),
    ("32768,20,50", "32768,120,50", r"line 37: expected a number from 0 to 100"),
    ("32768,20,50", "32768,-20,50", r"line 37: expected a number from 0 to 100, found '-20'"),
    ("32768,20,50", "9" * 30 + ",20,50", r"line 37"),
    ("32768,20,50", "0,20,50", r"a size and a burst of at least 1"),
    ("32768,20,50,80,5,4,4096,0", "32768,20,50", r"line 37: expected 8 numbers"),
    ("	16,DISABLED", "	99999999,DISABLED", r"expected a number from 0 to 32768"),
    ("CYCLE_OUTSTANDING_IOS", "CYCLE_THE_MOON", r"line 26: expected NORMAL or"),
    ("'END manager list", "", r"expected the line 'END manager list, found the end of the file"),
    ("Version 1.1.0 \n'TEST", "'TEST", r"line 1: expected the line 'Version"),
])  # fmt: skip
def test_a_contradiction_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert old in STEPS
    with pytest.raises(MalformedInput, match=message):
        read_icf(STEPS.replace(old, new))


def test_a_file_that_is_cut_off_anywhere_is_refused_or_said() -> None:
    lines = STEPS.splitlines()
    whole = read_icf(STEPS).workloads
    for count in range(len(lines) - 1):
        try:
            definition = read_icf("\n".join(lines[:count]))
        except MalformedInput:
            continue
        assert "cut off" in reasons(definition, LossKind.APPROXIMATED), count
        assert definition.workloads != whole or count > len(lines) - 2, count


@given(st.text(max_size=400), st.integers(0, len(STEPS)))
def test_garbage_is_an_error_of_ours_or_a_definition(garbage: str, place: int) -> None:
    try:
        read_icf(STEPS[:place] + garbage + STEPS[place:])
    except StorscopeError as error:
        assert error.message()
