"""Names that lead in a circle of links, or through a folder that may not be entered: told, wherever they are given."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import storscope
from storscope.cli.commands.demo import examples_folder
from storscope.cli.main import run
from tests.sim.designs import SMALL

_IDLE_PORT = str(examples_folder() / "equallogic")
_CIRCLE = "Too many levels of symbolic links"


@pytest.fixture
def circle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("design.toml").write_text(SMALL, encoding="utf-8")
    for one, other in (("one", "other"), ("other", "one")):
        Path(one).symlink_to(other)
    return "one"


@pytest.mark.parametrize(
    "arguments",
    [
        ["store", "info", "--store"],
        ["import", _IDLE_PORT, "--store"],
        ["compare", "run=a", "run=b", "--store"],
        ["simulate", "design.toml", "--workload", "oltp", "--duration", "1s", "--store"],
        ["diagnose", _IDLE_PORT, "--report"],
        ["workload", "convert", "oltp", "--to", "toml", "--output"],
        ["bench", "--duration", "1s", "--workload", "oltp", "--report", "page.html"],
        ["compare", "--report", "page.html", _IDLE_PORT],
    ],
    ids=lambda arguments: " ".join(word for word in arguments if "/" not in word),
)
def test_a_command_tells_a_circle_of_links(
    arguments: list[str], circle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, circle]) == 2
    said = capsys.readouterr().err
    assert _CIRCLE in said or "does not exist" in said


def _diagnose(path: str) -> object:
    return storscope.diagnose(path)


def _into(path: str) -> object:
    return storscope.diagnose(_IDLE_PORT, store=path)


def _report(path: str) -> object:
    return storscope.diagnose(_IDLE_PORT, report=path)


def _compare(path: str) -> object:
    return storscope.compare("run=a", "run=b", store=path)


_ASKED = [_diagnose, storscope.import_evidence, _into, _report, _compare]


@pytest.mark.parametrize("ask", _ASKED)
@pytest.mark.parametrize("name", ["one", "one/new"])
def test_so_does_python(ask: Callable[[str], object], name: str, circle: str) -> None:
    assert circle
    with pytest.raises(storscope.UsageError) as raised:
        ask(name)
    assert raised.value.found == _CIRCLE
    assert raised.value.where == name


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user, to whom a folder is closed")
def test_python_tells_a_folder_that_may_not_be_entered(tmp_path: Path) -> None:
    script = f"""
import os
import storscope
from tests.store.test_unreachable import _ASKED
storscope.diagnose({_IDLE_PORT!r})  # loads what it needs
os.seteuid(65534)
for ask in _ASKED:
    for name in ("closed", "closed/inside"):
        try:
            ask(name)
        except storscope.UsageError as error:
            assert error.found == "Permission denied", error
            assert error.where == name, error
        else:
            raise AssertionError(ask)
"""
    tmp_path.chmod(0o755)
    (tmp_path / "closed").mkdir(mode=0o700)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
