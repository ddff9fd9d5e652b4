"""A simulation of a handful of I/Os says that it is too short to tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.cli.main import run
from tests.sim.designs import SMALL

_DESIGNS = Path(__file__).parents[2] / "examples" / "designs"
_SIMULATE = (
    "simulate", str(_DESIGNS / "logs-on-one-disk.toml"),
    "--workload", str(_DESIGNS / "logs-on-one-disk.one-reader.workload.toml"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("ios", "said"), [(1, "Only 1 I/O counts"), (99, "Only 99 I/Os count"), (100, None), (2000, None)]
)
def test_too_few_to_tell_is_said(
    ios: int, said: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*_SIMULATE, "--ios", str(ios), "--store", str(tmp_path / "s")]) == 0
    out = capsys.readouterr().out
    if said is None:
        assert "too few to tell" not in out
    else:
        assert f"doubt: {said}, which is too few to tell" in out


def _doubts(schedule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    streams = "".join(f'[[stream]]\nname = "{name}"\n{schedule}\n' for name in ("data", "log"))
    (tmp_path / "s.toml").write_text(streams)
    (tmp_path / "d.toml").write_text(SMALL + '\n[cache]\nwrite = { size = "1 GiB" }\n')
    arguments = ("--schedule", str(tmp_path / "s.toml"), "--workload", "data=oltp", "--duration", "30s")
    assert run(["simulate", str(tmp_path / "d.toml"), *arguments, "--store", str(tmp_path / "store")]) == 0
    return " ".join(capsys.readouterr().out.split()).split("doubt: ")[1:]


def test_nothing_waits_where_no_stream_had_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """'Most wait at drive g/0' was said of a drive that was idle, with the advice to simulate longer."""
    said = " ".join(_doubts('start = "40s"', tmp_path, capsys))
    assert "No I/O completed" not in said, "the same once more"
    assert "No I/O was answered in the time that counts, and none waits: none was asked for." in said
    assert "Most wait" not in said
    assert "Simulate longer" not in said


def test_more_time_is_no_advice_where_the_schedule_ended_all_streams(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = " ".join(_doubts('end = "5s"', tmp_path, capsys))
    assert "The write cache was still filling" in said
    assert "Let its streams end later." in said
    assert "Simulate longer" not in said
    assert "Simulate longer" in " ".join(_doubts('end = "31s"', tmp_path, capsys))
