"""A simulation of a handful of I/Os says that it is too short to tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from storscope.cli.main import run

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
