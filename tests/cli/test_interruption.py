"""Ctrl-C and its like, at any time and more than once, end a command without a traceback; the exit code tells which."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import storscope
from storscope.cli.interruption import Interruption
from tests.support.cases import make_store

_DESIGN = Path(__file__).parents[2] / "examples" / "designs" / "eva4400-96x15k-vraid5.toml"
_SCRIPT = "from storscope.cli.entry import main; main()"


@pytest.mark.parametrize("pauses_s", [(0.3,), (0.6,), (1.5, 0.1), (2.5, 0.02, 0.02)])
def test_ctrl_c_ends_without_a_traceback(pauses_s: tuple[float, ...], tmp_path: Path) -> None:
    """After each pause once; the simulation would take minutes."""
    # What comes before `main` is the interpreter's; what `main` loads is not loaded yet.
    script = "from storscope.cli import entry; print('begun', flush=True); entry.main()"
    command = [sys.executable, "-c", script]
    command += ["simulate", str(_DESIGN), "--workload", "oltp", "--duration", "24h", "--store", str(tmp_path / "store")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "begun\n"
        for pause_s in pauses_s:
            time.sleep(pause_s)
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Traceback" not in said
    assert process.returncode == 130, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_simulation_in_good_order_is_told_by_its_exit_code(number: signal.Signals, tmp_path: Path) -> None:
    """As of every other command: the simulation hears signals in its own way."""
    store = tmp_path / "store"
    process = _begun("simulate", str(_DESIGN), "--workload", "oltp", "--duration", "24h", "--store", str(store))
    try:
        _wait_for_work(process, 4.0)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 128 + number, said
    assert len(list(store.glob("capture=*"))) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_question_that_takes_long_ends_when_it_is_interrupted(number: signal.Signals, tmp_path: Path) -> None:
    """It would take hours, and one of the engine's threads works while the one that hears signals waits for it."""
    store = make_store(tmp_path / "store", lambda _: None)
    question = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000000) b"
    process = _begun("store", "query", "--store", str(store.path), question)
    try:
        _wait_for_work(process, 4.0)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert said.strip() == "Interrupted; what is in the store already is complete and stays."
    assert process.returncode == 128 + number


def _begun(*arguments: str) -> subprocess.Popen[str]:
    """A command that hears hangups, also where the tests run under nohup(1)."""
    as_usual = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    command = [sys.executable, "-c", f"{as_usual}; {_SCRIPT}", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _wait_for_work(process: subprocess.Popen[str], cpu_s: float) -> None:
    """Until a process has had so much processor time: to start takes 1.2 s of it, on a busy machine, too."""
    ticks = cpu_s * os.sysconf("SC_CLK_TCK")
    while process.poll() is None:
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        if int(fields[11]) + int(fields[12]) >= ticks:
            return
        time.sleep(0.05)
    pytest.fail(f"it ended by itself, with {process.returncode}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_the_first_signal_takes_down_the_second_does_not_interrupt(number: signal.Signals) -> None:
    taken_down = False
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests run under nohup(1)
    try:
        with Interruption(once=True):
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), number)
                time.sleep(10)
            for later in (number, signal.SIGTERM, signal.SIGINT):
                os.kill(os.getpid(), later)
                time.sleep(0.01)
            taken_down = True
    finally:
        signal.signal(signal.SIGHUP, before)
    assert taken_down


def test_who_ignores_hangups_goes_on_to() -> None:
    """nohup(1)."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interruption.is_wanted()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whatever_ends_a_diagnosis_leaves_no_temporary_store(number: signal.Signals, tmp_path: Path) -> None:
    """It reads a pipe that nobody writes to, for as long as that takes."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    as_usual = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"  # also where the tests run under nohup(1)
    command = [sys.executable, "-c", f"{as_usual}; {_SCRIPT}", "diagnose", "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(temporary)}
    )
    try:
        while not any(temporary.rglob("stdin")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert not list(temporary.iterdir())
    assert said.strip() == "Interrupted."
    assert process.returncode == 128 + number


def test_a_diagnosis_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); {_SCRIPT}"]
    process = subprocess.Popen(
        [*command, "diagnose", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    try:
        while not any(tmp_path.rglob("stdin")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        _, said = process.communicate("no evidence\n", timeout=120)
    finally:
        process.kill()
    assert "expected evidence" in said
    assert process.returncode == 2


def test_hardly_anything_is_loaded_before_ctrl_c_is_heard() -> None:
    """What is loaded before `main` begins is what a Ctrl-C that comes early interrupts with a traceback."""
    script = "import sys; had = set(sys.modules); import storscope.cli.entry; print(*(set(sys.modules) - had))"
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONPATH": str(Path(storscope.__file__).parents[1])})  # fmt: skip
    loaded = {name for name in done.stdout.split() if not name.startswith("storscope")}
    assert "storscope.cli.entry" in done.stdout
    assert not loaded & {"typing", "re", "enum", "contextlib", "signal", "click"}, loaded
