"""Room and targets that a workload asks for: told in words before anything is created."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.bench.engine import run_error
from storscope.bench.room import check_room, needed_bytes, size_word
from storscope.bench.targets import DEFAULT_SCRATCH_BYTES, scratch_size
from storscope.bench.workloads.builtin import builtins
from storscope.cli.main import run
from storscope.domain.access import Copy
from storscope.domain.errors import ConfigError
from storscope.domain.load import Closed, Region
from storscope.domain.units import GIB, MIB
from storscope.domain.workload import Stream, Workload


@pytest.mark.parametrize("name", builtins())
def test_every_built_in_workload_fits_the_scratch_file_it_gets_by_default(
    name: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = builtins()[name].workload
    assert scratch_size(None, workload) >= max(DEFAULT_SCRATCH_BYTES, needed_bytes(workload))
    run(["bench", str(data), "--workload", name, "--dry-run"])  # 2 where this machine has too little room
    assert "regions" not in capsys.readouterr().err


def test_regions_ask_for_room_on_the_targets_that_they_are_on() -> None:
    copy = Copy(128 * 1024, 1, destination_start_bytes=3 * MIB)
    workload = Workload("w", (Stream(copy, Closed(1), targets=(0,), region=Region(MIB, 4 * MIB)),))
    assert [needed_bytes(workload, index) for index in (0, 1, 2)] == [5 * MIB, 7 * MIB, 0]
    check_room(workload, [5 * MIB, 7 * MIB])
    with pytest.raises(ConfigError, match=r"target 1, at least 7 MiB.*found 6 MiB"):
        check_room(workload, [5 * MIB, 6 * MIB])


def test_a_transfer_larger_than_the_target_is_told_in_words(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(data), "--sweep", "sizes=64M", "modes=randread", "--size", "20M", "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert "room for one transfer of" in said
    assert "64 MiB, found 20 MiB" in said
    assert "--size 64M" in said
    assert "streams[" not in said


def test_what_is_too_small_says_how_large_it_must_be(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(data), "--workload", "copy", "--size", "64m", "--store", str(data.parent / "s")]) == 2
    told = capsys.readouterr().err
    assert "at least 2 GiB" in told
    assert "found 64 MiB" in told
    assert "--size 2G" in told
    assert not list(data.iterdir())


def test_a_file_that_is_too_small_needs_a_larger_target(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--size makes no file larger that is there."""
    file = data / "file"
    file.write_bytes(bytes(MIB))
    arguments = ["bench", str(file), "--workload", "backup", "--size", "128k", "--store", str(data.parent / "s")]
    assert run(arguments) == 2
    assert "a scratch file with --size 1M, a larger target, or smaller transfers" in capsys.readouterr().err


def test_more_of_a_file_than_there_is_is_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data / "file"
    file.write_bytes(bytes(MIB))
    arguments = ["bench", str(file), "--workload", "backup", "--size", "2m", "--store", str(data.parent / "s")]
    assert run(arguments) == 2
    assert "--size of at most 1 MiB, as large as it is, found 2 MiB" in capsys.readouterr().err


def test_a_missing_target_is_told_as_such(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data.parent / "two.toml"
    file.write_text(
        'name = "two"\n[[stream]]\ntargets = [0]\noutstanding = 1\n[stream.copy]\nsize = "4k"\ndestination = 1\n'
    )
    assert run(["bench", str(data), "--workload", str(file), "--store", str(data.parent / "s")]) == 2
    assert "expected 2 targets, as the streams of 'two' number them from 0 to 1, found 1" in capsys.readouterr().err


def test_sizes_are_worded_as_the_option_takes_them() -> None:
    assert [size_word(size) for size in (2 * GIB, 1100 * MIB, 5 * MIB + 1)] == ["2G", "1100M", "6M"]


def test_what_the_engine_refuses_is_worded_once() -> None:
    error = run_error("plan", "plan: workload.streams[0].region: expected a region within the target, found bytes 0")
    assert str(error) == "workload.streams[0].region: expected a region within the target, found bytes 0."
