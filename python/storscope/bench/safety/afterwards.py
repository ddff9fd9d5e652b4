"""A process beside a run that removes its scratch file if the run is killed, which no handler of the run sees.

It sleeps at a pipe whose other end the run alone holds. A byte says that the run goes on to remove the file itself; the
end of the pipe, that the run has died. Only then does the process load storscope, and removes that one file, by the
proof that each next start asks for: a file that is kept, moved or no longer the same stays. Until then it is a bare
interpreter in a session of its own, which Ctrl-C and the end of a terminal do not reach. It holds no file or directory.

Beware: what kills it too (the end of a container, power loss) leaves the file to the next start, as does a process
number that stays taken because nobody waits for the dead run.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storscope.bench.safety.kernel import Kernel
from storscope.bench.safety.ownership import Journal
from storscope.bench.safety.scratch import Scratch, Swept, sweep_one

_WAITING = "import os, sys\nif not os.read(0, 1): os.execv(sys.argv[1], sys.argv[1:])"
_TRIES = 100
_PAUSE_S = 0.1
"""A killed process is there until its last I/O has ended and its parent has been told."""
_LONGEST_S = 5.0


@contextmanager
def removed_if_killed(made: Scratch) -> Iterator[None]:
    """As long as this lasts a scratch file is removed also if this process is killed; where no other can be started it
    is left to the next start."""
    then = [sys.executable, "-P", "-m", __name__, made.record.word, str(made.journal.folder)]
    try:
        waiting = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WAITING, *then], cwd="/", start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        yield
        return
    try:
        yield
    finally:
        _dismiss(waiting)


def _dismiss(waiting: subprocess.Popen[bytes]) -> None:
    try:
        with contextlib.suppress(OSError):  # it was killed
            waiting.communicate(b".", timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        waiting.kill()
        waiting.wait()


def _remove(word: str, folder: Path) -> None:
    journal, kernel = Journal(folder), Kernel()
    for _ in range(_TRIES):
        left = sweep_one(word, journal, kernel)
        if left is None or left.outcome is not Swept.IN_USE:
            return
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    _remove(sys.argv[1], Path(sys.argv[2]))
