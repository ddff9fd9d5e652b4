"""The samples of `docs/simulate.md` and of `storscope simulate --help` run as they stand, on the files of that page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from storscope.cli.commands.simulate import command
from storscope.cli.main import run

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
_FILES = ("array.toml", "hog.toml", "changes.toml")
_SHORT = ("--duration", "3s")
"""The last one counts: what is tried here is that a sample runs, not what it tells."""


def _samples(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.strip().startswith("storscope simulate "):
            yield line.strip()


_SAMPLES = [*_samples(_PAGE), *_samples(command.epilog or "")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the page tells its reader to copy, and a recording in the form that its table of formats shows."""
    design, _limits, *others, _change, _failure = re.findall(r"```toml\n(.*?)```", _PAGE, re.DOTALL)
    for name, text in zip(_FILES, (design, *others), strict=True):
        (tmp_path / name).write_text(text)
    (recorded,) = re.findall(r"\| text of blkparse \| `(.*?)` \|", _PAGE)
    (tmp_path / "db.blkparse").write_text(f"{recorded}\n{recorded.replace('0.000001829', '0.5')}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_samples_of_the_page_are_found() -> None:
    assert len(_SAMPLES) >= 10
    assert {name for name in _FILES if any(name in sample for sample in _SAMPLES)} == set(_FILES)


@pytest.mark.parametrize("sample", _SAMPLES)
def test_a_sample_runs_with_the_files_of_the_page(sample: str, folder: Path) -> None:
    arguments = shlex.split(sample, comments=True)[1:]
    is_run = "--drives" not in arguments and "--check" not in arguments
    assert run([*arguments, *(_SHORT if is_run else ())]) == 0
    for name in re.findall(r"--report (\S+)", sample):
        assert (folder / name).stat().st_size


def test_the_schedule_of_the_page_changes_the_run_of_its_workload(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (sample,) = [one for one in _SAMPLES if "changes.toml" in one]
    assert run(shlex.split(sample, comments=True)[1:]) == 0
    shown = capsys.readouterr().out
    for happened in ("drive pool/3 fails", "stream 'hog' starts", "loses its write cache", "stream 'hog' ends"):
        assert happened in shown
