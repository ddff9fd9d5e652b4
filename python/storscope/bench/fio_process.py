"""A running fio: its documents as they come, its words, its end.

The job goes in through standard input, so that there is no file to leave behind. fio reports every interval, so that a
storscope that is killed takes it along: the first report that nobody reads ends it (SIGPIPE), and its jobs are threads.
"""

from __future__ import annotations

import json
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Final

_PATIENCE_S: Final = 0.1
"""How soon a request to stop is noticed."""
_LAST_WORDS_S: Final = 15.0
"""How long fio may take to end when it is told to."""
_MOST_WORDS = 64 * 1024


class FioProcess:
    """fio with a job; a context that leaves no process behind."""

    def __init__(self, command: Sequence[str], job: str, descriptors: Sequence[int]) -> None:
        """Starts it with the descriptors inherited. A session of its own: Ctrl-C reaches it through us only."""
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints,
            pass_fds=tuple(descriptors), start_new_session=True,
        )  # fmt: skip
        self._remarks: list[str] = []
        self.was_killed = False
        self._tell(job)

    def _tell(self, job: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(job.encode())
            self._process.stdin.close()
        except BrokenPipeError:  # it has ended already; its words say why
            pass

    def __enter__(self) -> FioProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._complaints.close()

    def documents(self, stop: Callable[[], bool], longest_s: float) -> Iterator[Mapping[str, Any]]:
        """Each document when it is complete. `stop` is asked often; fio that takes longer is ended."""
        lines: list[str] = []
        for line in self._lines(stop, longest_s):
            if lines or line.startswith("{"):
                lines.append(line)
            elif line.strip():
                self._remarks.append(line.strip())
            if line.startswith("}"):
                found = json.loads("".join(lines))
                lines = []
                yield found

    def _lines(self, stop: Callable[[], bool], longest_s: float) -> Iterator[str]:
        assert self._process.stdout is not None
        self._watch = _Watch(self._process, longest_s)
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                self.was_killed |= self._watch.ended(stop)
                if not selector.select(_PATIENCE_S):
                    continue
                read = self._process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
                *whole, rest = (rest + read).split(b"\n")
                yield from (line.decode(errors="replace") + "\n" for line in whole)
                if not read:
                    return

    def wait(self) -> int:
        """Its exit code, once its output has ended; one that does not end soon then is killed."""
        try:
            return self._process.wait(_LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            self.was_killed = True
            self._process.kill()
            return self._process.wait()

    def words(self) -> list[str]:
        """What it said beside its documents, complaints first."""
        self._complaints.seek(0)
        said = self._complaints.read(_MOST_WORDS).decode(errors="replace").splitlines()
        return [line.strip() for line in said if line.strip()] + self._remarks


class _Watch:
    """Sends the signals that end fio: SIGINT when it should stop or takes too long, SIGKILL when it does not listen."""

    def __init__(self, process: subprocess.Popen[bytes], longest_s: float) -> None:
        self._process = process
        self._until = time.monotonic() + longest_s
        self._was_told = False

    def ended(self, stop: Callable[[], bool]) -> bool:
        """Whether it had to be killed."""
        is_late = time.monotonic() > self._until
        if not self._was_told and (is_late or stop()):
            self._process.send_signal(signal.SIGINT)
            self._was_told, self._until = True, time.monotonic() + _LAST_WORDS_S
            return False
        if self._was_told and is_late and self._process.poll() is None:
            self._process.kill()
            return True
        return False
