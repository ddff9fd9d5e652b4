"""Samples of the README and the pages do what they are there for, with files that are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from storscope.bench.workloads import load_workload
from storscope.cli.commands.bench import command as bench
from storscope.cli.main import cli, run

_ROOT = Path(__file__).parents[2]
_DRY = [
    shlex.split(line.strip().removeprefix("$ "), comments=True)
    for text in [
        *((_ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in ("bench", "safety")),
        bench.epilog or "",
    ]
    for line in text.splitlines()
    if "storscope bench" in line and "--dry-run" in line
]
_README = (_ROOT / "README.md").read_text(encoding="utf-8")


def _samples(verb: str) -> list[list[str]]:
    text = _README.replace("\\\n", " ")
    lines = re.findall(rf"^\$ storscope {verb}\b.*$", text, re.MULTILINE)
    return [shlex.split(line.removeprefix("$ storscope "), comments=True) for line in lines]


def test_a_dry_run_is_shown_of_a_workload_that_writes() -> None:
    """Of one that only reads there is hardly anything to check, and the sample is about the checks."""
    assert len(_DRY) == 3
    for words in _DRY:
        assert load_workload(words[words.index("--workload") + 1]).sole("a sample", "").writes


@pytest.mark.parametrize(("verb", "codes"), [("simulate", {0}), ("compare", {0}), ("diagnose examples", {1})])
def test_samples_of_the_readme_run_in_a_checkout(
    verb: str, codes: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    samples = _samples(verb)
    assert samples
    for arguments in samples:
        assert run(arguments) in codes


def test_the_simulation_of_the_readme_has_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    (arguments,) = _samples("simulate")
    assert run(arguments) == 0
    assert "doubt:" not in capsys.readouterr().out


def test_every_design_and_folder_of_the_examples_is_in_an_index() -> None:
    examples = _ROOT / "examples"
    text = (examples / "designs" / "README.md").read_text(encoding="utf-8")
    files = [path.name.removesuffix(".toml") for path in (examples / "designs").glob("*.toml")]
    designs = [name for name in files if not name.endswith((".workload", ".schedule"))]
    assert len(designs) > 15
    assert [name for name in designs if not re.search(rf"[ ,]{re.escape(name)}[ ,]", text)] == []
    index = (examples / "README.md").read_text(encoding="utf-8")
    folders = [path.name for path in examples.iterdir() if (path / "README.md").exists()]
    assert all(f"[{name}]({name}/README.md)" in index for name in folders)


def _options(command: click.Command) -> Iterator[str]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _options(found)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield next(name for name in parameter.opts if name.startswith("--"))


def test_every_option_is_named_on_a_page() -> None:
    pages = [_README, *(path.read_text(encoding="utf-8") for path in (_ROOT / "docs").glob("*.md"))]
    text = "\n".join(pages)
    missing = {name for name in _options(cli) if not re.search(rf"{re.escape(name)}(?![\w-])", text)}
    assert missing <= {"--help", "--version"}
