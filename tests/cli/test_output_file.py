"""What is in the place of a file that a command writes is not lost without being told."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import storscope.report
from storscope.cli.main import _VERBS, run
from storscope.cli.output_file import OutputFile
from tests.sim.designs import SMALL

EXAMPLE = Path(__file__).parents[2] / "examples" / "noisy_neighbour"
MINE = "my notes of November\n"
FOLDERS = {("demo", "--output"), ("store export", "--output")}
"""Options that take a folder; what they write into it is checked by file."""


def _commands() -> Iterator[tuple[str, click.Command]]:
    for verb, (module, _) in _VERBS.items():
        command = importlib.import_module(f"storscope.cli.commands.{module}").command
        yield verb, command
        if isinstance(command, click.Group):
            yield from ((f"{verb} {name}", one) for name, one in command.commands.items())


def _outputs(command: click.Command) -> list[click.Parameter]:
    return [one for one in command.params if {"--output", "--report"} & set(one.opts)]


def test_every_option_that_names_an_output_follows_the_rule() -> None:
    found = {(name, option.opts[-1]): option for name, command in _commands() for option in _outputs(command)}
    assert len(found) == 10
    assert {place for place, option in found.items() if not isinstance(option.type, OutputFile)} == FOLDERS
    names = {name for name, _ in found}
    assert {name for name, one in _commands() if any("--replace" in option.opts for option in one.params)} == {
        *names,
        "import",  # where it is about captures
    }


def _arguments(verb: str, folder: Path) -> list[str]:
    """A command that writes `folder`/out."""
    out = str(folder / "out")
    design = folder / "small.toml"
    design.write_text(SMALL)
    return {
        "convert": ["workload", "convert", "oltp", "--to", "toml", "-o", out],
        "derive": ["workload", "derive", str(EXAMPLE), "-o", out],
        "fit": ["fit", "drive", str(EXAMPLE), "-o", out],
        "diagnose": ["diagnose", str(EXAMPLE), "--report", out],
        "simulate": ["simulate", str(design), "--workload", "oltp", "--store", str(folder / "s"), "--report", out],
        "bench": ["bench", str(folder), "--sweep", "depth=1", "--store", str(folder / "s"), "--report", out],
        "live": ["demo", "--live", str(folder), "--report", out],
        "export": ["store", "export", "--format", "csv", "--table", "runs", "--store", str(folder / "s"), "-o", out],
    }[verb]


@pytest.mark.parametrize("verb", ["convert", "derive", "fit", "diagnose", "simulate", "bench", "live", "export"])
def test_a_file_of_the_users_is_refused_before_the_work_and_stays(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if verb == "export":
        run(["import", str(EXAMPLE), "--store", str(tmp_path / "s")])
        capsys.readouterr()
    (tmp_path / "out").write_text(MINE)
    assert run(_arguments(verb, tmp_path)) == 2
    said = capsys.readouterr()
    assert not said.out
    assert f"error: {tmp_path / 'out'}: expected a new file" in said.err
    assert "found one of 21 B that would be lost.\n  Name another file, or replace this one with --replace." in said.err
    assert (tmp_path / "out").read_text() == MINE
    assert {path.name for path in tmp_path.iterdir()} <= {"out", "small.toml", "s"}


def _by_its_name(target: Path) -> Path:
    return target


def _by_a_link(target: Path) -> Path:
    (target.parent / "link").symlink_to(target)
    return target.parent / "link"


def _by_a_second_name(target: Path) -> Path:
    (target.parent / "second").hardlink_to(target)
    return target.parent / "second"


def _by_a_longer_path(target: Path) -> Path:
    return target.parent / ".." / target.parent.name / target.name


@pytest.mark.parametrize("path", [_by_its_name, _by_a_link, _by_a_second_name, _by_a_longer_path])
@pytest.mark.parametrize("what", [["--sweep", "depth=1"], ["--workload", "oltp", "--knee"]])
def test_a_report_never_replaces_what_is_measured(
    path: Callable[[Path], Path], what: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "image"
    target.write_bytes(b"\1" * 4096)
    report = ["--report", str(path(target)), "--replace", "--store", str(tmp_path / "s")]
    assert run(["bench", str(target), *what, *report]) == 2
    assert f"error: {target}: expected a report beside the target, found --report" in capsys.readouterr().err
    assert target.read_bytes() == b"\1" * 4096
    assert not (tmp_path / "s").exists()


def test_a_report_never_has_the_name_of_a_new_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(tmp_path / "new")
    assert run(["bench", new, "--sweep", "depth=1", "--report", new, "--store", str(tmp_path / "s")]) == 2
    assert "a report beside the target" in capsys.readouterr().err


def test_the_second_of_two_targets_is_no_place_for_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(bytes(4096))
    targets = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert run(["bench", *targets, "--workload", "oltp", "--knee", "--report", targets[1], "--replace"]) == 2
    assert f"error: {targets[1]}: expected a report beside the target" in capsys.readouterr().err


def test_what_is_printed_does_not_go_to_what_is_measured(tmp_path: Path) -> None:
    target = tmp_path / "image"
    target.write_bytes(b"\1" * 4096)
    command = [sys.executable, "-m", "storscope", "bench", str(target), "--workload", "backup", "--json"]
    with target.open("ab") as output:
        command += ["--store", str(tmp_path / "s")]
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"expected a standard output beside the target" in done.stderr
    assert target.read_bytes() == b"\1" * 4096


@pytest.mark.parametrize("asked", [["--replace"], []])
def test_a_workload_that_may_have_been_edited_is_replaced_only_when_asked(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "mine.toml"
    convert = ["workload", "convert", "oltp", "--to", "toml", "-o", str(output)]
    assert run(convert) == 0
    edited = output.read_text() + "# edited\n"
    output.write_text(edited)
    assert run([*convert, *asked]) == (0 if asked else 2)
    assert (output.read_text() == edited) is not bool(asked)


def test_an_empty_file_is_no_loss(tmp_path: Path) -> None:
    """As mktemp makes them."""
    output = tmp_path / "made"
    output.touch()
    assert run(["workload", "convert", "oltp", "--to", "toml", "-o", str(output)]) == 0
    assert "oltp" in output.read_text()


def test_a_report_replaces_an_earlier_one_and_no_other_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "r.html"
    diagnose = ["diagnose", str(EXAMPLE), "--report", str(report), "--fail-on", "critical"]
    first = run(diagnose)
    assert first in {0, 1}
    assert run(diagnose) == first
    capsys.readouterr()
    assert run(["workload", "convert", "oltp", "--to", "toml", "-o", str(report)]) == 2
    assert "expected a new file, found one of" in capsys.readouterr().err
    report.write_text("<!doctype html><title>mine</title><p>storscope</p>")
    assert run(diagnose) == 2
    assert "expected a new file, or an earlier report of storscope, found" in capsys.readouterr().err
    assert run([*diagnose, "--replace"]) == first
    assert "mine" not in report.read_text()[:2000]


def test_an_export_into_a_folder_writes_nothing_where_one_table_is_in_the_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, folder = str(tmp_path / "s"), tmp_path / "export"
    run(["import", str(EXAMPLE), "--store", store])
    export = ["store", "export", "--format", "json", "--store", store, "-o", str(folder)]
    folder.mkdir()
    (folder / "runs.json").write_text(MINE)
    capsys.readouterr()
    assert run(export) == 2
    assert "runs.json: expected a new file" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["runs.json"]
    assert run([*export, "--replace"]) == 0
    assert (folder / "runs.json").read_text() != MINE


def test_the_demo_keeps_a_page_of_the_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "noisy_neighbour.html").write_text(MINE)
    assert run(["demo", "--output", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "noisy_neighbour.html: expected a new file, or an earlier report" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["noisy_neighbour.html"]


def test_every_page_carries_the_mark_in_its_head() -> None:
    templates = Path(storscope.report.__file__).parent / "templates"
    pages = [text for text in (path.read_text() for path in templates.glob("*.j2")) if "<html" in text]
    assert len(pages) >= 2
    assert all('<meta name="generator" content="storscope {{' in page.partition("<title>")[0] for page in pages)
