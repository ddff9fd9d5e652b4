"""The targets of fio jobs: named, of their own, below a directory, or those of the command line."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from storscope.bench.target_set import Use, uses_of
from storscope.bench.workloads.convert import convert_to
from storscope.bench.workloads.definition import Definition
from storscope.bench.workloads.fio_job import read_fio
from storscope.bench.workloads.fio_write import write_fio
from storscope.bench.workloads.load import read_definition
from storscope.domain.errors import ConfigError
from storscope.domain.workload import (
    Closed,
    Copy,
    Stream,
    Workload,
)

ARCHIVE = "[verify]\nfilename=/dev/archive\nrw=read\n[log]\ndirectory=/var/log/x\nrw=write\n"


def test_a_job_without_a_filename_has_a_target_of_its_own_beside_jobs_that_name_theirs() -> None:
    """It has had all targets: a writer was put on what another job only reads."""
    definition = read_fio(ARCHIVE)
    assert definition.targets == ("/dev/archive", "${TARGET1}")
    (workload,) = definition.workloads
    assert [stream.targets for stream in workload.streams] == [(0,), (1,)]
    assert uses_of(workload, 2) == [Use(reads=True, writes=False), Use(reads=False, writes=True)]
    with pytest.raises(ConfigError, match="2 targets"):
        uses_of(workload, 1)
    assert "[log]: filename not given: fio makes files of its own" in "\n".join(map(str, definition.losses))


@pytest.mark.parametrize("form", ["fio", "toml", "icf"])
def test_no_form_puts_a_job_without_a_filename_on_the_target_of_another(form: str) -> None:
    text, _ = convert_to(read_fio(ARCHIVE), form)
    again = read_definition(text, "again")
    written = [stream for stream in again.workloads[0].streams if stream.access.writes]
    assert [[again.targets[at] for at in stream.targets] for stream in written] == [["${TARGET1}"]]
    back, _ = convert_to(again, "fio")
    assert [line for line in back.splitlines() if line.startswith("filename=")] == [
        "filename=/dev/archive", "filename=${TARGET1}",
    ]  # fmt: skip


def test_a_target_given_for_fio_takes_the_place_of_the_named_one_alone() -> None:
    text, _ = convert_to(read_fio(ARCHIVE), "fio", ["/dev/other"])
    assert re.findall("filename=(.*)", text) == ["/dev/other", "${TARGET1}"]


DEVICES = "[global]\nbs=64k\n[/dev/sdx]\nrw=read\n[/dev/sdy]\nrw=write\n"


def test_a_section_named_for_a_device_works_on_it_as_in_fio() -> None:
    """All have had the same targets: the writer was put on what the other only reads."""
    definition = read_fio(DEVICES)
    assert definition.targets == ("/dev/sdx", "/dev/sdy")
    assert [stream.targets for stream in definition.workloads[0].streams] == [(0,), (1,)]
    text, _ = write_fio(definition)
    assert re.findall("filename=(.*)", text) == ["/dev/sdx", "/dev/sdy"]
    assert read_fio("[x]\nfilename=/dev/sdx\n[/dev/sdy]\nrw=read\n").targets == ("/dev/sdx", "/dev/sdy")


@pytest.mark.parametrize("job_text", [
    "[/dev/sdx]\nfilename=/a", "[/dev/sdx]\ndirectory=/a", "[/dev/sdx]\nnrfiles=2", "[/dev/shm/x]", "[sdx]",
])  # fmt: skip
def test_other_sections_have_no_device_by_their_name(job_text: str) -> None:
    assert "/dev/sdx" not in read_fio(job_text + "\nrw=read\n").targets


def test_each_job_without_a_filename_has_a_variable_that_no_other_names() -> None:
    definition = read_fio("[a]\nfilename=${TARGET1}:${TARGET3}\n[b]\nrw=write\n[c]\nrw=write\n")
    assert definition.targets == ("${TARGET1}", "${TARGET3}", "${TARGET2}", "${TARGET4}")
    assert [stream.targets for stream in definition.workloads[0].streams] == [(0, 1), (2,), (3,)]


@pytest.mark.parametrize(("directories", "said"), [
    (("", ""), "approximated: jobs: filename not given: fio makes files for each job"),
    (("directory=/a", "directory=/a"), "approximated: jobs: filename not given: fio makes files for each job"),
    (("directory=/a", "directory=/b"), "lost: jobs: directories of their own: fio makes files in each"),
])  # fmt: skip
def test_jobs_of_a_file_without_any_filename_share_the_targets_of_a_run_which_is_said(
    directories: tuple[str, str], said: str
) -> None:
    definition = read_fio("[a]\nrw=read\n{}\n[b]\nrw=write\n{}\n".format(*directories))
    (workload,) = definition.workloads
    assert [stream.targets for stream in workload.streams] == [(), ()]
    assert uses_of(workload, 1) == [Use(reads=True, writes=True)]
    assert said in "\n".join(map(str, definition.losses))
    assert "same targets" not in "\n".join(map(str, read_fio("[j]\nrw=read\ndirectory=/a").losses))


def test_what_jobs_name_that_are_left_out_is_no_target() -> None:
    definition = read_fio("[a]\nrw=trim\nfilename=/dev/a\n[b]\nrw=write\nfilename=/dev/b\n")
    assert definition.targets == ("/dev/b",)
    assert definition.workloads[0].streams[0].targets == ()


def test_a_workload_chosen_alone_has_the_targets_that_it_uses() -> None:
    definition = read_fio("[a]\nfilename=/dev/a\n[b]\nstonewall\nrw=write\n[c]\nstonewall\nfilename=/dev/c\n")
    for name, target in (("a", "/dev/a"), ("b", "${TARGET2}"), ("c", "/dev/c")):
        alone = definition.only(name)
        assert alone.targets == (target,)
        assert len(uses_of(alone.workloads[0], 1)) == 1


def test_a_copy_chosen_alone_keeps_both_of_its_targets() -> None:
    copy = Stream(Copy(65536, destination=2), Closed(1), targets=(3,))
    definition = Definition("toml", (Workload("w", (copy,)),), targets=("/a", "/b", "/c", "/d"))
    (stream,) = definition.only("w").workloads[0].streams
    assert definition.only("w").targets == ("/c", "/d")
    assert stream == replace(copy, access=Copy(65536, destination=0), targets=(1,))


@pytest.mark.needs("fio")
@pytest.mark.parametrize("filename", ["/absolute", "relative", "one:two"])
def test_a_filename_is_below_the_directory_as_in_fio(filename: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    text = f"[j]\nrw=write\nsize=16k\ndirectory={tmp_path}/files/:{tmp_path}\nfilename={filename}\n"
    (tmp_path / "job.fio").write_text(text)
    subprocess.run(["fio", "--output=fio.out", "job.fio"], cwd=tmp_path, check=True, timeout=120)
    assert sorted(read_fio(text).targets) == sorted(map(str, (tmp_path / "files").iterdir()))
