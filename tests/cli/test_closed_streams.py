"""Streams that are closed when storscope starts, as daemons have them, or that cannot be written to: a full disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from storscope.cli.entry import _fail

_TESTS = Path(__file__).parents[1]
_SAMPLE = _TESTS / "importers/diskstats"
_ICF = _TESTS / "bench/workloads/samples/old_1998.02.01_written.icf"


def _run(arguments: str, streams: str, script: str = "-m storscope") -> subprocess.CompletedProcess[str]:
    command = f'exec "{sys.executable}" {script} {arguments} {streams}'
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("closed", ["2>&-", "2>&- </dev/null"])
def test_without_standard_error_an_import_does_its_work(closed: str, tmp_path: Path) -> None:
    sample = next(path for path in sorted(_SAMPLE.iterdir()) if path.suffix == ".txt")
    script = f'"{sys.executable}" -m storscope import "{sample}" --store "{tmp_path / "store"}" {closed}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert list((tmp_path / "store").glob("capture=*"))


@pytest.mark.parametrize("arguments", ["diagnose /nowhere", "compare a b --nonsense", "store info --store /nowhere"])
def test_an_error_that_cannot_be_told_is_no_finding(arguments: str) -> None:
    assert _run(arguments, "2>/dev/full").returncode == 2


def test_notes_that_cannot_be_written_do_not_stop_the_result() -> None:
    told, untold = (_run(f'workload convert "{_ICF}" --to toml', streams) for streams in ("", "2>/dev/full"))
    assert told.stderr, "the sample should give notes"
    assert untold.returncode == told.returncode == 0
    assert untold.stdout == told.stdout != ""


@pytest.mark.parametrize("said", ["can't start new thread", "failed to spawn thread: Os { code: 11 }"])
def test_a_limit_of_tasks_is_told_as_one(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        _fail(RuntimeError(said))
    told = capsys.readouterr().err
    assert "more tasks than this user or unit may have" in told and "Traceback" not in told
    assert "ulimit -v" in told, "each needs room for its stack, and the system says the same where there is none"


@pytest.mark.parametrize("error", ["Exception('no such thing')", "BaseException('a panic')", "MemoryError()"])
@pytest.mark.parametrize("streams", ["", "2>/dev/full", "2>&-"])
def test_what_nobody_foresaw_is_no_finding(error: str, streams: str, tmp_path: Path) -> None:
    """Exit code 1 would be taken for a verdict."""
    script = tmp_path / "fails.py"
    script.write_text(
        "from storscope.bench import workloads\n"
        "from storscope.cli.entry import main\n"
        f"def fail(_): raise {error}\n"
        "workloads.load_workload = fail\n"
        "main()\n",
        encoding="utf-8",
    )
    done = _run("workload show oltp", streams, f'"{script}"')
    assert done.returncode == 2
    if not streams:
        assert done.stderr.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize("command", ["import", "diagnose"])
def test_without_standard_input_files_are_read(command: str, tmp_path: Path) -> None:
    done = _run(f'{command} "{_SAMPLE}/linux_6.18.txt" --store "{tmp_path / "store"}"', "<&-")
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "store").glob("capture=*"))


@pytest.mark.parametrize("command", ["import", "diagnose"])
def test_a_standard_input_that_is_closed_is_refused_where_it_is_asked_for(command: str, tmp_path: Path) -> None:
    done = _run(f'{command} - --store "{tmp_path / "store"}"', "<&-")
    assert done.returncode == 2
    assert done.stderr == "error: expected data on standard input, found none.\n"


@pytest.mark.parametrize("arguments", ["query 'SELECT 1' --format csv", "export --format csv --table runs -o -"])
def test_a_standard_output_that_is_closed_takes_no_tables(arguments: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert _run(f'import "{_SAMPLE}/linux_6.18.txt" --store "{store}"', "").returncode == 0
    done = _run(f'store {arguments} --store "{store}"', ">&-")
    assert done.returncode == 2
    assert done.stderr == "error: expected a standard output that is open, found a closed one.\n"


def test_an_animation_that_nobody_sees_keeps_the_run(tmp_path: Path) -> None:
    design = _TESTS.parent / "examples/designs/eva4400-96x15k-vraid5.toml"
    store = tmp_path / "store"
    done = _run(f'simulate "{design}" --workload oltp --ios 2000 --animate --store "{store}"', ">&-")
    assert done.returncode == 0, done.stderr
    assert list(store.glob("capture=*"))


@pytest.mark.parametrize("arguments", ["--help", "rules --json", f'workload convert "{_ICF}" --to toml'])
def test_output_that_cannot_be_written_is_told_with_its_place(arguments: str) -> None:
    done = _run(arguments, ">/dev/full")
    assert done.returncode == 2
    said = "error: the output cannot be written to standard output, /dev/full: No space left on device"
    assert done.stderr.splitlines()[0] == said
    assert "Traceback" not in done.stderr


@pytest.mark.needs_root
@pytest.mark.parametrize(
    "command",
    [
        f'diagnose "{_SAMPLE}"',
        f'compare "{_SAMPLE}" "{_SAMPLE}"',
        f'fit drive "{_SAMPLE}"',
        'demo --output "{folder}/reports"',
    ],
)
def test_no_room_for_temporary_files_is_told_as_such(command: str, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20k", "none", small], check=True)
    try:
        script = f'TMPDIR="{small}" "{sys.executable}" -m storscope {command.format(folder=tmp_path)}'
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    finally:
        subprocess.run(["umount", small], check=True)
    assert done.returncode == 2
    assert "found No space left on device" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("Make room there, or set TMPDIR to a directory with more.")
