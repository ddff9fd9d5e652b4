"""A file that is given in another's place is told as what it is, with the command that takes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from storscope.bench.workloads import load_workload
from storscope.domain.errors import ConfigError, StorscopeError
from storscope.domain.text_kinds import DESIGN, FIO_JOB, ICF, SCHEDULE, TRACE, WORKLOAD, TextKind, text_kind
from storscope.sim.design import load_design
from storscope.sim.schedule import load_schedule
from storscope.sim.traces import read_trace
from tests.sim.designs import SMALL

_EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "designs").glob("*.toml"))
_WORKLOAD = 'name = "w"\n\n[[stream]]\noutstanding = 4\n\n[[stream.line]]\nsize = "8k"\n'
_INLINE = 'name = "w"\nstream = [{ outstanding = 4, line = [{ size = "8k" }] }]\n'
_SCHEDULE = '[[stream]]\nname = "hog"\nstart = "5s"\n\n[[stream]]\nname = "other"\nend = "5s"\n'
_CHANGES = '# a comment\n[[at]]\ntime = "5s"\ndrive_fails = { group = "g", index = 0 }\n'
_FIO = "[global]\nioengine=libaio\n[job]\nrw=randread\n"
_ICF = "Version 1.1.0\n'TEST SETUP ====\n"
_TRACE = "R Hit 7563004 4 14368.0 28778.0\n"
_CSV = "time_s,volume,op,offset_bytes,length_bytes\n0.1,data,R,0,4096\n"
_RUNS_ON = "storscope simulate DESIGN.toml --workload FILE"
_USES = {
    DESIGN: "storscope simulate FILE --workload NAME", WORKLOAD: _RUNS_ON, FIO_JOB: _RUNS_ON, ICF: _RUNS_ON,
    SCHEDULE: "storscope simulate DESIGN.toml --workload NAME --schedule FILE",
    TRACE: "storscope simulate DESIGN.toml --trace FILE",
}  # fmt: skip
_TEXTS = [
    (SMALL, DESIGN), (_WORKLOAD, WORKLOAD), (_INLINE, WORKLOAD), (_SCHEDULE, SCHEDULE), (_CHANGES, SCHEDULE),
    (_FIO, FIO_JOB), (_ICF, ICF), (_TRACE, TRACE), (_CSV, TRACE),
]  # fmt: skip


@pytest.mark.parametrize("path", _EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_what_its_name_says(path: Path) -> None:
    wanted = {"workload": WORKLOAD, "schedule": SCHEDULE}.get(
        path.suffixes[-2][1:] if path.suffixes[:-1] else "", DESIGN
    )
    assert text_kind(path.read_text()) is wanted


def test_examples_of_all_three_are_there() -> None:
    assert {text_kind(path.read_text()) for path in _EXAMPLES} == {DESIGN, WORKLOAD, SCHEDULE}


@pytest.mark.parametrize(
    ("read", "wanted"),
    [(load_design, DESIGN), (load_workload, WORKLOAD), (load_schedule, SCHEDULE), (read_trace, TRACE)],
)
@pytest.mark.parametrize(("text", "kind"), _TEXTS)
def test_another_kind_is_named_with_its_command(
    read: Callable[[Path], object], wanted: TextKind, text: str, kind: TextKind, tmp_path: Path
) -> None:
    if kind is wanted or (wanted is WORKLOAD and kind.is_workload):
        return
    path = tmp_path / "a file"
    path.write_text(text)
    with pytest.raises(StorscopeError) as raised:
        read(path)
    first, hint = raised.value.message().split("\n")
    assert first == f"{path}: expected {wanted.words}, found {kind.words} file."
    assert hint.endswith(": " + _USES[kind].replace("FILE", f"'{path}'"))


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (load_design, SMALL.replace("count = 8", "count = 7"), "a multiple of 2"),
        (load_workload, _WORKLOAD.replace("outstanding", "outstandng"), "Did you mean 'outstanding'"),
        (load_workload, _WORKLOAD.replace("outstanding = 4", 'outstanding = 4\nstart = "5s"'), "found 'start'"),
        (load_schedule, _SCHEDULE.replace('start = "5s"', 'start = "5s"\noutstanding = 4'), "one of name, start, end"),
        (load_schedule, _CHANGES.replace("[[at]]", "[[at]]\n") + "[more]\n", r"tables \[\[at\]\] and \[\[stream\]\]"),
    ],
)
def test_what_is_wrong_in_a_file_of_the_right_kind_is_told_as_before(
    read: Callable[[Path], object], text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        read(path)


def test_of_a_text_that_is_no_file_the_command_names_none() -> None:
    with pytest.raises(ConfigError, match="the text: expected a design, found a workload file") as raised:
        load_design(_WORKLOAD)
    assert raised.value.hint.endswith("--workload FILE")
